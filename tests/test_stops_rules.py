"""Each reason to stop on its own, and what may be shown before."""

from collections.abc import Sequence
from itertools import count

import pytest

from completer.languages import language
from completer.request import Mode
from completer.stops import Stops

EOS = 0


def stops(document: str = "█", mode: Mode = "line", language_id: str = "python", max_tokens: int = 1000, **limits):
    before, after = document.split("█")
    return Stops(
        language=language(language_id),
        fim_prefix=before,
        fim_suffix=after,
        mode=mode,
        stop_token_ids=(EOS,),
        max_tokens=max_tokens,
        **limits,
    )


def push(stopping: Stops, tokens: Sequence[str | bytes]) -> list[str | None]:
    """The answers to tokens that are all different."""
    encoded = [token if isinstance(token, bytes) else token.encode() for token in tokens]
    return [stopping.push(token_id, token) for token_id, token in zip(count(1), encoded, strict=False)]


def test_a_stop_token_ends_the_completion_and_has_no_text() -> None:
    stopping = stops()
    assert push(stopping, ["x", " = 1"]) == [None, None]
    assert stopping.push(EOS, b"<|endoftext|>") == "eos"
    assert stopping.text == "x = 1"


def test_a_line_ends_inside_the_token_that_holds_its_end() -> None:
    stopping = stops()
    assert push(stopping, ["x = 1\n\ny = 2"]) == ["line"]
    assert stopping.text == "x = 1"


def test_line_ends_before_anything_visible_do_not_end_a_line_unless_text_follows_the_cursor() -> None:
    at_the_end = stops("x = 1█\n")
    assert push(at_the_end, ["\n", "\n", "y = 2", "\n"]) == [None, None, None, "line"]
    assert at_the_end.text == "\n\ny = 2"
    before_text = stops("f(█ + 1)\n")
    assert push(before_text, ["\n"]) == ["line"]
    assert before_text.text == ""


def test_max_tokens_counts_tokens() -> None:
    stopping = stops(max_tokens=3, mode="text")
    assert push(stopping, ["a", "\n", "b"]) == [None, None, "max_tokens"]
    assert stopping.text == "a\nb"


def test_max_lines_counts_visible_lines() -> None:
    stopping = stops(max_lines=2, mode="text")
    assert push(stopping, ["\n", "a\n", "\n", "b", "\n"]) == [None, None, None, None, "max_lines"]
    assert stopping.text == "\na\n\nb"


@pytest.mark.parametrize(
    ("tokens", "text"),
    [(["x = 1\n", "    y = 2\n", "    z = "], "x = 1\n    y = 2"), (["x", " = ", "1"], "x = 1")],
)
def test_at_the_deadline_whole_lines_are_kept_where_there_is_one(tokens: list[str], text: str) -> None:
    clock = iter([0.0, 50.0, 100.0])
    stopping = stops("def f():\n    █\n", "block", deadline_ms=100.0, now_ms=lambda: next(clock))
    assert push(stopping, tokens) == [None, None, "deadline"]
    assert stopping.text == text


def test_the_same_line_three_times_is_cut_to_one() -> None:
    stopping = stops("def f():\n    █", "block")
    assert push(stopping, ["a()\n", "    a()\n", "\n", "    a()\n"]) == [None, None, None, "repetition"]
    assert stopping.text == "a()"


def test_brackets_alone_are_no_repetition() -> None:
    stopping = stops("f(█", "block", "json")
    assert push(stopping, ["[\n", "[\n", "[\n", "[\n"]) == [None] * 4


@pytest.mark.parametrize(("unit_tokens", "occurrences"), [(1, 24), (3, 8), (8, 3), (32, 3)])
def test_a_unit_of_tokens_over_and_over_is_cut_to_two(unit_tokens: int, occurrences: int) -> None:
    stopping = stops()
    unit = [(10 + number, f"{number},".encode()) for number in range(unit_tokens)]
    answers = [stopping.push(*token) for token in [(9, b"x ="), *unit * occurrences]]
    assert answers == [None] * unit_tokens * occurrences + ["repetition"]
    assert stopping.text == "x =" + b"".join(text for _, text in unit * 2).decode()


def test_short_runs_of_a_token_are_no_repetition() -> None:
    stopping = stops()
    assert [stopping.push(5, b"0 ") for _ in range(23)] == [None] * 23


@pytest.mark.parametrize("mode", ["line", "block"])
def test_a_line_that_follows_already_is_not_written_again(mode: Mode) -> None:
    stopping = stops("def f():\n    █\n\n    return total\n", mode)
    assert push(stopping, ["return", " total", "\n"]) == [None, None, "suffix"]
    assert stopping.text == ""


def test_a_line_that_follows_already_is_not_written_as_the_last_one() -> None:
    stopping = stops("def f():\n    █\n    return total\n", "block")
    push(stopping, ["total = 1\n", "    return total"])
    assert stopping.push(EOS, b"") == "suffix"
    assert stopping.text == "total = 1"


def test_a_line_that_only_begins_like_the_one_that_follows_is_written() -> None:
    stopping = stops("def f():\n    █\n    return total\n", "block")
    assert push(stopping, ["return total / 2\n", "    return total or 1\n"]) == [None, None]


def test_words_that_follow_on_the_line_are_not_written_again() -> None:
    stopping = stops("x = █value + 1\n")
    assert push(stopping, ["my_value + 1", " - ", "value + 1"]) == [None, None, "suffix"]
    assert stopping.text == "my_value + 1 - "


def test_a_short_word_that_follows_counts_at_the_end_of_a_line() -> None:
    stopping = stops("x = █b\n")
    assert push(stopping, ["b * ", "b", "\n"]) == [None, None, "suffix"]
    assert stopping.text == "b * "


@pytest.mark.parametrize(
    ("document", "written", "text"),
    [
        ("f(█)", ["g(x), ')', [", "y])", "\n"], "g(x), ')', [y]"),
        ("a[█]", ["i + b[0]] = 1"], "i + b[0]"),
        ("'█'", [r"it\'s", "'"], r"it\'s"),
        ("x = █;", ["f(';'); y"], "f(';')"),
    ],
)
def test_punctuation_that_follows_is_reached_where_it_would_close(document: str, written, text: str) -> None:
    stopping = stops(document)
    assert "suffix" in push(stopping, written)
    assert stopping.text == text


def test_text_mode_is_what_the_model_says() -> None:
    tokens = ["return x\n", "return x\n", "return x\n", "\n", "}\n", "def f():\n"]
    stopping = stops("def f():\n    █\n    return x\n", "text")
    assert push(stopping, tokens) == [None] * 6
    assert stopping.text == "".join(tokens).rstrip()


def test_characters_split_over_tokens_are_shown_whole() -> None:
    stopping = stops(mode="text")
    texts = []
    for token_id, byte in enumerate("é漢🙂".encode(), start=1):
        stopping.push(token_id, bytes([byte]))
        texts.append((stopping.text, stopping.settled))
    assert texts == [
        ("", 0), ("é", 1), ("é", 1), ("é", 1), ("é漢", 2), ("é漢", 2), ("é漢", 2), ("é漢", 2), ("é漢🙂", 3),
    ]  # fmt: skip


def test_a_character_cut_short_is_left_out() -> None:
    stopping = stops()
    push(stopping, ["a", "🙂".encode()[:3]])
    assert stopping.push(EOS, b"") == "eos"
    assert stopping.text == "a"


def test_a_line_is_settled_as_it_grows_and_a_block_by_whole_lines() -> None:
    line, block = stops("def f():\n    █", "line"), stops("def f():\n    █", "block")
    shown: list[tuple[int, int, bool]] = []
    for token_id, token in enumerate([b"x", b" = ", b"1", b"\n", b"    y"], start=1):
        if token_id < 5:
            line.push(token_id, token)
        block.push(token_id, token)
        shown.append((line.settled, block.settled, block.first_line_done))
    assert shown == [(1, 0, False), (3, 0, False), (5, 0, False), (5, 5, True), (5, 5, True)]


def test_what_may_turn_out_to_follow_already_is_not_settled() -> None:
    stopping = stops("█\nreturn total\n")
    settled = []
    for token_id, token in enumerate([b"ret", b"urn", b" tot", b"als"], start=1):
        stopping.push(token_id, token)
        settled.append(stopping.settled)
    assert settled == [0, 0, 0, len("return totals")]

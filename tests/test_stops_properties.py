"""What holds for any tokens at all: the end depends on them alone, and what was shown is never taken back."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from completer.languages import LANGUAGES, language
from completer.request import Mode
from completer.stops import Stops

EOS = 0
WORDS = [
    "\n", "\r\n", "\n\n", "    ", "\t", " ", "  \n", "{", "}", "(", ")", "[", "]", "});\n", "} else {\n", "end\n",
    "fi\n", "done", "do\n", "def f(x):\n", "if x", "if (x) {\n", "return x", "return x\n", "x = 1", "x", ",", ";",
    ":\n", '"', "'", '"""', "'''", "`", "${", "/*", "*/", "#", "//", "\\", "<li>", "</li>", "<br>", "- a\n", "```\n",
    "é", "漢字\n", "👩‍👩‍👧", "\u2028", "\x0c", "\ufeff", "\x00", "a" * 3000,
]  # fmt: skip
SPLIT = [part for text in ("é", "漢字", "👩‍👩‍👧") for part in (text.encode()[:2], text.encode()[2:])]
TOKENS = [b"", *(word.encode() for word in WORDS), *SPLIT, b"\xff"]
texts = st.lists(st.sampled_from(WORDS), max_size=12).map("".join)


@dataclass(frozen=True)
class Case:
    language_id: str
    mode: Mode
    before: str
    after: str
    token_ids: list[int]
    max_tokens: int
    max_lines: int

    def stops(self) -> Stops:
        return Stops(
            language=language(self.language_id),
            fim_prefix=self.before,
            fim_suffix=self.after,
            mode=self.mode,
            stop_token_ids=(EOS,),
            max_tokens=self.max_tokens,
            max_lines=self.max_lines,
        )


cases = st.builds(
    Case,
    language_id=st.sampled_from([*(known.id for known in LANGUAGES), "unknown"]),
    mode=st.sampled_from(["auto", "line", "block", "text"]),
    before=texts,
    after=texts,
    token_ids=st.lists(st.integers(0, len(TOKENS)), max_size=60),
    max_tokens=st.integers(1, 60),
    max_lines=st.integers(0, 4),
)


def token_bytes(token_id: int) -> bytes:
    return TOKENS[token_id - 1] if token_id else b"<|endoftext|>"


def run(stops: Stops, token_ids: list[int]) -> tuple[int, str | None]:
    """How many tokens were taken, and why they ended."""
    for taken, token_id in enumerate(token_ids, start=1):
        reason = stops.push(token_id, token_bytes(token_id))
        if reason is not None:
            return taken, reason
    return len(token_ids), None


@settings(max_examples=300, deadline=None)
@given(case=cases, round_sizes=st.lists(st.integers(1, 9), min_size=60, max_size=60))
def test_the_end_is_the_same_however_tokens_are_grouped_into_rounds(case: Case, round_sizes: list[int]) -> None:
    plain, speculative = case.stops(), case.stops()
    taken, reason = run(plain, case.token_ids)
    left, emitted, found = case.token_ids, 0, None
    for size in round_sizes:
        count, found = run(speculative, left[:size])
        emitted, left = emitted + count, left[size:]
        assert speculative.text[: speculative.settled] == plain.text[: speculative.settled]
        if found or not left:
            break
    assert (speculative.text, emitted, found) == (plain.text, taken, reason)


@settings(max_examples=300, deadline=None)
@given(case=cases)
def test_what_is_settled_is_never_taken_back(case: Case) -> None:
    stops = case.stops()
    shown = [""]
    for token_id in case.token_ids:
        reason = stops.push(token_id, token_bytes(token_id))
        assert stops.settled <= len(stops.text)
        shown.append(stops.text[: stops.settled])
        assert shown[-1].startswith(shown[-2])
        if reason is not None:
            assert shown[-1] == stops.text
            break
    assert stops.text.startswith(shown[-1])


@settings(max_examples=200, deadline=None)
@given(case=cases)
def test_the_text_is_the_start_of_what_the_tokens_say(case: Case) -> None:
    stops = case.stops()
    taken, reason = run(stops, case.token_ids)
    said = b"".join(token_bytes(token_id) for token_id in case.token_ids[:taken] if token_id != EOS)
    assert said.decode("utf-8", "replace").startswith(stops.text)
    assert reason is not None or taken == len(case.token_ids)
    assert taken <= case.max_tokens


@settings(max_examples=200, deadline=None)
@given(case=cases)
def test_a_line_has_one_visible_line_and_a_limit_of_lines_holds(case: Case) -> None:
    stops = case.stops()
    run(stops, case.token_ids)
    visible = [line for line in stops.text.split("\n") if line.strip()]
    if stops.mode == "line":
        assert len(visible) <= 1
    if case.max_lines:
        assert len(visible) <= case.max_lines

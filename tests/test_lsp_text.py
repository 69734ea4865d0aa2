"""The mirror of a document is exact: any edit, any line end, any character, in every encoding of positions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp.text import Text, index_at, units

ALPHABET = ["a", " ", "\n", "\r\n", "\r", "\f", "\x85", "\u2028", "é", "e\u0301", "😀", "\ud83d", "\ude00", "中"]
TEXTS = st.lists(st.sampled_from(ALPHABET), max_size=12).map("".join)
NUMBERS = st.integers(-1, 9)


def reference_offset(text: str, position: tuple[int, int], encoding: str) -> int:
    """Counted one character after another, as the specification words it."""
    line, column = position
    start = 0
    for _ in range(line):
        while start < len(text) and text[start] not in "\r\n":
            start += 1
        if start == len(text):
            return len(text)
        start += 2 if text[start : start + 2] == "\r\n" else 1
    if line < 0:
        return 0
    end, used = start, 0
    while end < len(text) and text[end] not in "\r\n":
        used += (
            len(text[end].encode(f"{encoding}-le" if encoding != "utf-8" else encoding, "surrogatepass"))
            // ({"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding])
        )
        if used > column:
            break
        end += 1
    return end


@given(TEXTS, st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS, TEXTS), max_size=5), st.sampled_from([8, 16, 32]))
def test_utf16_crlf_emoji_combining_characters_mixed_line_ends_no_final_newline(before, edits, bits):
    encoding = f"utf-{bits}"
    mirror, expected = Text(before, encoding), before
    for line, column, end_line, end_column, new in edits:
        start, end = sorted(
            reference_offset(expected, position, encoding) for position in ((line, column), (end_line, end_column))
        )
        assert mirror.between((line, column), (end_line, end_column)) == expected[start:end]
        mirror.replace((line, column), (end_line, end_column), new)
        expected = expected[:start] + new + expected[end:]
        assert str(mirror) == expected
        assert mirror.lines == Text(expected, encoding).lines
        assert mirror.size_bytes == units(expected, "utf-8")


@given(TEXTS, NUMBERS, NUMBERS)
def test_splitting_loses_nothing(text, line, column):
    before, after = Text(text).split_at((line, column))
    assert before + after == text
    assert len(before) == reference_offset(text, (line, column), "utf-16")


@pytest.mark.parametrize("encoding, column", [("utf-8", 5), ("utf-16", 3), ("utf-32", 2)])
def test_positions_are_counted_as_negotiated(encoding, column):
    assert index_at("a😀b", column, encoding) == 2
    assert index_at("a😀b", column - 1, encoding) == (1 if encoding != "utf-32" else 1)


def test_a_column_inside_a_character_means_its_beginning():
    assert index_at("😀", 1, "utf-16") == 0
    assert index_at("中", 2, "utf-8") == 0


def test_the_line_end_in_use_is_the_nearest_above():
    text = Text("a\r\nb\nc")
    assert [text.line_end(line) for line in (0, 1, 2, 9)] == ["\r\n", "\n", "\n", "\n"]
    assert Text("a").line_end(0) == "\n"
    assert Text("a\r\nb").line_end(1) == "\r\n"


def test_an_edit_in_a_long_document_costs_what_is_edited():
    text = Text("x = 1\n" * 100_000)
    lines = text.lines
    text.replace((50_000, 5), (50_000, 5), "2")
    assert text.lines is lines
    assert text.lines[50_000] == "x = 12\n"

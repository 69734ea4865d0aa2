"""FILE[:LINE[:COLUMN]]: what it means, and what is said about a place that is not there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completer.errors import InputError, UsageError
from completer.position import Place, offset_of, parse_place


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("app.py", Place("app.py")),
        ("app.py:3", Place("app.py", 3)),
        ("app.py:3:5", Place("app.py", 3, 5)),
        (r"C:\x.py:3:5", Place(r"C:\x.py", 3, 5)),
        (r"C:\x.py", Place(r"C:\x.py")),
        ("file:with:colons.py", Place("file:with:colons.py")),
        ("file:with:colons.py:12", Place("file:with:colons.py", 12)),
        ("log:7:8:9", Place("log:7", 8, 9)),
        ("app.py:", Place("app.py:")),
        ("app.py:-3", Place("app.py:-3")),
        ("app.py:³", Place("app.py:³")),
        ("-", Place("-")),
        ("-:2:1", Place("-", 2, 1)),
        ("a\nb.py:2", Place("a\nb.py", 2)),
        ("x:" + "9" * 5000, Place("x:" + "9" * 5000)),
    ],
)
def test_the_file_is_what_stands_before_one_or_two_numbers(text: str, place: Place) -> None:
    assert parse_place(text) == place


@pytest.mark.parametrize("text", ["app.py:0", "app.py:1:0", "app.py:0:1"])
def test_lines_and_columns_start_at_1(text: str) -> None:
    with pytest.raises(UsageError, match="start at 1"):
        parse_place(text)


def test_no_file_name_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="file name is empty"):
        parse_place("")


@given(st.text("a:.\\", min_size=1), st.integers(1, 10**9), st.integers(1, 10**9))
def test_two_numbers_are_always_line_and_column(file: str, line: int, column: int) -> None:
    assert parse_place(f"{file}:{line}:{column}") == Place(file, line, column)


TEXT = "ab\r\nc😀d\n\ne"


@pytest.mark.parametrize(
    ("line", "column", "rest"),
    [
        (None, None, ""),
        (1, 1, TEXT),
        (1, 3, "\r\nc😀d\n\ne"),
        (1, None, "\r\nc😀d\n\ne"),
        (2, 2, "😀d\n\ne"),
        (2, 3, "d\n\ne"),
        (3, None, "\ne"),
        (4, None, ""),
    ],
)
def test_columns_count_characters_and_line_ends_are_whole(line: int | None, column: int | None, rest: str) -> None:
    assert TEXT[offset_of(Place("f", line, column), TEXT) :] == rest


@pytest.mark.parametrize(
    ("text", "line", "column", "told"),
    [
        (TEXT, 5, None, "f has no line 5; it has 4"),
        (TEXT, 1, 4, "f:1 has no column 4; its columns go from 1 to 3"),
        ("", 2, 1, "f has no line 2; it has 1"),
        ("", 1, 2, "f:1 has no column 2; its columns go from 1 to 1"),
    ],
)
def test_a_place_past_the_end_is_answered_with_the_range(text: str, line: int, column: int | None, told: str) -> None:
    with pytest.raises(InputError) as caught:
        offset_of(Place("f", line, column), text)
    assert str(caught.value) == told


def test_an_empty_text_has_one_empty_line() -> None:
    assert offset_of(Place("f", 1, 1), "") == 0


@given(st.text("a\r\n\x85\u2028é"), st.data())
def test_every_place_of_a_text_is_found(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    if text[offset - 1 : offset + 1] == "\r\n":  # no place lies inside a line end
        return
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert offset_of(Place("f", len(before), len(before[-1]) + 1), text) == offset

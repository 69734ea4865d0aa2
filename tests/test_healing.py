"""Token healing: where the line is cut, and which tokens may retype what was cut off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completer.healing import Vocabulary, split_at_seam

TOKENS = [b"", b"r", b"re", b"ret", b"return", b"returns", b"u", b"rn", b"x", b" ", b" r", b"\xc3", b"\xa9", b"\xff"]


@pytest.fixture
def vocabulary() -> Vocabulary:
    return Vocabulary(TOKENS)


@pytest.mark.parametrize(
    ("line", "head", "remainder"),
    [
        ("", "", ""),
        ("    ", "", "    "),
        ("x = ", "x =", " "),
        ("x = fo", "x =", " fo"),
        ("  return self.na", "  return self", ".na"),
        ("print(", "print", "("),
        ("if x ==", "if x", " =="),
        ("foo(bar", "foo", "(bar"),
        ("naïve_é", "", "naïve_é"),
    ],
)
def test_the_seam_lies_before_the_last_word_with_its_punctuation_and_blanks(line, head, remainder):
    assert split_at_seam(line) == (head, remainder)


@given(st.text())
def test_the_two_parts_of_a_line_are_the_line(line):
    head, remainder = split_at_seam(line)
    assert head + remainder == line
    assert len(remainder) <= 64


def test_allowed_tokens_begin_with_the_remainder_or_are_a_beginning_of_it(vocabulary):
    assert [TOKENS[i] for i in vocabulary.allowed(b"ret")] == [b"r", b"re", b"ret", b"return", b"returns"]
    assert [TOKENS[i] for i in vocabulary.allowed(b" re")] == [b" ", b" r"]
    assert [TOKENS[i] for i in vocabulary.allowed(b"\xff")] == [b"\xff"]


@given(st.lists(st.binary(min_size=0, max_size=4), min_size=1, max_size=60), st.binary(min_size=1, max_size=5))
def test_allowed_agrees_with_a_scan_of_the_vocabulary(tokens, remainder):
    expected = [i for i, t in enumerate(tokens) if t and (t.startswith(remainder) or remainder.startswith(t))]
    assert Vocabulary(tokens).allowed(remainder).tolist() == expected


def test_control_tokens_are_never_allowed(vocabulary):
    assert 0 not in vocabulary.allowed(b"r")


def test_rows_follow_the_remainder_through_the_draft(vocabulary):
    rows = vocabulary.allowed_rows(b"return", [TOKENS.index(b"ret"), TOKENS.index(b"u"), TOKENS.index(b"rn")])
    assert [None if row is None else [TOKENS[i] for i in row] for row in rows] == [
        [b"r", b"re", b"ret", b"return", b"returns"],
        [b"u"],
        [b"r", b"rn"],
        None,
    ]


def test_a_token_that_runs_over_the_remainder_frees_the_next_row(vocabulary):
    assert vocabulary.allowed_rows(b"retu", [TOKENS.index(b"returns")])[1] is None


def test_remainder_after_refuses_a_token_that_disagrees(vocabulary):
    with pytest.raises(ValueError, match="disagrees"):
        vocabulary.remainder_after(b"ret", [TOKENS.index(b"x")])


@pytest.mark.parametrize(
    ("remainder", "draft", "expected"),
    [
        (b"", [b"x"], 0),
        (b"ret", [b"re"], 1),
        (b"return", [b"ret", b"u", b"rn", b"x"], 3),
        (b"retu", [b"return", b"x"], 0),  # runs over the remainder: it foretells something
        (b"ret", [b"x"], None),
        (b"ret", [b""], None),
    ],
)
def test_retyping_counts_the_drafts_that_only_write_the_remainder(vocabulary, remainder, draft, expected):
    assert vocabulary.retyping(remainder, [TOKENS.index(t) for t in draft]) == expected

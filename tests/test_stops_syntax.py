"""What is open at a cursor, and texts that no parser should be let loose on."""

import pytest

from completer.languages import language
from completer.syntax import Nesting, read_syntax, statement_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = 1\ndef f(a,\n      b):", "def f(a,"),
        ("f(\n  [1,\n   2],", "  [1,"),
        ("x = 1\n  y", "  y"),
        ("case\n  a) b", "  a) b"),
    ],
)
def test_a_statement_begins_where_its_brackets_do(text: str, line: str) -> None:
    assert statement_line(text) == line


@pytest.mark.parametrize(
    ("language_id", "before", "closers"),
    [
        ("javascript", "f(`${a}{`, [1], {", [")", "}"]),
        ("javascriptreact", "const a = <><ul><br /><li>", ["</", "</ul", "</li"]),
        ("ruby", "class A\n  def f\n    x if y\n    while z do\n", ["end"] * 3),
        ("lua", "repeat\n  if a then b() end\n  for i in c do\n", ["until", "end"]),
        ("shellscript", "f() {\n  case x in\n  a) if b; then\n", ["}", "esac", "fi"]),
        ("html", "<body><br><!-- <p> --><p>", ["</body", "</p"]),
        ("rust", "fn f<'a>(c: char) { if c == '{' {", ["}", "}"]),
    ],
)
def test_what_is_open_at_the_cursor(language_id: str, before: str, closers: list[str]) -> None:
    syntax = read_syntax(language(language_id), before)
    assert syntax is not None
    assert [opener.closer for opener in syntax.open] == closers


def test_a_text_may_close_what_is_open_at_the_cursor_and_pass_over_what_is_not_closed() -> None:
    syntax = read_syntax(language("javascript"), "f(() => { if (a) {")
    assert syntax is not None
    assert syntax.nesting("[1]; b(") == Nesting(depth=1)
    assert syntax.nesting(" é; } else {") == Nesting(depth=0, closes=2, closes_at=4)
    assert syntax.nesting(" });") == Nesting(depth=-3, passed_over=1, closes=2, closes_at=1)


def test_a_text_that_keeps_a_parser_busy_is_not_read() -> None:
    endless = '"' * 47_000
    tsx = language("typescriptreact")
    assert read_syntax(tsx, endless) is None
    syntax = read_syntax(tsx, "f(")
    assert syntax is not None
    assert syntax.nesting(endless) == Nesting(depth=0)
    assert syntax.nesting(")") == Nesting(depth=-1, closes=0)


NESTED = {
    "yaml": ["".join(" " * level + "a:\n" for level in range(400)), "- " * 400],
    "kotlin": ["val x = " + '"${' * 1_100],
}


@pytest.mark.parametrize(("language_id", "text"), [(name, text) for name in NESTED for text in NESTED[name]])
def test_a_text_that_crashes_a_parser_is_not_read(language_id: str, text: str) -> None:
    known = language(language_id)
    assert read_syntax(known, text) is None
    syntax = read_syntax(known, "a:\n")
    assert syntax is not None
    assert syntax.nesting(text) == Nesting(depth=0)

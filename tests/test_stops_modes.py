"""How far a completion may run, by the syntax at the cursor."""

import pytest

from completer.languages import language
from completer.stops import resolve_mode

AT_A_BLOCK = [
    ("python", "def f(x):█\n"),
    ("python", "def f(x):\n    █\n"),
    ("python", "if a:\n    b()\n    █\n    c()\n"),
    ("python", "if a:\n    b()\n█\n    c()\n"),
    ("python", "x = {█}\n"),
    ("python", "# note\nclass A:\n    # said before:\n    █"),
    ("javascript", "if (x) {█}\n"),
    ("javascript", "on('x', () => {█});\n"),
    ("javascript", "function f() {\n█\n}\n"),
    ("javascript", "const a = [ █\n"),
    ("typescriptreact", "return (\n  <ul>█\n"),
    ("go", "for {█\n"),
    ("ruby", "items.each do |item|█\n"),
    ("ruby", "def total█\n"),
    ("lua", "local f = function(a, b)█\n"),
    ("shellscript", "if [ -f x ]; then█\n"),
    ("html", '<div class="a">█\n'),
    ("yaml", "a:\n  b:█\n"),
    ("nim", "proc f() =\n  █\n"),
]
ON_A_LINE = [
    ("python", "x = █\n"),
    ("python", "f(█)\n"),
    ("python", "x = █ + 1\n"),
    ("python", "if █:\n    pass\n"),
    ("python", "# so:█\n"),
    ("python", 'x = "{█"\n'),
    ("python", "import os\n█\n\nx = 1\n"),
    ("python", 'def f():\n    """What it does.\n\n    █\n    """\n'),
    ("python", "█"),
    ("javascript", "/*\n █\n*/\n"),
    ("javascript", "const {█ a } = b;\n"),
    ("typescript", "const a = b as Map<string, █\n"),
    ("html", "<br/>█\n"),
    ("yaml", "a: █\n"),
    ("markdown", "- one\n- █\n"),
    ("markdown", "text\n\n█\n"),
    ("plaintext", "Dear all:█\n"),
    ("", "    █\n"),
]


@pytest.mark.parametrize(("language_id", "document"), AT_A_BLOCK)
def test_a_block_is_completed_where_one_begins_or_on_a_blank_line_in_one(language_id: str, document: str) -> None:
    before, after = document.split("█")
    assert resolve_mode("auto", language(language_id), before, after) == "block"


@pytest.mark.parametrize(("language_id", "document"), ON_A_LINE)
def test_a_line_is_completed_everywhere_else(language_id: str, document: str) -> None:
    before, after = document.split("█")
    assert resolve_mode("auto", language(language_id), before, after) == "line"


@pytest.mark.parametrize("mode", ["line", "block", "text"])
def test_a_mode_asked_for_is_kept(mode) -> None:
    assert resolve_mode(mode, language("python"), "def f():", "\n") == mode

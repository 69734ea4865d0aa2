"""Parsing keeps nothing of a text but its tree: a daemon parses all day."""

import sys
import tracemalloc

import pytest

from completer.context.imports import Imports
from completer.context.outline import outline
from completer.languages import language, parser
from completer.parsing import parse

PYTHON = language("python")
LINE = "value = compute(1, 2)\n"


def kept_bytes(do, settled: int = 2, times: int = 10) -> int:
    """What the interpreter holds more, after it was done so often; settled: and so often before."""
    tracemalloc.start()
    try:
        for number in range(settled):
            do(number)
        before, _ = tracemalloc.get_traced_memory()
        for number in range(settled, settled + times):
            do(number)
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def text(number: int, lines: int = 1500) -> str:
    return LINE * lines + f"y{number} = 1\n"


@pytest.mark.skipif(not hasattr(sys, "getrefcount"), reason="references are not counted here")
@pytest.mark.parametrize("size", [1, 700, 1500])
def test_a_text_is_forgotten_once_it_is_parsed(size):
    found = parser(PYTHON)
    assert found is not None
    tree = parse(found, text(0).encode())

    def again(number: int) -> None:
        nonlocal tree
        tree = parse(found, text(number, size).encode())
        assert tree is not None and tree.root_node.end_byte == len(text(number, size))

    assert kept_bytes(again) < 20_000


def test_nothing_adds_up_over_many_parses():
    found = parser(PYTHON)
    assert found is not None
    assert kept_bytes(lambda number: parse(found, b"import os\n" * 8), settled=100, times=1000) < 2_000


def test_one_that_is_too_hard_is_forgotten_too():
    hard = b'import "./a";\n' + b'"' * 47_000
    found = parser(language("typescript"))
    assert found is not None
    assert parse(found, hard) is None
    assert kept_bytes(lambda number: parse(found, hard + b"%d" % number)) < 20_000


def test_imports_and_outlines_keep_nothing_of_older_texts(tmp_path):
    imports = Imports(PYTHON, str(tmp_path / "a.py"), str(tmp_path))
    code = "import os\n" + 'def f():\n    """Says so."""\n    a = 1\n    b = 2\n    return a\n' * 40

    def again(number: int) -> None:
        imports.files(f"import b{number}\n" + code, lambda path: True)
        assert '"""Says so."""' in outline(f"x = {number}\n" + code, PYTHON)

    assert kept_bytes(again, settled=60) < 20_000  # a parser keeps something for itself, up to a point

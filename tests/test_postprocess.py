"""What is shown of a completion. Every TOML under cases/postprocess is a test; what may never happen are properties.

`completer complete FILE:LINE --case tests/cases/postprocess/NAME.toml` writes a case from a real completion.
"""

import random
import sysconfig
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completer.case import CURSOR, Case, read_cases
from completer.holes import Hole, draw_holes
from completer.languages import language, language_of
from completer.postprocess import FILTERS, FILTERS_PER_CHUNK, FilterContext, apply_filters, settle
from completer.prompt import PromptBudget
from completer.request import Mode
from completer.source_files import SourceFile, find_source_files
from tests.conftest import ROOT
from tests.test_stops import CASES as STOPS_CASES

FOLDER = Path(__file__).parent / "cases" / "postprocess"
CASES = [(path.stem, case) for path in sorted(FOLDER.glob("*.toml")) for case in read_cases(path.read_text("utf-8"))]


def around(case: Case) -> FilterContext:
    return FilterContext(language(case.language), case.fim_prefix, case.fim_suffix, case.mode)


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{stem}: {case.name}") for stem, case in CASES])
def test_what_is_shown(case: Case) -> None:
    context = around(case)
    shown, changed_by = apply_filters(case.completion, context)
    assert shown == case.expected, changed_by
    for end in range(len(case.completion) + 1):
        assert shown.startswith(settle(case.completion[:end], context))


def test_every_filter_has_a_case_of_its_own() -> None:
    names = {name for _, case in CASES for name in apply_filters(case.completion, around(case))[1]}
    assert names == {each.__name__ for each in FILTERS}
    assert len(FILTERS) == len(FILTERS_PER_CHUNK)


DOCUMENTS = [
    ("python", "def total(items):\n    check(items)\n    tax = rate(items)\n    █\n    return sum(items) + tax\n"),
    ("python", "class A:\n    def f(self, x):\n        return g(█)  # done\n"),
    ("javascript", "function f(items) {\n\tlet sum = 0;\n\t█\n\treturn sum;\n}\n"),
    ("c", "int f(int a)\r\n{\r\n    if (a) {█\r\n    }\r\n    return a;\r\n}\r\n"),
    ("html", '<ul>\n  <li class="█">Milk</li>\n</ul>\n'),
    ("shellscript", "if true; then\n  █\nfi"),
    ("markdown", "# Title\n\nSee [text](█) here.\n"),
    ("plaintext", "one (█) two\n"),
]
PIECES = (
    *(" ", "  ", "    ", "\t", "\n", "\n", "\r\n", "\n    ", "\n        ", "\n\t"),
    *("(", ")", "{", "}", "[", "]", '"', "'", ";", ":", ",", "//", "# ", "<|fim_", "middle|>", "<fim_middle>", "<"),
    *("x", "items", "return sum;", "if (a) {", "for x in y:", "fi", "é", "e\u0301", "👋🏽", "𝒳", "\u2028"),
)


@st.composite
def situations(draw: st.DrawFn) -> tuple[FilterContext, str]:
    """A place in a document and a completion made of what stands around it, and of other things."""
    name, document = draw(st.sampled_from(DOCUMENTS))
    prefix, suffix = document.split(CURSOR)
    lines = [line + "\n" for line in document.replace(CURSOR, "").split("\n")]
    rest = suffix.partition("\n")[0]
    pieces = st.sampled_from([*PIECES, *lines, *lines, rest, rest[:2], suffix[:20]])
    mode: Mode = draw(st.sampled_from(("auto", "line", "block", "text")))
    context = FilterContext(language(name), prefix, suffix, mode)
    return context, "".join(draw(st.lists(pieces, max_size=12)))


@settings(max_examples=300, deadline=None)
@given(situations())
def test_what_was_shown_of_a_growing_completion_is_never_taken_back(situation: tuple[FilterContext, str]) -> None:
    context, text = situation
    final, _ = apply_filters(text, context)
    for end in range(len(text) + 1):
        assert final.startswith(settle(text[:end], context)), end


@settings(max_examples=300, deadline=None)
@given(situations())
def test_nothing_visible_is_added(situation: tuple[FilterContext, str]) -> None:
    context, text = situation
    shown, _ = apply_filters(text, context)
    assert "".join(shown.split()) in "".join(text.split())
    assert shown == "" or shown.strip()


def test_a_right_completion_is_shown_line_by_line_while_it_grows() -> None:
    """And character by character where only a line is wanted; but not while it may be what follows the cursor."""
    lines = ["if not items:\n", "        return 0\n", "    rates = load()\n", "    return max(rates)"]
    before, after = "def total(items):\n    ", "\n\n\nprint(total([]))\n"
    block = FilterContext(language("python"), before, after, "block")
    shown = [settle("".join(lines[:count]), block) for count in range(len(lines) + 1)]
    assert shown == ["".join(lines[: min(count, 3)]).rstrip() for count in range(5)]
    line = FilterContext(language("python"), before, after, "line")
    assert [settle("return x"[:end], line) for end in range(9)] == ["return x"[:end].rstrip() for end in range(9)]
    assert settle("print(total(", replace(line, fim_prefix=before[:-4])) == ""


def holes() -> Iterator[Hole]:
    """Lines and blocks of code, lines of data and prose: of this repository, Python's json package, NumPy's headers."""
    budget = PromptBudget(64, 64, 0)
    roots = [ROOT / "completer", ROOT / "tests", Path(np.get_include()), Path(sysconfig.get_path("stdlib"), "json")]
    code = find_source_files(roots, 0, lambda path, language: None)
    yield from draw_holes(code, {"line": 600, "block": 400}, 0, budget)
    paths = [ROOT / "README.md", ROOT / "pyproject.toml", *sorted((ROOT / "tests" / "cases").rglob("*.toml"))]
    data = [SourceFile(path.name, language_of(path).id, path.read_text("utf-8")) for path in paths]
    yield from draw_holes(data, {"line": 200}, 0, budget)


def spans(hole: Hole, rng: random.Random) -> list[tuple[int, int]]:
    """All that was in the hole, and for a hole in a line also a part of it, with the rest behind the cursor."""
    start, end = hole.span
    return [hole.span, (start, rng.randrange(start, end) + 1)] if hole.kind == "line" else [hole.span]


def is_shown_as_it_is(text: str, context: FilterContext) -> bool:
    shown, _ = apply_filters(text, context)
    return [line.rstrip() for line in shown.split("\n")] == [line.rstrip() for line in text.rstrip().split("\n")]


def test_what_stood_in_a_file_is_shown_as_it_is() -> None:
    rng = random.Random(0)
    places = [(hole, start, end) for hole in holes() for start, end in spans(hole, rng)]
    touched = []
    for hole, start, end in places:
        text = hole.file.text
        context = FilterContext(language(hole.file.language), text[:start], text[end:], hole.mode)
        if not is_shown_as_it_is(text[start:end], context):
            touched.append(f"{hole.name}: {text[start:end]!r}")
    assert len(places) > 1800
    assert len(touched) <= len(places) / 1000, touched


@pytest.mark.parametrize("case", STOPS_CASES)
def test_what_a_stop_lets_through_is_shown_as_it_is(case: dict[str, str]) -> None:
    before, after = case["document"].split(CURSOR)
    context = FilterContext(language(case["language"]), before, after, cast(Mode, case["mode"]))
    assert is_shown_as_it_is(case["text"], context)

"""Holes: drawn by seed from the files alone, and each what its class says."""

import pytest

from completer.errors import InputError
from completer.holes import draw_holes
from completer.prompt import PromptBudget
from completer.source_files import SourceFile

BUDGET = PromptBudget(100, 50, 40)
PYTHON = "".join(f"def function_{i}(value):\n    result = value + {i}\n    return result\n\n\n" for i in range(80))
GO = "package demo\n\n" + "".join(f"func F{i}(v int) int {{\n\tw := v + {i}\n\treturn w\n}}\n\n" for i in range(80))
FILES = [
    *(SourceFile(f"p{i}.py", "python", PYTHON) for i in range(3)),
    *(SourceFile(f"g{i}.go", "go", GO) for i in range(3)),
]
COUNTS = {"line": 8, "block": 6, "long": 2, "long_prompt": 4}


def test_the_seed_and_the_files_decide():
    holes = draw_holes(FILES, COUNTS, 1, BUDGET)
    assert holes == draw_holes(FILES, COUNTS, 1, BUDGET)
    assert holes != draw_holes(FILES, COUNTS, 2, BUDGET)
    assert len(set(holes)) == len(holes) == sum(COUNTS.values())


def test_files_without_a_place_for_a_hole_are_an_error():
    with pytest.raises(InputError, match="no place for a hole"):
        draw_holes([SourceFile("a.py", "python", "x\n" * 30)], COUNTS, 1, BUDGET)


def test_more_holes_begin_with_the_same_ones():
    few = [hole for hole in draw_holes(FILES, COUNTS, 1, BUDGET) if hole.kind == "block"]
    assert draw_holes(FILES, {"block": 12}, 1, BUDGET)[:6] == few


@pytest.mark.parametrize("kind", COUNTS)
def test_every_class_comes_from_every_language(kind):
    holes = draw_holes(FILES, {kind: 4}, 1, BUDGET)
    assert {hole.file.language for hole in holes} == {"python", "go"}


def test_a_hole_and_what_is_around_it_are_the_file():
    for hole in draw_holes(FILES, COUNTS, 1, BUDGET):
        request = hole.request()
        taken = hole.file.text[slice(*hole.span)]
        assert taken.strip()
        assert request.fim_prefix + taken + request.fim_suffix == hole.file.text
        assert hole.request(untyped=3).fim_prefix == request.fim_prefix[:-3]


def test_a_line_ends_where_its_line_ends_and_a_block_is_whole():
    for hole in draw_holes(FILES, COUNTS, 1, BUDGET):
        taken, (_, end) = hole.file.text[slice(*hole.span)], hole.span
        if hole.kind in ("line", "long_prompt"):
            assert "\n" not in taken and hole.file.text[end] == "\n"
        elif hole.kind == "block":
            assert taken.startswith(("result = ", "w := ")) and taken.endswith(("return result", "return w"))
        else:
            assert end == len(hole.file.text) and taken.count("\n") >= 30


def test_a_long_prompt_fills_the_budget():
    for hole in draw_holes(FILES, {"long_prompt": 4}, 1, BUDGET):
        assert len(hole.request().fim_prefix) >= BUDGET.prefix_tokens * 6

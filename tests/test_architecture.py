"""The arrows between the rooms, read off the imports: lsp -> adaptive -> completer, and who may import what."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

ROOMS = ("completer", "adaptive", "lsp")
MODULES = sorted(path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py"))
MOST_LINES = 400


def imports(module: Path) -> Iterator[str]:
    """Dotted names that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse((ROOT / module).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{module}:{node.lineno}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def top_levels(module: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(module)}


def forbidden(module: Path) -> set[str]:
    """Top-level packages that a module may not import."""
    room = module.parts[0]
    names = set()
    if room == "completer" and module != Path("completer/cli.py"):
        names |= {"adaptive", "lsp"}
    if room == "adaptive":
        names |= {"lsp"}
    if room != "completer":
        names |= {"torch", "transformers"}
    if room != "lsp":
        names |= {"pygls", "lsprotocol"}
    if module not in (Path("adaptive/store.py"), Path("adaptive/migrations.py")):
        names |= {"sqlite_utils"}
    return names


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_imports_only_what_its_room_may(module: Path) -> None:
    assert top_levels(module) & forbidden(module) == set()


def test_the_rule_would_notice(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("def f():\n    import torch.nn\n    from lsp.daemon import serve\n")
    assert top_levels(module) == {"torch", "lsp"}
    assert forbidden(Path("completer/engine.py")) >= {"adaptive", "lsp", "pygls", "sqlite_utils"}
    assert forbidden(Path("adaptive/planner.py")) >= {"lsp", "torch", "sqlite_utils"}
    assert forbidden(Path("lsp/daemon.py")) >= {"torch", "transformers", "sqlite_utils"}
    assert "adaptive" not in forbidden(Path("completer/cli.py"))


def test_what_the_editor_starts_needs_the_standard_library_alone() -> None:
    """And modules of its own room for which the same is true."""
    to_visit, seen = [Path("lsp/connect.py")], set()
    while to_visit:
        module = to_visit.pop()
        seen.add(module)
        names = set(imports(module))
        assert {name.partition(".")[0] for name in names} <= {"lsp", *sys.stdlib_module_names}, module
        own = {Path(*name.split(".")[:2]).with_suffix(".py") for name in names if name.startswith("lsp.")}
        to_visit += own - seen


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_is_short_and_says_what_it_is(module: Path) -> None:
    text = (ROOT / module).read_text("utf-8")
    assert text.count("\n") <= MOST_LINES
    assert ast.get_docstring(ast.parse(text))
    assert module.stem not in ("utils", "helpers", "common", "manager")


def test_no_folder_of_tests_shadows_a_room() -> None:
    assert [entry.name for entry in (ROOT / "tests").iterdir() if entry.is_dir() and entry.name in ROOMS] == []

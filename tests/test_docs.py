"""README and help say what the program does: every command, every setting, every file."""

import re
from collections.abc import Iterator

import click
import pytest

from completer.cli import cli
from completer.config_text import markdown_table
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def test_every_command_is_in_the_readme_and_has_help() -> None:
    for path, command in commands(cli, "completer"):
        assert command.help, path
        assert re.search(rf"`{path}[ `\[]", README), f"{path} is not in the README"


def test_every_option_has_help() -> None:
    for path, command in commands(cli, "completer"):
        for parameter in command.params:
            assert not isinstance(parameter, click.Option) or parameter.help, f"{path} {parameter.name}"


def test_the_settings_table_is_current() -> None:
    """To renew it: python -c 'from completer.config_text import markdown_table; print(markdown_table())'"""
    assert markdown_table() in README


def test_the_layout_names_every_module_once() -> None:
    layout = README.partition("## Layout")[2].partition("```\n")[2].partition("```")[0]
    for room in ("completer", "adaptive", "lsp"):
        for module in sorted([*(ROOT / room).rglob("*.py"), *(ROOT / room).rglob("*.lua")]):
            if module.stem not in ("__init__", "__main__"):
                named = re.findall(rf"(?<![\w/]){re.escape(module.name)}(?!\w)", layout)
                assert named, f"{module.relative_to(ROOT)} is not in the layout"
    for name in re.findall(r"^\s*(\w+\.py)\s", layout, re.MULTILINE):
        assert list(ROOT.glob(f"*/**/{name}")), f"the layout names {name}, which does not exist"


@pytest.mark.parametrize("command", ["make run", "make test", "make test-all", "make lint", "make bench"])
def test_every_make_command_of_the_readme_exists(command: str) -> None:
    assert f"`{command}`" in README or f"\n{command}\n" in README
    assert f"\n{command.split()[1]}: " in MAKEFILE


def test_make_run_completes_at_the_hole_of_the_example() -> None:
    file, line = re.findall(r"^EXAMPLE(?:_LINE)? := (.+)$", MAKEFILE, re.MULTILINE)
    lines = (ROOT / file).read_text("utf-8").splitlines()
    assert lines[int(line) - 1] == " " * 8
    assert lines[int(line) - 2].strip().startswith('"""') and lines[int(line)] == ""

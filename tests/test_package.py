"""The distribution: its parts, its name, its entry point."""

import re
import subprocess
import sys
from pathlib import Path

from setuptools import find_packages

from completer import __version__
from completer.doctor import DISTRIBUTION
from tests.conftest import ROOT
from tests.test_architecture import MODULES, ROOMS, top_levels

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_the_three_rooms_are_packaged_and_nothing_else() -> None:
    packages = find_packages(str(ROOT), **PROJECT["tool"]["setuptools"]["packages"]["find"])
    assert {name.partition(".")[0] for name in packages} == set(ROOMS)
    folders = {path.parent.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert {Path(*name.split(".")) for name in packages} == folders


def test_every_room_is_typed() -> None:
    assert all((ROOT / room / "py.typed").exists() for room in ROOMS)


def test_the_distribution_has_a_name_of_its_own() -> None:
    assert PROJECT["project"]["name"] == DISTRIBUTION
    assert DISTRIBUTION not in ROOMS
    assert PROJECT["project"]["scripts"] == {"completer": "completer.__main__:main"}


def test_every_third_party_import_is_declared() -> None:
    declared = {re.split(r"[\s<>=;\[]", wanted)[0] for wanted in PROJECT["project"]["dependencies"]}
    known = {name.replace("-", "_") for name in declared} | set(ROOMS) | set(sys.stdlib_module_names)
    for module in MODULES:
        assert top_levels(module) <= known, module


def test_the_changelog_has_this_version() -> None:
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_wheel_has_the_neovim_plugin(tmp_path: Path) -> None:
    """build_py is the step of a wheel's build that takes the files in."""
    script = "from setuptools import setup; setup()"
    build = ["egg_info", "--egg-base", str(tmp_path), "build_py", "--build-lib", str(tmp_path / "built")]
    subprocess.run([sys.executable, "-c", script, "--quiet", *build], cwd=ROOT, check=True, capture_output=True)
    plugin = Path("lsp", "nvim")
    files = {path.relative_to(ROOT) for path in (ROOT / plugin).rglob("*") if path.is_file()}
    assert {
        plugin / "lua" / "completer" / "init.lua",
        plugin / "doc" / "completer.txt",
        plugin / "doc" / "tags",
    } <= files
    assert {path for path in files if not (tmp_path / "built" / path).is_file()} == set()

"""`completer setup`: the machine, the models, the lines to paste."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lsp.setup_command import PLUGIN, lasting, neovim_lines
from tests.conftest import ROOT

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_neovim_gets_lines_to_paste_and_nothing_is_pulled_unasked(completer: Run, tmp_path: Path) -> None:
    result = completer("setup", "neovim", input="n\n")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines == neovim_lines().splitlines() and len(lines) == 3
    assert str(PLUGIN) in lines[1] and (PLUGIN / "lua" / "completer" / "init.lua").is_file()
    for told in (
        "machine: ",
        " to download, ",
        " on disk, ",
        "Download them now?",
        "Later, run: completer models pull",
    ):
        assert told in result.stderr
    assert not list(tmp_path.glob("*/models/*"))


def test_where_the_models_are_installed_nothing_is_asked(completer: Run, tiny_model: Path, tmp_path: Path) -> None:
    settings = tmp_path / "own.toml"
    settings.write_text(f"[model]\ntarget = '{tiny_model}'\n")
    result = completer("--config", settings, "setup", "neovim")
    assert (result.returncode, len(result.stdout.splitlines())) == (0, 3)
    assert f"models: {tiny_model}, as set in {settings}" in result.stderr


def test_an_editor_that_is_not_known_is_refused(completer: Run) -> None:
    result = completer("setup", "emacs")
    assert (result.returncode, result.stdout) == (2, "")
    assert "'emacs' is not one of 'vscode', 'neovim'" in result.stderr


def test_it_loads_no_torch(completer: Run) -> None:
    script = "import sys, lsp.setup_command; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    assert not {"torch", "transformers", "pygls"} & {*result.stdout.split()}


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/home/me/venvs/c/lib/python3.11/site-packages/lsp", "/home/me/venvs/c/lib/python3.*/site-packages/lsp"),
        ("/home/me/venvs/c/lib/python3.14t/site-packages/lsp", "/home/me/venvs/c/lib/python3.*/site-packages/lsp"),
        ("/home/me/python3.11-code/completer/lsp", "/home/me/python3.11-code/completer/lsp"),
    ],
)
def test_the_path_survives_an_update_of_python(path: str, pattern: str) -> None:
    assert lasting(Path(path)) == Path(pattern)

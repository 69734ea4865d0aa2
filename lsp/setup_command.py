"""`completer setup`: from an installed program to suggestions in an editor. Nothing is downloaded unasked.

The editor's part goes to stdout, to be pasted; all else goes to stderr.
"""

import re
import sys
import sysconfig
from pathlib import Path

import click
from rich.filesize import decimal

from completer import machine
from completer.backends.cpu import library as kernels
from completer.config_source import ConfigSource
from completer.models.defaults import choose_defaults, projected_bytes
from completer.models.registry import KNOWN_MODELS, KnownModel
from completer.models.store import installed_names

PLUGIN = Path(__file__).resolve().parent / "nvim"

_VERSION = re.compile(r"^python3\.\d+t?$")


@click.command()
@click.argument("editor", required=False, type=click.Choice(["vscode", "neovim"]))
@click.option("--yes", is_flag=True, help="Download models without asking.")
@click.pass_obj
def setup(source: ConfigSource, editor: str | None, yes: bool) -> None:
    """Check the machine, choose models, download them, and print the editor's part."""
    config = source.load()
    click.echo(f"machine: {machine.processor()}, {machine.physical_cores()} cores", err=True)
    if config.model.target == "auto":
        _provide_models(yes)
    else:
        click.echo(f"models: {config.model.target}, as set in {source.file}", err=True)
    if editor != "vscode":
        click.echo("Neovim 0.11 or newer: put this into your init.lua", err=True)
        click.echo(neovim_lines())
    if editor != "neovim":
        click.echo("VS Code: in a clone of the repository, build and install the extension", err=True)
        click.echo("make vsix && code --install-extension dist/completer.vsix")


def neovim_lines() -> str:
    """Lua for a user's init.lua; its paths are the same after an update of this program, or of Python."""
    program = Path(sysconfig.get_path("scripts")) / ("completer.exe" if sys.platform == "win32" else "completer")
    named = f"{{ program = {_lua_string(program)} }}" if program.exists() else ""
    pattern = lasting(PLUGIN)
    folder = _lua_string(pattern) if pattern == PLUGIN else f"vim.fn.glob({_lua_string(pattern)}, true, true)"
    return "\n".join(
        [
            "-- completer: code completion by a model on this machine",
            f"vim.opt.runtimepath:append({folder})",
            f'require("completer").setup({named})',
        ]
    )


def lasting(path: Path) -> Path:
    """A pattern for a path of an installed package that holds when another Python takes the place of this one."""
    return Path(*("python3.*" if _VERSION.match(part) else part for part in path.parts))


def _lua_string(path: Path) -> str:
    quoted = path.as_posix().replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'


def _provide_models(may_pull: bool) -> None:
    has_kernels = not kernels.why_not()
    target, draft, reason = choose_defaults(machine.memory_bytes(), KNOWN_MODELS, has_kernels=has_kernels)
    click.echo(f"models: {reason}", err=True)
    wanted = [target] if draft is None else [target, draft]
    missing = [model for model in wanted if model.name not in installed_names()]
    if not missing:
        click.echo("models: installed", err=True)
        return
    for model in missing:
        click.echo(f"  {model.name}: {_sizes(model, has_kernels)}", err=True)
    if may_pull or click.confirm("Download them now?", default=True, err=True):
        from completer.models.pull import pull
        from completer.models_cli import terminal_reporter

        for model in missing:
            pull(model, terminal_reporter())
    else:
        click.echo("Later, run: completer models pull", err=True)


def _sizes(model: KnownModel, has_kernels: bool) -> str:
    disk = model.weight_bytes + (model.cpu_weight_bytes if has_kernels else 0)
    download, memory = model.gguf_bytes, projected_bytes(model, has_kernels=has_kernels)
    return f"{decimal(download)} to download, {decimal(disk)} on disk, {decimal(memory)} of memory in use"

"""The `completer` command: thin commands over the modules that do the work, the only composition root outside `lsp`.

`completer --help` must be instant: the commands that need more than the standard library and click are listed with
their help in LAZY_COMMANDS and imported when they run, and nothing here imports torch.
"""

import importlib
import json
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from completer import __version__, paths
from completer.config_source import ConfigSource
from completer.errors import CompleterError
from completer.notes import note

if TYPE_CHECKING:
    from completer.running import RunningService

log = logging.getLogger(__name__)

LAZY_COMMANDS = {
    "setup": (
        "lsp.setup_command:setup",
        "Check the machine, choose models, download them, and print the editor's part.",
    ),
    "complete": ("completer.complete_command:complete", "Complete code at a cursor."),
    "models": ("completer.models_cli:models", "List, pull, find and remove models."),
    "bench": ("completer.bench:bench", "Measure plain and speculative decoding on this machine."),
    "stats": ("adaptive.statistics_cli:stats", "What was suggested, accepted and saved, and what was learned."),
    "why": ("adaptive.statistics_cli:why", "Say why drafts come from where they do, and since when."),
    "tune": ("adaptive.tune:tune", "Learn from a folder of code before the first keystroke."),
    "replay": (
        "adaptive.replay_command:replay",
        "Replay recorded rounds: the controller against fixed arms, other rules and hindsight.",
    ),
    "verify": ("completer.verify_command:verify", "Prove that speculation does not change the text."),
    "eval": ("completer.eval_command:evaluate", "Measure the quality of completions."),
    "lsp": ("lsp.commands:lsp", "Serve an editor over standard input and output; this is what editors start."),
    "daemon": ("lsp.commands:daemon", "Start, stop and look at the process that has the model."),
}
_INTERRUPTED = 130
SECTIONS = {
    "Use": ("setup", "complete"),
    "Models": ("models",),
    "Learn": ("stats", "why", "tune"),
    "Service": ("lsp", "daemon", "logs", "config", "doctor", "uninstall"),
    "Measure": ("bench", "verify", "eval", "replay"),
}


class _Commands(click.Group):
    """A group that knows some commands by name only, and lists them all by section without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for names in SECTIONS.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in LAZY_COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = LAZY_COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self._short_help(name)) for name in names])

    def _short_help(self, name: str) -> str:
        return LAZY_COMMANDS[name][1] if name in LAZY_COMMANDS else self.commands[name].get_short_help_str(limit=100)


@click.group(cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="completer", message="%(prog)s %(version)s")
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    help="Settings file to use instead of the usual one.",
)
@click.option("--quiet", is_flag=True, help="Nothing on stderr but errors.")
@click.option("--verbose", is_flag=True, help="More on stderr.")
@click.pass_context
def cli(context: click.Context, config_path: Path | None, quiet: bool, verbose: bool) -> None:
    """Complete code with a local model, by greedy speculative decoding.

    Without a command: the state of things and the next step.
    """
    from completer.logs import configure
    from completer.running import offer

    configure(logging.ERROR if quiet else logging.INFO if verbose else logging.WARNING)
    context.obj = ConfigSource(config_path or paths.config_file(), os.environ, must_exist=config_path is not None)
    offer(context, _running_daemon)
    if context.invoked_subcommand is None:
        from completer.status import status_lines

        for line in status_lines(context.obj):
            click.echo(line)


def _running_daemon() -> "RunningService":
    from lsp.remote import RunningDaemon

    return RunningDaemon()


@cli.group()
def config() -> None:
    """Show, find or start the settings file."""


@config.command("show")
@click.pass_obj
def show_config(source: ConfigSource) -> None:
    """Print the settings in force as TOML, and where each came from."""
    from completer.config_text import in_force

    loaded = source.read()
    for warning in loaded.warnings:
        log.warning(warning)
    click.echo(in_force(loaded), nl=False)


@config.command("path")
@click.pass_obj
def config_path(source: ConfigSource) -> None:
    """Print where the settings file is, or would be."""
    click.echo(source.file)


@config.command("init")
@click.pass_obj
def init_config(source: ConfigSource) -> None:
    """Write a settings file with every setting explained and commented out."""
    from completer.config_text import starter_file
    from completer.files import write_file

    if source.file.exists():
        raise CompleterError(f"{source.file} exists already; edit it, or move it away first")
    write_file(source.file, starter_file().encode())
    click.echo(source.file)


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option(
    "--report", type=click.Path(dir_okay=False, path_type=Path), help="Write a text-free ZIP for a bug report."
)
@click.pass_obj
def doctor(source: ConfigSource, as_json: bool, report: Path | None) -> None:
    """Check the installation and this machine.

    Exits with 1 when something is broken.
    """
    from completer import doctor

    checks = doctor.examine(source)
    if as_json:
        click.echo(json.dumps(doctor.as_document(checks), indent=2))
    else:
        for check in checks:
            click.echo(doctor.as_text(check))
    if report is not None:
        doctor.write_report(report, checks, source)
        note(f"report: {report}")
    if doctor.is_broken(checks):
        click.get_current_context().exit(1)


@cli.command()
@click.option("--follow", "-f", is_flag=True, help="Go on printing what is added, until interrupted.")
def logs(follow: bool) -> None:
    """Print the log, oldest first. It holds no source text."""
    from completer import logs

    files = logs.log_files()
    if not files:
        note(f"no log yet: {paths.log_file()} is written when a completion runs")
        return
    for path in files[:-1] if follow else files:
        click.echo(path.read_text("utf-8", "replace"), nl=False)
    if follow:
        for line in logs.follow(files[-1]):
            click.echo(line, nl=False)


@cli.command()
@click.option("--keep-stats", is_flag=True, help="Keep what was learned and counted.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def uninstall(keep_stats: bool, yes: bool) -> None:
    """List everything kept on this disk with its size, then remove it."""
    from completer.uninstall import belongings, remove, remove_empty_folders

    found = belongings(keep_stats)
    for belonging in found:
        click.echo(f"{belonging.size_bytes / 1e6:10,.1f} MB  {belonging.path}")
    if found and not yes:
        click.confirm("Remove all of this?", abort=True, err=True)
    for belonging in found:
        remove(belonging)
    remove_empty_folders()
    note("Now only the program itself is left: pipx uninstall completer-daemon, or uv tool uninstall.")


def run(arguments: list[str]) -> int:
    """Run one command line and say how it went: 0 ok, 1 failed, 2 usage, 130 interrupted."""
    _replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = cli.main(arguments, prog_name="completer", standalone_mode=False)
        sys.stdout.flush()
        return code or 0
    except CompleterError as error:
        log.info("failed: %s", type(error).__name__)
        click.echo(f"completer: {error}", err=True)
        return error.exit_code
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "completer"
        click.echo(f"completer: {error.format_message().rstrip('.')}; see `{command} --help`", err=True)
        return error.exit_code
    except click.Abort as abort:
        return _INTERRUPTED if isinstance(abort.__cause__, KeyboardInterrupt) else 1
    except OSError as error:
        log.info("failed", exc_info=True)
        _discard_stdout()
        where = f" ({error.filename})" if error.filename else ""
        click.echo(f"completer: {error.strerror or error}{where}", err=True)
        return 1
    except Exception:
        log.info("crashed", exc_info=True)
        raise


def _replace_closed_streams() -> None:
    """Who starts this with a stream closed wants nothing read or written there; Python has None for such a stream."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # for as long as we run


def _discard_stdout() -> None:
    """What could not be written stays in Python's buffer, and would be tried again, loudly, when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

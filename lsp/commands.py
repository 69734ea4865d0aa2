"""The commands that editors and their users run: `completer lsp` and `completer daemon`."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import click

from completer.config import Config
from completer.config_source import ConfigSource
from completer.errors import CompleterError
from completer.paths import statistics_file
from lsp.connect import Bridge, DaemonUnavailable, end_hung, process_id_of, reach_daemon
from lsp.control import DaemonHangs, ask, retire_older
from lsp.endpoint import socket_path
from lsp.protocol import DAEMON_STATUS, STOP_DAEMON

_STOP_S = 10.0


@click.command()
@click.option("--in-process", is_flag=True, help="Run the model in this process, for this editor alone.")
@click.option("--stdio", is_flag=True, help="Accepted for editors that add it; standard input and output are used.")
@click.pass_obj
def lsp(source: ConfigSource, in_process: bool, stdio: bool) -> None:
    """Serve an editor over standard input and output; this is what editors start.

    All editors share one daemon, which has the model and starts with the first of them.
    """
    if in_process:
        from lsp.learning import Learning, learn_from
        from lsp.stdio import serve_stdio

        learning = Learning(statistics_file())
        serve_stdio(source, learn_from(learning, _load_engine), learning)
        return
    path = _socket_path(source)
    retire_older(path)
    try:
        service = source.read().config.service
    except CompleterError:  # the daemon says it, and goes on with the defaults
        service = Config().service
    command, reads, writes = _daemon_command(source), sys.stdin.buffer, sys.stdout.buffer
    bridge = Bridge(reads, writes, path, lambda: reach_daemon(str(path), command), service.max_document_bytes)
    click.get_current_context().exit(bridge.run())


@click.group()
def daemon() -> None:
    """Start, stop and look at the process that has the model."""


@daemon.command()
@click.pass_obj
def start(source: ConfigSource) -> None:
    """Start it, unless it runs; editors do this by themselves."""
    path = _socket_path(source)
    try:
        reach_daemon(str(path), _daemon_command(source)).close()
    except DaemonUnavailable as error:
        raise CompleterError(str(error)) from error
    _print(ask(path, DAEMON_STATUS))


@daemon.command()
@click.pass_obj
def stop(source: ConfigSource) -> None:
    """Stop it; the next request of an editor starts it again."""
    path = _socket_path(source)
    try:
        answer = ask(path, STOP_DAEMON)
    except DaemonHangs:
        process_id = process_id_of(path)
        if process_id is None:
            raise
        end_hung(process_id)
        click.echo(f"the daemon did not answer; its process {process_id} was ended", err=True)
        return
    if answer is None:
        click.echo("the daemon does not run", err=True)
        return
    give_up_s = time.monotonic() + _STOP_S
    while path.exists():
        if time.monotonic() > give_up_s:
            raise CompleterError(f"the daemon did not stop within {_STOP_S:.0f} s; see completer logs")
        time.sleep(0.02)


@daemon.command()
@click.pass_context
def restart(context: click.Context) -> None:
    """Stop it and start it."""
    context.invoke(stop)
    context.invoke(start)


@daemon.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def status(source: ConfigSource, as_json: bool) -> None:
    """Print whether it runs, what it has loaded and who is connected."""
    found = ask(_socket_path(source), DAEMON_STATUS)
    if as_json:
        click.echo(json.dumps(found))
    else:
        _print(found)


@daemon.command()
@click.pass_obj
def run(source: ConfigSource) -> None:
    """Be the daemon, in the foreground."""
    from lsp.daemon import run_daemon
    from lsp.learning import Learning, learn_from

    if hasattr(os, "nice"):
        os.nice(5)  # what the user does comes first
    learning = Learning(statistics_file())
    if not run_daemon(source, learn_from(learning, _load_engine), _socket_path(source), learning):
        click.echo("the daemon runs already", err=True)


def _socket_path(source: ConfigSource) -> Path:
    return socket_path(source.file if source.must_exist else None)


def _print(status: dict[str, Any] | None) -> None:
    if status is None:
        click.echo("the daemon does not run")
        return
    process = f"process {status['pid']}, version {status['version']}, up {status['up_s'] / 60:.0f} min"
    use = f"model {status['model']}, {status['connections']} editors, {status['rss_bytes'] / 1e6:,.0f} MB"
    click.echo(f"the daemon runs: {process}; {use}")


def _load_engine(config: Config) -> Any:
    from completer.loading import load_engine

    return load_engine(config)


def _daemon_command(source: ConfigSource) -> list[str]:
    """-I: nothing in the folder where the editor was started can take part in it."""
    config = ["--config", str(source.file.absolute())] if source.must_exist else []
    return [sys.executable, "-I", "-m", "completer", *config, "daemon", "run"]

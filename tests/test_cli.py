"""The command as a whole: help, global options, exit codes, and the commands that need no model."""

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from completer import __version__, cli, paths
from completer.cli import LAZY_COMMANDS, SECTIONS
from completer.config import Config
from completer.config_source import ConfigSource
from tests.conftest import ROOT

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_help_lists_every_command_by_section(completer: Run) -> None:
    result = completer("--help")
    assert (result.returncode, result.stderr) == (0, "")
    for name in (name for names in SECTIONS.values() for name in names):
        assert f"\n  {name}  " in result.stdout
    assert {*LAZY_COMMANDS, *cli.cli.commands} == {name for names in SECTIONS.values() for name in names}


def test_help_imports_nothing_heavy(completer: Run) -> None:
    script = "import sys; from completer.cli import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    loaded = {name.partition(".")[0] for name in result.stderr.split()}
    assert "click" in loaded
    assert not loaded & {
        "torch",
        "transformers",
        "numpy",
        "tokenizers",
        "tree_sitter",
        "huggingface_hub",
        "gguf",
        "rich",
    }


@pytest.mark.parametrize("name", LAZY_COMMANDS)
def test_the_help_kept_for_a_lazy_command_is_its_own(name: str) -> None:
    place, help = LAZY_COMMANDS[name]
    module, _, attribute = place.partition(":")
    command = getattr(importlib.import_module(module), attribute)
    assert isinstance(command, click.Command)
    assert (command.name, command.get_short_help_str(limit=100)) == (name, help)


def test_version(completer: Run) -> None:
    result = completer("--version")
    assert (result.returncode, result.stdout) == (0, f"completer {__version__}\n")


def test_alone_it_says_the_state_in_five_lines_and_the_next_step(completer: Run) -> None:
    result = completer()
    assert result.returncode == 0, result.stderr
    assert [line.split()[0] for line in result.stdout.splitlines()] == [
        "completer",
        "machine",
        "models",
        "settings",
        "next",
    ]
    assert result.stdout.endswith("completer models pull\n")


def test_alone_it_names_the_model_configured_and_what_to_pull(completer: Run, tmp_path: Path) -> None:
    settings = tmp_path / "own.toml"
    settings.write_text("[model]\ntarget = 'smollm2-135m'\ndraft = 'none'\n")
    lines = completer("--config", settings).stdout.splitlines()
    assert lines[2] == "models    smollm2-135m (missing: smollm2-135m)"
    assert lines[3] == f"settings  {settings}"
    assert lines[4] == "next      completer models pull smollm2-135m"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["nope"], 2, "No such command 'nope'"),
        (["complete"], 2, "Missing argument 'FILE[:LINE[:COLUMN]]'; see `completer complete --help`"),
        (["--config", "gone.toml", "config", "show"], 1, "cannot read the configuration gone.toml: no such file"),
        (["complete", "x.py", "--k", "-1"], 2, "'-1' is not allowed: it must be a whole number from 0 to 32"),
        (["complete", "x.py", "--k", "33"], 2, "'33' is not allowed"),
        (["complete", "x.py", "--source", "magic"], 2, "'magic' is not allowed: it must be auto, none, or any of"),
    ],
)
def test_what_goes_wrong_is_one_line_and_an_exit_code(
    completer: Run, arguments: list[str], code: int, told: str
) -> None:
    result = completer(*arguments)
    assert (result.returncode, result.stdout) == (code, "")
    assert told in result.stderr and result.stderr.startswith("completer: ") and result.stderr.count("\n") == 1


def test_config_init_writes_a_file_that_changes_nothing_and_never_overwrites(completer: Run, tmp_path: Path) -> None:
    written = completer("config", "init")
    file = Path(written.stdout.strip())
    assert file == paths.config_file() == Path(completer("config", "path").stdout.strip())
    assert ConfigSource(file, {}).load() == Config()
    assert [entry.name for entry in file.parent.iterdir()] == ["config.toml"]
    file.write_text("# mine\n")
    again = completer("config", "init")
    assert (again.returncode, file.read_text()) == (1, "# mine\n")
    assert "exists already" in again.stderr


def test_config_show_says_where_a_value_came_from_and_warns_of_unknown_ones(
    completer: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPLETER_SPECULATION_K", "4")
    monkeypatch.setenv("COMPLETER_SPECULATION_KK", "4")
    result = completer("config", "show")
    assert "k = 4  # COMPLETER_SPECULATION_K\n" in result.stdout
    assert "COMPLETER_SPECULATION_KK is ignored; did you mean COMPLETER_SPECULATION_K?" in result.stderr
    assert completer("--quiet", "config", "show").stderr == ""


def test_a_bad_setting_is_one_line(completer: Run) -> None:
    paths.config_file().parent.mkdir(parents=True)
    paths.config_file().write_text("[cache]\nslots = 0\n")
    result = completer("complete", "x.py")
    assert (result.returncode, result.stderr) == (
        1,
        f"completer: {paths.config_file()}: cache.slots = 0 is not allowed: it must be a whole number from 1 to 64\n",
    )


def test_logs_says_so_when_there_is_none_and_prints_the_oldest_first(completer: Run) -> None:
    nothing = completer("logs")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert str(paths.log_file()) in nothing.stderr
    paths.log_file().parent.mkdir(parents=True)
    paths.log_file().write_text("third\n")
    paths.log_file().with_name("completer.log.1").write_text("second\n")
    paths.log_file().with_name("completer.log.2").write_text("first\n")
    assert completer("logs").stdout == "first\nsecond\nthird\n"


def test_logs_follows_what_is_written_and_a_rotation(start: Callable[..., subprocess.Popen[str]]) -> None:
    log = paths.log_file()
    log.parent.mkdir(parents=True)
    log.write_text("one\n")
    with start("logs", "-f") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "one\n"
        with log.open("a") as stream:
            stream.write("two\n")
        assert process.stdout.readline() == "two\n"
        log.rename(log.with_name("completer.log.1"))
        log.write_text("three\n")
        assert process.stdout.readline() == "three\n"
        process.terminate()


def test_a_reader_that_goes_away_ends_it_without_a_traceback(start: Callable[..., subprocess.Popen[str]]) -> None:
    log = paths.log_file()
    log.parent.mkdir(parents=True)
    log.write_text("line\n" * 100_000)
    with start("logs") as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_a_stream_closed_by_the_caller_is_no_error(stream: str) -> None:
    descriptor = ("stdin", "stdout", "stderr").index(stream)
    script = f"import os, sys; os.close({descriptor}); os.execv(sys.executable, [sys.executable, '-m', 'completer'])"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) == (stream != "stdout")


@pytest.mark.parametrize(
    "arguments", [("doctor", "--report", "report.zip"), ("logs",), ("uninstall", "--yes")], ids=lambda a: a[0]
)
def test_quiet_leaves_nothing_on_stderr_but_errors(completer: Run, arguments: tuple[str, ...]) -> None:
    assert completer(*arguments).stderr != ""
    assert completer("--quiet", *arguments).stderr == ""


def test_a_home_folder_that_does_not_exist_is_one_line(completer: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    named = completer("complete", ROOT / "README.md", "--target", "~no-such-user/model")
    assert (
        named.stderr
        == "completer: no model and no folder is called '~no-such-user/model'; see `completer models list`\n"
    )
    monkeypatch.setenv("COMPLETER_CACHE_DIR", "~no-such-user/cache")
    result = completer("models", "list")
    assert (result.returncode, result.stderr) == (
        1,
        "completer: ~no-such-user/cache: there is no such home folder; set COMPLETER_CACHE_DIR to another folder\n",
    )


def test_json_is_json_where_the_terminal_cannot_write_every_character(
    completer: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    monkeypatch.setenv("COMPLETER_CONFIG_DIR", f"{paths.config_dir()} é 😀")
    result = completer("doctor", "--json")
    assert any("é 😀" in check["found"] for check in json.loads(result.stdout)["checks"])


def test_ctrl_c_while_the_command_is_still_imported_is_quiet() -> None:
    script = (
        "import builtins, signal, sys; import completer.__main__ as program\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background ignores it
        "original = builtins.__import__\n"
        "def interrupted(name, *rest):\n"
        "    if name == 'completer.cli': signal.raise_signal(signal.SIGINT)\n"
        "    return original(name, *rest)\n"
        "builtins.__import__ = interrupted\n"
        "program.main()"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_crash_leaves_its_place_but_no_text_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(source: ConfigSource) -> list[str]:
        raise ZeroDivisionError("secret text of the user")

    monkeypatch.setattr("completer.status.status_lines", crash)
    with pytest.raises(ZeroDivisionError):
        cli.run([])
    logged = paths.log_file().read_text()
    assert "ZeroDivisionError" in logged and "test_cli.py" in logged and "secret" not in logged

"""`completer uninstall`: lists what is ours with its size, removes that and nothing else."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from completer import paths

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def ours() -> list[Path]:
    files = [
        paths.config_file(),
        paths.models_dir() / "some-model" / "model.safetensors",
        paths.models_dir() / ".partial" / "other" / "part",
        paths.log_file(),
        paths.log_file().with_name("completer.log.1"),
        paths.statistics_dir() / "statistics.db",
    ]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * 1_500_000)
    return files


def test_everything_is_listed_with_its_size_and_removed(completer: Run, ours: list[Path], tmp_path: Path) -> None:
    result = completer("uninstall", "--yes")
    assert result.returncode == 0, result.stderr
    assert f"3.0 MB  {paths.models_dir()}\n" in result.stdout
    for path in (paths.config_file(), paths.log_file(), paths.statistics_dir()):
        assert f"1.5 MB  {path}\n" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_without_a_yes_nothing_is_removed(completer: Run, ours: list[Path]) -> None:
    for answer in ("n\n", ""):
        result = completer("uninstall", input=answer)
        assert result.returncode == 1
        assert str(paths.models_dir()) in result.stdout
        assert all(file.exists() for file in ours)
    assert completer("uninstall", input="y\n").returncode == 0
    assert not any(file.exists() for file in ours)


def test_statistics_can_be_kept(completer: Run, ours: list[Path]) -> None:
    result = completer("uninstall", "--yes", "--keep-stats")
    assert [file for file in ours if file.exists()] == [paths.statistics_dir() / "statistics.db"]
    assert str(paths.statistics_dir()) not in result.stdout


def test_what_others_keep_in_a_shared_folder_stays(
    completer: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    for variable in paths.FOLDER_VARIABLES:
        monkeypatch.setenv(variable, str(shared))
    thesis = shared / "thesis.txt"
    paths.models_dir().mkdir(parents=True)
    thesis.write_text("years of work")
    elsewhere = tmp_path / "weights"
    elsewhere.mkdir()
    (elsewhere / "model.gguf").write_bytes(b"x")
    paths.models_dir().rmdir()
    paths.models_dir().symlink_to(elsewhere)
    assert completer("uninstall", "--yes").returncode == 0
    assert [entry.name for entry in shared.iterdir()] == ["thesis.txt"]
    assert (elsewhere / "model.gguf").exists()


def test_with_nothing_there_it_says_so(completer: Run) -> None:
    result = completer("uninstall")
    assert (result.returncode, result.stdout) == (0, "")
    assert "pipx uninstall completer-daemon" in result.stderr

"""`completer doctor`: what it finds broken, how it says to mend it, and what its report leaves out."""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from completer import doctor, paths
from completer.backends.cpu import library as kernels
from completer.config_source import ConfigSource
from completer.doctor import Check
from completer.models.checksum import sha256_of
from completer.models.store import folder_of, write_record
from tests.conftest import ROOT

Run = Callable[..., subprocess.CompletedProcess[str]]


def checks_of(result: subprocess.CompletedProcess[str]) -> dict[str, dict[str, str]]:
    return {check["name"]: check for check in json.loads(result.stdout)["checks"]}


def test_without_models_it_is_whole_and_names_the_pull(completer: Run) -> None:
    result = completer("doctor")
    assert result.returncode == 0, result.stdout
    assert "! models: none installed\n    completer models pull\n" in result.stdout
    for name in ("python", "torch", "processor", "memory", "disk", "configuration", "grammars"):
        assert f"{name}: " in result.stdout
    assert "✗" not in result.stdout


def test_json_is_one_document(completer: Run) -> None:
    result = completer("doctor", "--json")
    assert json.loads(result.stdout)["ok"] is True
    assert checks_of(result)["models"] == {
        "name": "models",
        "status": "note",
        "found": "none installed",
        "fix": "completer models pull",
    }


def test_it_changes_nothing(completer: Run, tmp_path: Path) -> None:
    completer("doctor")
    assert list(tmp_path.iterdir()) == []


def test_what_is_broken_exits_with_1_and_says_the_fix(completer: Run, tiny_model: Path) -> None:
    paths.config_file().parent.mkdir(parents=True)
    paths.config_file().write_text("[speculation]\nk = 99\n")
    for name in ("whole", "cut"):
        shutil.copytree(tiny_model, folder_of(name))
        write_record(folder_of(name), "", None, {file.name: sha256_of(file) for file in tiny_model.iterdir()})
    weights = folder_of("cut") / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    paths.state_dir().write_text("a file where a folder should be")
    result = completer("doctor", "--json")
    assert result.returncode == 1
    checks = checks_of(result)
    assert checks["configuration"]["status"] == "broken" and "k = 99" in checks["configuration"]["found"]
    assert checks["model cut"]["status"] == "broken" and "completer models pull cut" in checks["model cut"]["fix"]
    assert checks["model whole"]["status"] == ("ok" if kernels.why_not() else "note")
    broken_folders = [
        c for c in json.loads(result.stdout)["checks"] if c["name"] == "folder" and c["status"] == "broken"
    ]
    assert [str(paths.state_dir()) in check["found"] for check in broken_folders] == [True]
    assert "COMPLETER_STATE_DIR" in broken_folders[0]["fix"]


@pytest.mark.parametrize("name", ["adaptive", "lsp"])
def test_a_foreign_package_that_shadows_ours_is_named_with_its_path(tmp_path: Path, name: str) -> None:
    foreign = tmp_path / "site" / name / "__init__.py"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("raise SystemExit('imported')\n")
    script = "from completer.doctor import _rooms, as_text; [print(as_text(check)) for check in _rooms()]"
    path = [str(foreign.parent.parent), str(ROOT)]
    result = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path}; {script}"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert f"✗ package {name}: {foreign} is not the {name} that belongs to completer" in result.stdout
    assert "pipx install completer-daemon" in result.stdout
    assert result.stdout.count("✗") == 1


def test_a_requirement_that_is_missing_or_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ["click>=999", "no-such-distribution>=1", "tomli>=2; python_version < '3'", "scipy; extra == 'dev'"]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: wanted)
    check = doctor._packages()
    assert check.status == "broken"
    assert f"click is {importlib.metadata.version('click')}, needed is >=999" in check.found
    assert "no-such-distribution is missing" in check.found
    assert "tomli" not in check.found and "scipy" not in check.found


def test_unknown_settings_are_noted(tmp_path: Path) -> None:
    source = ConfigSource(tmp_path / "none.toml", {"COMPLETER_CACHE_SLOT": "3"})
    assert [check.status for check in doctor._configuration(source)] == ["ok", "note"]


def test_the_report_has_the_checks_and_the_log_but_no_home_and_no_model_folder(
    completer: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    paths.config_file().parent.mkdir(parents=True)
    paths.config_file().write_text(f"[model]\ntarget = '{tmp_path}/clients/acme'\ndraft = '/srv/acme/draft'\n")
    paths.log_file().parent.mkdir(parents=True)
    paths.log_file().write_text(f"INFO loaded {tmp_path}/x\n")
    report = tmp_path / "report.zip"
    result = completer("doctor", "--report", report)
    assert result.returncode == 0, result.stdout
    with zipfile.ZipFile(report) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert set(parts) == {"doctor.json", "packages.txt", "config.toml", "completer.log"}
    assert json.loads(parts["doctor.json"])["ok"] is True
    assert "click==" in parts["packages.txt"]
    assert parts["completer.log"] == "INFO loaded ~/x\n"
    assert "[model]" in parts["config.toml"]
    for text in parts.values():
        assert str(tmp_path) not in text and "acme" not in text


def test_the_report_names_nothing_that_is_kept_private(completer: Run, tmp_path: Path) -> None:
    paths.config_file().parent.mkdir(parents=True)
    paths.config_file().write_text("[privacy]\nignore = ['/srv/acme/*']\ndisabled_projects = ['/srv/acme', '/srv/b']\n")
    report = tmp_path / "report.zip"
    assert completer("doctor", "--report", report).returncode == 0
    with zipfile.ZipFile(report) as archive:
        assert 'disabled_projects = ["FOLDER", "FOLDER"]' in archive.read("config.toml").decode()
        assert all(b"acme" not in archive.read(name) for name in archive.namelist())


def test_a_model_that_cannot_be_read_is_a_broken_check() -> None:
    (folder_of("odd") / "completer.json").mkdir(parents=True)
    (check,) = doctor._models()
    assert (check.name, check.status) == ("model odd", "broken")
    assert "completer.json cannot be read: Is a directory" in check.found


def test_a_report_takes_the_place_of_no_device_and_goes_where_a_link_leads(completer: Run, tmp_path: Path) -> None:
    pipe, link, report = tmp_path / "pipe", tmp_path / "link", tmp_path / "elsewhere.zip"
    os.mkfifo(pipe)
    link.symlink_to(report)
    refused = completer("doctor", "--report", pipe)
    assert refused.stderr == f"completer: cannot write {pipe}: it is not an ordinary file\n" and pipe.is_fifo()
    completer("doctor", "--report", link)
    assert link.is_symlink() and zipfile.is_zipfile(report)


def test_a_report_that_cannot_be_written_is_one_line(completer: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = completer("doctor", "--report", tmp_path / "file" / "report.zip")
    assert result.returncode == 1
    assert result.stderr.startswith("completer: cannot write ") and result.stderr.count("\n") == 1
    assert "✓ python: " in result.stdout


def test_a_check_reads_as_a_line_and_its_fix() -> None:
    assert doctor.as_text(Check("x", "ok", "fine")) == "✓ x: fine"
    assert doctor.as_text(Check("x", "broken", "bad", "mend it")) == "✗ x: bad\n    mend it"

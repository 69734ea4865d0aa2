"""The log file: shared by processes, and on disks that fill up."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from completer import logs, paths
from tests.conftest import ROOT

WRITER = """
import logging, sys
from completer import logs
logs._MAX_BYTES, logs._OLDER_FILES = 5_000, 500
logs.configure(logging.CRITICAL)
for i in range(2_000):
    logging.getLogger("lsp").info("record %s %d", sys.argv[1], i)
"""


def test_processes_that_rotate_it_at_once_lose_nothing(monkeypatch):
    monkeypatch.setattr(logs, "_OLDER_FILES", 500)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, name], cwd=ROOT) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert len(logs.log_files()) > 20
    lines = [line.split("record ")[1] for file in logs.log_files() for line in file.read_text().splitlines()]
    assert sorted(lines) == sorted(f"{name} {i}" for name in "ab" for i in range(2_000))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_said_once_and_the_log_goes_on_when_there_is_room(capsys: pytest.CaptureFixture[str]):
    path = paths.log_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("/dev/full")
    logs.configure(logging.CRITICAL)
    log = logging.getLogger("lsp")
    log.info("first")
    log.info("second")
    assert capsys.readouterr().err.count("cannot write the log") == 1
    path.unlink()
    log.info("third")
    assert [line.rpartition(": ")[2] for line in path.read_text().splitlines()] == ["third"]

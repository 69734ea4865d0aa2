"""A process that pulls a model and waits for a word at every step, so that a test can kill it at any of them.

Steps, one a line on stdout: the start of a stage, each report of progress, and each os.replace. An answer on stdin lets
it go on.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from completer.models import registry
from completer.models.pull import pull
from completer.models.registry import KnownModel
from completer.models.reporter import Advance

ROOT = Path(__file__).resolve().parent.parent


_stepping = threading.Lock()  # files arrive in threads of their own, and a stream is for one at a time


def step(name: str) -> None:
    with _stepping:
        print(name, flush=True)
        if not sys.stdin.readline():
            os._exit(3)


class Stepping:
    def say(self, text: str) -> None:
        pass

    @contextmanager
    def stage(self, label: str, total_bytes: int) -> Iterator[Advance]:
        step(label)
        yield lambda count_bytes: step(f"{label} on")


def start(model: KnownModel) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.pulling", repr(model)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def advance_to(process: subprocess.Popen[str], name: str) -> None:
    """Let it go on until it stands before the step of that name."""
    assert process.stdin is not None and process.stdout is not None
    for line in process.stdout:
        if line.strip() == name:
            return
        process.stdin.write("\n")
        process.stdin.flush()
    raise AssertionError(f"the pull ended before {name}")


if __name__ == "__main__":
    replace = os.replace

    def stepping_replace(source: Any, destination: Any) -> None:
        step(f"replace {Path(destination).name}")
        replace(source, destination)

    os.replace = stepping_replace  # type: ignore[assignment]
    pull(eval(sys.argv[1], vars(registry)), Stepping(), "index")

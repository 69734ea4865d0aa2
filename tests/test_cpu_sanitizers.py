"""The CPU kernels under AddressSanitizer and UndefinedBehaviorSanitizer: their own tests, run by a library so built."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from completer.backends.cpu import library
from tests.conftest import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(library.why_not()), reason=library.why_not()),
    pytest.mark.skipif(shutil.which("g++") is None or sys.platform != "linux", reason="needs g++ on Linux"),
]

SANITIZERS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
RUN = """
import sys
from pathlib import Path
import pytest
from completer.backends.cpu import library
library.PATH = Path(sys.argv[1])
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[2:]]))
"""


def build(folder: Path) -> Path:
    """kernels.so with the sanitizers in, from this tree's setup.py."""
    command = [sys.executable, "setup.py", "-q", "build_ext", f"--build-lib={folder}", f"--build-temp={folder}/objects"]
    flags = {"CXXFLAGS": f"{SANITIZERS} -O1", "LDFLAGS": SANITIZERS}
    subprocess.run(command, cwd=ROOT, env=os.environ | flags, check=True)
    return folder / "completer" / "backends" / "cpu" / library.PATH.name


def test_the_kernels_tests_pass_under_the_sanitizers(tmp_path):
    path = build(tmp_path)
    assert b"__asan_init" in path.read_bytes() and b"__ubsan_handle" in path.read_bytes()
    runtime = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    environment = os.environ | {
        "LD_PRELOAD": runtime.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter keeps what it has to its end
        "PYTHONMALLOC": "malloc",
    }
    tests = ["tests/test_cpu_kernels.py", "tests/test_cpu_target.py", "-k", "not real_model"]
    result = subprocess.run(
        [sys.executable, "-c", RUN, str(path), *tests], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-5000:]
    assert " passed" in result.stdout

"""Runs a program that nobody has read: no network, no files but its own, no other processes, little memory and time.

bubblewrap gives it namespaces of its own: the system's files to read but none of the user's, an empty folder in memory
to write to. Knows no problem and no model.
"""

import errno
import os
import platform
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

from completer.errors import ResourceError

SECONDS = 10.0
MEMORY_BYTES = 1 << 30
FOLDER_BYTES = 64 << 20

_RUNNER = f"""
import os, resource, sys
verdict, nothing = os.dup(1), os.open("/dev/null", os.O_WRONLY)
os.dup2(nothing, 1), os.dup2(nothing, 2)
for limit, most in (("AS", {MEMORY_BYTES}), ("CPU", {int(SECONDS)}), ("CORE", 0)):
    resource.setrlimit(getattr(resource, "RLIMIT_" + limit), (most, most))
exec(compile(sys.stdin.read(), "program", "exec"), {{"__name__": "__main__"}})
os.write(verdict, b"passed")
"""


def passes(program: str) -> bool:
    """Whether a Python program runs to its end without an error and within the limits.

    Raises ResourceError where there is no sandbox to run it in.
    """
    with _seccomp_filter() as no_processes:
        process = subprocess.Popen(
            _command(no_processes.fileno()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[no_processes.fileno()],
        )
    try:
        verdict, said = process.communicate(program.encode("utf-8", "replace"), timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return False
    if said.startswith(b"bwrap:"):
        raise ResourceError(f"the sandbox could not be set up: {said.decode(errors='replace').strip()}")
    return verdict == b"passed"


def _command(filter_fd: int) -> list[str]:
    bwrap = shutil.which("bwrap")
    if bwrap is None or sys.platform != "linux" or platform.machine() not in _FORKS:
        raise ResourceError(
            "completions are run in a sandbox, which needs Linux and bubblewrap; install the package bubblewrap, "
            "or leave out running them with --no-run"
        )
    python = os.path.realpath(sys.executable)
    home = os.path.realpath(Path.home())
    hidden = (["--tmpfs", home], ["--remount-ro", home]) if os.path.isdir(home) else ([], [])
    return [
        bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL",
        "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", *hidden[0],
        "--ro-bind", sys.base_prefix, sys.base_prefix,
        "--size", str(FOLDER_BYTES), "--tmpfs", "/tmp", "--chdir", "/tmp",
        *hidden[1], "--seccomp", str(filter_fd),
        python, "-I", "-S", "-c", _RUNNER,
    ]  # fmt: skip


_FORKS = {"x86_64": (0xC000003E, 56, (57, 58)), "aarch64": (0xC00000B7, 220, ())}
"""By machine: its number in an audit record, the system call clone, and other calls that begin a process."""

_CLONE3 = 435
_CLONE_THREAD = 0x10000
_OFFSETS = {"call": 0, "arch": 4, "flags": 16}
_LOAD, _IF_EQUAL, _IF_SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000


def _seccomp_filter() -> BinaryIO:
    """A file with a BPF program for the kernel (seccomp(2)): threads may be begun, processes may not."""
    arch, clone, forks = _FORKS.get(platform.machine(), _FORKS["x86_64"])
    calls = [(_CLONE3, _ERROR | errno.ENOSYS), *((fork, _ERROR | errno.EAGAIN) for fork in forks)]
    program = [(_LOAD, 0, 0, _OFFSETS["arch"]), (_IF_EQUAL, 1, 0, arch), (_RETURN, 0, 0, _KILL)]
    program.append((_LOAD, 0, 0, _OFFSETS["call"]))
    for call, answer in calls:
        program += [(_IF_EQUAL, 0, 1, call), (_RETURN, 0, 0, answer)]
    program += [(_IF_EQUAL, 0, 3, clone), (_LOAD, 0, 0, _OFFSETS["flags"]), (_IF_SET, 1, 0, _CLONE_THREAD)]
    program += [(_RETURN, 0, 0, _ERROR | errno.EAGAIN), (_RETURN, 0, 0, _ALLOW)]
    file = os.fdopen(os.memfd_create("seccomp"), "w+b")
    file.write(b"".join(struct.pack("=HBBI", *step) for step in program))
    file.flush()
    file.seek(0)
    return file

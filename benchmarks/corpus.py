"""Fetch the packages of corpus.toml into the user's cache folder, once, and print the folder they are unpacked in.

    completer bench "$(python benchmarks/corpus.py)"

Downloads with the registries' own clients, pip and npm, and checks every archive before it is opened.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from completer import paths

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIST = Path(__file__).with_name("corpus.toml")


def fetch(packages: Path) -> Path:
    """The folder in which the packages of such a list are unpacked, each in one of its name."""
    content = packages.read_bytes()
    folder = paths.cache_dir() / "benchmark-corpus" / hashlib.sha256(content).hexdigest()[:12]
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            unpacked = Path(scratch, "corpus")
            for package in tomllib.loads(content.decode())["package"]:
                print(f"corpus: {package['name']} {package['version']}", file=sys.stderr)
                archive = _download(package, Path(scratch, "archive", package["name"]))
                _unpack(archive, package["folders"], unpacked / package["name"])
            os.replace(unpacked, folder)
    return folder


def _download(package: Mapping[str, Any], folder: Path) -> Path:
    """The package's archive, in a new folder. Ends the program when it is not the one that is pinned."""
    folder.mkdir(parents=True)
    name, version = package["name"], package["version"]
    if package["registry"] == "npm":
        _run("npm", "pack", "--silent", "--pack-destination", folder, f"{name}@{version}")
    else:
        _run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name,
             "--dest", folder, f"{name}=={version}")  # fmt: skip
    (archive,) = folder.iterdir()
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != package["sha256"]:
        sys.exit(f"corpus: {archive.name} has SHA-256 {found}, the list pins {package['sha256']}")
    return archive


def _run(client: str, *arguments: str | Path) -> None:
    program = shutil.which(client)
    if program is None:
        sys.exit(f"corpus: {client} is not installed; install it, or run `completer bench` with folders of your own")
    done = subprocess.run([program, *arguments], stdout=sys.stderr)
    if done.returncode:
        sys.exit(f"corpus: `{' '.join(map(str, [client, *arguments]))}` failed")


def _unpack(archive: Path, folders: Sequence[str], destination: Path) -> None:
    """The named folders of an archive whose files all lie in one folder."""
    with tarfile.open(archive) as members:
        for member in members:
            _, _, inside = member.name.partition("/")
            if member.isfile() and any(inside.startswith(f"{folder}/") for folder in folders):
                member.name = inside
                members.extract(member, destination, filter="data")


if __name__ == "__main__":
    print(fetch(LIST))

"""The models on this disk: one folder each, found by name or by path. Fetches nothing, opens no weights.

A folder of ours holds config.json, model.safetensors, tokenizer.json, model.cpu where the CPU kernels can run the
model, and completer.json, the record of what they must be. Any other folder in Hugging Face form (config.json,
*.safetensors, tokenizer.json) is used where it is.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from completer import paths
from completer.errors import ModelCorrupt, ModelError, ModelNotInstalled
from completer.models.checksum import sha256_of
from completer.models.fim import FimTemplate
from completer.models.registry import KNOWN_MODELS
from completer.models.reporter import Advance
from completer.models.templates import TEMPLATES, template_for
from completer.models.tokenizer import Tokenizer

RECORD = "completer.json"
CPU_WEIGHTS = "model.cpu"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that can be loaded. template None: it knows no FIM and continues plain text. config: its config.json.

    weight_bytes: of its safetensors. no_kernels: why the CPU kernels cannot run it on any machine; mostly empty.
    """

    name: str
    folder: Path
    template: FimTemplate | None
    config: dict[str, Any]
    weight_bytes: int
    no_kernels: str = ""

    @property
    def family(self) -> str:
        return self.template.family if self.template is not None else str(self.config["model_type"])

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """Token ids that its configuration says end a text."""
        eos = self.config.get("eos_token_id")
        return () if eos is None else (eos,) if isinstance(eos, int) else tuple(eos)


def is_name(text: str) -> bool:
    """Whether a model could be called that, as opposed to a path."""
    return text != "" and Path(text).name == text and not text.startswith((".", "~"))


def folder_of(name: str) -> Path:
    return paths.models_dir() / name


def partial_folder_of(name: str) -> Path:
    """Where a pull of this model keeps what has arrived so far."""
    return paths.models_dir() / ".partial" / name


def arrived_bytes(name: str, within_s: float = 30.0) -> int | None:
    """How much a pull in progress has brought so far; None where nothing has arrived within this time."""
    files = [entry.stat() for entry in partial_folder_of(name).rglob("*") if entry.is_file()]
    is_busy = any(time.time() - info.st_mtime < within_s for info in files)
    return sum(info.st_size for info in files) if is_busy else None


def find(name_or_path: str) -> InstalledModel:
    """The model of that name, or the one in that folder.

    Sizes and headers of its files are checked, not their content. Raises ModelNotInstalled with the command to run,
    ModelCorrupt for files that are missing, cut short or of another size than recorded.
    """
    path = Path(os.path.expanduser(name_or_path))
    if is_name(name_or_path) and folder_of(name_or_path).is_dir():
        return _read(folder_of(name_or_path), name_or_path)
    if any(model.name == name_or_path for model in KNOWN_MODELS):
        command = f"completer models pull {name_or_path}"
        raise ModelNotInstalled(f"{name_or_path} is not installed; run `{command}`", command, name_or_path)
    if path.is_dir():
        return _read(path, path.resolve().name)
    if path.is_file():
        raise ModelNotInstalled(f"{path} is a file; run `completer models pull {path}` and use the name that it prints")
    raise ModelNotInstalled(f"no model and no folder is called {name_or_path!r}; see `completer models list`")


def is_ours(folder: Path) -> bool:
    """Whether a pull made this folder."""
    return folder.parent == paths.models_dir()


def installed_names() -> list[str]:
    """Names that have a folder of ours, whole or not."""
    folder = paths.models_dir()
    entries = folder.iterdir() if folder.is_dir() else ()
    return sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def check_content(model: InstalledModel, advance: Advance = lambda count_bytes: None) -> None:
    """Read every byte and compare checksums. Raises ModelCorrupt. A folder that is not ours has none to compare."""
    for file, recorded in _record(model.folder, model.name).get("files", {}).items():
        if sha256_of(model.folder / file, advance) != recorded["sha256"]:
            raise _corrupt(model.folder, model.name, f"the content of {file} has changed")


def write_record(
    folder: Path, gguf_sha256: str, template: FimTemplate | None, sha256: dict[str, str], no_kernels: str = ""
) -> None:
    """Write completer.json for the files in folder: what they were made from, and the checksum of each by name."""
    record = {
        "format_version": FORMAT_VERSION,
        "gguf_sha256": gguf_sha256,
        "template": None if template is None else template.family,
        "no_kernels": no_kernels,
        "files": {file: {"bytes": (folder / file).stat().st_size, "sha256": sha256[file]} for file in sorted(sha256)},
    }
    with (folder / RECORD).open("w", encoding="utf-8") as stream:
        json.dump(record, stream, indent=2)
        stream.flush()
        os.fsync(stream.fileno())


def put(folder: Path, name: str) -> None:
    """Make a finished folder, which lies on the same disk, the model of that name."""
    replaced = folder.with_name("replaced")
    if folder_of(name).exists():
        os.replace(folder_of(name), replaced)
    os.replace(folder, folder_of(name))
    shutil.rmtree(replaced, ignore_errors=True)


def remove(name: str) -> None:
    """Take a model and what is left of its downloads off the disk; at no moment is half a model to be found."""
    partial = partial_folder_of(name)
    shutil.rmtree(partial, ignore_errors=True)
    if folder_of(name).exists():
        partial.mkdir(parents=True)
        os.replace(folder_of(name), partial / "removed")
        shutil.rmtree(partial)


@contextmanager
def exclusive(name: str) -> Iterator[None]:
    """Hold a model for changing it. Raises ModelError when another process does so. Ends with the process."""
    lock = partial_folder_of(name).with_name(f"{name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(lock, timeout=0):
            yield
    except Timeout as error:
        raise ModelError(f"another process is pulling or removing {name}; wait for it to end") from error


def size_bytes(folder: Path) -> int:
    """Bytes of all files in a folder; 0 when there is none."""
    return sum(entry.stat().st_size for entry in folder.rglob("*") if entry.is_file())


def _read(folder: Path, name: str) -> InstalledModel:
    record = _record(folder, name)
    for file, recorded in record.get("files", {}).items():
        _check_size(folder / file, recorded["bytes"], name)
    config = _read_json(folder / "config.json", name)
    if not isinstance(config.get("model_type"), str):
        raise _corrupt(folder, name, "config.json has no model_type")
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise _corrupt(folder, name, "it has no *.safetensors file")
    for file in weights:
        _check_safetensors(file, name)
    if record:
        template = next((t for t in TEMPLATES if t.family == record["template"]), None)
    else:
        template = template_for(Tokenizer.load(folder))
    weight_bytes = sum(file.stat().st_size for file in weights)
    return InstalledModel(name, folder, template, config, weight_bytes, record.get("no_kernels", ""))


def _record(folder: Path, name: str) -> dict[str, Any]:
    """Our record, or an empty one for a folder that is not ours."""
    if not (folder / RECORD).exists():
        if is_ours(folder):
            raise _corrupt(folder, name, f"{RECORD} is missing")
        return {}
    record = _read_json(folder / RECORD, name)
    if record.get("format_version") != FORMAT_VERSION:
        raise _corrupt(folder, name, "another version of this program installed it")
    files = record.get("files")
    if "template" not in record or not isinstance(files, dict) or not all(map(_is_file_entry, files.values())):
        raise _corrupt(folder, name, f"{RECORD} does not say what its files must be")
    return record


def _is_file_entry(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("bytes"), int) and isinstance(entry.get("sha256"), str)


def _check_size(file: Path, recorded_bytes: int, name: str) -> None:
    if not file.is_file():
        raise _corrupt(file.parent, name, f"{file.name} is missing")
    found_bytes = file.stat().st_size
    if found_bytes != recorded_bytes:
        raise _corrupt(file.parent, name, f"{file.name} has {found_bytes} bytes instead of {recorded_bytes}")


def _check_safetensors(file: Path, name: str) -> None:
    """Whether the file is as long as its header says."""
    try:
        with file.open("rb") as stream:
            header_bytes = int.from_bytes(stream.read(8), "little")
            if header_bytes > file.stat().st_size:
                raise ValueError("no header")
            header = json.loads(stream.read(header_bytes))
        data_bytes = max(entry["data_offsets"][1] for key, entry in header.items() if key != "__metadata__")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _corrupt(file.parent, name, f"{file.name} is not a safetensors file") from error
    _check_size(file, 8 + header_bytes + data_bytes, name)


def _read_json(file: Path, name: str) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise _corrupt(file.parent, name, f"{file.name} is missing") from None
    except (ValueError, RecursionError) as error:
        raise _corrupt(file.parent, name, f"{file.name} is not JSON") from error
    if not isinstance(content, dict):
        raise _corrupt(file.parent, name, f"{file.name} holds no object")
    return content


def _corrupt(folder: Path, name: str, what: str) -> ModelCorrupt:
    advice = f"run `completer models pull {name}` to replace it" if is_ours(folder) else "copy it anew"
    return ModelCorrupt(f"the model in {folder} cannot be used: {what}; {advice}")

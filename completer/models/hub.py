"""GGUF files from the Hugging Face Hub. Knows one file at a time, and no checksum."""

import os
from pathlib import Path
from typing import Any

from huggingface_hub import get_hf_file_metadata, hf_hub_url
from huggingface_hub.file_download import http_get
from huggingface_hub.utils.tqdm import tqdm

from completer.errors import CompleterError, DownloadError, first_line
from completer.models.disk import full_disk_explained
from completer.models.registry import HubFile
from completer.models.reporter import Advance

_PROBE_TIMEOUT_SECONDS = 5


def look_up(file: HubFile) -> int:
    """Size of the file in bytes. Raises DownloadError within seconds when the Hub does not answer."""
    try:
        found = get_hf_file_metadata(hf_hub_url(file.repo, file.file), token=False, timeout=_PROBE_TIMEOUT_SECONDS)
    except Exception as error:  # the HTTP library below huggingface_hub, and with it the errors, changes by version
        raise DownloadError(
            f"{file.repo}/{file.file} cannot be had from the Hugging Face Hub ({first_line(error)})"
        ) from error
    if found.size is None:
        raise DownloadError(f"the Hugging Face Hub does not tell the size of {file.repo}/{file.file}")
    return found.size


def download(file: HubFile, size_bytes: int, folder: Path, advance: Advance) -> Path:
    """Fetch the file into folder, going on where an earlier attempt stopped; returns where it is.

    hf_hub_download itself begins anew each time since huggingface_hub 2.
    """
    path = folder / "hub.part"
    with path.open("ab") as stream:
        if stream.tell() > size_bytes:
            stream.truncate(0)
        done_bytes = stream.tell()
        advance(done_bytes)
        try:
            with full_disk_explained(folder):
                http_get(
                    hf_hub_url(file.repo, file.file),
                    stream,
                    resume_size=done_bytes,
                    expected_size=size_bytes,
                    tqdm_class=_bar(advance),
                )
                stream.flush()
                os.fsync(stream.fileno())
        except CompleterError:
            raise
        except Exception as error:  # see look_up
            raise DownloadError(
                f"the download of {file.repo}/{file.file} broke off ({first_line(error)}); "
                "what has arrived is kept, run the same command to go on"
            ) from error
    return path


def _bar(advance: Advance) -> type[tqdm]:
    """A tqdm that draws nothing and passes on what it is told."""

    class Passing(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs | {"disable": True})

        def update(self, n: float | None = 1) -> None:
            advance(int(n or 0))

    return Passing

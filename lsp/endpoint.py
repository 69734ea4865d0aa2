"""Where the daemon of a user listens: a socket, or what stands for one, in a folder that nobody else can enter."""

import os
import stat
from pathlib import Path

from completer import paths
from completer.errors import ResourceError
from lsp import loopback
from lsp.protocol import PROTOCOL_MAJOR


def socket_path() -> Path:
    """For this user and protocol. Makes the folder; raises ResourceError for one that others can enter."""
    folder = paths.runtime_dir()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = folder.lstat()
    except OSError as error:
        raise ResourceError(f"cannot make the folder {folder}: {error.strerror}; set COMPLETER_RUNTIME_DIR") from error
    if os.name == "nt":  # the folder is in the user's profile, which others cannot enter
        return folder / f"user-{PROTOCOL_MAJOR}{loopback.SUFFIX}"
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o077:
        raise ResourceError(f"{folder} must be a folder that only you can enter; chmod 700 it, or remove it")
    return folder / f"{os.getuid()}-{PROTOCOL_MAJOR}.sock"

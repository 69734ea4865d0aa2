"""Where the daemon of a user listens: a socket, or what stands for one, in a folder that nobody else can enter."""

import hashlib
import os
import stat
from pathlib import Path

from completer import paths
from completer.errors import ResourceError
from lsp import loopback
from lsp.protocol import PROTOCOL_MAJOR


def socket_path(config_file: Path | None = None) -> Path:
    """For this user, protocol and settings. Makes the folder; raises ResourceError for one that others can enter.

    config_file: where it is not the usual one. A daemon with other settings is another one.
    """
    own = f".{hashlib.sha256(bytes(config_file.resolve())).hexdigest()[:8]}" if config_file is not None else ""
    folder = paths.runtime_dir()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = folder.lstat()
    except OSError as error:
        raise ResourceError(f"cannot make the folder {folder}: {error.strerror}; set COMPLETER_RUNTIME_DIR") from error
    if os.name == "nt":  # the folder is in the user's profile, which others cannot enter
        return folder / f"user{own}-{PROTOCOL_MAJOR}{loopback.SUFFIX}"
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o077:
        raise ResourceError(f"{folder} must be a folder that only you can enter; chmod 700 it, or remove it")
    return folder / f"{os.getuid()}{own}-{PROTOCOL_MAJOR}.sock"

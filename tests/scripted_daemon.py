"""`completer daemon run` by script: its arguments are the engine's folder, and perhaps a door of its own."""

import logging
import os
import sys
from pathlib import Path

from completer import logs, paths
from completer.config import ConfigSource
from lsp.daemon import run_daemon
from lsp.endpoint import socket_path
from tests.scripted_engine import load_scripted

if __name__ == "__main__":
    logs.configure(logging.CRITICAL)
    path = Path(sys.argv[2]) if len(sys.argv) > 2 else socket_path()
    run_daemon(ConfigSource(paths.config_file(), os.environ), load_scripted(Path(sys.argv[1])), path)

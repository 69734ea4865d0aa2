"""`completer lsp` by script: its arguments are the engine's folder, and perhaps a door of its own."""

import os
import sys
from pathlib import Path

from lsp.connect import PING_S, Bridge, reach_daemon
from lsp.endpoint import socket_path

if __name__ == "__main__":
    path = sys.argv[2] if len(sys.argv) > 2 else str(socket_path())
    command = [sys.executable, "-m", "tests.scripted_daemon", sys.argv[1], path]
    ping_s = float(os.environ.get("TEST_PING_S", PING_S))
    bridge = Bridge(
        sys.stdin.buffer, sys.stdout.buffer, Path(path), lambda: reach_daemon(path, command), 2_000_000, ping_s
    )
    sys.exit(bridge.run())

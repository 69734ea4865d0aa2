"""`completer lsp` by script: its arguments are the engine's folder, and perhaps a door of its own."""

import sys

from lsp.connect import Bridge, reach_daemon
from lsp.endpoint import socket_path

if __name__ == "__main__":
    path = sys.argv[2] if len(sys.argv) > 2 else str(socket_path())
    command = [sys.executable, "-m", "tests.scripted_daemon", sys.argv[1], path]
    bridge = Bridge(sys.stdin.buffer, sys.stdout.buffer, lambda: reach_daemon(path, command), 2_000_000)
    sys.exit(bridge.run())

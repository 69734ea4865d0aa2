"""`completer lsp` with a daemon that has the scripted engine of the folder named on the command line."""

import sys

from lsp.connect import Bridge, reach_daemon
from lsp.endpoint import socket_path

if __name__ == "__main__":
    path, command = str(socket_path()), [sys.executable, "-m", "tests.scripted_daemon", sys.argv[1]]
    bridge = Bridge(sys.stdin.buffer, sys.stdout.buffer, lambda: reach_daemon(path, command), 2_000_000)
    sys.exit(bridge.run())

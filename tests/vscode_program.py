"""`completer` as the extension under test finds it: `lsp` has the scripted engine and keeps what it is sent.

Everything else is the real command. The engine's folder comes first on the command line.
"""

import json
import sys
import time
from pathlib import Path

from completer.__main__ import main
from lsp.connect import Bridge, reach_daemon
from lsp.endpoint import socket_path


class KeepingBridge(Bridge):
    """Keeps the methods that the editor calls, in order, and what the small ones among them say."""

    file: Path

    def _from_editor(self, body: bytes) -> None:
        message = json.loads(body)
        kept = {"method": message.get("method"), "at_s": time.time()}
        if kept["method"] not in (None, "textDocument/didOpen", "textDocument/didChange"):
            kept["params"] = message.get("params")
        with self.file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(kept) + "\n")
        super()._from_editor(body)


def serve(folder: Path) -> int:
    path, command = str(socket_path()), [sys.executable, "-m", "tests.scripted_daemon", str(folder)]
    KeepingBridge.file = folder / "messages"
    return KeepingBridge(sys.stdin.buffer, sys.stdout.buffer, lambda: reach_daemon(path, command), 2_000_000).run()


if __name__ == "__main__":
    engine, *arguments = sys.argv[1:]
    if "lsp" in arguments:
        sys.exit(serve(Path(engine)))
    sys.argv = ["completer", *arguments]
    main()

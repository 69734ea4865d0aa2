"""`completer` as the extension under test finds it: `lsp` has the scripted engine and keeps what it is sent.

Everything else is the real command. The engine's folder comes first on the command line.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from completer.__main__ import main
from lsp.connect import Bridge, reach_daemon
from lsp.endpoint import socket_path
from lsp.protocol import CHUNK


class KeepingBridge(Bridge):
    """Keeps the methods that the editor calls, in order, and what the small ones among them say.

    Where the engine's folder has a file `late`, an answer waits until all of its text has been sent in chunks; `held`
    says that it waits.
    """

    file: Path

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._held: list[bytes] = []

    def _from_editor(self, body: bytes) -> None:
        message = json.loads(body)
        kept = {"method": message.get("method"), "at_s": time.time()}
        if kept["method"] not in (None, "textDocument/didOpen", "textDocument/didChange"):
            kept["params"] = message.get("params")
        with self.file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(kept) + "\n")
        super()._from_editor(body)

    def _from_daemon(self, body: bytes) -> None:
        message = json.loads(body)
        if (message.get("result") or {}).get("items") and self.file.with_name("late").exists():
            self._held.append(body)
            self.file.with_name("held").touch()
            return
        super()._from_daemon(body)
        if message.get("method") == CHUNK and message["params"]["done"]:
            for answer in self._held:
                super()._from_daemon(answer)
            self._held.clear()


def serve(folder: Path) -> int:
    path, command = socket_path(), [sys.executable, "-m", "tests.scripted_daemon", str(folder)]
    KeepingBridge.file = folder / "messages"
    reads, writes = sys.stdin.buffer, sys.stdout.buffer
    return KeepingBridge(reads, writes, path, lambda: reach_daemon(str(path), command), 2_000_000).run()


if __name__ == "__main__":
    engine, *arguments = sys.argv[1:]
    if "lsp" in arguments:
        sys.exit(serve(Path(engine)))
    sys.argv = ["completer", *arguments]
    main()

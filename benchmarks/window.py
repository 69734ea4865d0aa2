"""An editor window for measurements: it speaks to the real client over pipes, and does as little as possible itself."""

import asyncio
import itertools
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lsp.frames import as_frame
from lsp.protocol import CHUNK, STATUS

ROOT = Path(__file__).resolve().parent.parent
INVOKED, AUTOMATIC = 1, 2


class Window:
    """An editor that does as little as possible, so that what is measured is the service."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process, self._stdin, self._stdout = process, process.stdin, process.stdout
        self._ids = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self.status: dict[str, Any] = {}
        self.grown = ""
        self.changed = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(
        cls, *command: str, environment: Mapping[str, str] | None = None, folders: Sequence[Path] = ()
    ) -> "Window":
        """environment: variables besides those of this process. folders: that the editor works in."""
        pipe = asyncio.subprocess.PIPE
        variables = {**os.environ, **(environment or {})}
        window = cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, cwd=ROOT, env=variables))
        capabilities: dict[str, Any] = {"textDocument": {"inlineCompletion": {}}}
        options = {"streaming": True}
        roots = [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
        await window.ask(
            "initialize",
            capabilities=capabilities,
            initializationOptions=options,
            processId=None,
            workspaceFolders=roots or None,
        )
        window.tell("initialized")
        return window

    async def is_ready(self) -> None:
        while self.status.get("message") != "ready":
            await self._change()

    async def has_line(self) -> None:
        """Until a completion that was answered with text has its first line, or is done."""
        while "\n" not in self.grown and self.status.get("message") != "ready":
            await self._change()

    async def _change(self) -> None:
        self.changed.clear()
        await self.changed.wait()

    def ask(self, method: str, **params: Any) -> "asyncio.Future[Any]":
        number = next(self._ids)
        self._asked[number] = asyncio.get_running_loop().create_future()
        self._write({"id": number, "method": method, "params": params})
        return self._asked[number]

    def tell(self, method: str, **params: Any) -> None:
        self._write({"method": method, "params": params})

    def open(self, uri: str, text: str, language: str = "python") -> None:
        self.tell("textDocument/didOpen", textDocument={"uri": uri, "languageId": language, "version": 1, "text": text})

    def write(self, uri: str, text: str) -> None:
        """All of a document anew."""
        self.tell("textDocument/didChange", textDocument={"uri": uri, "version": 2}, contentChanges=[{"text": text}])

    def close(self, uri: str) -> None:
        self.tell("textDocument/didClose", textDocument={"uri": uri})

    def type(self, uri: str, line: int, column: int, text: str) -> None:
        at = {"line": line, "character": column}
        changes = [{"range": {"start": at, "end": at}, "text": text}]
        self.tell("textDocument/didChange", textDocument={"uri": uri, "version": 2}, contentChanges=changes)

    def complete(self, uri: str, line: int, column: int, trigger: int) -> "asyncio.Future[Any]":
        position, context = {"line": line, "character": column}, {"triggerKind": trigger}
        return self.ask("textDocument/inlineCompletion", textDocument={"uri": uri}, position=position, context=context)

    def cancel(self) -> None:
        self.tell("$/cancelRequest", id=max(self._asked))

    async def stop(self) -> None:
        await self.ask("shutdown")
        self.tell("exit")
        await self.process.wait()
        self._reading.cancel()

    def _write(self, message: dict[str, Any]) -> None:
        self._stdin.write(as_frame({"jsonrpc": "2.0"} | message))

    async def _read(self) -> None:
        while header := await self._stdout.readline():
            await self._stdout.readline()
            message = json.loads(await self._stdout.readexactly(int(header.split(b":")[1])))
            if message.get("method") == STATUS:
                self.status = message["params"]
                self.changed.set()
            elif message.get("method") == CHUNK:
                self.grown = message["params"]["insertText"]
                self.changed.set()
            elif "method" not in message:
                answer = self._asked.pop(message["id"])
                answer.set_result(message.get("result"))
            elif "id" in message:
                self._write({"id": message["id"], "result": None})

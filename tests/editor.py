"""An editor, for tests: the client of pytest-lsp with the little that an editor adds, and its own copy of each text."""

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Any

from lsprotocol import types
from pytest_lsp import LanguageClient
from pytest_lsp.client import make_test_lsp_client

from lsp.protocol import CHUNK, DID_FOCUS, STATUS
from lsp.text import Text
from tests.conftest import ROOT

AUTOMATIC = types.InlineCompletionTriggerKind.Automatic
INVOKED = types.InlineCompletionTriggerKind.Invoked
TIMEOUT_S = 60.0


class Editor:
    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.texts: dict[str, Text] = {}
        self.statuses: list[Any] = []
        self.chunks: list[Any] = []
        self.registrations: list[types.Registration] = []
        self._versions: dict[str, int] = {}
        self.client.feature(STATUS)(lambda status: self.statuses.append(status))
        self.client.feature(CHUNK)(lambda chunk: self.chunks.append(chunk))
        self.client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda params: self._register(params))

    @classmethod
    async def start(cls, *command: str) -> "Editor":
        editor = cls(make_test_lsp_client())
        await editor.client.start_io(*command, env={**os.environ, "PYTHONPATH": str(ROOT)})
        return editor

    async def initialize(self, root: str = "", capabilities: Any = None, **options: Any) -> types.InitializeResult:
        inline = types.InlineCompletionClientCapabilities()
        usual = types.ClientCapabilities(
            text_document=types.TextDocumentClientCapabilities(inline_completion=inline),
            window=types.WindowClientCapabilities(work_done_progress=True),
        )
        folders = [types.WorkspaceFolder(root, "root")] if root else None
        params = types.InitializeParams(
            capabilities=capabilities or usual, initialization_options=options or None, workspace_folders=folders
        )
        return await within(self.client.initialize_session(params))

    @property
    def process(self) -> asyncio.subprocess.Process:
        """What the editor started."""
        assert self.client._server is not None
        return self.client._server

    @property
    def stdin(self) -> asyncio.StreamWriter:
        assert self.process.stdin is not None
        return self.process.stdin

    async def stop(self) -> None:
        if self.process.returncode is None:
            await within(self.client.shutdown_session())
        await self.client.stop()

    def open(self, uri: str, text: str, language: str = "python") -> None:
        self.texts[uri], self._versions[uri] = Text(text), 1
        document = types.TextDocumentItem(uri, language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def edit(self, uri: str, start: tuple[int, int], end: tuple[int, int], new: str) -> None:
        self.texts[uri].replace(start, end, new)
        range = types.Range(types.Position(*start), types.Position(*end))
        self._change(uri, types.TextDocumentContentChangePartial(text=new, range=range))

    def set_text(self, uri: str, text: str) -> None:
        self.texts[uri] = Text(text)
        self._change(uri, types.TextDocumentContentChangeWholeDocument(text=text))

    def type(self, uri: str, text: str) -> None:
        """At the end of the document."""
        end = self.end(uri)
        self.edit(uri, end, end, text)

    def end(self, uri: str) -> tuple[int, int]:
        lines = self.texts[uri].lines
        return len(lines) - 1, len(lines[-1].encode("utf-16-le")) // 2

    def focus(self, uri: str) -> None:
        """The user is in this document now."""
        self.client.protocol.notify(DID_FOCUS, {"textDocument": {"uri": uri}})

    def close(self, uri: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def ask(
        self,
        uri: str,
        position: tuple[int, int] | None = None,
        trigger: types.InlineCompletionTriggerKind = INVOKED,
        selected: types.SelectedCompletionInfo | None = None,
        request_id: str | None = None,
    ) -> "asyncio.Future[types.InlineCompletionList]":
        """Send a request; by default at the end of the document."""
        params = types.InlineCompletionParams(
            types.InlineCompletionContext(trigger, selected),
            types.TextDocumentIdentifier(uri),
            types.Position(*(position or self.end(uri))),
        )
        method = types.TEXT_DOCUMENT_INLINE_COMPLETION
        return asyncio.wrap_future(self.client.protocol.send_request(method, params, msg_id=request_id))

    async def items(self, *arguments: Any, **keywords: Any) -> Sequence[types.InlineCompletionItem]:
        result = await within(self.ask(*arguments, **keywords))
        return [] if result is None else result.items

    async def text(self, *arguments: Any, **keywords: Any) -> str | None:
        """The suggested text, None where there is none."""
        items = await self.items(*arguments, **keywords)
        return str(items[0].insert_text) if items else None

    def cancel(self, request_id: str) -> None:
        self.client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams(request_id))

    async def accept(self, item: types.InlineCompletionItem) -> None:
        assert item.command is not None
        params = types.ExecuteCommandParams(item.command.command, item.command.arguments)
        await within(self.client.workspace_execute_command_async(params))

    async def has_status(self, **values: Any) -> Any:
        """The first status that has these values, sent or still to come."""

        def found() -> Any:
            return next((s for s in self.statuses if all(getattr(s, k) == v for k, v in values.items())), None)

        return await until(found)

    def _register(self, params: types.RegistrationParams) -> None:
        self.registrations += params.registrations

    def _change(self, uri: str, change: types.TextDocumentContentChangeEvent) -> None:
        self._versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(self._versions[uri], uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))


async def within(awaitable: Any, timeout_s: float = TIMEOUT_S) -> Any:
    return await asyncio.wait_for(awaitable, timeout_s)


async def until(condition: Callable[[], Any], timeout_s: float = TIMEOUT_S) -> Any:
    """Wait until a condition holds; fails when it does not come to hold."""

    async def wait() -> Any:
        while not (value := condition()):
            await asyncio.sleep(0.002)
        return value

    return await within(wait(), timeout_s)

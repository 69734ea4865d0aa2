"""A LanguageServer for one connection: the Language Server Protocol in, sessions and their answers out.

pygls brings the protocol's records and its bookkeeping of requests. Its own mirror of documents is not used: it takes
form feeds for line ends and reads files from the disk. Builds nothing heavy itself.
"""

import asyncio
import functools
import logging
import threading
from collections.abc import Generator, Sequence
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.io_ import run_async
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method

from completer import __version__
from lsp.documents import Cell
from lsp.feedback import Feedback
from lsp.inline_completion import InlineCompletions
from lsp.items import inline_item, popup_item
from lsp.progress import Progress
from lsp.protocol import ACCEPT_COMMAND, DID_FOCUS, DID_PARTIALLY_ACCEPT, DID_REJECT, DID_SHOW, SNOOZE
from lsp.service import Service
from lsp.session import Session
from lsp.status import Status
from lsp.suggestions import Item

log = logging.getLogger(__name__)

_converter = functools.cache(default_converter)


def silence_pygls() -> None:
    """pygls logs whole messages, and with them the user's text."""
    logger = logging.getLogger("pygls")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    logger.setLevel(logging.CRITICAL)


def note_failure(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """asyncio would tell what failed with its arguments, and so the user's text: the log gets only where it was."""
    log.error("something failed in the event loop", exc_info=context.get("exception"))


class Protocol(LanguageServerProtocol):
    _server: "CompleterServer"

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A request that makes no sense is answered, so that nobody waits for it."""
        if data.get("method") == types.TEXT_DOCUMENT_DID_CHANGE:
            _number_version(data)
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if isinstance(data.get("id"), (int, str)) and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise

    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        """As in pygls, which keeps each connection's protocol, and so its documents, in a cache of all connections."""
        return types.METHOD_TO_TYPES.get(method, (None, None))[0]

    def get_result_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        return types.METHOD_TO_TYPES.get(method, (None, None))[1]

    def drop_requests(self) -> None:
        """End whatever is still being answered."""
        for future in [*self._request_futures.values()]:
            future.cancel()

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        result = yield from super().lsp_initialize(params)
        self._server.initialized_with(params, result.capabilities)
        return result

    @lsp_method(types.INITIALIZED)
    def lsp_initialized(self, *args: Any) -> Generator[Any, Any, None]:
        self._server.initialized()
        yield from ()

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> Generator[Any, Any, None]:
        """Ends this connection; the process serves others."""
        self._server.hang_up()
        yield from ()

    @lsp_method(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configuration_changed(self, params: types.DidChangeConfigurationParams) -> None:
        settings = params.settings
        self._server.set_options(settings.get("completer", settings) if isinstance(settings, dict) else None)

    @lsp_method(types.TEXT_DOCUMENT_INLINE_COMPLETION)
    async def inline_completion(self, params: types.InlineCompletionParams) -> types.InlineCompletionList:
        return await self._server.inline_completion(params)

    @lsp_method(types.TEXT_DOCUMENT_COMPLETION)
    async def completion(self, params: types.CompletionParams) -> types.CompletionList:
        return await self._server.completion(params)

    @lsp_method(DID_SHOW)
    def did_show(self, params: Any) -> None:
        self._server.feedback.did_show(_item_id(params))

    @lsp_method(DID_PARTIALLY_ACCEPT)
    def did_partially_accept(self, params: Any) -> None:
        self._server.feedback.partially_accepted(_item_id(params), int(params.acceptedLength))

    @lsp_method(DID_FOCUS)
    def did_focus(self, params: Any) -> None:
        self._server.status.focus(str(params.textDocument.uri))

    @lsp_method(DID_REJECT)
    def did_reject(self, params: Any) -> None:
        self._server.feedback.rejected(_item_id(params))

    @lsp_method(SNOOZE)
    def snooze(self, params: Any) -> None:
        self._server.snooze(float(params.minutes))

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        self._server.opened(document.uri, document.language_id, document.version, document.text)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        self._server.session.changed(document.uri, document.version, list(params.content_changes))

    @lsp_method(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def lsp_workspace__did_change_workspace_folders(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        added, removed = ([folder.uri for folder in part] for part in (params.event.added, params.event.removed))
        self._server.session.change_roots(added, removed)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._server.session.closed(params.text_document.uri)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        for document in params.cell_text_documents:
            self._server.opened(document.uri, document.language_id, document.version, document.text)
        notebook = params.notebook_document
        self._server.session.documents.splice_cells(notebook.uri, 0, 0, _cells(notebook.cells))

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(self, params: types.DidChangeNotebookDocumentParams) -> None:
        session, cells = self._server.session, params.change.cells
        if cells is not None and cells.structure is not None:
            for document in cells.structure.did_open or []:
                self._server.opened(document.uri, document.language_id, document.version, document.text)
            array = cells.structure.array
            added = _cells(array.cells or [])
            session.documents.splice_cells(params.notebook_document.uri, array.start, array.delete_count, added)
            for closed in cells.structure.did_close or []:
                session.closed(closed.uri)
        for content in (cells.text_content if cells is not None else None) or []:
            session.changed(content.document.uri, content.document.version, list(content.changes))

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: types.DidCloseNotebookDocumentParams) -> None:
        self._server.session.documents.close_notebook(params.notebook_document.uri)
        for document in params.cell_text_documents:
            self._server.session.closed(document.uri)


def _number_version(data: dict[str, Any]) -> None:
    """Some editors have no version; an edit that is dropped for it would leave another text here than there."""
    document = (data.get("params") or {}).get("textDocument")
    if isinstance(document, dict) and document.get("version") is None:
        document["version"] = 0


def _cells(cells: Sequence[types.NotebookCell]) -> list[Cell]:
    return [Cell(cell.document, cell.kind == types.NotebookCellKind.Code) for cell in cells]


class _Nowhere:
    """Where answers go once the editor is gone."""

    def write(self, data: bytes) -> None:
        pass

    def close(self) -> None:
        pass


class CompleterServer(LanguageServer):
    protocol: Protocol

    def __init__(self, service: Service, protocol: type[Protocol] = Protocol) -> None:
        super().__init__(
            "completer",
            __version__,
            protocol_cls=protocol,
            converter_factory=_converter,
            notebook_document_sync=types.NotebookDocumentSyncOptions([types.NotebookDocumentFilterWithNotebook("*")]),
        )
        self.service = service
        self.session = Session(service, self.protocol.notify)
        self.status = Status(self.session)
        self._progress = Progress(self, service)
        self.feedback = Feedback(service.learner, asyncio.get_running_loop().call_later, self.session.text_of)
        self._completions = InlineCompletions(self.session, self.status, self.feedback.answered)
        self._hung_up = threading.Event()
        self._is_initialized = False
        self._told_errors: set[str] = set()

        @self.command(ACCEPT_COMMAND)
        def accept(item_id: str) -> None:
            self.feedback.accepted(item_id)

    async def serve(self, reader: Any, writer: Any) -> None:
        """Serve until the editor exits or is gone."""
        self.protocol.set_writer(writer)
        self.service.worker.on_state.append(self._state_changed)
        self.service.on_config.append(self._config_changed)
        try:
            await run_async(self._hung_up, reader, self.protocol, error_handler=self.report_server_error)
        except (asyncio.IncompleteReadError, ConnectionError, ValueError) as error:  # ValueError: a header without end
            log.info("connection lost: %s", type(error).__name__)
        finally:
            self.service.worker.on_state.remove(self._state_changed)
            self.service.on_config.remove(self._config_changed)
            self._completions.stop_warming()
            self.feedback.close()
            self.session.end()
            self.protocol.set_writer(_Nowhere())
            self.protocol.drop_requests()
            writer.close()

    def hang_up(self) -> None:
        self._hung_up.set()

    def report_server_error(self, error: Exception, source: Any) -> None:
        """The user cannot help it: it goes to the log, where no message and no text goes."""
        log.warning("%s: %s", source.__name__, type(error.__cause__ or error).__name__)

    def initialized_with(self, params: types.InitializeParams, capabilities: types.ServerCapabilities) -> None:
        """Learn what the editor is and can, and complete what we say we can."""
        encoding = capabilities.position_encoding or types.PositionEncodingKind.Utf16
        self.session.documents.encoding = types.PositionEncodingKind(encoding).value
        roots = [folder.uri for folder in params.workspace_folders or []] or [params.root_uri or params.root_path or ""]
        self.session.set_roots([root for root in roots if root])
        self.set_options(params.initialization_options)
        text_document = params.capabilities.text_document
        inline = text_document.inline_completion if text_document is not None else None
        self._registers_later = inline is not None and bool(inline.dynamic_registration)
        if not self._registers_later:
            capabilities.inline_completion_provider = types.InlineCompletionOptions()
        is_in_popup = inline is None or self.session.options.popup
        capabilities.completion_provider = types.CompletionOptions() if is_in_popup else None

    def initialized(self) -> None:
        if self._registers_later:
            selector = [types.TextDocumentFilterPattern(pattern="**")]
            options = types.InlineCompletionRegistrationOptions(document_selector=selector)
            registration = types.Registration("inline-completion", types.TEXT_DOCUMENT_INLINE_COMPLETION, options)
            self.client_register_capability(types.RegistrationParams([registration]))
        self._is_initialized = True
        self.service.worker.load()
        self._state_changed()

    def opened(self, uri: str, language: str, version: int, text: str) -> None:
        self.session.opened(uri, language, version, text)
        self._completions.warm(uri, types.Position(0, 0))
        self.status.update(uri)

    async def inline_completion(self, params: types.InlineCompletionParams) -> types.InlineCompletionList:
        is_automatic = params.context.trigger_kind == types.InlineCompletionTriggerKind.Automatic
        selected = params.context.selected_completion_info
        item = await self._answer(params, is_automatic, selected)
        return types.InlineCompletionList([] if item is None else [inline_item(item)])

    async def completion(self, params: types.CompletionParams) -> types.CompletionList:
        """For editors without inline completion. Whether it was asked for by hand they do not say."""
        item = await self._answer(params, is_automatic=True, in_popup=True)
        encoding = self.session.documents.encoding
        return types.CompletionList(is_incomplete=True, items=[] if item is None else [popup_item(item, encoding)])

    async def _answer(
        self, params: types.InlineCompletionParams | types.CompletionParams, is_automatic: bool, *how: Any, **more: Any
    ) -> Item | None:
        """An error of ours is no message over the user's text: it goes to the log, and there is no suggestion."""
        try:
            return await self._completions.answer(params.text_document.uri, params.position, is_automatic, *how, **more)
        except Exception as error:
            log.error("a request failed", exc_info=error)
            return None

    def snooze(self, minutes: float) -> None:
        self.session.snooze(minutes)
        self.status.update()

    def set_options(self, given: Any) -> None:
        self.session.options, wrong = self.session.options.updated(given)
        for message in wrong:
            self.window_log_message(types.LogMessageParams(types.MessageType.Warning, f"completer: {message}"))

    def _config_changed(self) -> None:
        self.session.configured()
        self._state_changed()

    def _state_changed(self) -> None:
        if not self._is_initialized:  # or it is no editor but a command that asks something
            return
        self.status.update()
        self._progress.update()
        if self.service.worker.state == "ready":
            self._completions.loaded()
        error = self.service.config_error or self.service.worker.error
        if error is not None and str(error) not in self._told_errors:
            self._told_errors.add(str(error))
            message = f"completer: {error}"
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, message))


def _item_id(params: Any) -> str:
    """Of a notification about an item, as the editor was given it."""
    return str(params.item.command.arguments[0])

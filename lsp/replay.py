"""What a new daemon has to be told to be where the old one was: the beginning, the options, the open documents.

Standard library alone. Knows the few messages it keeps; takes all others as they are.
"""

import math
import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from lsp import protocol
from lsp.options import Options
from lsp.text import Text, units

Message = dict[str, Any]

_MOST_MINUTES = 1e9
"""Of a snooze without end, which JSON cannot say."""


class Replay:
    def __init__(self, max_document_bytes: int) -> None:
        """A larger document is kept as one that was opened, without its text, and not told to a new daemon."""
        self._max_bytes = max_document_bytes
        self.initialize: Message | None = None
        self._initialized: Message | None = None
        self._folders: list[Message] | None = None
        """Of the workspace, once they have changed."""
        self._options = Options()
        self._is_configured = False
        self._snoozed_until_s = -math.inf
        self._focus: Message | None = None
        self._opened: dict[str, Message] = {}
        self._texts: dict[str, Text | None] = {}
        self._untold: set[str] = set()
        """Documents that the daemon of now does not know: they were too large when it was told."""
        self._notebooks: dict[str, Message] = {}
        self._encoding = "utf-16"

    def sent(self, message: Message) -> Message:
        """The editor has sent a message; returns what to pass on for it, nearly always itself.

        Raises LookupError, TypeError, ValueError or AttributeError for one that makes no sense.
        """
        params = message.get("params") or {}
        match message.get("method"):
            case "initialize":
                self.initialize = message
                self._options, _ = Options().updated(params.get("initializationOptions"))
            case "initialized":
                self._initialized = message
            case "workspace/didChangeConfiguration":
                settings = params.get("settings")
                if isinstance(settings, dict):
                    self._options, _ = self._options.updated(settings.get("completer", settings))
                    self._is_configured = True
            case "workspace/didChangeWorkspaceFolders":
                self._change_folders(params["event"]["added"], params["event"]["removed"])
            case protocol.SNOOZE:
                self._snoozed_until_s = time.monotonic() + float(params["minutes"]) * 60
            case protocol.DID_FOCUS:
                self._focus = message
            case "textDocument/didOpen":
                self._open(params["textDocument"])
            case "textDocument/didChange":
                uri = params["textDocument"]["uri"]
                self._change(params["textDocument"], params["contentChanges"])
                if uri in self._untold and self._texts[uri] is not None:
                    self._untold.discard(uri)
                    return self._did_open(uri)
            case "textDocument/didClose":
                self._close(params["textDocument"])
            case "notebookDocument/didOpen":
                self._open_notebook(params["notebookDocument"], params["cellTextDocuments"])
            case "notebookDocument/didChange":
                self._change_notebook(params)
            case "notebookDocument/didClose":
                self._notebooks.pop(params["notebookDocument"]["uri"], None)
                for cell in params["cellTextDocuments"]:
                    self._close(cell)
        return message

    def answered(self, result: Message) -> None:
        """What `initialize` was answered with."""
        self._encoding = result.get("capabilities", {}).get("positionEncoding", "utf-16")

    def messages(self, initialize_id: int | str) -> list[Message]:
        """All of it, in order, from an `initialize` with this id on."""
        if self.initialize is None:
            return []
        self._untold = {uri for uri, text in self._texts.items() if text is None}
        before = [
            self._initialize(initialize_id),
            self._initialized,
            self._configuration(),
            self._snooze(),
            self._focus,
        ]
        in_cells = {uri for notebook in self._notebooks.values() for uri in _uris(notebook["cells"])}
        documents = [self._did_open(uri) for uri in self._opened if uri not in in_cells | self._untold]
        return [*filter(None, before), *documents, *map(self._did_open_notebook, self._notebooks.values())]

    def forget_documents(self) -> None:
        """Should they be what cannot be told."""
        for kept in (self._opened, self._texts, self._notebooks):
            kept.clear()

    def _initialize(self, initialize_id: int | str) -> Message:
        assert self.initialize is not None
        message = self.initialize | {"id": initialize_id}
        if self._folders is not None:
            now = {"workspaceFolders": self._folders, "rootUri": None, "rootPath": None}
            message["params"] = message["params"] | now
        return message

    def _configuration(self) -> Message | None:
        settings = {"settings": {"completer": asdict(self._options)}}
        return _notification("workspace/didChangeConfiguration", settings) if self._is_configured else None

    def _snooze(self) -> Message | None:
        left_s = self._snoozed_until_s - time.monotonic()
        minutes = min(left_s / 60, _MOST_MINUTES)
        return _notification(protocol.SNOOZE, {"minutes": minutes}) if left_s > 0 else None

    def _change_folders(self, added: list[Message], removed: list[Message]) -> None:
        params = (self.initialize or {}).get("params") or {}
        root = params.get("rootUri")
        before = self._folders
        if before is None:
            before = params.get("workspaceFolders") or ([{"uri": root, "name": root}] if root else [])
        gone = {folder["uri"] for folder in (*removed, *added)}
        self._folders = [folder for folder in before if folder["uri"] not in gone] + added

    def _open(self, document: Message) -> None:
        self._texts[document["uri"]] = self._kept(document["text"])
        self._opened[document["uri"]] = document | {"text": ""}
        self._untold.discard(document["uri"])

    def _close(self, document: Message) -> None:
        self._opened.pop(document["uri"], None)
        self._texts.pop(document["uri"], None)
        self._untold.discard(document["uri"])

    def _change(self, document: Message, changes: list[Message]) -> None:
        uri = document["uri"]
        if uri not in self._opened:
            return
        for change in changes:
            text = self._texts[uri]
            if "range" not in change:
                self._texts[uri] = self._kept(change["text"])
            elif text is not None:
                start, end = (change["range"][side] for side in ("start", "end"))
                text.replace((start["line"], start["character"]), (end["line"], end["character"]), change["text"])
                if text.size_bytes > self._max_bytes:
                    self._texts[uri] = None
        self._opened[uri]["version"] = document.get("version", self._opened[uri].get("version"))

    def _open_notebook(self, notebook: Message, cells: list[Message]) -> None:
        _uris(notebook["cells"])
        for cell in cells:
            self._open(cell)
        self._notebooks[notebook["uri"]] = notebook

    def _change_notebook(self, params: Message) -> None:
        notebook, cells = self._notebooks[params["notebookDocument"]["uri"]], params["change"].get("cells") or {}
        structure = cells.get("structure")
        if structure is not None:
            _uris(structure["array"].get("cells") or [])
            for document in structure.get("didOpen") or []:
                self._open(document)
            start, end = structure["array"]["start"], structure["array"]["start"] + structure["array"]["deleteCount"]
            notebook["cells"][start:end] = structure["array"].get("cells") or []
            for document in structure.get("didClose") or []:
                self._close(document)
        for content in cells.get("textContent") or []:
            self._change(content["document"], content["changes"])

    def _document(self, uri: str) -> Message:
        return self._opened[uri] | {"text": str(self._texts[uri])}

    def _did_open(self, uri: str) -> Message:
        return _notification("textDocument/didOpen", {"textDocument": self._document(uri)})

    def _did_open_notebook(self, notebook: Message) -> Message:
        told = [uri for uri in _uris(notebook["cells"]) if uri in self._opened and uri not in self._untold]
        cells = [self._document(uri) for uri in told]
        return _notification("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": cells})

    def _kept(self, text: str) -> Text | None:
        """A text is taken apart only where it is kept: that costs ten times its size."""
        return Text(text, self._encoding) if units(text, "utf-8") <= self._max_bytes else None


def _uris(cells: Iterable[Message]) -> list[str]:
    """Of the texts of a notebook's cells. Raises LookupError or TypeError for what are no cells."""
    return [*dict.fromkeys(cell["document"] for cell in cells)]


def _notification(method: str, params: Message) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}

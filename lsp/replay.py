"""What a new daemon has to be told to be where the old one was: the beginning, the options, the open documents.

Standard library alone. Knows the few messages it keeps; takes all others as they are.
"""

from typing import Any

from lsp.text import Text

Message = dict[str, Any]


class Replay:
    def __init__(self, max_document_bytes: int) -> None:
        """A larger document is kept as one that was opened, without its text."""
        self._max_bytes = max_document_bytes
        self.initialize: Message | None = None
        self._initialized: Message | None = None
        self._configuration: Message | None = None
        self._focus: Message | None = None
        self._opened: dict[str, Message] = {}
        self._texts: dict[str, Text | None] = {}
        self._notebooks: dict[str, Message] = {}
        self._encoding = "utf-16"

    def sent(self, message: Message) -> None:
        """The editor has sent a message. Raises LookupError, TypeError or ValueError for one that makes no sense."""
        match message.get("method"):
            case "initialize":
                self.initialize = message
            case "initialized":
                self._initialized = message
            case "workspace/didChangeConfiguration":
                self._configuration = message
            case "textDocument/didFocus":
                self._focus = message
            case "textDocument/didOpen":
                self._open(message["params"]["textDocument"])
            case "textDocument/didChange":
                self._change(message["params"]["textDocument"], message["params"]["contentChanges"])
            case "textDocument/didClose":
                self._close(message["params"]["textDocument"])
            case "notebookDocument/didOpen":
                self._open_notebook(**message["params"])
            case "notebookDocument/didChange":
                self._change_notebook(message["params"])
            case "notebookDocument/didClose":
                self._notebooks.pop(message["params"]["notebookDocument"]["uri"], None)
                for cell in message["params"]["cellTextDocuments"]:
                    self._close(cell)

    def answered(self, result: Message) -> None:
        """What `initialize` was answered with."""
        self._encoding = result.get("capabilities", {}).get("positionEncoding", "utf-16")

    def messages(self, initialize_id: int | str) -> list[Message]:
        """All of it, in order, from an `initialize` with this id on."""
        if self.initialize is None:
            return []
        before = [self.initialize | {"id": initialize_id}, self._initialized, self._configuration, self._focus]
        in_cells = {cell["document"] for notebook in self._notebooks.values() for cell in notebook["cells"]}
        documents = [
            _notification("textDocument/didOpen", {"textDocument": self._document(uri)})
            for uri in self._opened
            if uri not in in_cells
        ]
        return [*filter(None, before), *documents, *map(self._did_open_notebook, self._notebooks.values())]

    def _open(self, document: Message) -> None:
        self._texts[document["uri"]] = self._kept(document["text"])
        self._opened[document["uri"]] = document | {"text": ""}

    def _close(self, document: Message) -> None:
        self._opened.pop(document["uri"], None)
        self._texts.pop(document["uri"], None)

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

    def _open_notebook(self, notebookDocument: Message, cellTextDocuments: list[Message]) -> None:
        for cell in cellTextDocuments:
            self._open(cell)
        self._notebooks[notebookDocument["uri"]] = notebookDocument

    def _change_notebook(self, params: Message) -> None:
        notebook, cells = self._notebooks[params["notebookDocument"]["uri"]], params["change"].get("cells") or {}
        structure = cells.get("structure")
        if structure is not None:
            for document in structure.get("didOpen") or []:
                self._open(document)
            start, end = structure["array"]["start"], structure["array"]["start"] + structure["array"]["deleteCount"]
            notebook["cells"][start:end] = structure["array"].get("cells") or []
            for document in structure.get("didClose") or []:
                self._close(document)
        for content in cells.get("textContent") or []:
            self._change(content["document"], content["changes"])

    def _document(self, uri: str) -> Message:
        text = self._texts[uri]
        return self._opened[uri] | {"text": " " * (self._max_bytes + 1) if text is None else str(text)}

    def _did_open_notebook(self, notebook: Message) -> Message:
        cells = [self._document(cell["document"]) for cell in notebook["cells"] if cell["document"] in self._opened]
        return _notification("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": cells})

    def _kept(self, text: str) -> Text | None:
        kept = Text(text, self._encoding)
        return kept if kept.size_bytes <= self._max_bytes else None


def _notification(method: str, params: Message) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}

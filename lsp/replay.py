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
        self._opened: dict[str, Message] = {}
        self._texts: dict[str, Text | None] = {}
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
            case "textDocument/didOpen":
                document = message["params"]["textDocument"]
                self._texts[document["uri"]] = self._kept(document["text"])
                self._opened[document["uri"]] = document | {"text": ""}
            case "textDocument/didChange":
                self._changed(message["params"])
            case "textDocument/didClose":
                uri = message["params"]["textDocument"]["uri"]
                self._opened.pop(uri, None)
                self._texts.pop(uri, None)

    def answered(self, result: Message) -> None:
        """What `initialize` was answered with."""
        self._encoding = result.get("capabilities", {}).get("positionEncoding", "utf-16")

    def messages(self, initialize_id: int | str) -> list[Message]:
        """All of it, in order, from an `initialize` with this id on."""
        if self.initialize is None:
            return []
        before = [self.initialize | {"id": initialize_id}, self._initialized, self._configuration]
        return [message for message in before if message is not None] + [self._did_open(uri) for uri in self._opened]

    def _did_open(self, uri: str) -> Message:
        text = self._texts[uri]
        document = self._opened[uri] | {"text": " " * (self._max_bytes + 1) if text is None else str(text)}
        return {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}}

    def _changed(self, params: Message) -> None:
        uri = params["textDocument"]["uri"]
        if uri not in self._opened:
            return
        for change in params["contentChanges"]:
            text = self._texts[uri]
            if "range" not in change:
                self._texts[uri] = self._kept(change["text"])
            elif text is not None:
                start, end = (change["range"][side] for side in ("start", "end"))
                text.replace((start["line"], start["character"]), (end["line"], end["character"]), change["text"])
                if text.size_bytes > self._max_bytes:
                    self._texts[uri] = None
        document = self._opened[uri]
        document["version"] = params["textDocument"].get("version", document.get("version"))

    def _kept(self, text: str) -> Text | None:
        kept = Text(text, self._encoding)
        return kept if kept.size_bytes <= self._max_bytes else None

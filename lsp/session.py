"""One editor: its documents, what of them may be completed, and what is suggested to it. Knows no pygls."""

import os
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, cast

from lsprotocol import types

from completer.context.collector import ContextCollector
from completer.errors import ConfigError
from completer.privacy.rules import Privacy
from completer.privacy.uris import file_name
from completer.request import CompletionRequest, Mode
from lsp.debounce import Debounce
from lsp.documents import Document, Documents, Place, readable
from lsp.options import Options
from lsp.service import Service
from lsp.suggestions import Suggestions

REFUSAL_S = 0.05
"""What was found about a file holds for so long: a request and the status that goes with it ask several times."""

Notify = Callable[[str, dict[str, Any]], None]


class Session:
    def __init__(self, service: Service, notify: Notify) -> None:
        """notify(method, params) sends a notification to the editor."""
        self.service = service
        self.notify = notify
        self.options = Options()
        self.documents = Documents(service.config.service.max_document_bytes)
        self.suggestions = Suggestions()
        self.debounce = Debounce()
        self.edits = 0
        self.privacy = Privacy(clock_s=service.clock_s)
        self.privacy_error: ConfigError | None = None
        self._refusals: dict[tuple[str, str], tuple[float, str | None]] = {}
        self.configured()
        self._context = ContextCollector(service.clock_s)
        self._roots: list[str] = []

    def configured(self) -> None:
        """Take over the settings in force. Nothing is completed while those of privacy make no sense."""
        self.suggestions.forget()
        self._refusals.clear()
        try:
            self.privacy.configure(self.service.config.privacy)
            self.privacy_error = None
        except ConfigError as error:
            self.privacy_error = error

    def set_roots(self, uris: list[str]) -> None:
        """The folders that the editor works in."""
        self._roots = [file_name(uri) for uri in uris]

    def change_roots(self, added: list[str], removed: list[str]) -> None:
        """Folders, as URIs, have come to the editor and left it."""
        gone = {file_name(uri) for uri in removed}
        self._roots = [root for root in self._roots if root not in gone] + [file_name(uri) for uri in added]

    def opened(self, uri: str, language: str, version: int, text: str) -> None:
        self._add_context(self.documents.open(uri, language, version, text))

    def changed(self, uri: str, version: int | None, changes: list[types.TextDocumentContentChangeEvent]) -> None:
        document = self.documents.change(uri, version, changes)
        self.edits += 1
        if document is None:
            return
        if document.text is None:
            self._context.closed(uri)
            self.suggestions.give_up(uri)
            return
        self.debounce.typed(self.service.clock_s())
        text = readable(str(document.text))
        self._context.edited(uri, text)
        self.suggestions.edited(uri, self.documents.above(document) + text)

    def closed(self, uri: str) -> None:
        self.documents.close(uri)
        self._context.closed(uri)
        self.suggestions.give_up(uri)

    def end(self) -> None:
        """The editor is gone. Its texts do not wait for the garbage collector to find out."""
        self.suggestions.forget()
        for document in [*self.documents]:
            self.closed(document.uri)

    def text_of(self, uri: str) -> str | None:
        """None where it is not open, or too large."""
        document = self.documents.get(uri)
        return None if document is None else self.documents.text(document)

    def is_wanted(self, is_automatic: bool) -> bool:
        """Whether such a request is answered, by the editor's options and the machine's power."""
        restriction = self.service.restriction()
        if is_automatic:
            return self.options.automatic and restriction == "same"
        return self.options.manual and restriction != "off"

    def refusal(self, document: Document) -> str | None:
        """Why a document is not completed, for the user to read; None when it is."""
        if self.privacy_error is not None:
            return str(self.privacy_error)
        if document.text is None:
            return f"it is larger than service.max_document_bytes, {self.service.config.service.max_document_bytes:,}"
        asked, now_s = (document.uri, document.language), self.service.clock_s()
        found_s, found = self._refusals.get(asked, (float("-inf"), None))
        if now_s - found_s > REFUSAL_S:
            found = self.privacy.refusal(*asked)
            self._refusals = {asked: (now_s, found)}
        return found

    def snooze(self, minutes: float) -> None:
        """Suggest nothing for so long; 0 wakes up."""
        self.privacy.snooze(minutes)
        self._refusals.clear()
        self.suggestions.give_up()

    def request(self, place: Place) -> CompletionRequest:
        """What to ask the engine at a place, without the context of other files."""
        completion, options = self.service.config.completion, self.options
        document = self.documents.get(place.uri)
        root = self._root(document) if document is not None else ""
        return CompletionRequest(
            fim_prefix=place.prefix,
            fim_suffix=place.suffix,
            document_id=place.uri,
            language=place.language,
            project_id=root,
            path=os.path.relpath(document.path, root) if document is not None and root else file_name(place.uri),
            mode="line" if options.single_line else cast(Mode, completion.mode),
            max_tokens=completion.max_tokens,
            max_lines=options.max_lines or completion.max_lines,
            deadline_ms=completion.deadline_ms or None,
            first_line_ms=self.service.config.service.first_line_deadline_ms,
        )

    def context(self, request: CompletionRequest) -> tuple[Any, ...]:
        """Chunks of other files for a request."""
        for document in self.documents:
            if not self._context.knows(document.uri):
                self._add_context(document)
        self._read_imports(request.document_id)
        asked = self.documents.get(request.document_id)
        cursor = len(request.fim_prefix) - (len(self.documents.above(asked)) if asked is not None else 0)
        budget_tokens = self.service.config.prompt.context_tokens
        return self._context.chunks(request.document_id, cursor, budget_tokens, self._is_allowed)

    def _add_context(self, document: Document) -> None:
        """Have a document help others, unless it is refused; that may change."""
        if document.text is not None and self.refusal(document) is None:
            text = readable(str(document.text))
            self._context.opened(document.uri, document.path, document.language, text, self._root(document))
            self._read_imports(document.uri)

    def _read_imports(self, uri: str) -> None:
        self.service.read(lambda: self._context.read_imports(uri, self._is_allowed))

    def _is_allowed(self, path: str) -> bool:
        return self.privacy_error is None and self.privacy.refusal(path, "") is None

    def _root(self, document: Document) -> str:
        """The innermost folder of the editor's that holds the document, "" where none does."""
        path = PurePath(document.path)
        holding = [root for root in self._roots if path != PurePath(root) and path.is_relative_to(root)]
        return max(holding, key=len, default="")

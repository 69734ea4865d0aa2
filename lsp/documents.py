"""Documents as the editor has them, and a cursor in one as the engine wants it.

Positions, line ends and half characters are dealt with here only: the text of a Place has \\n line ends and whole
characters, and what is inserted gets the document's own line ends back. Knows no engine; never looks at a disk.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lsprotocol import types

from completer.privacy.uris import file_name
from lsp.text import Text, units


@dataclass(frozen=True, slots=True)
class Place:
    """Where to complete. prefix and suffix: the whole text around the cursor.

    lead: what the chosen item of the editor's popup adds at the end of the prefix; the inserted text begins with it.
    replaced: what in the editor the inserted text takes the place of.
    """

    uri: str
    version: int
    language: str
    prefix: str
    suffix: str
    lead: str
    replaced: types.Range
    line_end: str

    def inserted(self, completion: str) -> str:
        """The text to insert for a completion."""
        return (self.lead + completion).replace("\n", self.line_end)


@dataclass(frozen=True, slots=True)
class Cell:
    """Of a notebook, whose text is a document of its own."""

    uri: str
    is_code: bool


@dataclass(eq=False, slots=True)
class Document:
    """text: None while it is too large to be kept."""

    uri: str
    language: str
    version: int
    text: Text | None

    @property
    def path(self) -> str:
        return file_name(self.uri)

    def place(self, position: types.Position, selected: types.SelectedCompletionInfo | None = None) -> Place | None:
        """None where nothing can be suggested: an unknown text, or a popup's item that does not extend what is typed.

        selected: the item chosen in the popup, as if it had been accepted.
        """
        if self.text is None:
            return None
        cursor = position.line, position.character
        before, after = self.text.split_at(cursor)
        lead, replaced = "", types.Range(position, position)
        if selected is not None:
            start = selected.range.start
            typed = self.text.between((start.line, start.character), cursor)
            end = selected.range.end
            if (end.line, end.character) != cursor or not selected.text.startswith(typed):
                return None
            lead, replaced = selected.text, selected.range
            before = before[: len(before) - len(typed)] + lead
        line_end = self.text.line_end(position.line)
        return Place(
            self.uri, self.version, self.language, readable(before), readable(after), readable(lead), replaced, line_end
        )


def readable(text: str) -> str:
    """text with \\n line ends, and halves of characters joined or, where they have no other half, replaced."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


class Documents:
    """What one editor has open. Notifications that make no sense are let pass, as some editors send them."""

    def __init__(self, max_document_bytes: int) -> None:
        self.encoding = "utf-16"
        self._max_bytes = max_document_bytes
        self._documents: dict[str, Document] = {}
        self._cells: dict[str, list[Cell]] = {}

    def __iter__(self) -> Iterator[Document]:
        return iter([*self._documents.values()])

    def get(self, uri: str) -> Document | None:
        return self._documents.get(uri)

    def open(self, uri: str, language: str, version: int, text: str) -> Document:
        document = Document(uri, language, version, self._kept(text))
        self._documents[uri] = document
        return document

    def change(
        self, uri: str, version: int | None, changes: list[types.TextDocumentContentChangeEvent]
    ) -> Document | None:
        document = self._documents.get(uri)
        if document is None:
            return None
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                self._edit(document, change)
            else:
                document.text = self._kept(change.text)
        document.version = document.version if version is None else version
        return document

    def close(self, uri: str) -> Document | None:
        return self._documents.pop(uri, None)

    def text(self, document: Document) -> str | None:
        """All that its completions depend on: of a notebook's cell, the cells above too. None where it is not kept."""
        return None if document.text is None else self.above(document) + readable(str(document.text))

    def place(
        self, document: Document, position: types.Position, selected: types.SelectedCompletionInfo | None = None
    ) -> Place | None:
        """As Document.place; in a notebook the code above is text before the cursor."""
        place = document.place(position, selected)
        return None if place is None else replace(place, prefix=self.above(document) + place.prefix)

    def above(self, document: Document) -> str:
        """Of a notebook's cell, the code of the same language in the cells above, each a line of its own at least."""
        for cells in self._cells.values():
            uris = [cell.uri for cell in cells]
            if document.uri in uris:
                above = [cell for cell in cells[: uris.index(document.uri)] if cell.is_code]
                return "".join(self._code(cell, document.language) for cell in above)
        return ""

    def splice_cells(self, notebook: str, start: int, removed: int, added: list[Cell]) -> None:
        """The cells of a notebook have changed: so many from one on were removed, others put in their place."""
        self._cells.setdefault(notebook, [])[start : start + removed] = added

    def close_notebook(self, notebook: str) -> None:
        self._cells.pop(notebook, None)

    def _code(self, cell: Cell, language: str) -> str:
        document = self._documents.get(cell.uri)
        if document is None or document.text is None or document.language != language:
            return ""
        return readable(str(document.text)).rstrip("\n") + "\n\n"

    def _edit(self, document: Document, change: types.TextDocumentContentChangePartial) -> None:
        if document.text is not None:
            start, end = change.range.start, change.range.end
            document.text.replace((start.line, start.character), (end.line, end.character), change.text)
            if document.text.size_bytes > self._max_bytes:
                document.text = None

    def _kept(self, text: str) -> Text | None:
        return Text(text, self.encoding) if units(text, "utf-8") <= self._max_bytes else None

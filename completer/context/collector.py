"""Other files' chunks for a completion: of open documents, recently edited first of all, and of imported files.

Knows documents as text, and the files of their project that it may read; knows no editor and no model. `chunks` works
from memory alone. `read_imports` does what takes longer, and the next `chunks` knows more.
"""

import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from completer.context.imports import Imports
from completer.context.layout import EDITED, IMPORTED, OPEN, Layout
from completer.context.outline import outline
from completer.context.passages import Passage, split, telling_lines, words_of
from completer.errors import InputError
from completer.languages import language as language_by_id
from completer.languages import language_of
from completer.request import ContextChunk
from completer.source_text import read_text

MAX_FILE_CHARS = 200_000
"""A longer document, or a file of more bytes, gives no context."""

MAX_DOCUMENTS = 20
"""How many open documents are looked at: the last used ones."""

LINES_BEFORE, LINES_AFTER = 96, 32
"""The text round the cursor: what chunks should be similar to, and must not repeat."""

_RERANK_LINES = 32  # a cursor that went no further than this finds its chunks as they were
_EDITED_FOR_S = 600.0
_PAUSE_S = 1.0
_MOST_OUTLINES = 256
_MOST_CHARS = 20_000

IsAllowed = Callable[[str], bool]


@dataclass(slots=True)
class _Document:
    """real_path: links followed, "" where the document is no file. revision: of the text, unique among documents."""

    path: str
    real_path: str
    root: str
    text: str
    revision: int
    used_s: float
    layout: Layout
    imports: Imports | None
    opened_text: str
    edited_s: float = 0.0
    cut_text: str | None = None
    passages: dict[str, Passage] = field(default_factory=dict)
    edited_passages: dict[str, float] = field(default_factory=dict)
    imports_lines: int = -1
    imported_files: tuple[str, ...] = ()
    imported: tuple[Passage, ...] = ()
    imported_revision: int = 0
    ranked_for: tuple[int, ...] = ()
    ranked_line: int = 0

    def cut(self) -> Iterable[tuple[Passage, float | None]]:
        """(passage, when it was last edited) of all there is. What did not change since last time is kept."""
        if self.cut_text is not self.text:
            before = self.passages or dict.fromkeys(_split(self.opened_text))
            edited, self.edited_passages, self.passages = self.edited_passages, {}, {}
            for piece in _split(self.text):
                self.passages[piece] = before.get(piece) or _passage(self.path, self.real_path, self.root, piece)
                if piece not in before:
                    self.edited_passages[piece] = self.edited_s
                elif piece in edited:
                    self.edited_passages[piece] = edited[piece]
            self.cut_text, self.opened_text = self.text, ""
        return [(passage, self.edited_passages.get(piece)) for piece, passage in self.passages.items()]


class ContextCollector:
    """What one editor has open. All methods belong to one thread, but for read_imports, which may run in another."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._documents: dict[str, _Document] = {}
        self._revisions = itertools.count(1)
        self._opened_or_closed = 0
        self._outlines: dict[tuple[str, str], tuple[tuple[int, ...], tuple[Passage, ...]]] = {}

    def opened(self, document_id: str, path: str, language: str, text: str, root: str = "") -> None:
        """A document was opened, or opened again under its id.

        path: absolute for a file, else any name. language: its id. root: the project's folder, by default the file's.
        """
        real_path = os.path.realpath(path) if os.path.isabs(path) else ""
        root = os.path.realpath(root) if root else os.path.dirname(real_path)
        self._opened_or_closed = next(self._revisions)
        self._documents[document_id] = _Document(
            path=path,
            real_path=real_path,
            root=root,
            text=text,
            revision=self._opened_or_closed,
            used_s=self._clock_s(),
            layout=Layout(),
            imports=Imports(language_by_id(language), real_path, root) if real_path else None,
            opened_text=text,
        )

    def knows(self, document_id: str) -> bool:
        return document_id in self._documents

    def edited(self, document_id: str, text: str) -> None:
        """text: all of it. An unknown document is left alone."""
        document = self._documents.get(document_id)
        if document is not None:
            document.text, document.revision = text, next(self._revisions)
            document.used_s = document.edited_s = self._clock_s()

    def closed(self, document_id: str) -> None:
        if self._documents.pop(document_id, None) is not None:
            self._opened_or_closed = next(self._revisions)

    def chunks(
        self, document_id: str, cursor_offset: int, budget_tokens: int, is_allowed: IsAllowed
    ) -> tuple[ContextChunk, ...]:
        """At most budget_tokens of other files for a completion at a cursor, the ones to rely on first.

        cursor_offset: in characters. is_allowed says by path or name what may be used, and is asked every time.
        A character typed changes nothing here; a line, another document or read_imports may. A smaller budget gives
        the beginning of what a larger one gives.
        """
        document = self._documents.get(document_id)
        if document is None:
            return ()
        document.used_s = self._clock_s()
        near = _Surroundings.of(document.text, cursor_offset)
        others = [other for other in self._documents.values() if _may_help(other, document)]
        changes = self._opened_or_closed, document.imported_revision, max((o.revision for o in others), default=0)
        if changes != document.ranked_for or abs(near.line - document.ranked_line) > _RERANK_LINES:
            document.ranked_for, document.ranked_line = changes, near.line
            document.layout.rank(self._candidates(document, others, is_allowed), near.words(), near.lines)
        return document.layout.fill(budget_tokens, near.lines, is_allowed)

    def _candidates(
        self, document: _Document, others: list[_Document], is_allowed: IsAllowed
    ) -> Iterator[tuple[float, Passage]]:
        now_s = self._clock_s()
        recent = sorted(others, key=lambda other: other.used_s)[-MAX_DOCUMENTS:]
        for other in sorted(recent, key=lambda other: other.path):
            if is_allowed(other.path):
                for passage, edited_s in other.cut():
                    is_fresh = edited_s is not None and now_s - edited_s < _EDITED_FOR_S
                    yield EDITED if is_fresh else OPEN, passage
        for passage in document.imported:
            yield IMPORTED, passage

    def read_imports(self, document_id: str, is_allowed: IsAllowed) -> None:
        """Find what a document imports, once a line is finished or after a pause, and outline files that changed.

        For when a document opens and while the editor is idle. May run in another thread, one call at a time.
        Nothing is read that is not allowed, open documents are not read from disk, nothing outside the root is.
        """
        document = self._documents.get(document_id)
        if document is None or document.imports is None or len(document.text) > MAX_FILE_CHARS:
            return
        text, lines = document.text, document.text.count("\n")
        if lines != document.imports_lines or self._clock_s() - document.edited_s >= _PAUSE_S:
            document.imports_lines = lines
            document.imported_files = document.imports.files(text, is_allowed)
        allowed = [file for file in document.imported_files if is_allowed(file)]
        imported = tuple(itertools.chain.from_iterable(self._outlined(file, document.root) for file in allowed))
        if imported != document.imported:
            document.imported = imported
            document.imported_revision = next(self._revisions)

    def _outlined(self, file: str, root: str) -> tuple[Passage, ...]:
        """Passages of a file's outline: as the editor has it, else as it is on disk; none where that is not text."""
        opened = next((other for other in list(self._documents.values()) if other.real_path == file), None)
        try:
            info = os.stat(file)
            state = (opened.revision,) if opened else (info.st_mtime_ns, info.st_size, info.st_ino)
            known = self._outlines.pop((file, root), None)
            if known is None or known[0] != state:
                text = opened.text if opened else read_text(file) if info.st_size <= MAX_FILE_CHARS else ""
                pieces = _split(outline(text, language_of(file)) if len(text) <= MAX_FILE_CHARS else "")
                known = state, tuple(_passage(file, file, root, piece) for piece in pieces)
        except (OSError, InputError):  # gone, or not text: an import that leads nowhere
            return ()
        self._outlines[file, root] = known
        if len(self._outlines) > _MOST_OUTLINES:
            del self._outlines[next(iter(self._outlines))]
        return known[1]


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """line: the cursor's, from 0. lines: the telling ones round it, without its own, which is being typed."""

    line: int
    text: str
    lines: frozenset[str]

    @classmethod
    def of(cls, text: str, cursor_offset: int) -> "_Surroundings":
        cursor = max(0, min(cursor_offset, len(text)))
        line_start, line_end = text.rfind("\n", 0, cursor) + 1, text.find("\n", cursor)
        start, end = line_start, line_end if line_end >= 0 else len(text)
        for _ in range(LINES_BEFORE):
            start = text.rfind("\n", 0, max(0, start - 1)) + 1
        for _ in range(LINES_AFTER):
            following = text.find("\n", end + 1)
            end = following if following >= 0 else len(text)
        lines = [*text[start:line_start].split("\n"), *text[line_end + 1 if line_end >= 0 else end : end].split("\n")]
        return cls(text.count("\n", 0, cursor), text[start : min(end, start + _MOST_CHARS)], telling_lines(lines))

    def words(self) -> frozenset[str]:
        return words_of(self.text)


def _may_help(other: _Document, document: _Document) -> bool:
    """Of the same project, and not the same file once more."""
    is_same = other.path == document.path or (other.real_path == document.real_path != "")
    return other.root == document.root and not is_same


def _split(text: str) -> list[str]:
    return split(text) if len(text) <= MAX_FILE_CHARS else []


def _passage(path: str, real_path: str, root: str, piece: str) -> Passage:
    is_inside = real_path.startswith(root.rstrip(os.sep) + os.sep)
    shown = os.path.relpath(real_path, root).replace(os.sep, "/") if is_inside else os.path.basename(path)
    return Passage(path, ContextChunk(shown, piece))

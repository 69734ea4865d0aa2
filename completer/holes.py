"""Holes: places in real files with the text behind the cursor taken out, for a model to fill. Drawn by seed. Pure.

What a model makes of a hole never decides whether it is drawn: all rules look at the file alone.

    line         the rest of a line of at least 8 characters, half of them from its first character, half from within
    block        a whole block: the lines behind a line that opens one and deeper than it, at most 30
    long         the rest of the file, from a line at its left edge in its first two thirds, 30 lines or more
    long_prompt  as line, with text enough before, after and in other files to fill the whole prompt budget

Classes that tell more about quality than about speed:

    whole_line   a line from its first character
    rest_of_line a line from within
    span         from within a line to within one of the three below it
    function     as block, where the block is the body of a function
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from completer.context.outline import FUNCTION
from completer.errors import InputError
from completer.languages import language, parser
from completer.parsing import parse
from completer.prompt import PromptBudget
from completer.request import CompletionRequest, ContextChunk, Mode
from completer.source_files import SourceFile
from completer.syntax import indent_of

LINE_TOKENS = 48
BLOCK_TOKENS = 48
LONG_TOKENS = 224
FUNCTION_TOKENS = 128
_MIN_LINE_CHARS = 8
_MAX_BLOCK_LINES = 30
_MIN_LONG_LINES = 30
_SPAN_LINES = 3
_CHARS_PER_TOKEN = 6  # more than code has, so that this many characters surely fill the budget
_CHUNK_CHARS = 800
_CHUNK_TOKENS = 200  # fewer than a chunk has, so that the chunks surely fill the budget

Span = tuple[int, int]
"""The cursor, and the end of what is taken out: indices into a file's text."""


@dataclass(frozen=True, slots=True)
class Hole:
    kind: str
    file: SourceFile
    span: Span
    mode: Mode
    max_tokens: int
    context_chunks: tuple[ContextChunk, ...] = ()

    @property
    def name(self) -> str:
        """path:line:column, 1-based."""
        before = self.file.text[: self.span[0]]
        return f"{self.file.path}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"

    def typed_text(self, chars: int) -> str:
        """The last characters before the cursor, at most so many."""
        cursor = self.span[0]
        return self.file.text[max(0, cursor - chars) : cursor]

    def request(self, untyped: int = 0, previous_suggestion: str = "") -> CompletionRequest:
        """The request at the cursor, or as it was when the last `untyped` characters had not been typed yet."""
        cursor, end = self.span
        return CompletionRequest(
            fim_prefix=self.file.text[: max(0, cursor - untyped)],
            fim_suffix=self.file.text[end:],
            document_id=f"{self.kind} {self.name}",
            path=self.file.path,
            language=self.file.language,
            context_chunks=self.context_chunks,
            previous_suggestion=previous_suggestion,
            mode=self.mode,
            max_tokens=self.max_tokens,
        )


def draw_holes(files: Sequence[SourceFile], counts: Mapping[str, int], seed: int, budget: PromptBudget) -> list[Hole]:
    """Holes in the wanted number of each class, spread evenly over the languages, the classes interleaved.

    Fewer holes are drawn where the files have no place for more. Asking for more of a class, or for other classes
    too, does not change which ones come first. Raises InputError where there is no place for any.
    """
    placed = []
    for kind, count in counts.items():
        for i, hole in enumerate(_draw_class(kind, files, count, random.Random(f"{seed} {kind}"), budget)):
            placed.append((Fraction(2 * i + 1, count), kind, hole))
    if not placed:
        raise InputError("the files have no place for a hole; name other files or folders")
    return [hole for _, _, hole in sorted(placed, key=lambda entry: entry[:2])]


def _draw_class(
    kind: str, files: Sequence[SourceFile], count: int, rng: random.Random, budget: PromptBudget
) -> list[Hole]:
    by_language: dict[str, list[SourceFile]] = {}
    for file in rng.sample(files, len(files)):
        by_language.setdefault(file.language, []).append(file)
    streams = [
        in_turn([_holes_in(file, kind, same_language, rng, budget) for file in same_language])
        for same_language in by_language.values()
    ]
    return list(islice(in_turn(streams), count))


def in_turn(streams: Sequence[Iterator[Hole]]) -> Iterator[Hole]:
    """One of each stream, again and again, until all have ended."""
    remaining = list(streams)
    while remaining:
        for stream in tuple(remaining):
            hole = next(stream, None)
            if hole is None:
                remaining.remove(stream)
            else:
                yield hole


def _holes_in(
    file: SourceFile, kind: str, same_language: Sequence[SourceFile], rng: random.Random, budget: PromptBudget
) -> Iterator[Hole]:
    """Every hole of the class in one file, in random order."""
    spans = _spans(kind, file, budget)
    rng.shuffle(spans)
    for start, end in spans:
        if kind == "block":
            yield Hole(kind, file, (start, end), "block", BLOCK_TOKENS)
        elif kind == "function":
            yield Hole(kind, file, (start, end), "block", FUNCTION_TOKENS)
        elif kind == "long":
            yield Hole(kind, file, (start, end), "text", LONG_TOKENS)
        elif kind == "span":
            yield Hole(kind, file, (start, end), "auto", BLOCK_TOKENS)
        else:
            is_whole = kind == "whole_line" or (kind != "rest_of_line" and rng.random() < 0.5)
            cursor = start if is_whole else rng.randrange(start + 1, end)
            chunks = _chunks(file, same_language, rng, budget) if kind == "long_prompt" else ()
            yield Hole(kind, file, (cursor, end), "line", LINE_TOKENS, chunks)


def _spans(kind: str, file: SourceFile, budget: PromptBudget) -> list[Span]:
    lines = _lines(file.text)
    if kind in ("block", "function"):
        return _block_spans(file, lines, _function_rows(file) if kind == "function" else None)
    if kind == "long":
        return _long_spans(file, lines)
    if kind == "span":
        return _free_spans(file, lines)
    if kind != "long_prompt":
        return line_spans(file.text)
    first, last = budget.prefix_tokens * _CHARS_PER_TOKEN, len(file.text) - budget.suffix_tokens * _CHARS_PER_TOKEN
    return [(start, end) for start, end in line_spans(file.text) if start >= first and end <= last]


def _lines(text: str) -> list[tuple[int, str]]:
    """(index of its first character, text without line end) of every line."""
    lines, start = [], 0
    for line in text.split("\n"):
        lines.append((start, line.rstrip("\r")))
        start += len(line) + 1
    return lines


def line_spans(text: str) -> list[Span]:
    """From the first character of a line to its last, of lines that are long enough, the first of all left out."""
    lines = _lines(text)[1:]
    spans = [(start + len(line) - len(line.lstrip()), start + len(line.rstrip())) for start, line in lines]
    return [(start, end) for start, end in spans if end - start >= _MIN_LINE_CHARS]


def _free_spans(file: SourceFile, lines: Sequence[tuple[int, str]]) -> list[Span]:
    """One from within each line. Drawn by the text itself, so that the file alone decides."""
    rng = random.Random(file.text)
    spans = []
    for i, (start, line) in enumerate(lines[1:-1], start=1):
        last_start, last = lines[min(i + rng.randint(1, _SPAN_LINES), len(lines) - 1)]
        if line.strip() and last.strip():
            spans.append((start + rng.randrange(len(line)), last_start + rng.randint(1, len(last))))
    return spans


def _function_rows(file: SourceFile) -> set[int]:
    """Rows, from 0, on which the body of a function begins, or its head ends."""
    found = parser(language(file.language))
    tree = parse(found, file.text.encode("utf-8", "replace")) if found is not None else None
    rows, to_visit = set(), [tree.root_node] if tree is not None else []
    while to_visit:
        node = to_visit.pop()
        to_visit += node.named_children
        body = node.child_by_field_name("body")
        if body is not None and FUNCTION.search(node.type):
            is_below = not body.children or body.children[0].type not in ("{", ":")
            rows.add(body.start_point.row - (1 if is_below and body.start_point.row > node.start_point.row else 0))
    return rows


def _block_spans(file: SourceFile, lines: Sequence[tuple[int, str]], rows: set[int] | None) -> list[Span]:
    """From the indentation of the first line of a block to the end of its last; rows: of heads, None for all."""
    opens_block = language(file.language).opens_block
    spans = []
    for i, (_, head) in enumerate(lines, start=1):
        if head.strip() and opens_block(head) and (rows is None or i - 1 in rows):
            body = _body(head, islice(lines, i, None))
            if 1 <= len(body) <= _MAX_BLOCK_LINES and body[0][1].strip():
                (start, first), (last_start, last) = body[0], body[-1]
                spans.append((start + len(first) - len(first.lstrip()), last_start + len(last)))
    return spans


def _body(head: str, lines: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """The leading lines that are blank or deeper than head, without the blank ones at their end."""
    body: list[tuple[int, str]] = []
    for start, line in lines:
        if line.strip() and indent_of(line) <= indent_of(head):
            break
        body.append((start, line))
    while body and not body[-1][1].strip():
        body.pop()
    return body


def _long_spans(file: SourceFile, lines: Sequence[tuple[int, str]]) -> list[Span]:
    last = min(len(lines) * 2 // 3, len(lines) - _MIN_LONG_LINES)
    return [
        (start, len(file.text)) for start, line in lines[1 : max(1, last)] if line.strip() and not line[0].isspace()
    ]


def _chunks(
    file: SourceFile, same_language: Sequence[SourceFile], rng: random.Random, budget: PromptBudget
) -> tuple[ContextChunk, ...]:
    """The beginnings of other files of the language, whole lines of them."""
    others = [other for other in same_language if other.path != file.path]
    chosen = rng.sample(others, min(len(others), budget.context_tokens // _CHUNK_TOKENS))
    return tuple(ContextChunk(other.path, other.text[: other.text.find("\n", _CHUNK_CHARS) + 1]) for other in chosen)

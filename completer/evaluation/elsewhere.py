"""Holes whose answer names what only another file of the project knows: what other files' text is worth. By seed.

A hole is the rest of a line, from its beginning or from within, with a name in it that stands nowhere else in its file
and that one other file of the project defines. Its chunks are those of an editor with this one file open.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from completer.context.collector import ContextCollector
from completer.context.outline import FUNCTION
from completer.errors import InputError
from completer.evaluation.problems import Problem, hole_problem
from completer.holes import LINE_TOKENS, Hole, in_turn, line_spans
from completer.languages import language, parser
from completer.parsing import parse
from completer.source_files import SourceFile

if TYPE_CHECKING:
    from tree_sitter import Node

_COMPOUND = re.compile(r"[^\W\d]\w*([a-z][A-Z]|[^\W_]_)\w+")
"""Names that nobody would guess: of several words."""

_IMPORT = re.compile("import|include|use_declaration")


def elsewhere_problems(
    files: Sequence[SourceFile], seed: int, limit: int, budget_tokens: int, is_allowed: Callable[[str], bool]
) -> list[Problem]:
    """At most `limit`, spread evenly over the languages and their files; budget_tokens: of other files' text.

    is_allowed: whether a file may be read, by its path. Raises InputError where the files have no such place.
    """
    rng = random.Random(f"{seed} elsewhere")
    definers = _definers(files)
    by_language: dict[str, list[Iterator[Hole]]] = {}
    for file in rng.sample(files, len(files)):
        by_language.setdefault(file.language, []).append(
            _holes_in(file, definers, random.Random(f"{seed} {file.path}"))
        )
    holes = islice(in_turn([in_turn(streams) for streams in by_language.values()]), limit)
    problems = [hole_problem(_with_chunks(hole, budget_tokens, is_allowed)) for hole in holes]
    if not problems:
        raise InputError("no hole needs another of these files; name the folders of other projects")
    return problems


def _definers(files: Sequence[SourceFile]) -> Mapping[tuple[str, str], list[str]]:
    """(root, name) to the paths of the files that define it."""
    found: dict[tuple[str, str], list[str]] = {}
    for file in files:
        for name in _definitions(file):
            found.setdefault((file.root, name), []).append(file.path)
    return found


def _holes_in(file: SourceFile, definers: Mapping[tuple[str, str], list[str]], rng: random.Random) -> Iterator[Hole]:
    source, text = file.text.encode("utf-8", "replace"), file.text
    skipped: set[int] = set()
    names: list[tuple[str, int]] = []
    for node in _nodes(file, lambda node: False):
        if _IMPORT.search(node.type) or node.child_by_field_name("source") is not None:
            skipped |= set(range(node.start_point.row, node.end_point.row + 1))
        elif node.type.endswith("identifier") and _COMPOUND.fullmatch(name := _text(node)):
            names.append((name, len(source[: node.start_byte].decode("utf-8", "replace"))))
    counts = Counter(re.findall(r"\w+", text))
    spans = {start: end for start, end in line_spans(text) if text.count("\n", 0, start) not in skipped}
    for name, at in rng.sample(names, len(names)):
        paths = definers.get((file.root, name), [])
        line = text.rfind("\n", 0, at) + 1
        start = line + len(text[line:at]) - len(text[line:at].lstrip())
        if counts[name] == 1 and len(paths) == 1 and paths != [file.path] and start in spans:
            yield Hole("elsewhere", file, (rng.choice((start, at)), spans[start]), "line", LINE_TOKENS)


def _with_chunks(hole: Hole, budget_tokens: int, is_allowed: Callable[[str], bool]) -> Hole:
    cursor, end = hole.span
    text, path = hole.file.text[:cursor] + hole.file.text[end:], str(Path(hole.file.root, hole.file.path))
    collector = ContextCollector()
    collector.opened(path, path, hole.file.language, text, hole.file.root)
    collector.read_imports(path, is_allowed)
    return replace(hole, context_chunks=collector.chunks(path, cursor, budget_tokens, is_allowed))


def _definitions(file: SourceFile) -> set[str]:
    """Names that a file gives to functions, types, members and constants; not those inside functions."""
    names = set()
    for node in _nodes(file, lambda node: bool(FUNCTION.search(node.type))):
        name = node.child_by_field_name("name") or node.child_by_field_name("declarator")
        while name is not None and name.named_children:
            name = name.child_by_field_name("declarator") or name.child_by_field_name("name")
        if name is not None and "parameter" not in node.type:
            names.add(_text(name))
    return {name for name in names if _COMPOUND.fullmatch(name)}


def _nodes(file: SourceFile, is_closed: "Callable[[Node], bool]") -> "Iterator[Node]":
    """All but those in the bodies of closed ones."""
    found = parser(language(file.language))
    tree = parse(found, file.text.encode("utf-8", "replace")) if found is not None else None
    to_visit = [tree.root_node] if tree is not None else []
    while to_visit:
        node = to_visit.pop()
        yield node
        body = node.child_by_field_name("body") if is_closed(node) else None
        to_visit += [child for child in node.named_children if child != body]


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")

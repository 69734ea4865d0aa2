"""The files that a document imports: found with tree-sitter, looked for inside its project.

An import that leads nowhere, or out of the project, is skipped. Knows names of files; reads none that is imported.
"""

import os
from collections.abc import Callable, Iterable
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from completer.context.import_paths import PATHS, Alternatives, Place
from completer.languages import Language, language, parser
from completer.parsing import parse

if TYPE_CHECKING:
    from tree_sitter import Query, Tree

MAX_FILES = 32
_MAX_IMPORTS = 200
_MAX_PACKAGE_FILES = 8
_MAX_FOLDER_ENTRIES = 2000

_SCRIPT_QUERY = """
(import_statement source: (string (string_fragment) @import))
(export_statement source: (string (string_fragment) @import))
(call_expression
  function: [(import) (identifier)] @_function (#any-of? @_function "import" "require")
  arguments: (arguments . (string (string_fragment) @import)))
"""
_C_QUERY = "(preproc_include path: (string_literal) @import)"
_QUERIES = {
    "python": "[(import_statement) (import_from_statement)] @import",
    "javascript": _SCRIPT_QUERY,
    "javascriptreact": _SCRIPT_QUERY,
    "typescript": _SCRIPT_QUERY,
    "typescriptreact": _SCRIPT_QUERY,
    "go": "(import_spec path: (_) @import)",
    "rust": "[(mod_item !body) (use_declaration)] @import",
    "c": _C_QUERY,
    "cpp": _C_QUERY,
    "java": "[(package_declaration) (import_declaration)] @import",
}


class Imports:
    """The imports of one document. What changed of its text since last time is read again, the rest is not."""

    def __init__(self, known: Language, file: str, root: str) -> None:
        """file, root: absolute. The file itself need not exist."""
        self._language = known
        self._file, self._root = Path(file), Path(root)
        self._source = b""
        self._tree: Tree | None = None

    def files(self, text: str, is_allowed: Callable[[str], bool]) -> tuple[str, ...]:
        """Existing files of the project that text imports, in its order, at most MAX_FILES. Links are followed."""
        if self._language.id not in PATHS:
            return ()
        found: dict[str, None] = {}
        place = Place(self._file, self._root, is_allowed)
        for alternatives in PATHS[self._language.id](self._imports(text), place):
            found |= dict.fromkeys(_existing(alternatives, place))
            if len(found) > MAX_FILES:
                break
        found.pop(os.path.realpath(self._file), None)
        return tuple(found)[:MAX_FILES]

    def _imports(self, text: str) -> list[str]:
        from tree_sitter import QueryCursor

        source = text.encode("utf-8", "replace")
        tree = self._parse(source)
        nodes = QueryCursor(_query(self._language.id)).captures(tree.root_node).get("import", []) if tree else []
        nodes.sort(key=lambda node: node.start_byte)
        return [source[node.start_byte : node.end_byte].decode("utf-8", "replace") for node in nodes[:_MAX_IMPORTS]]

    def _parse(self, source: bytes) -> "Tree | None":
        found = parser(self._language)
        assert found is not None, self._language.id
        if self._tree is not None and self._tree.root_node.has_error:
            self._tree = None  # what was made of errors may be otherwise when read anew
        if self._tree is not None:
            _mark_change(self._tree, self._source, source)
        self._tree = parse(found, source, self._tree)
        self._source = source
        return self._tree


@cache
def _query(language_id: str) -> "Query":
    from tree_sitter import Query

    found = parser(language(language_id))
    assert found is not None and found.language is not None, language_id
    return Query(found.language, _QUERIES[language_id])


def _mark_change(tree: "Tree", old: bytes, new: bytes) -> None:
    """Tell tree, which is of old, what to read again to become the tree of new."""
    start = _common_prefix(old, new)
    kept_end = _common_prefix(old[start:][::-1], new[start:][::-1])
    old_end, new_end = len(old) - kept_end, len(new) - kept_end
    tree.edit(start, old_end, new_end, _point(old, start), _point(old, old_end), _point(new, new_end))


def _common_prefix(left: bytes, right: bytes) -> int:
    """How many first bytes are the same, by halving: whole slices compare fast."""
    same, end = 0, min(len(left), len(right))
    while same < end:
        middle = (same + end + 1) // 2
        if left[same:middle] == right[same:middle]:
            same = middle
        else:
            end = middle - 1
    return same


def _point(source: bytes, at: int) -> tuple[int, int]:
    """Row, and column in bytes."""
    return source.count(b"\n", 0, at), at - source.rfind(b"\n", 0, at) - 1


def _existing(alternatives: Alternatives, place: Place) -> list[str]:
    """The first of the alternatives that exists: itself, or the files in it."""
    for path in alternatives:
        if path.is_relative_to(place.root):
            if os.path.isfile(path):
                return _inside([path], place)
            if os.path.isdir(path) and os.access(path, os.R_OK):
                return _inside(_package_files(path, place.file.suffix), place)
    return []


def _inside(paths: Iterable[Path], place: Place) -> list[str]:
    """Those that may be read and do not leave the project by a link."""
    root = os.path.realpath(place.root)
    real = ((path, os.path.realpath(path)) for path in paths)
    return [file for path, file in real if Path(file).is_relative_to(root) and place.is_allowed(str(path))]


def _package_files(folder: Path, suffix: str) -> list[Path]:
    """Files of one language in a folder, tests left out."""
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in islice(entries, _MAX_FOLDER_ENTRIES))
    chosen = [name for name in names if name.endswith(suffix) and not name.endswith(f"_test{suffix}")]
    return [folder / name for name in chosen[:_MAX_PACKAGE_FILES]]

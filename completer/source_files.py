"""Real source files to measure with: found under folders, chosen by seed, read. Knows no model and no cursor."""

import os
import random
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from completer.errors import InputError
from completer.languages import language_of
from completer.source_text import read_text

FILES_PER_LANGUAGE = 60
MIN_LINES = 20
MAX_CHARS = 200_000
MAX_LINE_CHARS = 400
_NOT_CODE = {"plaintext", "markdown", "json", "jsonc", "yaml", "toml", "ini", "xml"}
_NOT_WRITTEN_HERE = {"node_modules", "__pycache__", "build", "dist", "target", "venv"}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """path: relative to root, the folder it was found under, with forward slashes."""

    path: str
    language: str
    text: str
    root: str = ""


def find_source_files(roots: Sequence[Path], seed: int, refusal: Callable[[str, str], str | None]) -> list[SourceFile]:
    """At most FILES_PER_LANGUAGE files of each language, drawn by seed, in order of language.

    Hidden folders, build output and other people's packages inside a root are left out, and so are files of data or
    prose, files shorter than MIN_LINES, and what no person writes: longer than MAX_CHARS or with a line longer than
    MAX_LINE_CHARS, and files that refusal(path, language) has a reason not to read. Raises InputError when a root is
    missing or nothing is left.
    """
    by_language: dict[str, list[tuple[str, Path]]] = {}
    for path, file in sorted(entry for root in roots for entry in _files_under(root)):
        by_language.setdefault(language_of(path).id, []).append((path, file))
    found = []
    for language in sorted(by_language.keys() - _NOT_CODE):
        candidates = by_language[language]
        random.Random(f"{seed} {language}").shuffle(candidates)
        readable = (source for path, file in candidates if (source := _read(path, language, file, refusal)) is not None)
        found += [source for source, _ in zip(readable, range(FILES_PER_LANGUAGE), strict=False)]
    if not found:
        names = ", ".join(map(str, roots))
        raise InputError(f"no source files of {MIN_LINES} lines or more in {names}; name other files or folders")
    return found


def environment_folders() -> list[Path]:
    """Where the packages of the running Python are installed."""
    installed = sysconfig.get_paths()
    return [Path(folder) for folder in dict.fromkeys((installed["purelib"], installed["platlib"]))]


def _files_under(root: Path) -> Iterator[tuple[str, Path]]:
    if root.is_file():
        yield root.name, root
    elif not root.is_dir():
        raise InputError(f"no such file or folder: {root}")
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if not name.startswith(".") and name not in _NOT_WRITTEN_HERE]
        for name in names:
            file = Path(folder, name)
            yield file.relative_to(root).as_posix(), file


def _read(path: str, language: str, file: Path, refusal: Callable[[str, str], str | None]) -> SourceFile | None:
    """None for a file that the rules leave out."""
    if not file.is_file() or refusal(os.path.abspath(file), language) is not None:  # a pipe would never end
        return None
    try:
        text = read_text(str(file))
    except InputError:  # not text, or gone
        return None
    lines = text.split("\n")
    if len(lines) < MIN_LINES or len(text) > MAX_CHARS or max(map(len, lines)) > MAX_LINE_CHARS:
        return None
    root = Path(os.path.abspath(file)).parents[path.count("/")]
    return SourceFile(path, language, text, str(root))

"""Where imports lead, by the rules of each language: imports as they are written in, paths to try out.

Reads nothing but a go.mod; whether a path exists, and may be read, is for others to find out.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Alternatives = Iterable[Path]
"""Where one import may lead; the first that exists is meant. A folder stands for the files in it."""


@dataclass(frozen=True, slots=True)
class Place:
    """A document and the folder of its project, both absolute, and what may be read there."""

    file: Path
    root: Path
    is_allowed: Callable[[str], bool]


def _python(imports: Sequence[str], place: Place) -> Iterator[Alternatives]:
    above = [folder for folder in place.file.parents if folder.is_relative_to(place.root)]
    for statement in imports:
        text = re.sub(r"#.*|[()\\]", " ", statement)
        member_import = re.match(r"from\s*(\.*)\s*([\w.]*)\s+import\s+(.*)", text, re.DOTALL)
        if member_import is None:
            for module in re.findall(r"([\w.]+)(?:\s+as\s+\w+)?\s*(?:,|$)", text):
                yield _python_module([*above, place.root / "src"], module.split("."))
            continue
        dots, module, members = member_import.groups()
        folders = list(place.file.parents[len(dots) - 1 : len(dots)]) if dots else [*above, place.root / "src"]
        for member in re.findall(r"(\w+|\*)(?:\s+as\s+\w+)?", members):
            yield _python_module(folders, module.split(".") if module else [], member.strip("*"))


def _python_module(folders: Iterable[Path], module: Sequence[str], member: str = "") -> Iterator[Path]:
    """Files of the member of a module, which may be a module itself, else of the module."""
    for folder in folders:
        package = folder.joinpath(*module)
        if member:
            yield from (package / f"{member}.py", package / f"{member}.pyi", package / member / "__init__.py")
        if module:
            yield from (package.with_name(f"{package.name}{ending}") for ending in (".py", ".pyi"))
        yield package / "__init__.py"


_SCRIPT_ENDINGS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_WRITTEN_AS = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}


def _script(imports: Sequence[str], place: Place) -> Iterator[Alternatives]:
    for name in imports:
        path = Path(os.path.normpath(place.file.parent / name))
        if re.match(r"\.\.?(/|$)", name) and path.name:
            yield _script_files(path)


def _script_files(path: Path) -> Iterator[Path]:
    if path.suffix in _SCRIPT_ENDINGS:
        yield path
        yield from (path.with_suffix(ending) for ending in _WRITTEN_AS.get(path.suffix, ()))
    yield from (path.with_name(f"{path.name}{ending}") for ending in _SCRIPT_ENDINGS)
    yield from (path / f"index{ending}" for ending in _SCRIPT_ENDINGS)


def _go(imports: Sequence[str], place: Place) -> Iterator[Alternatives]:
    above = (folder for folder in place.file.parents if folder.is_relative_to(place.root))
    module_file = next((file for folder in above if os.path.isfile(file := folder / "go.mod")), None)
    if module_file and os.access(module_file, os.R_OK) and place.is_allowed(str(module_file)):
        declared = re.search(r"^module\s+(\S+)", module_file.read_text("utf-8", "replace"), re.MULTILINE)
        module = f"{declared[1]}/" if declared else "/"
        for name in (f"{quoted[1:-1]}/" for quoted in imports):
            if name.startswith(module):
                yield [module_file.parent / name[len(module) :]]
    yield [place.file.parent]


def _rust(imports: Sequence[str], place: Place) -> Iterator[Alternatives]:
    above = (folder for folder in place.file.parents if folder.is_relative_to(place.root))
    roots = (folder for folder in above if any(os.path.isfile(folder / name) for name in ("lib.rs", "main.rs")))
    crate = next(roots, place.file.parent)
    own = place.file.parent
    if place.file.stem not in ("lib", "main", "mod"):
        own /= place.file.stem
    for text in imports:
        module = re.search(r"\bmod\s+(\w+)\s*;", text)
        if module is not None:
            yield _rust_module(own, [module[1]])
        path = re.search(r"\buse\s+(crate|self|super)((?:::\w+)*)(?:::\{(.*)\})?", text, re.DOTALL)
        if path is None:
            continue
        folder, parts = {"crate": crate, "self": own, "super": own.parent}[path[1]], path[2].split("::")[1:]
        while parts[:1] == ["super"]:
            folder, parts = folder.parent, parts[1:]
        for member in re.findall(r"\w+(?:::\w+)*", path[3] or "") or [""]:
            yield _rust_module(folder, [*parts, *filter(None, member.split("::"))])


def _rust_module(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """The last names may be those of items in a module."""
    for end in range(len(names), 0, -1):
        module = folder.joinpath(*names[:end])
        yield from (module.with_name(f"{module.name}.rs"), module / "mod.rs")


def _c(imports: Sequence[str], place: Place) -> Iterator[Alternatives]:
    folders = (place.file.parent, place.root, place.root / "include", place.root / "src")
    for quoted in imports:
        yield [Path(os.path.normpath(folder / quoted[1:-1])) for folder in folders]


def _java(imports: Sequence[str], place: Place) -> Iterator[Alternatives]:
    statements = [re.sub(r"\s", "", re.sub(r"\b(import|static)\s", "", text)).rstrip(";") for text in imports]
    package = next((text[len("package") :].split(".") for text in statements if text.startswith("package")), [])
    is_in_package = place.file.parent.parts[-len(package) :] == tuple(package)
    source_root = place.file.parents[len(package) if is_in_package else 0]
    for parts in (text.split(".") for text in statements if not text.startswith("package")):
        if parts[-1] == "*":
            yield [source_root.joinpath(*parts[:-1])]
        else:  # the last names may be those of a nested class or a static member
            yield [source_root.joinpath(*parts[:end]).with_suffix(".java") for end in range(len(parts), 0, -1)]
    yield [place.file.parent]


PATHS: Mapping[str, Callable[[Sequence[str], Place], Iterator[Alternatives]]] = {
    "python": _python,
    "javascript": _script,
    "javascriptreact": _script,
    "typescript": _script,
    "typescriptreact": _script,
    "go": _go,
    "rust": _rust,
    "c": _c,
    "cpp": _c,
    "java": _java,
}
"""By language id."""

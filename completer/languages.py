"""The languages: names, files, comments, grammars, and how a block looks in each. Knows no model and no editor.

Ids are those of the Language Server Protocol. Grammars come compiled with tree-sitter-language-pack 0.13 (later
versions fetch them at run time) and are opened at first use.
"""

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import tree_sitter

_BRACE_HEAD = r"[{\[]\s*$"
_TAG_HEAD = _BRACE_HEAD + r"|(?:^|[\s(>])<(?:[A-Za-z][^<>]*(?<!/))?>\s*$"


@dataclass(frozen=True, slots=True)
class Language:
    """What the engine knows of a language.

    files: extensions and whole names. block: what ends a block, `brackets` (a closing bracket, word or tag),
    `indentation` (a dedent) or `paragraph` (a blank line). brackets: the opening ones that always have a partner.
    words: keywords that open a block, each with the one that closes it. block_head: pattern found in a line that
    opens a block. preamble: what a window cut out of a file needs before it to be read in the right state.
    """

    id: str
    name: str
    grammar: str | None = None
    files: tuple[str, ...] = ()
    line_comment: str = ""
    block: Literal["brackets", "indentation", "paragraph"] = "brackets"
    words: tuple[tuple[str, str], ...] = ()
    block_head: str = _BRACE_HEAD
    brackets: str = "([{"
    aliases: tuple[str, ...] = ()
    preamble: str = ""

    def opens_block(self, line: str) -> bool:
        return re.search(self.block_head, line) is not None

    def closes_block(self, line: str) -> bool:
        start = line.lstrip()
        return start.startswith((")", "]", "}", "</")) or re.split(r"\W", start)[0] in {word for _, word in self.words}


PLAIN_TEXT = Language("plaintext", "Plain text", None, (".txt",), block="paragraph", aliases=("text",))
_UNKNOWN = Language("unknown", "Unknown", block="indentation", block_head=r":$|" + _BRACE_HEAD)

_RUBY_OPENERS = ("def", "class", "module", "begin", "case", "if", "unless", "while", "until", "for", "do")
_RUBY_WORDS = tuple((word, "end") for word in _RUBY_OPENERS)
_RUBY_HEAD = (
    r"^\s*(?:def|class|module|begin|case|if|elsif|else|unless|while|until|for|when|rescue|ensure)\b"
    r"|(?:\bdo|\{)(?:\s*\|[^|]*\|)?\s*$|\[\s*$"
)
_LUA_WORDS = (("function", "end"), ("if", "end"), ("do", "end"), ("repeat", "until"))
_LUA_HEAD = r"\b(?:do|then|else|repeat)\s*$|\bfunction\b[^()]*\([^()]*\)\s*$|" + _BRACE_HEAD
_BASH_WORDS = (("if", "fi"), ("do", "done"), ("case", "esac"))
_BASH_HEAD = r"\b(?:do|then|else)\s*$|^\s*case\b.*\bin\s*$|\{\s*$"
_BASH_FILES = (".sh", ".bash", ".zsh", ".ksh", ".bashrc", ".bash_profile", ".zshrc", ".profile")
_ELIXIR_WORDS = (("do", "end"), ("fn", "end"))
_JSON_FILES = (".json", ".webmanifest", ".ipynb", "composer.lock")

LANGUAGES = (
    Language("python", "Python", "python", (".py", ".pyi", ".pyw"), "#", "indentation",
             block_head=r":$|" + _BRACE_HEAD),
    Language("javascript", "JavaScript", "javascript", (".js", ".mjs", ".cjs"), "//", block_head=_TAG_HEAD),
    Language("javascriptreact", "JSX", "javascript", (".jsx",), "//", block_head=_TAG_HEAD, aliases=("jsx",)),
    Language("typescript", "TypeScript", "typescript", (".ts", ".mts", ".cts"), "//"),
    Language("typescriptreact", "TSX", "tsx", (".tsx",), "//", block_head=_TAG_HEAD, aliases=("tsx",)),
    Language("go", "Go", "go", (".go",), "//"),
    Language("rust", "Rust", "rust", (".rs",), "//"),
    Language("c", "C", "c", (".c", ".h"), "//"),
    Language("cpp", "C++", "cpp", (".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".ipp"), "//", aliases=("c++",)),
    Language("java", "Java", "java", (".java",), "//"),
    Language("csharp", "C#", "csharp", (".cs", ".csx"), "//", aliases=("cs", "c#")),
    Language("ruby", "Ruby", "ruby", (".rb", ".rake", ".gemspec", "Gemfile", "Rakefile"), "#",
             words=_RUBY_WORDS, block_head=_RUBY_HEAD),
    Language("php", "PHP", "php", (".php", ".phtml"), "//", preamble="<?php\n"),
    Language("lua", "Lua", "lua", (".lua",), "--", words=_LUA_WORDS, block_head=_LUA_HEAD),
    Language("shellscript", "Bash", "bash", _BASH_FILES, "#", words=_BASH_WORDS, block_head=_BASH_HEAD,
             brackets="[{", aliases=("bash", "sh", "zsh")),  # a case's `a)` has no partner
    Language("html", "HTML", "html", (".html", ".htm", ".xhtml"), block_head=_TAG_HEAD),
    Language("css", "CSS", "css", (".css",), block_head=r"\{\s*$"),
    Language("json", "JSON", "json", _JSON_FILES),
    Language("jsonc", "JSON with comments", "json", (".jsonc", ".code-workspace", "tsconfig.json"), "//"),
    Language("yaml", "YAML", "yaml", (".yaml", ".yml", ".clang-format"), "#", "indentation",
             block_head=r":(?:\s*[|>][+-]?)?$"),
    Language("markdown", "Markdown", "markdown", (".md", ".markdown", ".mdx"), block="paragraph"),
    Language("scss", "SCSS", "scss", (".scss",), "//", block_head=r"\{\s*$"),
    Language("vue", "Vue", "vue", (".vue",), block_head=_TAG_HEAD),
    Language("svelte", "Svelte", "svelte", (".svelte",), block_head=_TAG_HEAD),
    Language("xml", "XML", "xml", (".xml", ".xsd", ".svg", ".csproj", ".plist"), block_head=_TAG_HEAD),
    Language("toml", "TOML", "toml", (".toml", "Cargo.lock", "poetry.lock"), "#", "paragraph"),
    Language("ini", "INI", "ini", (".ini", ".cfg", ".editorconfig"), ";", "paragraph"),
    Language("sql", "SQL", "sql", (".sql",), "--", block_head=r"\(\s*$"),
    Language("kotlin", "Kotlin", "kotlin", (".kt", ".kts"), "//"),
    Language("swift", "Swift", "swift", (".swift",), "//"),
    Language("scala", "Scala", "scala", (".scala", ".sc"), "//"),
    Language("dart", "Dart", "dart", (".dart",), "//"),
    Language("zig", "Zig", "zig", (".zig",), "//"),
    Language("objective-c", "Objective-C", "objc", (".m",), "//", aliases=("objc",)),
    Language("cuda-cpp", "CUDA", "cuda", (".cu", ".cuh"), "//", aliases=("cuda",)),
    Language("groovy", "Groovy", "groovy", (".groovy", ".gradle", "Jenkinsfile"), "//"),
    Language("terraform", "Terraform", "terraform", (".tf", ".tfvars", ".hcl"), "#", aliases=("hcl",)),
    Language("proto", "Protocol Buffers", "proto", (".proto",), "//", aliases=("proto3",)),
    Language("graphql", "GraphQL", "graphql", (".graphql", ".gql"), "#"),
    Language("solidity", "Solidity", "solidity", (".sol",), "//"),
    Language("perl", "Perl", None, (".pl", ".pm"), "#"),  # its grammar reads `f#` for ever, and no limit stops it
    Language("powershell", "PowerShell", "powershell", (".ps1", ".psm1"), "#"),
    Language("r", "R", "r", (".r",), "#"),
    Language("haskell", "Haskell", "haskell", (".hs",), "--", "indentation",
             block_head=r"(?:=|->|\b(?:where|do|of))\s*$"),
    Language("elixir", "Elixir", "elixir", (".ex", ".exs"), "#", "indentation", _ELIXIR_WORDS,
             r"(?:\bdo|->|[{\[])\s*$"),
    Language("makefile", "Makefile", "make", (".mk", "Makefile", "GNUmakefile", "makefile"), "#", "indentation",
             block_head=r"^[^\s#=]+.*:"),
    Language("dockerfile", "Dockerfile", "dockerfile", (".dockerfile", "Dockerfile", "Containerfile"), "#",
             "paragraph"),
    PLAIN_TEXT,
)  # fmt: skip

_BY_ID = {name: known for known in LANGUAGES for name in (known.id, *known.aliases)}
_BY_FILE = {ending: known for known in LANGUAGES for ending in known.files}


def language(language_id: str) -> Language:
    """The language of an id or an alias of it. An unknown one is kept by name and read by its indentation alone."""
    if not language_id:
        return PLAIN_TEXT
    return _BY_ID.get(language_id.lower()) or replace(_UNKNOWN, id=language_id, name=language_id)


def language_of(path: str | PurePath) -> Language:
    """The language of a file, by its name, else by its extension; plain text where both are unknown."""
    name = PurePath(path).name
    return _BY_FILE.get(name) or _BY_FILE.get(PurePath(name).suffix.lower(), PLAIN_TEXT)


@cache
def _grammar(name: str) -> "tree_sitter.Language":
    from tree_sitter_language_pack import get_language

    return get_language(name)  # type: ignore[arg-type]


def parser(known: Language) -> "tree_sitter.Parser | None":
    """A parser of its own for the caller, None for a language without a grammar. Grammars stay loaded."""
    if known.grammar is None:
        return None
    from tree_sitter import Parser

    return Parser(_grammar(known.grammar))

"""Which language a file is in, and that every grammar is on this machine."""

import socket
from pathlib import PurePosixPath

import pytest

from completer.languages import LANGUAGES, PLAIN_TEXT, Language, language, language_of, parser

NEEDED = (
    "python", "javascript", "javascriptreact", "typescript", "typescriptreact", "go", "rust", "c", "cpp", "java",
    "csharp", "ruby", "php", "lua", "shellscript", "html", "css", "json", "yaml", "markdown",
)  # fmt: skip

SNIPPETS = {
    "python": "def f(x: int) -> int:\n    return x + 1\n",
    "javascript": "const f = async (x) => { return `${x}`; };\n",
    "javascriptreact": "const f = () => <ul>{items.map((i) => <li key={i}>{i}</li>)}</ul>;\n",
    "typescript": "interface A<T> { id: number; of?: T }\nlet a = <A<string>>b;\n",
    "typescriptreact": "const f = ({ a }: Props) => <p className={a}>text</p>;\n",
    "go": 'package main\n\nfunc main() {\n\tprintln("x")\n}\n',
    "rust": "fn f<'a>(x: &'a str) -> &'a str { x }\n",
    "c": "#include <stdio.h>\nint main(void) { return 0; }\n",
    "cpp": "template <typename T> auto f(T x) { return [=] { return x; }; }\n",
    "java": "class A { int f(int x) { return x; } }\n",
    "csharp": "namespace A { class B { string C => $\"{1}\"; } }\n",
    "ruby": "class A\n  def f(x)\n    puts x if x\n  end\nend\n",
    "php": "<?php\nfunction f(int $x): int { return $x; }\n",
    "lua": "local function f(x)\n  return x\nend\n",
    "shellscript": 'for x in "$@"; do\n  echo "$x"\ndone\n',
    "html": "<!DOCTYPE html>\n<ul><li>a<br></li></ul>\n",
    "css": "a:hover { color: #fff; }\n",
    "json": '{"a": [1, true, null]}\n',
    "jsonc": '// why\n{"a": 1}\n',
    "yaml": "a:\n  - b: 1\n    c: |\n      text\n",
    "markdown": "# Title\n\n- a\n\n```py\nx\n```\n",
    "scss": "$a: 1px;\n.b { .c { width: $a; } }\n",
    "vue": "<template><p>{{ a }}</p></template>\n<script>\nexport default {}\n</script>\n",
    "svelte": "<script>\nlet a = 1;\n</script>\n<p>{a}</p>\n",
    "xml": '<?xml version="1.0"?>\n<a><b c="d"/></a>\n',
    "toml": '[a]\nb = "c"\n',
    "ini": "[a]\nb = c\n",
    "sql": "SELECT a, count(*) FROM b WHERE c = 'd' GROUP BY a;\n",
    "kotlin": 'fun f(x: Int): String = "a ${x}"\n',
    "swift": 'func f(x: Int) -> String { return "a \\(x)" }\n',
    "scala": "object A { def f(x: Int): Int = { x + 1 } }\n",
    "dart": "void main() { print('a ${1}'); }\n",
    "zig": "pub fn f(x: u32) u32 {\n    return x;\n}\n",
    "objective-c": "@interface A : NSObject\n- (int)f;\n@end\n",
    "cuda-cpp": "__global__ void f(int *x) { x[threadIdx.x] = 0; }\n",
    "groovy": "def f(x) { return x }\n",
    "terraform": 'resource "a" "b" {\n  c = 1\n}\n',
    "proto": 'syntax = "proto3";\nmessage A { string b = 1; }\n',
    "graphql": "type A { b: Int! }\n",
    "solidity": "contract A { function f() public pure returns (uint) { return 1; } }\n",
    "powershell": "function f($x) {\n    Write-Output $x\n}\n",
    "r": "f <- function(x) { x + 1 }\n",
    "haskell": "f :: Int -> Int\nf x = x + 1\n",
    "elixir": "defmodule A do\n  def f(x), do: x\nend\n",
    "makefile": "all: build\n\ttouch all\n",
    "dockerfile": "FROM alpine\nRUN echo a\n",
}  # fmt: skip


@pytest.mark.parametrize("known", [known for known in LANGUAGES if known.grammar], ids=lambda known: known.id)
def test_every_grammar_parses_without_a_network(known: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a parser reached for the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    found = parser(known)
    assert found is not None
    tree = found.parse(SNIPPETS[known.id].encode())
    assert tree.root_node.child_count > 0
    assert not tree.root_node.has_error, tree.root_node


def test_the_languages_promised_are_there_with_a_grammar() -> None:
    assert [language_id for language_id in NEEDED if language(language_id).grammar is None] == []


def test_ids_aliases_and_files_name_one_language_each() -> None:
    names = [name for known in LANGUAGES for name in (known.id, *known.aliases)]
    files = [name for known in LANGUAGES for name in known.files]
    assert len(names) == len(set(names))
    assert len(files) == len(set(files))


@pytest.mark.parametrize(
    ("path", "language_id"),
    [
        ("/a/b/main.py", "python"),
        (PurePosixPath("types/index.d.ts"), "typescript"),
        ("App.TSX", "typescriptreact"),
        ("Makefile", "makefile"),
        ("docker/Dockerfile", "dockerfile"),
        ("tsconfig.json", "jsonc"),
        ("package.json", "json"),
        ("~/.bashrc", "shellscript"),
        ("notes.txt", "plaintext"),
        ("README", "plaintext"),
        ("data.unheard-of", "plaintext"),
        ("", "plaintext"),
    ],
)
def test_a_file_is_known_by_name_else_by_extension(path: str, language_id: str) -> None:
    assert language_of(path).id == language_id


def test_an_alias_is_the_language_itself() -> None:
    assert language("bash") is language("SH") is language("shellscript")


def test_an_unknown_language_keeps_its_name_and_has_no_parser() -> None:
    unknown = language("cobol")
    assert (unknown.id, unknown.grammar, unknown.block) == ("cobol", None, "indentation")
    assert parser(unknown) is None
    assert language("") is PLAIN_TEXT

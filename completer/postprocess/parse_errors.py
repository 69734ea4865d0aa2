"""How well a text parses. Knows no completion and no filter."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from completer.languages import Language, parser
from completer.parsing import parse

if TYPE_CHECKING:
    from tree_sitter import Node

_BRACKETS = re.compile(r'[()\[\]{}"]')
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def has_strict_grammar(language: Language) -> bool:
    """Whether a text of the language can have errors: Markdown's grammar takes any."""
    return language.grammar not in (None, "markdown")


def count_errors(language: Language, text: str) -> int | None:
    """Errors and missing tokens in the tree of text; None where it is too hard to read."""
    found = parser(language)
    assert found is not None, language.id
    tree = parse(found, text.encode("utf-8", "replace"))
    return None if tree is None else sum(1 for _ in _errors(tree.root_node))


def count_unpaired(text: str) -> int:
    """Brackets and double quotes without a partner, for a language without a strict grammar."""
    stack: list[str] = []
    for char in _BRACKETS.findall(text):
        if stack and stack[-1] == char:
            stack.pop()
        else:
            stack.append(_CLOSING.get(char, char))
    return len(stack)


def _errors(root: "Node") -> Iterator["Node"]:
    to_visit = [root]
    while to_visit:
        node = to_visit.pop()
        if node.is_error or node.is_missing:
            yield node
        if node.has_error:
            to_visit.extend(node.children)

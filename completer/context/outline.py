"""A file reduced to what others use of it: signatures, types and constants, without the bodies of functions.

Comments and imports go; of a docstring its first line stays. Bodies are cut out of the text, so that what is left
reads like the code it was. Knows one text; knows no files.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from completer.languages import Language, parser
from completer.parsing import parse

if TYPE_CHECKING:
    from tree_sitter import Node

LONG_LINES = 64
"""A file of at most so many lines is its own outline."""

FUNCTION = re.compile("function|method|constructor|lambda|closure|func_literal")
_NOISE = re.compile("comment|^import|^package|include|^use_declaration|^if_statement|^try_statement")


def outline(text: str, language: Language) -> str:
    """text without what is only of use inside; whole where it is short or cannot be parsed."""
    found = parser(language) if text.count("\n") >= LONG_LINES else None
    source = text.encode("utf-8", "replace")
    tree = parse(found, source) if found is not None else None
    if tree is None:
        return text
    kept, end = [], 0
    for start, stop, instead in sorted(_cuts(tree.root_node, source)):
        if start >= end:
            kept += [source[end:start], instead]
            end = stop
    kept.append(source[end:])
    return re.sub(r"\n\s*\n", "\n\n", b"".join(kept).decode("utf-8", "replace"))


def _cuts(root: "Node", source: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(start byte, end byte, what to write instead)."""
    to_visit = [root]
    while to_visit:
        parent = to_visit.pop()
        for node in parent.named_children:
            body = node.child_by_field_name("body")
            if _NOISE.search(node.type):
                yield node.start_byte, node.end_byte, b""
            elif _is_docstring(node, parent):
                yield node.start_byte, node.end_byte, _first_line(node, source)
            elif body is None or not FUNCTION.search(node.type):
                to_visit.append(node)
            elif body.end_point.row > body.start_point.row:
                yield _without(body, source)


def _without(body: "Node", source: bytes) -> tuple[int, int, bytes]:
    first = next((child for child in body.named_children if "comment" not in child.type), None)
    if first is not None and _is_docstring(first, body):
        return first.start_byte, body.end_byte, _first_line(first, source)
    return body.start_byte, body.end_byte, b"{ ... }" if body.children and body.children[0].type == "{" else b"..."


def _is_docstring(node: "Node", parent: "Node") -> bool:
    return node.type == "string" and parent.type in ("block", "module")


def _first_line(docstring: "Node", source: bytes) -> bytes:
    contents = (child for child in docstring.named_children if child.type == "string_content")
    content = next((source[child.start_byte : child.end_byte] for child in contents), b"")
    lines = content.strip().splitlines()
    return b'"""' + (lines[0].rstrip() if lines else b"") + b'"""'

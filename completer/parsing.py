"""Text to tree within bounds: some texts would keep a grammar busy for ever, others crash it, and with it the process.

What may be parsed is decided by the text alone, so that the answer is the same on any machine.
"""

import ctypes
import itertools
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser, Tree

_STEPS = 1_000
_BYTES_PER_STEP = 48
_READ_BYTES = 16_384

# The YAML grammar crashes at 254 levels of indentation or list items, the Kotlin grammar at 1,024 nested templates.
_TOO_DEEP = re.compile(rb"^[ \t?-]{200}|(?:\$\{[^}$]*){200}", re.MULTILINE)


def parse(parser: "Parser", source: bytes, old_tree: "Tree | None" = None) -> "Tree | None":
    """The tree of source, what old_tree has of it not read again; None for a text too hard to read. The text of a node
    is to be taken from source: the tree would read it again, and keep it.

    That is one nested 200 deep, and one that takes more than 1,000 steps of about 0.05 ms, or more than one for each
    48 bytes where that is more; code takes one for 160 bytes.
    """
    if _TOO_DEEP.search(source):
        return None
    steps = itertools.count(1)
    most_steps = max(_STEPS, len(source) // _BYTES_PER_STEP)

    given = [bytes(bytearray(2))]

    def read(at: int, _: object) -> bytes:
        given.append(bytes(memoryview(source)[at : at + _READ_BYTES]))  # never source itself, which others hold too
        return given[-1]

    def is_too_hard(*_: object) -> bool:
        return next(steps) > most_steps

    try:
        if old_tree is None:
            return parser.parse(read, progress_callback=is_too_hard)
        return parser.parse(read, old_tree, progress_callback=is_too_hard)
    except ValueError:  # what a parse given up raises
        parser.reset()
        return None
    finally:
        _release(given)


def _release(given: list[bytes]) -> None:
    """Free what the parser was given to read: py-tree-sitter 0.26.1 keeps a reference to all of it, for ever.

    given[0] was not given, so it has as many references as each should have. Does nothing once that is mended there.
    """
    usual = sys.getrefcount(given[0])
    for i in range(1, len(given)):
        if given[i]:  # the empty one is the interpreter's own; all others were made for this parse alone
            for _ in range(sys.getrefcount(given[i]) - usual):
                ctypes.pythonapi.Py_DecRef(ctypes.py_object(given[i]))
    given.clear()

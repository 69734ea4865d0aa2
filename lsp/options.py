"""What an editor may choose for its own connection. Everything that concerns the shared model is in the TOML file."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Options:
    """streaming: the editor understands completer/inlineCompletionChunk. automatic: complete while typing. manual: when
    asked for by hand.
    single_line: never more than the line. max_lines: 0 leaves it to the settings. popup: also in the completion popup,
    as always for an editor without inline completion.
    """

    streaming: bool = False
    automatic: bool = True
    manual: bool = True
    single_line: bool = False
    max_lines: int = 0
    popup: bool = False

    def updated(self, given: object) -> tuple["Options", list[str]]:
        """(these options with those given instead, what was wrong with those given)."""
        if not isinstance(given, Mapping):
            return self, []
        kinds: dict[str, type] = {option.name: type(option.default) for option in fields(Options)}
        good: dict[str, Any] = {}
        wrong = []
        for name, value in given.items():
            if name not in kinds:
                wrong.append(f"unknown option {name} is ignored; there are {', '.join(kinds)}")
            elif type(value) is not kinds[name] or (isinstance(value, int) and value < 0):
                wrong.append(f"option {name} is ignored: it must be {_NAMES[kinds[name]]}")
            else:
                good[name] = value
        return replace(self, **good), wrong


_NAMES: dict[type, str] = {bool: "true or false", int: "a whole number, 0 or more"}

"""What the filters may look at besides the completion: the text around the cursor and how it parses.

Everything is read at first use and kept, so one context serves all filters and all chunks of a request.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from completer.blocks import resolve_mode
from completer.languages import Language
from completer.postprocess.block_end import BlockEnd
from completer.postprocess.lines import Line, visible_lines
from completer.postprocess.parse_errors import count_errors, count_unpaired, has_strict_grammar
from completer.request import Mode
from completer.syntax import indent_of, read_syntax

LEVEL_WIDTHS = (4, 2, 8, 3)
_WINDOW_CHARS = 8_000


@dataclass(frozen=True)
class FilterContext:
    """fim_prefix and fim_suffix: the whole text before and after the cursor. mode: as in the request."""

    language: Language
    fim_prefix: str
    fim_suffix: str
    mode: Mode = "auto"

    @cached_property
    def current_line_prefix(self) -> str:
        return self.fim_prefix[self.fim_prefix.rfind("\n") + 1 :]

    @cached_property
    def current_line_suffix(self) -> str:
        return self.fim_suffix.partition("\n")[0].rstrip("\r")

    @cached_property
    def is_at_line_end(self) -> bool:
        return not self.current_line_suffix.strip()

    @cached_property
    def lines_above(self) -> tuple[Line, ...]:
        """The visible lines above the cursor's, the nearest last."""
        above = self.fim_prefix[: len(self.fim_prefix) - len(self.current_line_prefix)]
        return tuple(visible_lines(above[-_WINDOW_CHARS:]))

    @cached_property
    def next_lines(self) -> tuple[Line, ...]:
        """The visible lines below the cursor's, the nearest first."""
        return tuple(visible_lines(self.fim_suffix.partition("\n")[2][:_WINDOW_CHARS]))

    @cached_property
    def has_equal_lines(self) -> bool:
        """Whether equal lines follow each other next to the cursor: what repeats there may go on."""
        near = [line.text for line in (*self.lines_above[-2:], *self.next_lines[:2])]
        return any(a == b for a, b in pairwise(near))

    @cached_property
    def level_width(self) -> int:
        """Columns of a level of indentation: the most frequent step to the right in the lines around."""
        widths = [indent_of(line.text) for line in (*self.lines_above, *self.next_lines)]
        steps = Counter(b - a for a, b in pairwise(widths))
        return max(LEVEL_WIDTHS, key=lambda width: steps[width])

    @cached_property
    def resolved_mode(self) -> Mode:
        return resolve_mode(self.mode, self.language, self.fim_prefix, self.fim_suffix)

    @cached_property
    def block_end(self) -> BlockEnd:
        return BlockEnd(self.language, self.fim_prefix, self.fim_suffix)

    def is_in_literal(self, text: str) -> bool:
        """Whether what follows the cursor and `text` begins inside a string or comment."""
        syntax = read_syntax(self.language, self.fim_prefix + text)
        return syntax is not None and syntax.literal_at_cursor(self._windows[1]) is not None

    def errors_with(self, text: str) -> int | None:
        """How many errors the text around the cursor has, were `text` to stand there; None where it cannot be told.

        For a language without a strict grammar, only the cursor's line is looked at.
        """
        if not has_strict_grammar(self.language):
            return count_unpaired(self.current_line_prefix + text + self.current_line_suffix)
        before, after = self._windows
        return count_errors(self.language, before + text + after)

    def fewest_errors(self, text: str, others: Sequence[str]) -> str:
        """The earliest best of the others if the text around the cursor has fewer errors with it; else text itself."""
        best = text
        fewest = (self.errors_with(text) if others else 0) or 0
        for other in others if fewest else ():
            errors = self.errors_with(other)
            if errors is not None and errors < fewest:
                best, fewest = other, errors
        return best

    def repaired(self, text: str, other: str) -> str:
        """`other` where the text around the cursor has errors with `text` and none with it; else `text` itself."""
        return other if self.errors_with(text) and self.errors_with(other) == 0 else text

    @cached_property
    def _windows(self) -> tuple[str, str]:
        """What is parsed around the cursor: whole lines, from one that is likely to begin a definition."""
        before, after = self.fim_prefix, self.fim_suffix
        if len(before) > _WINDOW_CHARS:
            before = before[-_WINDOW_CHARS:]
            start = re.search(r"\n(?=[A-Za-z_@<#])", before[: _WINDOW_CHARS // 2]) or re.search(r"\n", before)
            before = self.language.preamble + (before[start.end() :] if start else before)
        if len(after) > _WINDOW_CHARS:
            after = after[: after.rfind("\n", 0, _WINDOW_CHARS) + 1] or after[:_WINDOW_CHARS]
        return before, after

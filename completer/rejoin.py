"""When a completion has caught up with the text that already follows the cursor. Knows nothing but text."""

import re

_MIN_WORD_CHARS = 3
_MAX_CHARS = 8_000
_MAX_REST_CHARS = 80
_QUOTES = "\"'`"


class NextLine:
    """The first visible line below the cursor's."""

    def __init__(self, fim_suffix: str) -> None:
        lines = fim_suffix[:_MAX_CHARS].split("\n")[1:]
        self._line = next((_plain(line) for line in lines if line.strip()), "")
        self._is_telling = _word_chars(self._line) >= _MIN_WORD_CHARS

    def is_repeated_by(self, line: str, is_first: bool) -> bool:
        """Whether a whole line of the completion is that line; `}` or `end` only counts as the first one written."""
        return (self._is_telling or is_first) and _plain(line) == self._line != ""

    def may_be_repeated_by(self, line: str) -> bool:
        return self._line.startswith(_plain(line))


class RestOfLine:
    """The visible text after the cursor on its own line. The completion stays on that line, and only grows."""

    def __init__(self, rest: str) -> None:
        self._rest = rest.strip()[:_MAX_REST_CHARS]
        self._word_chars = _word_chars(self._rest)
        self._pattern = re.compile((r"\b" if re.match(r"\w", self._rest) else "") + re.escape(self._rest))
        self._scanned = 0
        self._depth = 0
        self._quote = ""

    def reached_by(self, text: str) -> int | None:
        """Where in text, all of the completion so far, the rest begins again.

        Punctuation is reached where it would close what the completion did not open, words where all is repeated.
        """
        if not self._word_chars:
            return self._punctuation_in(text)
        if self._word_chars < _MIN_WORD_CHARS:
            return None
        found = self._pattern.search(text, max(0, self._scanned - len(self._rest)))
        self._scanned = len(text)
        return found.start() if found else None

    def reached_by_whole(self, line: str) -> int | None:
        """As reached_by, for a text that ends a line: there, a single short word of the rest is telling too."""
        end = line.rstrip()
        if self._word_chars and end.endswith(self._rest):
            found = self._pattern.search(end, len(end) - len(self._rest))
            return found.start() if found else None
        return self.reached_by(line)

    def held_in(self, text: str) -> int:
        """How many characters at the end of text may turn out to be the rest."""
        if not self._word_chars:
            return 0
        longest = min(len(self._rest), len(text))
        return next((held for held in range(longest, 0, -1) if text.endswith(self._rest[:held])), 0)

    def _punctuation_in(self, text: str) -> int | None:
        """Where text has the first character of the rest outside of brackets and quotes opened in text."""
        wanted = self._rest[0]
        while self._scanned < len(text):
            at, char = self._scanned, text[self._scanned]
            self._scanned += 2 if char == "\\" else 1
            if char == wanted and not self._quote and self._depth == 0:
                return at
            if self._quote or wanted in _QUOTES:
                self._quote = "" if char == self._quote else self._quote
            elif char in _QUOTES:
                self._quote = char
            else:
                self._depth += (char in "([{") - (char in ")]}")
        return None


def _word_chars(text: str) -> int:
    return len(re.findall(r"\w", text))


def _plain(line: str) -> str:
    return line.expandtabs(8).rstrip()

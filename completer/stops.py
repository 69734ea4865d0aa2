"""Where a completion ends. Knows its tokens one by one, and the text around the cursor; no model and no rounds.

Stop reasons:
  eos          the model ended it, with one of the stop tokens
  line         the line is whole (mode `line`)
  block        the block ended (mode `block`, see completer.blocks)
  suffix       the completion began to repeat the text after the cursor; it is cut before that
  repetition   the model goes in circles: the same line three times, or the same few tokens
  max_tokens   as many tokens as were asked for
  max_lines    as many visible lines as were asked for
  deadline     time is up; whole lines are kept where there is one

Mode `text` knows only eos, max_tokens, max_lines and deadline: it is what the model says, unabridged.
What ends a completion depends on its tokens alone, never on the rounds they came in (a deadline apart).
"""

import codecs
import re
import time
from collections.abc import Callable, Collection

from completer.blocks import block_at, resolve_mode
from completer.languages import Language
from completer.rejoin import NextLine, RestOfLine
from completer.repetition import Repetition
from completer.request import Mode

__all__ = ["Stops", "resolve_mode"]

_PARTS = re.compile(r"[^\n]*\n|[^\n]+")


def _monotonic_ms() -> float:
    return time.monotonic() * 1000.0


class Stops:
    """Fed the tokens that follow the cursor, in order, until it names a reason to stop.

    settled: how many characters of text no later token can take back; it only grows.
    """

    def __init__(
        self,
        *,
        language: Language,
        fim_prefix: str,
        fim_suffix: str,
        mode: Mode,
        stop_token_ids: Collection[int],
        max_tokens: int,
        max_lines: int = 0,
        deadline_ms: float | None = None,
        now_ms: Callable[[], float] = _monotonic_ms,
    ) -> None:
        """max_lines 0 is no limit. deadline_ms is a time of now_ms, not a duration. Mode `auto` is resolved here."""
        self.mode = resolve_mode(mode, language, fim_prefix, fim_suffix)
        self.settled = 0
        self._stop_token_ids = frozenset(stop_token_ids)
        self._max_tokens = max_tokens
        self._max_lines = max_lines
        self._deadline_ms = deadline_ms
        self._now_ms = now_ms
        self._cursor_line = fim_prefix[fim_prefix.rfind("\n") + 1 :]
        rest = fim_suffix.partition("\n")[0]
        self._block = block_at(language, fim_prefix, fim_suffix) if self.mode == "block" else None
        self._rest = RestOfLine(rest) if self.mode == "line" and rest.strip() else None
        self._next_line = NextLine(fim_suffix) if self.mode != "text" and not rest.strip() else None
        self._repetition = Repetition() if self.mode != "text" else None

        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._tokens = 0
        self._line_start = 0
        self._line_is_visible = False
        self._visible_lines = 0  # whole ones
        self._whole_lines_end = 0

    @property
    def text(self) -> str:
        """The completion as it stands: whole characters, without blank lines at its end."""
        visible = self._text.rstrip()
        trailing = self._text[len(visible) :]
        return visible + trailing.partition("\n")[0].rstrip("\r") if visible else ""

    @property
    def first_line_done(self) -> bool:
        return self._visible_lines > 0

    def push(self, token_id: int, token_bytes: bytes) -> str | None:
        """Account for one token; the reason, if the completion ends with it. token_bytes: its part after the cursor."""
        if token_id in self._stop_token_ids:
            reason = self._line_reason() if self._line_is_visible else None
            return reason or self._end("eos", len(self._text))
        self._tokens += 1
        for part in _PARTS.findall(self._decoder.decode(token_bytes)):
            reason = self._append(part)
            if reason is not None:
                return reason
        reason = self._loop_reason(token_id) or self._limit_reason()
        if reason is None:
            self._settle()
        return reason

    def _append(self, part: str) -> str | None:
        """Add text that has no line end, or one at its end."""
        self._text += part
        if not self._line_is_visible and part.strip():
            self._line_is_visible = True
            start = len(self._text) - len(part.lstrip())
            end = self._block.line_started(self._text[: start + 1], self._line_start) if self._block else None
            if end is not None:
                return self._end("block", end)
        if not part.endswith("\n"):
            end = self._rest.reached_by(self._text) if self._rest else None
            return None if end is None else self._end("suffix", end)
        line_end = len(self._text) - 1
        reason = self._line_reason() or self._whole_line_reason(line_end)
        self._line_start = len(self._text)
        self._line_is_visible = False
        return reason

    def _line_reason(self) -> str | None:
        """The reason found in the last line, were it to end here."""
        if self._rest and (end := self._rest.reached_by_whole(self._text)) is not None:
            return self._end("suffix", end)
        if self._block and (end := self._block.line_ended(self._text, self._line_start)) is not None:
            return self._end("block", end)
        is_first = not self._text[: self._line_start].strip()
        if self._next_line and self._line_is_visible and self._next_line.is_repeated_by(self._line(), is_first):
            return self._end("suffix", self._line_start)
        return None

    def _whole_line_reason(self, line_end: int) -> str | None:
        if not self._line_is_visible:
            return self._end("line", line_end) if self._rest else None
        self._visible_lines += 1
        self._whole_lines_end = line_end
        if self.mode == "line":
            return self._end("line", line_end)
        loop_start = self._repetition.line(self._line(), line_end) if self._repetition else None
        if loop_start is not None:
            return self._end("repetition", loop_start)
        return self._end("max_lines", line_end) if self._visible_lines == self._max_lines else None

    def _loop_reason(self, token_id: int) -> str | None:
        loop_start = self._repetition.token(token_id, len(self._text)) if self._repetition else None
        return None if loop_start is None else self._end("repetition", loop_start)

    def _limit_reason(self) -> str | None:
        if self._tokens >= self._max_tokens:
            return self._end("max_tokens", len(self._text))
        if self._deadline_ms is not None and self._now_ms() >= self._deadline_ms:
            return self._end("deadline", self._whole_lines_end or len(self._text))
        return None

    def _line(self) -> str:
        """The last line of the document as it would be: the first one begins before the cursor."""
        line = self._text[self._line_start :]
        return line if self._line_start else self._cursor_line + line

    def _settle(self) -> None:
        if self.mode == "block":
            end = self._whole_lines_end
        elif self._rest:
            end = len(self._text) - self._rest.held_in(self._text)
        elif self._next_line and self._next_line.may_be_repeated_by(self._line()):
            end = self._line_start
        else:
            end = len(self._text)
        if self._repetition and self._repetition.limit is not None:
            end = min(end, self._repetition.limit)
        self.settled = max(self.settled, len(self._text[:end].rstrip()))

    def _end(self, reason: str, end: int) -> str:
        self._text = self._text[: max(end, self.settled)]  # a tree read anew may put the end before what was shown
        self.settled = len(self.text)
        return reason

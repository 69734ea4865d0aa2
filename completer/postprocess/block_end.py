"""Where a completion leaves its block, by the rules of completer.blocks. Knows no filters."""

from completer.blocks import Block, block_at
from completer.languages import Language


class BlockEnd:
    """Remembers the lines it has read: of a text that grows, each line is parsed once."""

    def __init__(self, language: Language, fim_prefix: str, fim_suffix: str) -> None:
        self._around = language, fim_prefix, fim_suffix
        self._block: Block | None = None
        self._read = ""
        self._end: int | None = None

    def in_lines(self, text: str) -> int | None:
        """Where in text, which follows the cursor and ends with a line end or is empty, its block ends."""
        if self._block is None or not text.startswith(self._read):
            self._block, self._read, self._end = block_at(*self._around), "", None
        while self._end is None and len(self._read) < len(text):
            start = len(self._read)
            self._read = text[: text.index("\n", start) + 1]
            self._end = _end_in_line(self._block, self._read, start)
        return self._end

    def in_text(self, text: str) -> int | None:
        """As in_lines, where the last line need not have a line end, but is as long as it will be."""
        line_start = text.rfind("\n") + 1
        end = self.in_lines(text[:line_start])
        if end is None and line_start < len(text):
            block = self._block
            assert block is not None
            end = _end_in_line(block, text, line_start)
        return end


def _end_in_line(block: Block, text: str, line_start: int) -> int | None:
    """Where the last line ends the block. What stands above it stays, however more text makes it parse."""
    line = text[line_start:]
    end = None
    if line.strip():
        first_visible = line_start + len(line) - len(line.lstrip())
        end = block.line_started(text[: first_visible + 1], line_start)
    if end is None:
        end = block.line_ended(text, line_start)
    return None if end is None else max(end, line_start)

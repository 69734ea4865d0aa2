"""Token healing: cut the line before its last word, and make the model type that word again. Pure; knows bytes and ids.

A prompt that ends inside a token, or after a blank that belongs to the next one, sends a model astray. So the prompt
ends at the seam, before the word being typed, and while bytes of that word remain only tokens that agree with them
are allowed: those that begin with the remainder, and those that are a beginning of it.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

_SEAM = re.compile(r"\s*[^\w\s]*\w*\Z")
_LONGEST_REMAINDER_CHARS = 64
LONGEST_REMAINDER_BYTES = 4 * _LONGEST_REMAINDER_CHARS


def split_at_seam(line: str) -> tuple[str, str]:
    """(what the prompt may hold, the remainder to be typed again) of the text of a line up to the cursor.

    The remainder is the last word with the punctuation and the blanks before it, since tokenizers join those:
    "  return self.na" -> ("  return self", ".na"), "x = " -> ("x =", " "), "    " -> ("", "    ").
    """
    tail = line[-_LONGEST_REMAINDER_CHARS:]
    match = _SEAM.search(tail)
    assert match is not None  # the pattern matches the empty string
    remainder = match.group()
    return line[: len(line) - len(remainder)], remainder


class Vocabulary:
    """The bytes of every token, sorted, so that the tokens agreeing with a remainder are found by binary search."""

    def __init__(self, token_bytes: Sequence[bytes]) -> None:
        """token_bytes by id; an empty entry is a control token and never allowed while a remainder is left."""
        ids = sorted((i for i, text in enumerate(token_bytes) if text), key=token_bytes.__getitem__)
        self.token_bytes = token_bytes
        self._ids = np.array(ids, dtype=np.int64)
        self._sorted = [token_bytes[i] for i in ids]
        self.allowed = lru_cache(maxsize=512)(self._allowed)

    def __len__(self) -> int:
        return len(self.token_bytes)

    def _allowed(self, remainder: bytes) -> np.ndarray:
        """Ids, ascending, of the tokens that begin with remainder or are a beginning of it."""
        ranges = [self._between(remainder, _successor(remainder))]
        for length in range(1, len(remainder)):
            ranges.append(self._between(remainder[:length], remainder[:length] + b"\0"))
        return np.sort(np.concatenate(ranges))

    def _between(self, low: bytes, high: bytes | None) -> np.ndarray:
        start = bisect_left(self._sorted, low)
        end = len(self._sorted) if high is None else bisect_left(self._sorted, high)
        return self._ids[start:end]

    def remainder_after(self, remainder: bytes, token_ids: Iterable[int]) -> bytes:
        """What is left of remainder once token_ids are written; raises ValueError at a token that disagrees."""
        for token_id in token_ids:
            if not remainder:
                break
            text = self.token_bytes[token_id]
            if remainder.startswith(text) and text:
                remainder = remainder[len(text) :]
            elif text.startswith(remainder):
                remainder = b""
            else:
                raise ValueError(f"token {token_id} ({text!r}) disagrees with the remainder {remainder!r}")
        return remainder

    def allowed_rows(self, remainder: bytes, draft_ids: Sequence[int]) -> list[np.ndarray | None]:
        """For each of the len(draft_ids) + 1 rows of a verification, the allowed ids, or None where all are.

        Rows behind a draft that disagrees can never count; they are left free.
        """
        rows: list[np.ndarray | None] = []
        for token_id in draft_ids:
            rows.append(self.allowed(remainder) if remainder else None)
            try:
                remainder = self.remainder_after(remainder, (token_id,))
            except ValueError:
                remainder = b""
        rows.append(self.allowed(remainder) if remainder else None)
        return rows

    def retyping(self, remainder: bytes, draft_ids: Sequence[int]) -> int | None:
        """How many leading drafts only retype the remainder; None when some draft disagrees with it."""
        for count, token_id in enumerate(draft_ids):
            if not remainder or len(self.token_bytes[token_id]) > len(remainder):
                return count if self.token_bytes[token_id].startswith(remainder) else None
            try:
                remainder = self.remainder_after(remainder, (token_id,))
            except ValueError:
                return None
        return len(draft_ids)


def _successor(prefix: bytes) -> bytes | None:
    """The smallest string greater than every string that begins with prefix, None when there is none."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes([trimmed[-1] + 1]) if trimmed else None

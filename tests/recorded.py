"""What a daemon under test has recorded of suggestions: one by one in its log, added up in its database."""

import re
from pathlib import Path

from adaptive.store import Store

_EVENT = re.compile(
    r"lsp\.feedback: \S+ (\S+): (shown|accepted|partially_accepted|typed_through|rejected), (\d+) of (\d+)$",
    re.MULTILINE,
)


def logged(log: Path) -> list[tuple[str, str, int, int]]:
    """(suggestion id, kind, chars, of chars), in order. What was kept or removed in the end is left out."""
    text = log.read_text("utf-8") if log.exists() else ""
    return [(suggestion, kind, int(chars), int(of)) for suggestion, kind, chars, of in _EVENT.findall(text)]


def stored(database: Path) -> dict[tuple[str, str], tuple[int, int, int]]:
    """(language, kind) to (count, chars, of chars)."""
    if not database.exists():
        return {}
    store = Store(database)
    try:
        rows = list(store.suggestions())
    finally:
        store.close()
    return {(key.language, key.kind): (count.count, count.chars, count.of_chars) for _, key, count in rows}

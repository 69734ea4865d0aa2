"""What a daemon under test has recorded of suggestions: one by one in its log, added up in its database."""

import re
from pathlib import Path

from adaptive.store import Store

_AFTERWARDS = ("kept", "removed")
_EVENT = re.compile(
    r"lsp\.feedback: \S+ (\S+): (shown|accepted|partially_accepted|typed_through|rejected), (\d+) of (\d+)$",
    re.MULTILINE,
)


def logged(log: Path) -> list[tuple[str, str, int, int]]:
    """(suggestion id, kind, chars, of chars), in order, without what was seen of it a minute later."""
    text = log.read_text("utf-8") if log.exists() else ""
    return [(suggestion, kind, int(chars), int(of)) for suggestion, kind, chars, of in _EVENT.findall(text)]


def stored(database: Path) -> dict[tuple[str, str], tuple[int, int, int]]:
    """(language, kind) to (count, chars, of chars), without what was seen a minute later."""
    if not database.exists():
        return {}
    store = Store(database)
    try:
        rows = list(store.suggestions())
    finally:
        store.close()
    counts = {(key.language, key.kind): (count.count, count.chars, count.of_chars) for _, key, count in rows}
    return {key: count for key, count in counts.items() if key[1] not in _AFTERWARDS}

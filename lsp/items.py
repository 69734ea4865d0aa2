"""Suggestions as the protocol's records: inline, and for editors without inline completion in the popup."""

import re

from lsprotocol import types

from lsp.protocol import ACCEPT_COMMAND
from lsp.suggestions import Item
from lsp.text import units

_WORD = re.compile(r"\w*\Z")


def inline_item(item: Item) -> types.InlineCompletionItem:
    return types.InlineCompletionItem(insert_text=item.text, range=item.place.replaced, command=_accept(item))


def popup_item(item: Item, encoding: str) -> types.CompletionItem:
    """Popups filter by the word before the cursor, so that word is part of what the item inserts and is called."""
    found = _WORD.search(item.place.prefix)
    word = found[0] if found is not None else ""
    cursor = item.place.replaced.end
    start = types.Position(cursor.line, cursor.character - units(word, encoding))
    text = word + item.text
    return types.CompletionItem(
        label=text.strip().splitlines()[0],
        detail="completer",
        documentation=text,
        kind=types.CompletionItemKind.Text,
        filter_text=text,
        sort_text="\uffff",  # behind what the language's own server knows to be there
        text_edit=types.TextEdit(types.Range(start, cursor), text),
        command=_accept(item),
    )


def _accept(item: Item) -> types.Command:
    return types.Command("Accept", ACCEPT_COMMAND, arguments=[item.id])

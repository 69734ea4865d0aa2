"""What became of suggestions: shown, accepted, typed through, rejected, kept. Counts and ids go to a Sink; never text.

A suggestion counts as shown only once it has stood for SHOWN_S, or when the user acts on it. How it ended is decided
a moment after it is gone, as editors insert what was accepted before they say so. Knows no protocol and no database.
"""

import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from lsp.documents import readable
from lsp.suggestions import Item, Suggestion
from lsp.text import index_at

log = logging.getLogger(__name__)

SHOWN_S = 0.75
KEPT_S = 60.0
GONE_S = 1.0
_REMEMBERED = 16

Kind = Literal["shown", "accepted", "partially_accepted", "typed_through", "rejected", "kept", "removed"]


@dataclass(frozen=True, slots=True)
class SuggestionEvent:
    """suggestion_id ties the events of a suggestion together, request_id ties them to the completion in the log.

    document_id, project_id: as in the request, to be forgotten once they have told whose statistics these are.
    chars: how many of the suggestion's of_chars the event is about.
    """

    kind: Kind
    suggestion_id: str
    request_id: str
    language: str
    document_id: str
    project_id: str
    chars: int
    of_chars: int


class Sink(Protocol):
    def record(self, event: SuggestionEvent) -> None: ...


class LogSink:
    def record(self, event: SuggestionEvent) -> None:
        log.info("%s %s: %s, %d of %d", event.request_id, event.suggestion_id, event.kind, event.chars, event.of_chars)


class Cancellable(Protocol):
    def cancel(self) -> None: ...


@dataclass(eq=False, slots=True)
class _Display:
    """A suggestion that may be on the screen."""

    suggestion: Suggestion
    timer: Cancellable
    is_shown: bool = False
    is_leaving: bool = False
    is_ended: bool = False
    partly_accepted: int = 0


class Feedback:
    """The suggestions of one editor."""

    def __init__(
        self,
        sink: Sink,
        later: Callable[[float, Callable[[], None]], Cancellable],
        text_of: Callable[[str], str | None],
    ) -> None:
        """later(seconds, function) calls it then. text_of(uri): a document's text, None where it is not open."""
        self._sink = sink
        self._later = later
        self._text_of = text_of
        self._items: OrderedDict[str, Item] = OrderedDict()
        self._displays: dict[str, _Display] = {}
        self._accepted: deque[str] = deque(maxlen=_REMEMBERED)  # ids of suggestions: what comes late for one is nothing
        self._ended: deque[str] = deque(maxlen=_REMEMBERED)
        self._kept_timers: deque[Cancellable] = deque(maxlen=_REMEMBERED)
        self._editor_tells = False

    def answered(self, item: Item | None) -> None:
        """The editor was given an item, or nothing: what it had before is gone, unless it is the same suggestion."""
        suggestion = item.suggestion if item is not None else None
        for other in [*self._displays.values()]:
            if other.suggestion is not suggestion:
                self._gone(other)
        if item is None or suggestion is None:
            return
        self._items[item.id] = item
        if len(self._items) > _REMEMBERED:
            self._items.popitem(last=False)
        display = self._displays.get(suggestion.id)
        if display is None and not self._editor_tells and suggestion.id not in self._accepted:
            self._display(suggestion)
        elif display is not None and display.is_leaving:  # it is back
            display.timer.cancel()
            display.is_leaving = False

    def did_show(self, item_id: str) -> None:
        """From the first of these on, the editor's word counts, not the answer."""
        item = self._pending(item_id)
        if item is not None and (not self._editor_tells or item.suggestion.id not in self._displays):
            if item.suggestion.id in self._displays:
                self._displays.pop(item.suggestion.id).timer.cancel()
            self._display(item.suggestion)
        self._editor_tells = True

    def accepted(self, item_id: str) -> None:
        display, item = self._acted_on(item_id)
        if display is None or item is None:
            return
        self._end(display)
        suggestion = item.suggestion
        self._accepted.append(suggestion.id)
        begin = max(item.begin, display.partly_accepted)  # the editor may name the item of before the part
        self._record_parts(display, begin)
        chars = len(suggestion.text) - begin
        self._record("accepted", suggestion, chars)
        line = item.place.prefix[item.place.prefix.rfind("\n") + 1 :]
        needle = line + suggestion.text[item.begin :]
        self._kept_timers.append(
            self._later(KEPT_S, lambda: self._look_again(suggestion, item.place.uri, needle, chars))
        )

    def partially_accepted(self, item_id: str, accepted_length: int) -> None:
        """accepted_length: in UTF-16 units of the item's text, in all so far."""
        display, item = self._acted_on(item_id)
        if display is not None and item is not None:
            chars = len(readable(item.text[: index_at(item.text, accepted_length, "utf-16")])) - len(item.place.lead)
            display.partly_accepted = max(display.partly_accepted, item.begin + max(0, chars))

    def rejected(self, item_id: str) -> None:
        item = self._items.get(item_id)
        if item is not None and item.suggestion.id in self._ended and item.suggestion.id not in self._displays:
            return
        display, _ = self._acted_on(item_id)
        if display is not None:
            self._conclude(display)

    def close(self) -> None:
        """The editor is gone: nothing more is to be learned of what it had."""
        for display in [*self._displays.values()]:
            self._end(display)
        for timer in self._kept_timers:
            timer.cancel()
        self._items.clear()

    def _display(self, suggestion: Suggestion) -> None:
        display = _Display(suggestion, self._later(SHOWN_S, lambda: self._shown(display)))
        self._displays[suggestion.id] = display

    def _acted_on(self, item_id: str) -> tuple[_Display | None, Item | None]:
        """What the user acts on has been shown."""
        item = self._pending(item_id)
        if item is None:
            return None, None
        if item.suggestion.id not in self._displays:
            self._display(item.suggestion)
        display = self._displays[item.suggestion.id]
        self._shown(display)
        return display, item

    def _pending(self, item_id: str) -> Item | None:
        item = self._items.get(item_id)
        return item if item is not None and item.suggestion.id not in self._accepted else None

    def _shown(self, display: _Display) -> None:
        if not display.is_shown and not display.is_ended:
            display.is_shown = True
            self._record("shown", display.suggestion, len(display.suggestion.text))

    def _gone(self, display: _Display) -> None:
        if not display.is_leaving:
            display.timer.cancel()
            display.is_leaving = True
            display.timer = self._later(GONE_S, lambda: self._conclude(display))

    def _conclude(self, display: _Display) -> None:
        """It is gone and was not accepted as a whole."""
        if display.is_ended:
            return
        self._end(display)
        suggestion = display.suggestion
        self._record_parts(display, suggestion.typed_chars)
        left = len(suggestion.text) - max(suggestion.typed_chars, display.partly_accepted)
        if display.is_shown and left > 0:
            self._record("rejected", suggestion, left)

    def _record_parts(self, display: _Display, used_chars: int) -> None:
        """Of what was used, what was not accepted in parts was typed."""
        accepted = display.partly_accepted
        if accepted:
            self._record("partially_accepted", display.suggestion, accepted)
        if display.is_shown and used_chars > accepted:
            self._record("typed_through", display.suggestion, used_chars - accepted)

    def _end(self, display: _Display) -> None:
        display.is_ended = True
        display.timer.cancel()
        self._displays.pop(display.suggestion.id, None)
        self._ended.append(display.suggestion.id)

    def _look_again(self, suggestion: Suggestion, uri: str, needle: str, chars: int) -> None:
        text = self._text_of(uri)
        if text is not None:
            self._record("kept" if needle in text else "removed", suggestion, chars)

    def _record(self, kind: Kind, suggestion: Suggestion, chars: int) -> None:
        request = suggestion.request
        self._sink.record(
            SuggestionEvent(
                kind,
                suggestion.id,
                request.request_id,
                request.language,
                request.document_id,
                request.project_id,
                chars,
                len(suggestion.text),
            )
        )

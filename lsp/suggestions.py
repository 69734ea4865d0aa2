"""What is on the user's screen or about to be: completions as they grow, and what becomes of them as the user types.

One place answers many requests: typing the next characters of a suggestion, asking again, and asking where the text
would end once it is accepted are all the same suggestion, further along. Knows texts and places; knows no protocol.
"""

import asyncio
import itertools
import os
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from completer.request import CompletionRequest, CompletionResult
from lsp.documents import Place
from lsp.generation import Progress

REMEMBERED, REMEMBERED_CHARS = 32, 2_000_000
"""Most finished suggestions kept besides those in progress, for a cursor that comes back, and most text around them."""

_ids = itertools.count(1)


class Suggestion:
    """The completion of one request. text grows until is_done. All of it belongs to the event loop."""

    def __init__(self, request: CompletionRequest) -> None:
        self.id = f"{os.getpid()}-{next(_ids)}"
        self.request = request
        self.text = ""
        self.has_line = False
        self.is_done = False
        self.was_typed_along = False
        self.typed_chars = 0
        self.result: CompletionResult | None = None
        self.error: Exception | None = None
        self.is_cancelled = False
        self.stop: Callable[[], None] = _nothing
        self.hurry: Callable[[], None] = _nothing
        self.watchers: list[Callable[[], None]] = []
        """Called when the text has grown or is_done."""
        self._change: asyncio.Future[None] | None = None

    def cancel(self) -> None:
        """Nobody wants it any more. What it is written by notices later."""
        self.is_cancelled = True
        self.stop()

    def grow(self, progress: Progress) -> None:
        """Less text than before comes from a background job that begins again."""
        if len(progress.text) > len(self.text) or progress.result is not None:
            self.text, self.has_line, self.result = progress.text, progress.has_line, progress.result
            self.is_done = progress.result is not None
            self._announce()

    def finish(self, error: Exception | None) -> None:
        """Nothing more will come. Without a result before, it was cancelled or failed.

        It lets go of its job, which knows it, too: the texts of both would wait for the garbage collector.
        """
        if not self.is_done:
            self.is_done, self.error = True, error
            self._announce()
        self.stop = self.hurry = _nothing
        self.watchers.clear()

    def _announce(self) -> None:
        if self._change is not None and not self._change.done():
            self._change.set_result(None)
        self._change = None
        for watcher in [*self.watchers]:
            watcher()

    def changed(self) -> "asyncio.Future[None]":
        """Done when there is something new to look at."""
        if self._change is None:
            self._change = asyncio.get_running_loop().create_future()
        return self._change

    @property
    def is_complete(self) -> bool:
        """Whether it came to its own end."""
        return self.result is not None

    @property
    def is_given_up(self) -> bool:
        """Whether it was cancelled or has failed: it will not come to its end."""
        return (self.is_cancelled or self.is_done) and self.result is None

    def rest(self, prefix: str, suffix: str) -> str | None:
        """What is left of it at a cursor: "" while that is not known yet, None where it is of no use.

        That is a cursor which is where it began, or behind characters of it that have been typed since.
        """
        begin = self.request.fim_prefix
        if suffix != self.request.fim_suffix or not prefix.startswith(begin):
            return None
        typed = prefix[len(begin) :]
        if self.text.startswith(typed) and not (typed and typed == self.text and self.is_done):
            return self.text[len(typed) :]
        return "" if not self.is_done and typed.startswith(self.text) else None

    def follow(self, text: str) -> bool:
        """A document's whole text is this now: note how much of the suggestion is typed; False when it has left it."""
        prefix, suffix = self.request.fim_prefix, self.request.fim_suffix
        if len(text) < len(prefix) + len(suffix) or not text.startswith(prefix) or not text.endswith(suffix):
            return False
        typed = text[len(prefix) : len(text) - len(suffix)]
        if self.text.startswith(typed):
            self.typed_chars = len(typed)
        return self.rest(prefix + typed, suffix) is not None

    def draft_at(self, prefix: str) -> str:
        """What of its text to try first at another cursor in the same document, "" for nothing."""
        begin = self.request.fim_prefix
        if prefix.startswith(begin):
            common = os.path.commonprefix([prefix[len(begin) :], self.text])
            return self.text[len(common) :]
        if begin.startswith(prefix):
            return begin[len(prefix) :] + self.text
        is_same_line = prefix[prefix.rfind("\n") :] == begin[begin.rfind("\n") :]
        return self.text if is_same_line else ""


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Item:
    """A suggestion as it was answered: from which of its characters on."""

    id: str
    suggestion: Suggestion
    begin: int
    place: Place

    @property
    def text(self) -> str:
        return self.place.inserted(self.suggestion.text[self.begin :])


class Suggestions:
    """Those of one editor. `current` is on the screen or on its way; `next` is what will follow once it is accepted."""

    def __init__(self) -> None:
        self.current: Suggestion | None = None
        self.next: Suggestion | None = None
        self._finished: OrderedDict[CompletionRequest, Suggestion] = OrderedDict()

    def find(self, request: CompletionRequest) -> Suggestion | None:
        """The current or next one where it covers what is asked for, whatever other files say by now."""
        for suggestion in (self.current, self.next):
            if suggestion is None or suggestion.is_given_up:
                continue
            is_alike = _settings(suggestion.request) == _settings(request)
            if is_alike and suggestion.rest(request.fim_prefix, request.fim_suffix) is not None:
                return suggestion
        return None

    def recall(self, request: CompletionRequest) -> Suggestion | None:
        """An earlier one for just the same request."""
        return self._finished.get(_essence(request))

    def show(self, suggestion: Suggestion) -> None:
        """Make it the current one; the one before, and what was to follow it, are given up."""
        suggestion.was_typed_along = False
        if suggestion is self.current:
            return
        self._retire(self.current)
        if suggestion is self.next:
            suggestion.hurry()
        else:
            self._retire(self.next)
        self.current, self.next = suggestion, None

    def edited(self, uri: str, text: str) -> None:
        """A document has changed, and this is its text now: give up what does not go on in it."""
        current, following = self.current, self.next
        if current is None or current.request.document_id != uri:
            return
        if current.follow(text):
            current.was_typed_along = True
        elif following is not None and following.follow(text):
            pass
        else:
            current.cancel()
            if following is not None:
                following.cancel()

    def give_up(self, uri: str | None = None) -> None:
        """Cancel what is in progress, in one document or in all."""
        for suggestion in (self.current, self.next):
            if suggestion is not None and uri in (None, suggestion.request.document_id):
                suggestion.cancel()

    def forget(self) -> None:
        """Take nothing from earlier: settings have changed."""
        self.give_up()
        self.current = self.next = None
        self._finished.clear()

    def _retire(self, suggestion: Suggestion | None) -> None:
        if suggestion is None:
            return
        if not suggestion.is_done:
            suggestion.cancel()
        elif suggestion.is_complete:
            self._finished[_essence(suggestion.request)] = suggestion
            self._finished.move_to_end(_essence(suggestion.request))
            while len(self._finished) > REMEMBERED or sum(map(_chars, self._finished)) > REMEMBERED_CHARS:
                self._finished.popitem(last=False)


def _settings(request: CompletionRequest) -> tuple[object, ...]:
    return request.document_id, request.language, request.mode, request.max_tokens, request.max_lines


def _essence(request: CompletionRequest) -> CompletionRequest:
    """What of a request its completion depends on."""
    return replace(request, request_id="", previous_suggestion="")


def _chars(request: CompletionRequest) -> int:
    return len(request.fim_prefix) + len(request.fim_suffix)

"""One request for an inline completion, from its arrival to its answer and the chunks that follow it.

A newer request answers the older with nothing; a suggestion that is still growing serves both when the user typed
along with it, and ghost text and popup alike where an editor shows both. Knows sessions and suggestions; knows neither
documents nor the engine.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable
from dataclasses import replace

from lsprotocol import types

from completer.request import CompletionRequest
from lsp.documents import Place
from lsp.generation import generate
from lsp.protocol import CHUNK
from lsp.session import Session
from lsp.status import Status
from lsp.suggestions import Item, Suggestion
from lsp.worker import Job

log = logging.getLogger(__name__)

WARM_AFTER_S = 0.25
"""Reading ahead begins so long after its occasion: a request that comes with it need not wait for a pass to end."""

TYPED_ALONG_S = 0.25
"""When an editor cancels a request because of a key that goes on with the suggestion, it asks again within this."""

_request_ids = itertools.count(1)


class InlineCompletions:
    """The requests of one editor."""

    def __init__(self, session: Session, status: Status, answered: Callable[[Item | None], None]) -> None:
        """answered is told what goes to the editor, where it is not because of a newer request."""
        self._session = session
        self._status = status
        self._answered = answered
        self._asked: dict[bool, asyncio.Future[None]] = {}
        """The newest request of the popup (True) and for ghost text: done when a newer came, or it is answered."""
        self._stop_streaming: Callable[[], None] = lambda: None
        self._warm_timer: asyncio.TimerHandle | None = None
        self._warming: Job[None] | None = None
        self._missed: tuple[str, types.Position] | None = None

    async def answer(
        self,
        uri: str,
        position: types.Position,
        is_automatic: bool,
        selected: types.SelectedCompletionInfo | None = None,
        in_popup: bool = False,
    ) -> Item | None:
        """The first useful part of a completion; None where there is none to be had, or a newer request came.

        An editor that understands chunks gets the rest as such, but not in its popup. CancelledError frees the engine.
        """
        asked = self._supersede(in_popup)
        session = self._session
        session.service.refresh()
        document = session.documents.get(uri)
        place = session.documents.place(document, position, selected) if document is not None else None
        is_wanted = session.is_wanted(is_automatic)
        if document is None or place is None or not is_wanted or session.refusal(document) is not None:
            session.suggestions.give_up()
            self._answered(None)
            self._status.update(uri)
            return None
        request = session.request(place)
        streams = session.options.streaming and not in_popup
        try:
            suggestion = session.suggestions.find(request)
            if suggestion is not None and not is_automatic and self._is_outdated(suggestion, request):
                session.suggestions.show(self._begin(request, is_automatic))
            if suggestion is None and is_automatic and not await self._is_worth_it(uri, position, asked):
                return None
            suggestion = await self._first_useful(request, asked, streams, is_automatic)
        except asyncio.CancelledError:
            if not asked.done():
                self._cancelled(asked)
            raise
        finally:
            if not asked.done():
                asked.set_result(None)
        return None if suggestion is None else self._item(suggestion, place, streams)

    def warm(self, uri: str, position: types.Position) -> None:
        """Read ahead what a request at this position will need, while nobody waits for anything."""
        session = self._session
        document = session.documents.get(uri)
        place = session.documents.place(document, position) if document is not None else None
        is_ready = session.service.worker.state == "ready"
        if document is None or place is None or not is_ready or session.refusal(document) is not None:
            return
        request = session.request(place)
        self._warm(replace(request, context_chunks=session.context(request)))

    def _warm(self, request: CompletionRequest) -> None:
        self.stop_warming()
        worker = self._session.service.worker
        job: Job[None] = Job(
            lambda engine, cancelled: iter((engine.warm(request, cancelled),)),
            deliver=lambda nothing: None,
            finish=lambda error: None,
            is_background=True,
        )
        self._warming = job
        if self._session.service.may_work_ahead():
            loop = asyncio.get_running_loop()
            self._warm_timer = loop.call_later(WARM_AFTER_S, lambda: worker.submit(job))

    def stop_warming(self) -> None:
        for warming in (self._warm_timer, self._warming):
            if warming is not None:
                warming.cancel()

    def loaded(self) -> None:
        """The model is there now: for an automatic request that came before, and was not waited for, read ahead."""
        if self._missed is not None:
            self.warm(*self._missed)
            self._missed = None

    def _supersede(self, in_popup: bool) -> "asyncio.Future[None]":
        """A future that is done when a newer request has come."""
        older = self._asked.get(in_popup)
        if older is not None and not older.done():
            older.set_result(None)
        if not in_popup:
            self._stop_streaming()
        if self._warm_timer is not None:
            self._warm_timer.cancel()
        self._asked[in_popup] = asked = asyncio.get_running_loop().create_future()
        return asked

    async def _is_worth_it(self, uri: str, position: types.Position, asked: "asyncio.Future[None]") -> bool:
        """Whether an automatic request should start a completion: the model is there, and the user has paused."""
        session = self._session
        session.suggestions.give_up()
        if session.service.worker.state != "ready":
            session.service.worker.load()
            self._missed = uri, position
            self._status.update(uri)
            return False
        edits = session.edits
        await asyncio.wait({asked}, timeout=session.debounce.delay_s())
        return not asked.done() and session.edits == edits

    def _is_outdated(self, suggestion: Suggestion, request: CompletionRequest) -> bool:
        """Whether a user who asks by hand for what is there already would get something else: other files changed."""
        return suggestion.is_complete and suggestion.request.context_chunks != self._session.context(request)

    async def _first_useful(
        self, request: CompletionRequest, asked: "asyncio.Future[None]", streams: bool, is_automatic: bool
    ) -> Suggestion | None:
        """A suggestion that is finished, or as much of it as is useful: its first line where the rest can follow, or
        when the time is up; less than a line only when it is up and the rest can follow.
        """
        session, loop = self._session, asyncio.get_running_loop()
        deadline_s = loop.time() + session.service.config.service.first_line_deadline_ms / 1000
        while True:
            suggestion = session.suggestions.find(request) or self._begin(request, is_automatic)
            session.suggestions.show(suggestion)
            self._status.update(request.document_id)
            rest = suggestion.rest(request.fim_prefix, request.fim_suffix) or ""
            left_s = deadline_s - loop.time()
            is_late, has_text = left_s <= 0, rest.strip() != ""
            is_useful = has_text and (suggestion.has_line and (streams or is_late) or (streams and is_late))
            if suggestion.is_done or is_useful:
                return suggestion
            timeout_s = left_s if left_s > 0 else None
            await asyncio.wait({suggestion.changed(), asked}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if asked.done() or suggestion.is_given_up:
                return None

    def _begin(self, request: CompletionRequest, is_automatic: bool) -> Suggestion:
        """A completion for the request: an earlier one if there is one, else from the engine."""
        session = self._session
        current = session.suggestions.current
        is_same_document = current is not None and current.request.document_id == request.document_id
        full = replace(
            request,
            request_id=f"r{next(_request_ids)}",
            context_chunks=session.context(request),
            previous_suggestion=current.draft_at(request.fim_prefix)
            if current is not None and is_same_document
            else "",
        )
        return session.suggestions.recall(full) or self._generate(full, is_automatic)

    def _generate(self, request: CompletionRequest, is_automatic: bool, is_background: bool = False) -> Suggestion:
        worker, planner = self._session.service.worker, self._session.service.planner(request, is_automatic)
        suggestion = Suggestion(request)
        now_s = self._session.service.clock_s
        asked_s = now_s()
        job = Job(
            lambda engine, cancelled: generate(engine, _later(request, now_s() - asked_s), planner, cancelled),
            deliver=suggestion.grow,
            finish=lambda error: self._finished(suggestion, error),
            is_background=is_background,
        )
        suggestion.stop = job.cancel
        suggestion.hurry = lambda: worker.hurry(job)
        worker.submit(job)
        return suggestion

    def _finished(self, suggestion: Suggestion, error: Exception | None) -> None:
        suggestion.finish(error)
        self._status.update(suggestion.request.document_id)
        result = suggestion.result
        if result is None:
            return
        log.info(
            "%s: %d tokens, %d chars shown, %.0f ms, first after %.0f ms, %s",
            suggestion.request.request_id,
            result.tokens,
            len(suggestion.text),
            result.total_ms,
            result.ttft_ms,
            result.stop_reason,
        )
        self._session.debounce.began(result.ttft_ms / 1000)
        self._prepare_next(suggestion)
        if result.is_brief and suggestion is self._session.suggestions.current:
            self._warm(suggestion.request)

    def _prepare_next(self, suggestion: Suggestion) -> None:
        """While the user reads it: what would follow, once it is accepted."""
        suggestions = self._session.suggestions
        is_on_screen = suggestion is suggestions.current and suggestion.text != ""
        if not is_on_screen or suggestions.next is not None or not self._session.service.may_work_ahead():
            return
        request = suggestion.request
        after = replace(request, request_id=f"{request.request_id}+", fim_prefix=request.fim_prefix + suggestion.text)
        after = replace(after, previous_suggestion="")
        if suggestions.recall(after) is None:
            suggestions.next = self._generate(after, is_automatic=True, is_background=True)

    def _cancelled(self, asked: "asyncio.Future[None]") -> None:
        """The editor takes a request back. Typing along with the suggestion, it is about to ask again."""
        current = self._session.suggestions.current
        if any(other is not asked and not other.done() for other in self._asked.values()):
            return
        if current is not None and not current.was_typed_along:
            current.cancel()
        elif current is not None:
            loop = asyncio.get_running_loop()
            loop.call_later(TYPED_ALONG_S, lambda: current.cancel() if asked in self._asked.values() else None)

    def _item(self, suggestion: Suggestion, place: Place, streams: bool) -> Item | None:
        begin = len(place.prefix) - len(suggestion.request.fim_prefix)
        item = Item(f"{suggestion.id}/{begin}", suggestion, begin, place)
        has_text = item.suggestion.text[begin:].strip() != ""
        self._answered(item if has_text else None)
        if not has_text:
            return None
        if suggestion.is_complete:
            self._prepare_next(suggestion)
        elif streams:
            self._stream(item)
        return item

    def _stream(self, item: Item) -> None:
        suggestion = item.suggestion

        def send() -> None:
            if suggestion.is_given_up:
                return
            params = {"id": item.id, "uri": item.place.uri, "insertText": item.text, "done": suggestion.is_done}
            self._session.notify(CHUNK, params)

        suggestion.watchers.append(send)
        self._stop_streaming = lambda: suggestion.watchers.remove(send) if send in suggestion.watchers else None


def _later(request: CompletionRequest, waited_s: float) -> CompletionRequest:
    """The request after a wait: less of the time for its first line is left, but half of it in any case."""
    if request.first_line_ms is None:
        return request
    return replace(request, first_line_ms=request.first_line_ms - min(waited_s * 1000, request.first_line_ms / 2))

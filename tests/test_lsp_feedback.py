"""What is counted of suggestions, and what is not: by a clock and a sink of the test's own."""

import heapq
import itertools
from collections.abc import Callable

import pytest
from lsprotocol import types

from completer.request import CompletionRequest, CompletionResult
from lsp.documents import Place
from lsp.feedback import Feedback, SuggestionEvent
from lsp.generation import Progress
from lsp.suggestions import Item, Suggestion

PREFIX = "def f():\n    "
TEXT = "return '😀' + name"
URI = "file:///a.py"


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0
        self._timers: list[tuple[float, int, Callable[[], None], list[bool]]] = []
        self._order = itertools.count()

    def later(self, seconds: float, function: Callable[[], None]) -> "Timer":
        alive = [True]
        heapq.heappush(self._timers, (self.now_s + seconds, next(self._order), function, alive))
        return Timer(alive)

    def wait(self, seconds: float) -> None:
        until_s = self.now_s + seconds
        while self._timers and self._timers[0][0] <= until_s:
            self.now_s, _, function, alive = heapq.heappop(self._timers)
            if alive[0]:
                function()
        self.now_s = until_s


class Timer:
    def __init__(self, alive: list[bool]) -> None:
        self._alive = alive

    def cancel(self) -> None:
        self._alive[0] = False


class Screen:
    """An editor's, with the feedback it gives."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.events: list[SuggestionEvent] = []
        self.text: str | None = None
        self.feedback = Feedback(self, self.clock.later, lambda uri: self.text)

    def record(self, event: SuggestionEvent) -> None:
        self.events.append(event)

    @property
    def counted(self) -> list[tuple[str, int]]:
        return [(event.kind, event.chars) for event in self.events]


@pytest.fixture
def screen() -> Screen:
    return Screen()


def suggested(text: str = TEXT, request_id: str = "r1") -> Suggestion:
    suggestion = Suggestion(CompletionRequest(PREFIX, "", request_id, URI, "python", "/project"))
    suggestion.grow(Progress(text, True, CompletionResult(text=text)))
    return suggestion


def item(suggestion: Suggestion, begin: int = 0) -> Item:
    place = Place(URI, 1, "python", PREFIX + TEXT[:begin], "", "", types.Range(*[types.Position(1, 4)] * 2), "\n")
    return Item(f"{suggestion.id}/{begin}", suggestion, begin, place)


def test_a_suggestion_counts_as_shown_after_750_ms(screen):
    screen.feedback.answered(item(suggested()))
    screen.clock.wait(0.74)
    assert screen.counted == []
    screen.clock.wait(0.02)
    assert screen.counted == [("shown", len(TEXT))]
    event = screen.events[0]
    assert (event.request_id, event.language, event.project_id) == ("r1", "python", "/project")


def test_one_that_is_gone_sooner_was_never_shown(screen):
    screen.feedback.answered(item(suggested()))
    screen.clock.wait(0.5)
    screen.feedback.answered(None)
    screen.clock.wait(100)
    assert screen.counted == []


def test_an_editor_that_tells_what_it_shows_is_believed(screen):
    first = item(suggested())
    screen.feedback.answered(first)
    screen.clock.wait(0.7)
    screen.feedback.did_show(first.id)
    screen.clock.wait(0.7)
    assert screen.counted == []
    screen.clock.wait(0.1)
    assert screen.counted == [("shown", len(TEXT))]
    screen.feedback.answered(item(suggested(request_id="r2")))
    screen.clock.wait(10)
    assert [event.kind for event in screen.events if event.request_id == "r2"] == []


def test_accepting_counts_as_shown_too_and_is_looked_at_after_60_s(screen):
    accepted = item(suggested())
    screen.feedback.answered(accepted)
    screen.feedback.accepted(accepted.id)
    assert screen.counted == [("shown", len(TEXT)), ("accepted", len(TEXT))]
    screen.text = PREFIX + TEXT + "\n"
    screen.clock.wait(59)
    assert len(screen.events) == 2
    screen.clock.wait(2)
    assert screen.counted[2:] == [("kept", len(TEXT))]


def test_what_is_edited_within_60_s_is_not_kept(screen):
    accepted = item(suggested())
    screen.feedback.answered(accepted)
    screen.feedback.accepted(accepted.id)
    screen.text = PREFIX + "return None\n"
    screen.clock.wait(61)
    assert screen.counted[2:] == [("removed", len(TEXT))]


def test_of_a_closed_document_nothing_is_said(screen):
    accepted = item(suggested())
    screen.feedback.answered(accepted)
    screen.feedback.accepted(accepted.id)
    screen.clock.wait(61)
    assert len(screen.events) == 2


def test_an_editor_may_insert_and_ask_for_more_before_it_says_accepted(screen):
    accepted = item(suggested())
    screen.feedback.answered(accepted)
    screen.clock.wait(1)
    assert accepted.suggestion.follow(PREFIX + TEXT) is False
    screen.feedback.answered(item(suggested(request_id="r2")))
    screen.clock.wait(0.2)
    screen.feedback.accepted(accepted.id)
    screen.clock.wait(10)
    assert [(e.kind, e.chars) for e in screen.events if e.request_id == "r1"] == [
        ("shown", len(TEXT)),
        ("accepted", len(TEXT)),
    ]


def test_typed_through_text_counts_as_accepted_characters(screen):
    suggestion = suggested()
    screen.feedback.answered(item(suggestion))
    screen.clock.wait(0.8)
    assert suggestion.follow(PREFIX + TEXT[:6])
    screen.feedback.answered(item(suggestion, begin=6))
    screen.clock.wait(5)
    screen.feedback.answered(None)
    screen.clock.wait(2)
    assert screen.counted == [("shown", len(TEXT)), ("typed_through", 6), ("rejected", len(TEXT) - 6)]


def test_partial_acceptance_is_counted_once_and_in_utf16_units(screen):
    suggestion = suggested()
    shown = item(suggestion)
    screen.feedback.answered(shown)
    screen.feedback.partially_accepted(shown.id, 6)
    screen.feedback.partially_accepted(shown.id, 11)  # up to the quote behind the emoji, which is two units long
    assert suggestion.follow(PREFIX + TEXT[:10])
    screen.feedback.answered(item(suggestion, begin=10))
    screen.feedback.answered(None)
    screen.clock.wait(2)
    assert screen.counted == [("shown", len(TEXT)), ("partially_accepted", 10), ("rejected", len(TEXT) - 10)]


@pytest.mark.parametrize("begin", [0, 6])
def test_accepting_the_rest_after_a_part_of_it(screen, begin):
    suggestion = suggested()
    screen.feedback.answered(item(suggestion))
    screen.feedback.partially_accepted(item(suggestion).id, 6)
    named = item(suggestion, begin)
    screen.feedback.answered(named)
    screen.feedback.accepted(named.id)
    screen.clock.wait(10)
    kinds = dict(screen.counted)
    assert kinds == {"shown": len(TEXT), "partially_accepted": 6, "accepted": len(TEXT) - 6}


def test_rejected_by_the_user(screen):
    shown = item(suggested())
    screen.feedback.answered(shown)
    screen.feedback.rejected(shown.id)
    assert screen.counted == [("shown", len(TEXT)), ("rejected", len(TEXT))]
    screen.clock.wait(10)
    assert len(screen.events) == 2


def test_a_suggestion_that_comes_back_was_not_rejected(screen):
    suggestion = suggested()
    screen.feedback.answered(item(suggestion))
    screen.clock.wait(1)
    screen.feedback.answered(None)
    screen.clock.wait(0.5)
    screen.feedback.answered(item(suggestion))
    screen.clock.wait(5)
    assert screen.counted == [("shown", len(TEXT))]


def test_what_is_said_of_unknown_items_is_let_pass(screen):
    screen.feedback.did_show("x")
    screen.feedback.accepted("x")
    screen.feedback.partially_accepted("x", 3)
    screen.feedback.rejected("x")
    assert screen.events == []


def test_what_comes_late_for_an_accepted_suggestion_is_nothing(screen):
    suggestion = suggested()
    first, later = item(suggestion), item(suggestion, 6)
    screen.feedback.answered(first)
    screen.clock.wait(1)
    screen.feedback.accepted(first.id)
    counted = screen.counted
    screen.feedback.answered(later)
    screen.clock.wait(1)
    screen.feedback.did_show(later.id)
    screen.feedback.partially_accepted(later.id, 3)
    screen.feedback.rejected(first.id)
    screen.feedback.accepted(later.id)
    screen.feedback.answered(None)
    screen.clock.wait(10)
    assert screen.counted == counted == [("shown", len(TEXT)), ("accepted", len(TEXT))]


def test_a_suggestion_is_rejected_once_until_it_is_shown_again(screen):
    shown = item(suggested())
    once = [("shown", len(TEXT)), ("rejected", len(TEXT))]
    screen.feedback.answered(shown)
    screen.clock.wait(1)
    screen.feedback.rejected(shown.id)
    screen.feedback.rejected(shown.id)
    assert screen.counted == once
    screen.feedback.answered(shown)
    screen.clock.wait(1)
    screen.feedback.rejected(shown.id)
    assert screen.counted == once * 2

"""The editor's progress display: begun once the editor has agreed to it, and ended whatever happens."""

from concurrent.futures import Future
from typing import Any
from unittest.mock import Mock

import pytest

from lsp.progress import Progress


class Shown:
    def __init__(self) -> None:
        self.answers: list[Future[None]] = []
        self.server, self.service = Mock(), Mock()
        self.server.window_work_done_progress_create.side_effect = self._asked
        self.state()
        self.progress = Progress(self.server, self.service)

    def _asked(self, params: Any) -> "Future[None]":
        self.answers.append(Future())
        return self.answers[-1]

    def state(self, state: str = "unloaded", percent: int | None = None) -> None:
        self.service.worker.state, self.service.arrival.percent = state, percent

    def told(self) -> list[Any]:
        values = [call.args[0].value for call in self.server.progress.call_args_list]
        return [(value.kind, getattr(value, "percentage", None)) for value in values]


@pytest.fixture
def shown() -> Shown:
    return Shown()


def test_it_begins_when_the_editor_has_agreed(shown):
    shown.state("loading")
    shown.progress.update()
    assert shown.told() == []
    shown.answers[0].set_result(None)
    shown.state("ready")
    shown.progress.update()
    assert shown.told() == [("begin", None), ("end", None)]


@pytest.mark.parametrize("answer", ["late", "never", "refused"])
def test_what_is_over_before_is_not_begun(shown, answer):
    shown.state("loading")
    shown.progress.update()
    if answer == "refused":
        shown.answers[0].set_exception(ValueError("no such display"))
    shown.state("ready")
    shown.progress.update()
    if answer == "late":
        shown.answers[0].set_result(None)
    assert shown.told() == []


def test_a_pull_says_how_much_of_it_is_done_and_loading_follows_with_a_display_of_its_own(shown):
    for percent in (10, 10, 40):
        shown.state("failed", percent)
        shown.progress.update()
        if not shown.answers[0].done():
            shown.answers[0].set_result(None)
    shown.state("loading")
    shown.progress.update()
    shown.answers[1].set_result(None)
    assert shown.told() == [("begin", 10), ("report", 40), ("end", None), ("begin", None)]

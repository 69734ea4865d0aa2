"""What a daemon learns from: a planner for every request, and what became of suggestions. Knows settings and requests;
the learning itself is `adaptive`'s.
"""

import inspect
import logging
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from adaptive.context_key import Environment
from adaptive.environment import environment_of
from adaptive.learning import Learning as Statistics
from completer.config import Config
from completer.planner import fixed_planner
from completer.privacy.uris import file_name
from completer.request import CompletionRequest, RoundPlanner
from lsp.feedback import LogSink, SuggestionEvent

if TYPE_CHECKING:
    from completer.engine import Engine

log = logging.getLogger(__name__)

KNOWN_S = 2.0
"""The model is loaded without what the store knows where that takes longer; it is taken over when it comes."""


class Learner(Protocol):
    """What a service asks for planners and tells of suggestions. Called in the event loop."""

    @property
    def notice(self) -> str:
        """For the user to read while nothing can be stored, else empty."""

    def plan(self, config: Config, request: CompletionRequest, is_automatic: bool) -> RoundPlanner: ...

    def record(self, event: SuggestionEvent) -> None: ...

    @property
    def wants_engine(self) -> bool:
        """Whether `rested` would have something to do."""

    def rested(self, engine: Any, cancelled: Callable[[], bool]) -> None:
        """Nobody needs the engine for now. Called in its thread; to return as soon as cancelled() says so."""

    def close(self) -> None: ...


class NothingLearned(LogSink):
    """What the settings say."""

    notice = ""
    wants_engine = False

    def plan(self, config: Config, request: CompletionRequest, is_automatic: bool) -> RoundPlanner:
        return fixed_planner(config.speculation.source, config.speculation.k, config.speculation.stop_below)

    def rested(self, engine: Any, cancelled: Callable[[], bool]) -> None:
        pass

    def close(self) -> None:
        pass


class Learning:
    """Of one daemon. Each pair of models, with the way it is run, has statistics of its own."""

    def __init__(self, store: Path) -> None:
        """store: the file to keep them in."""
        self._store = store
        self._environment: Environment | None = None
        self._statistics: Statistics | None = None
        self._fixed = NothingLearned()
        self._is_refined = False

    @property
    def notice(self) -> str:
        return self._statistics.status if self._statistics is not None else ""

    def loaded(self, engine: "Engine", config: Config) -> None:
        """An engine was loaded: go on from what is known of its models. Called in the engine's thread."""
        self._is_refined = False
        environment = environment_of(config)
        if environment == self._environment:
            return
        self.close()
        statistics = Statistics(environment, self._store)
        statistics.wait(KNOWN_S)
        if statistics.controller.cost.is_relative:
            statistics.controller.calibrate(_pass_ms(engine))
        self._statistics, self._environment = statistics, environment

    @property
    def wants_engine(self) -> bool:
        return self._statistics is not None and not self._is_refined

    def rested(self, engine: "Engine", cancelled: Callable[[], bool]) -> None:
        """Passes are timed again once after each load: the first time, other programs may have been starting, too."""
        times = _pass_ms(engine, cancelled)
        if self._statistics is not None and not cancelled():
            self._statistics.controller.refine(times)
            self._is_refined = True

    def plan(self, config: Config, request: CompletionRequest, is_automatic: bool) -> RoundPlanner:
        """The settings' where they name a source or forbid drafts, else the controller's."""
        is_learned = config.speculation.source == "auto" and config.speculation.k > 0
        if not is_learned or self._statistics is None:
            return self._fixed.plan(config, request, is_automatic)
        path, workspace = _place(request.document_id, request.project_id)
        return self._statistics.planner(request.language, path, workspace, is_automatic)

    def record(self, event: SuggestionEvent) -> None:
        self._fixed.record(event)
        if self._statistics is not None:
            self._statistics.record(event, *_place(event.document_id, event.project_id))

    def close(self) -> None:
        """Store what is left."""
        if self._statistics is not None:
            self._statistics.close()


def learn_from(learning: Learning, load_engine: "Callable[[Config], Engine]") -> "Callable[[Config], Engine]":
    """load_engine, with what it loads made known."""

    def load(config: Config) -> "Engine":
        engine = load_engine(config)
        learning.loaded(engine, config)
        return engine

    return load


def _place(document_id: str, workspace: str) -> tuple[Path | None, Path | None]:
    """(the file, where the document is one, the folder that the editor works in)"""
    file = Path(file_name(document_id)) if document_id.startswith("file:") else None
    return file, Path(workspace) if workspace else None


def _pass_ms(engine: "Engine", cancelled: Callable[[], bool] = lambda: False) -> Mapping[int, Sequence[float]]:
    """Over some code that is sure to be here."""
    from adaptive.calibration import measure

    times = measure(engine, inspect.getsource(inspect), with_draft_model=False, cancelled=cancelled).verify_ms
    if not cancelled():
        medians = (f"{width}: {statistics.median(each):.1f}" for width, each in times.items())
        log.info("ms of a pass by positions: %s", ", ".join(medians))
    return times

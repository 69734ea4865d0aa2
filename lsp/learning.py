"""What a daemon learns from: a planner for every request, and what became of suggestions. Knows settings and a store.

Each pair of models, with the way it is run, has a controller of its own; another one starts when another is loaded.
"""

import inspect
import logging
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from adaptive.context_key import NO_PROJECT, Environment, Project, branch_of, project_of
from adaptive.controller import Controller
from adaptive.environment import environment_of
from completer.config import Config
from completer.planner import fixed_planner
from completer.privacy.uris import file_name
from completer.request import CompletionRequest, RoundPlanner
from lsp.feedback import LogSink, SuggestionEvent

if TYPE_CHECKING:
    from adaptive.writer import Writer
    from completer.engine import Engine

log = logging.getLogger(__name__)

KNOWN_S = 2.0
"""The model is loaded without what the store knows where that takes longer; it is taken over when it comes."""

_REMEMBERED = 512


class Learner(Protocol):
    """What a service asks for planners and tells of suggestions. Called in the event loop."""

    @property
    def notice(self) -> str:
        """For the user to read while nothing can be stored, else empty."""

    def plan(self, config: Config, request: CompletionRequest, is_automatic: bool) -> RoundPlanner: ...

    def record(self, event: SuggestionEvent) -> None: ...

    def close(self) -> None: ...


class NothingLearned(LogSink):
    """What the settings say."""

    notice = ""

    def plan(self, config: Config, request: CompletionRequest, is_automatic: bool) -> RoundPlanner:
        return fixed_planner(config.speculation.source, config.speculation.k, config.speculation.stop_below)

    def close(self) -> None:
        pass


class Learning:
    def __init__(self, store: Path) -> None:
        """store: the file to keep it in."""
        self._store = store
        self._environment: Environment | None = None
        self._controller = Controller()
        self._writer: Writer | None = None
        self._fixed = NothingLearned()
        self._projects: dict[tuple[str, str], Project] = {}

    @property
    def notice(self) -> str:
        return self._writer.status if self._writer is not None else ""

    def loaded(self, engine: "Engine", config: Config) -> None:
        """An engine was loaded: go on from what is known of its models. Called in the engine's thread."""
        from adaptive.writer import Writer

        environment = environment_of(config)
        if environment == self._environment:
            return
        self.close()
        controller = Controller()
        self._writer = Writer(controller, self._store, environment)
        self._writer.has_loaded.wait(KNOWN_S)
        self._controller, self._environment = controller, environment
        if controller.cost.is_relative:
            _calibrate(controller, engine)

    def plan(self, config: Config, request: CompletionRequest, is_automatic: bool) -> RoundPlanner:
        """The settings' where they name a source or forbid drafts, else the controller's."""
        if config.speculation.source != "auto" or config.speculation.k == 0:
            return self._fixed.plan(config, request, is_automatic)
        project = self._project(request.document_id, request.project_id)
        branch = branch_of(project.root)
        return self._controller.planner(request.language, project, is_automatic=is_automatic, branch=branch)

    def record(self, event: SuggestionEvent) -> None:
        self._fixed.record(event)
        project = self._project(event.document_id, event.project_id)
        self._controller.record(replace(event, project_id=project.id))

    def close(self) -> None:
        """Store what is left."""
        if self._writer is not None:
            self._writer.close()

    def _project(self, document_id: str, workspace: str) -> Project:
        """Of a document on a disk; looked for once, as long as it is not forgotten."""
        key = (document_id, workspace)
        if key not in self._projects:
            while len(self._projects) >= _REMEMBERED:
                del self._projects[next(iter(self._projects))]
            self._projects[key] = _project_of(document_id, workspace)
        return self._projects[key]


def learn_from(learning: Learning, load_engine: "Callable[[Config], Engine]") -> "Callable[[Config], Engine]":
    """load_engine, with what it loads made known."""

    def load(config: Config) -> "Engine":
        engine = load_engine(config)
        learning.loaded(engine, config)
        return engine

    return load


def _project_of(document_id: str, workspace: str) -> Project:
    is_file = document_id.startswith("file:")
    if not is_file and not workspace:
        return NO_PROJECT
    return project_of(Path(file_name(document_id)) if is_file else None, Path(workspace) if workspace else None)


def _calibrate(controller: Controller, engine: "Engine") -> None:
    """With some code that is sure to be here."""
    from adaptive.calibration import measure

    measured = measure(engine, inspect.getsource(inspect), with_draft_model=False)
    controller.calibrate(measured.verify_ms)
    medians = (f"{width}: {statistics.median(times):.1f}" for width, times in measured.verify_ms.items())
    log.info("ms of a pass by positions: %s", ", ".join(medians))

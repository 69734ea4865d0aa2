"""Learning as the editor service sees it: a planner for a request, a place for what became of suggestions, an end.

    learning = Learning(environment_of(config))
    planner = learning.planner(language="python", path=Path("/home/u/shop/cart.py"), is_automatic=True)
    ...
    learning.close()

`record` and `status` make it a sink of suggestion events and a source of the status line. Another configuration of the
models is another environment: close this one and make a new one.
"""

import time
from pathlib import Path

from adaptive.context_key import Environment, Project, branch_of, project_of
from adaptive.controller import Controller, SuggestionEvent
from adaptive.writer import Writer
from completer import paths
from completer.request import RoundPlanner

LOOKED_UP_S = 30.0
"""Where a folder's project lies, and what is checked out at its root, is looked up no more often."""


class Learning:
    def __init__(self, environment: Environment, file: Path | None = None) -> None:
        """file: of the database, the user's own by default. Does not wait for it."""
        self.controller = Controller()
        self._writer = Writer(self.controller, file or paths.statistics_file(), environment)
        self._projects: dict[tuple[Path | None, Path | None], tuple[float, Project]] = {}
        self._branches: dict[str, tuple[float, str]] = {}

    def wait(self, timeout_s: float) -> None:
        """Until what the store knows is known here, or cannot be."""
        self._writer.has_loaded.wait(timeout_s)

    @property
    def status(self) -> str:
        """A sentence for the user while nothing can be stored, else empty."""
        return self._writer.status

    def planner(
        self,
        language: str,
        path: Path | None = None,
        workspace: Path | None = None,
        is_automatic: bool = False,
    ) -> RoundPlanner:
        """A planner for one completion in the file. Not to be called while another thread does."""
        project = self._project(path, workspace)
        return self.controller.planner(language, project, is_automatic, self._branch(project.root))

    def record(self, event: SuggestionEvent, path: Path | None = None, workspace: Path | None = None) -> None:
        """Count what became of a suggestion in the file."""
        self.controller.record(event, self._project(path, workspace))

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()

    def _project(self, path: Path | None, workspace: Path | None) -> Project:
        place = (path.parent if path is not None else None, workspace)
        looked_up_s, project = self._projects.get(place, (float("-inf"), None))
        if project is None or time.monotonic() - looked_up_s > LOOKED_UP_S:
            with self.controller.lock:
                known = tuple(self.controller.memory.projects.values())
            project = project_of(path, workspace, known)
            self._projects[place] = (time.monotonic(), project)
        return project

    def _branch(self, root: str) -> str:
        """Looked up for a project as a whole: its folders are never of two minds."""
        looked_up_s, branch = self._branches.get(root, (float("-inf"), ""))
        if time.monotonic() - looked_up_s > LOOKED_UP_S:
            branch = branch_of(root)
            self._branches[root] = (time.monotonic(), branch)
        return branch

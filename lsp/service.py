"""What all editors of a daemon share: the settings in force, the worker with the one engine, the planner for a request.

Settings are read again when their file changes; what concerns the model then unloads it. Knows no editor.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from completer.config import Config
from completer.config_source import ConfigSource
from completer.errors import ConfigError
from completer.request import CompletionRequest, RoundPlanner
from lsp.arrival import Arrival
from lsp.learning import Learner, NothingLearned
from lsp.power import Power
from lsp.remote import fingerprint
from lsp.worker import Engine, Job, Worker, ignore

log = logging.getLogger(__name__)

CHECK_S = 1.0
"""The settings file is looked at no more often than this."""


class Service:
    def __init__(
        self,
        source: ConfigSource,
        load_engine: Callable[[Config], Engine],
        learner: Learner | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Must be made in the event loop. Settings that cannot be read are an error to show, not one to die of.

        learner: by default nothing is learned.
        """
        self._source = source
        self._load_engine = load_engine
        self.learner = learner or NothingLearned()
        self.clock_s = clock_s
        self.config = Config()
        self.config_error: ConfigError | None = None
        self.on_config: list[Callable[[], None]] = []
        """Called in the event loop after `config`, `config_error` or how far a pull has come has changed."""
        self._version = self._file_version()
        self._read()
        self.worker = Worker(self._load, asyncio.get_running_loop(), self._idle_unload_s(), clock_s)
        self.worker.on_rest.append(self._rested)
        self.arrival = Arrival(self.worker, self._arrival_changed)
        self._reader = ThreadPoolExecutor(1, "reader")
        self._checked_s = clock_s()
        self._power = Power(clock_s)

    def refresh(self) -> None:
        """Take over changed settings. Costs nothing when called often."""
        if self.clock_s() - self._checked_s < CHECK_S:
            return
        self._checked_s = self.clock_s()
        version = self._file_version()
        if version == self._version:
            return
        self._version = version
        before = self.config
        self._read()
        self.worker.idle_unload_s = self._idle_unload_s()
        if fingerprint(self.config) != fingerprint(before):
            self.worker.unload()
        for notice in [*self.on_config]:
            notice()

    def may_work_ahead(self) -> bool:
        """Whether there is power for work that nobody waits for yet: on battery there is none."""
        return not self._power.is_on_battery()

    def restriction(self) -> str:
        """What service.on_battery leaves while on battery: "manual" or "off"; else "same"."""
        policy = self.config.service.on_battery
        return policy if policy != "same" and self._power.is_on_battery() else "same"

    def read(self, task: Callable[[], None]) -> None:
        """Do what reads files, beside the event loop, one after another."""
        self._reader.submit(task)

    async def unload(self) -> None:
        """Free the engine's memory; it is loaded again for the next request."""
        freed = asyncio.get_running_loop().create_future()

        def look() -> None:
            if self.worker.state == "unloaded" and not freed.done():
                freed.set_result(None)

        self.worker.on_state.append(look)
        try:
            self.worker.unload()
            await freed
        finally:
            self.worker.on_state.remove(look)

    def _idle_unload_s(self) -> float | None:
        return self.config.service.idle_unload_minutes * 60 or None

    def _arrival_changed(self) -> None:
        for notice in [*self.on_config]:
            notice()

    def close(self) -> None:
        self.arrival.close()
        self.worker.close()
        self.learner.close()
        self._reader.shutdown(cancel_futures=True)

    def planner(self, request: CompletionRequest, is_automatic: bool = False) -> RoundPlanner:
        return self.learner.plan(self.config, request, is_automatic)

    def _rested(self) -> None:
        """Nobody needs the engine: the learner may have it, until somebody does."""

        def learn(engine: Engine, cancelled: Callable[[], bool]) -> Iterator[None]:
            self.learner.rested(engine, cancelled)
            if cancelled():
                job.cancel()  # it is not to come back before the next rest
            yield from ()

        if self.worker.state == "ready" and self.learner.wants_engine and self.may_work_ahead():
            job = Job(learn, deliver=ignore, finish=ignore, is_background=True)
            self.worker.submit(job)

    def _load(self) -> Engine:
        if self.config_error is not None:
            raise self.config_error
        return self._load_engine(self.config)

    def _read(self) -> None:
        try:
            self.config, self.config_error = self._source.load(), None
        except ConfigError as error:
            log.warning("the settings cannot be read: %s", type(error).__name__)
            self.config_error = error

    def _file_version(self) -> tuple[int, int] | None:
        try:
            info = os.stat(Path(self._source.file))
        except OSError:
            return None
        return info.st_mtime_ns, info.st_size

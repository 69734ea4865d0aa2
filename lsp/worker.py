"""The one engine thread: two queues, a cancel flag for each job, and answers handed to the event loop.

What editors wait for goes first, the newest of it before the rest, as it is the likeliest to be wanted still; who has
waited long goes before the newest. What nobody waits for runs when nobody waits, gives way within one round or prefill
chunk, and comes back later. Knows jobs and an engine to load; knows no editor, no text and no tensor.
"""

import asyncio
import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Generic, Literal, Protocol, TypeVar

from completer.request import CompletionChunk, CompletionRequest, RoundPlanner

log = logging.getLogger(__name__)

T = TypeVar("T")
EngineState = Literal["unloaded", "loading", "ready", "failed"]

REST_S = 60.0
"""How often an engine with nothing to do is told so."""

AGING_S = 0.5
"""A job that has waited for this long goes before newer ones."""

RETRY_S = 5.0
"""An engine that could not be loaded is not tried again sooner, unless somebody asks for it by hand."""


class Engine(Protocol):
    def complete(
        self, request: CompletionRequest, planner: RoundPlanner, cancelled: Callable[[], bool]
    ) -> Iterator[CompletionChunk]: ...

    def warm(self, request: CompletionRequest, cancelled: Callable[[], bool]) -> None: ...

    def forget(self) -> None: ...

    def rest(self) -> None: ...


class Job(Generic[T]):
    """Work on the engine that gives values. `cancel` and `hurry` may be called from any thread, more than once.

    run(engine, cancelled) is called in the engine thread, deliver(value) in the event loop for each of its values,
    then once finish(None), or finish(error) where it failed. A job cancelled before its turn never runs.
    """

    def __init__(
        self,
        run: Callable[[Any, Callable[[], bool]], Iterator[T]],
        deliver: Callable[[T], None],
        finish: Callable[[Exception | None], None],
        is_background: bool = False,
    ) -> None:
        self.run = run
        self.deliver = deliver
        self.finish = finish
        self.is_background = is_background
        self.is_cancelled = False
        self.submitted_s = 0.0

    def cancel(self) -> None:
        self.is_cancelled = True


class Worker:
    def __init__(
        self,
        load: Callable[[], Engine],
        loop: asyncio.AbstractEventLoop,
        idle_unload_s: float | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """load is called in the engine thread when the engine is first needed, and again after it was unloaded."""
        self._load = load
        self._loop = loop
        self.idle_unload_s = idle_unload_s
        self._clock_s = clock_s
        self._changed = threading.Condition()
        self._foreground: list[Job[Any]] = []
        self._background: list[Job[Any]] = []
        self._is_unload_wanted = self._is_closing = False
        self._engine: Engine | None = None
        self._failed_s = -float("inf")
        self.state: EngineState = "unloaded"
        self.error: Exception | None = None
        self.on_state: list[Callable[[], None]] = []
        """Called in the event loop after `state` has changed."""
        self.on_rest: list[Callable[[], None]] = []
        """Called in the event loop every REST_S while the engine has nothing to do and stays loaded."""
        self._thread = threading.Thread(target=self._serve, name="engine", daemon=True)
        self._thread.start()

    def submit(self, job: Job[Any]) -> None:
        job.submitted_s = self._clock_s()
        with self._changed:
            (self._background if job.is_background else self._foreground).append(job)
            self._changed.notify()

    def hurry(self, job: Job[Any]) -> None:
        """Somebody waits for this background job now."""
        with self._changed:
            job.is_background = False
            if job in self._background:
                self._background.remove(job)
                self._foreground.append(job)
                self._changed.notify()

    def load(self) -> None:
        """Have the engine ready soon, though there is no job for it yet."""
        if self.state == "unloaded" or (self.state == "failed" and self._clock_s() - self._failed_s >= RETRY_S):
            self.submit(Job(lambda engine, cancelled: iter(()), deliver=ignore, finish=ignore))

    def unload(self, load: Callable[[], Engine] | None = None) -> None:
        """Free the engine's memory once the job in progress has ended. load: how to load it from now on."""
        with self._changed:
            self._load = load or self._load
            self._is_unload_wanted = True
            self._failed_s = -float("inf")
            self._changed.notify()

    def close(self, timeout_s: float = 2.0) -> None:
        """End the thread, once the job in progress has noticed; it keeps no process alive."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join(timeout_s)

    def _serve(self) -> None:
        while not self._is_closing:
            self._turn()
        self._engine = None

    def _turn(self) -> None:
        """Of its own, so that nothing refers to a job that is done while there is no other."""
        job = self._next()
        if job is not None:
            self._work(job)

    def _next(self) -> Job[Any] | None:
        """The next job; None when there was something else to do."""
        idle_s = 0.0
        with self._changed:
            while not (self._is_closing or self._is_unload_wanted):
                if (job := self._take()) is not None:
                    return job
                idle_s = self._wait(idle_s)
            self._is_unload_wanted = False
        self._drop_engine()
        return None

    def _wait(self, idle_s: float) -> float:
        """Wait for something to do, idle for so long already; returns for how long afterwards."""
        if self._engine is None:
            self._changed.wait()
            return 0.0
        left_s = float("inf") if self.idle_unload_s is None else self.idle_unload_s - idle_s
        if self._changed.wait(min(REST_S, left_s)):
            return 0.0
        self._guarded(self._engine.rest)
        self._is_unload_wanted |= left_s <= REST_S
        for notice in [] if self._is_unload_wanted else [*self.on_rest]:
            self._tell(notice)
        return idle_s + REST_S

    def _take(self) -> Job[Any] | None:
        if self._foreground:
            has_aged = self._clock_s() - self._foreground[0].submitted_s > AGING_S
            return self._foreground.pop(0 if has_aged else -1)
        return self._background.pop(0) if self._background else None

    def _work(self, job: Job[Any]) -> None:
        gave_way = False

        def cancelled() -> bool:
            nonlocal gave_way
            gave_way = job.is_background and bool(self._foreground)
            return job.is_cancelled or gave_way or self._is_closing

        error: Exception | None = None
        if not job.is_cancelled:
            try:
                for value in job.run(self._loaded(), cancelled):
                    self._tell(job.deliver, value)
            except Exception as failure:
                error = failure
                self._note_failure(failure)
        if gave_way and not job.is_cancelled and error is None:
            with self._changed:
                (self._background if job.is_background else self._foreground).insert(0, job)
        else:
            self._tell(job.finish, error)

    def _note_failure(self, failure: Exception) -> None:
        if failure is self.error:
            log.warning("the engine could not be loaded: %s", type(failure).__name__)
        else:
            log.error("a completion failed", exc_info=failure)
            assert self._engine is not None
            self._guarded(self._engine.forget)

    def _guarded(self, function: Callable[[], None]) -> None:
        """What fails beside a completion is no reason to serve none any more."""
        try:
            function()
        except Exception as failure:
            log.error("the engine could not tidy up", exc_info=failure)

    def _loaded(self) -> Engine:
        """Raises what loading raises."""
        if self._engine is None:
            self._set_state("loading")
            started_s = self._clock_s()
            try:
                self._engine = self._load()
            except Exception as error:
                self._failed_s = self._clock_s()
                self._set_state("failed", error)
                raise
            log.info("engine loaded in %.1f s", self._clock_s() - started_s)
            self._set_state("ready")
        return self._engine

    def _drop_engine(self) -> None:
        if self._engine is not None:
            log.info("engine unloaded")
        with self._changed:
            for job in self._background:  # nobody waits for it: no reason to load the engine again
                job.cancel()
        self._engine = None
        gc.collect()
        self._set_state("unloaded")

    def _set_state(self, state: EngineState, error: Exception | None = None) -> None:
        self.state, self.error = state, error
        for notice in [*self.on_state]:
            self._tell(notice)

    def _tell(self, function: Callable[..., None], *arguments: Any) -> None:
        if not self._is_closing:
            self._loop.call_soon_threadsafe(function, *arguments)


def ignore(value: object) -> None:
    pass

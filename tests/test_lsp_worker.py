"""The engine thread: who comes first, who gives way, and what happens when something fails."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import pytest_asyncio

from lsp.worker import AGING_S, RETRY_S, Job, Worker
from tests.editor import until, within

pytestmark = pytest.mark.asyncio


class Bench:
    """A worker with a clock of its own, an engine that does as jobs say, and a note of what was delivered."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.loads = 0
        self.failure: Exception | None = None
        self.forgotten = self.rests = 0
        self.log: list[Any] = []
        self.worker = Worker(self.load, asyncio.get_running_loop(), clock_s=lambda: self.now_s)

    def load(self) -> Any:
        self.loads += 1
        if self.failure is not None:
            raise self.failure
        return self

    def forget(self) -> None:
        self.forgotten += 1

    def rest(self) -> None:
        self.rests += 1

    def job(self, name: str, run: Callable[..., Iterator[Any]] | None = None, is_background: bool = False) -> Job[Any]:
        job: Job[Any] = Job(
            run or (lambda engine, cancelled: iter([name])),
            deliver=self.log.append,
            finish=lambda error: self.log.append((name, error)),
            is_background=is_background,
        )
        self.worker.submit(job)
        return job

    async def until(self, count: int) -> list[Any]:
        await until(lambda: len(self.log) >= count)
        return self.log


class Gate:
    """Work that holds the engine until the test opens it, or it is cancelled."""

    def __init__(self) -> None:
        self.begun, self.opened = threading.Event(), threading.Event()

    def run(self, engine: Any, cancelled: Callable[[], bool]) -> Iterator[Any]:
        self.begun.set()
        while not self.opened.wait(0.001) and not cancelled():
            pass
        yield "cancelled" if cancelled() else "opened"

    async def has_begun(self) -> None:
        assert await asyncio.to_thread(self.begun.wait, 10)


@pytest_asyncio.fixture
async def bench():
    bench = Bench()
    yield bench
    bench.worker.close()
    assert not bench.worker._thread.is_alive()


async def test_the_newest_goes_first(bench):
    gate = Gate()
    bench.job("running", gate.run)
    await gate.has_begun()
    for name in ("old", "middle", "new"):
        bench.job(name)
    gate.opened.set()
    await bench.until(8)
    assert bench.log[2::2] == ["new", "middle", "old"]


async def test_who_has_waited_long_goes_before_the_newest(bench):
    gate = Gate()
    bench.job("running", gate.run)
    await gate.has_begun()
    bench.job("old")
    bench.now_s += AGING_S + 0.1
    bench.job("middle")
    bench.job("new")
    gate.opened.set()
    await bench.until(8)
    assert bench.log[2::2] == ["old", "new", "middle"]


async def test_background_work_gives_way_and_comes_back(bench):
    gate = Gate()
    bench.job("background", gate.run, is_background=True)
    await gate.has_begun()
    bench.job("foreground")
    await bench.until(3)
    assert bench.log == ["cancelled", "foreground", ("foreground", None)]
    gate.opened.set()
    await bench.until(5)
    assert bench.log[3:] == ["opened", ("background", None)]


async def test_background_work_that_is_waited_for_no_longer_gives_way(bench):
    gate = Gate()
    job = bench.job("background", gate.run, is_background=True)
    await gate.has_begun()
    bench.worker.hurry(job)
    bench.job("other")
    gate.opened.set()
    await bench.until(4)
    assert bench.log[:2] == ["opened", ("background", None)]


async def test_a_cancelled_job_never_runs_and_is_told_so(bench):
    gate = Gate()
    bench.job("running", gate.run)
    await gate.has_begun()
    job = bench.job("cancelled")
    job.cancel()
    gate.opened.set()
    await bench.until(3)
    assert bench.log == ["opened", ("running", None), ("cancelled", None)]


async def test_a_running_job_notices_that_it_is_cancelled(bench):
    gate = Gate()
    job = bench.job("running", gate.run)
    await gate.has_begun()
    job.cancel()
    assert await bench.until(2) == ["cancelled", ("running", None)]


async def test_an_error_goes_to_who_waits_and_the_engine_starts_cold(bench):
    error = RuntimeError("a bug")

    def fail(engine, cancelled):
        yield "some"
        raise error

    bench.job("failing", fail)
    bench.job("next")
    await bench.until(4)
    assert ("failing", error) in bench.log and ("next", None) in bench.log
    assert bench.forgotten == 1 and bench.worker.state == "ready"


async def test_a_failure_to_load_is_told_and_not_repeated_at_once(bench):
    bench.failure = RuntimeError("no model")
    bench.job("first")
    assert await bench.until(1) == [("first", bench.failure)]
    assert (bench.worker.state, bench.worker.error) == ("failed", bench.failure)
    bench.worker.load()
    assert bench.loads == 1
    bench.failure = None
    bench.now_s += RETRY_S
    bench.worker.load()
    bench.job("second")
    await bench.until(3)
    assert bench.worker.state == "ready" and bench.loads == 2


async def test_states_are_announced_in_the_event_loop(bench):
    states = []
    bench.worker.on_state.append(lambda: states.append((bench.worker.state, threading.current_thread().name)))
    bench.job("first")
    await bench.until(2)
    bench.worker.unload()
    await until(lambda: bench.worker.state == "unloaded")
    await asyncio.sleep(0)
    assert {name for _, name in states} == {"MainThread"}
    bench.job("second")
    await bench.until(4)
    assert bench.loads == 2


async def test_an_engine_with_nothing_to_do_is_told_so_and_so_is_who_asked(bench, monkeypatch):
    rested = asyncio.Event()
    bench.worker.on_rest.append(rested.set)
    monkeypatch.setattr("lsp.worker.REST_S", 0.01)
    bench.job("a")
    await within(rested.wait())
    assert bench.rests >= 1


async def test_an_engine_that_cannot_rest_or_forget_goes_on_working(bench, monkeypatch):
    def fail() -> None:
        raise RuntimeError("cannot")

    monkeypatch.setattr("lsp.worker.REST_S", 0.01)
    bench.rest = bench.forget = fail
    rested = asyncio.Event()
    bench.worker.on_rest.append(rested.set)
    bench.job("a", lambda engine, cancelled: iter([1 / 0]))
    await within(rested.wait())
    bench.job("b")
    assert (await bench.until(3))[1:] == ["b", ("b", None)]


async def test_closing_does_not_wait_for_what_is_running(bench):
    gate = Gate()
    bench.job("running", gate.run)
    await gate.has_begun()
    await asyncio.to_thread(bench.worker.close)
    assert not bench.worker._thread.is_alive()

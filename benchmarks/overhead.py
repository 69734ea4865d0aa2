"""What the editor service costs besides the engine: four windows typed in at human speed, an engine by script.

    python -m benchmarks.overhead                    the real daemon and its clients, but an engine that costs nothing
    python -m benchmarks.overhead --model [NAME]     a real model: from the editor's start to the first ghost text, and
                                                     the first line in files just opened

Prints tables. Uses folders of its own, and a daemon of its own.
"""

import argparse
import asyncio
import os
import random
import statistics
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from benchmarks.window import AUTOMATIC, INVOKED, ROOT, Window
from completer import paths
from lsp.control import ask
from lsp.endpoint import socket_path
from lsp.protocol import DAEMON_STATUS, STOP_DAEMON
from tests.scripted_engine import Script

WINDOWS, QUARTERS, KEYS = 4, 4, 100
KEY_GAP_S = 0.13, 0.05
"""Mean and deviation of the time between two keys: some 90 words a minute."""

SUGGESTION = "result = compute(items, prices, quantity)\n"
DOCUMENT = "".join(f"value_{i} = compute(items, {i})\n" for i in range(500))
CANCELS = 50
FILES, FILE_LINES = 20, 2000


async def type_along(window: Window, seed: int, requests_ms: list[float], along_ms: list[float]) -> None:
    """Type new lines; each begins with keys that call for a completion, and goes on with what is suggested."""
    draw, uri = random.Random(seed), f"file:///project/{seed}.py"
    window.open(uri, DOCUMENT)
    line, column, shown = DOCUMENT.count("\n"), 0, ""
    for _ in range(KEYS):
        await asyncio.sleep(max(0.03, draw.gauss(*KEY_GAP_S)))
        is_along = shown != "" and draw.random() < 0.8
        key = shown[0] if is_along else draw.choice("abcdefgh")
        began_s = time.perf_counter()
        window.type(uri, line, column, key)
        line, column = (line + 1, 0) if key == "\n" else (line, column + 1)
        answer = await window.complete(uri, line, column, AUTOMATIC if is_along else INVOKED)
        (along_ms if is_along else requests_ms).append((time.perf_counter() - began_s) * 1000)
        items = answer["items"] if answer else []
        shown = items[0]["insertText"] if items else ""
    window.tell("textDocument/didClose", textDocument={"uri": uri})


async def cancels_ms(window: Window, script: Script) -> list[float]:
    """From a cancellation to an engine that is free, which looks at its flag every millisecond."""
    uri, calls, taken_ms = "file:///project/cancelled.py", script.folder / "calls", []
    script.write(pace="steps")
    window.open(uri, "x = ")
    for number in range(CANCELS):
        begun, noted_bytes = script.count("begun"), calls.stat().st_size
        window.type(uri, 0, 0, "y")
        request = window.complete(uri, 0, 5 + number, INVOKED)
        while script.count("begun") == begun:
            await asyncio.sleep(0.001)
        began_s = time.perf_counter()
        window.cancel()
        while calls.stat().st_size == noted_bytes:
            await asyncio.sleep(0.0005)
        taken_ms.append((time.perf_counter() - began_s) * 1000)
        await request
    return taken_ms


def daemon() -> dict[str, Any]:
    status: dict[str, Any] = ask(socket_path(), DAEMON_STATUS)
    return status


def cpu_s(processes: Sequence[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def row(name: str, values: Sequence[float], bar: str = "") -> str:
    p50, p95 = statistics.median(values), statistics.quantiles(values, n=20)[-1]
    return f"| {name} | {len(values)} | {p50:.1f} | {p95:.1f} | {max(values):.1f} | {bar} |"


async def measure_overhead(folder: Path) -> None:
    script = Script(folder)
    script.write(otherwise=SUGGESTION)
    command = [sys.executable, "-m", "tests.scripted_connect", str(folder)]
    began_s = time.perf_counter()
    windows = [await Window.start(*command)]
    await windows[0].is_ready()
    start_ms = (time.perf_counter() - began_s) * 1000
    alone_bytes = daemon()["rss_bytes"]
    windows.append(await Window.start(*command))
    await windows[1].is_ready()
    second_bytes = daemon()["rss_bytes"] - alone_bytes + psutil.Process(windows[1].process.pid).memory_info().rss
    windows += [await Window.start(*command) for _ in range(WINDOWS - 2)]
    requests_ms: list[float] = []
    along_ms: list[float] = []
    rss_bytes = []
    processes = [psutil.Process(daemon()["pid"]), *(psutil.Process(window.process.pid) for window in windows)]
    before_s = cpu_s(processes)
    for quarter in range(QUARTERS):
        tasks = (type_along(w, quarter * WINDOWS + i, requests_ms, along_ms) for i, w in enumerate(windows))
        await asyncio.gather(*tasks)
        rss_bytes.append(daemon()["rss_bytes"])
    key_ms = (cpu_s(processes) - before_s) * 1000 / (len(requests_ms) + len(along_ms))
    cancelled_ms = await cancels_ms(windows[0], script)
    print("| ms | requests | p50 | p95 | longest | bar |\n|---|---|---|---|---|---|")
    print(row("key to answer, engine by script included", requests_ms, "p95 ≤ 8"))
    print(row("key to answer, typed through", along_ms, "p95 ≤ 3"))
    print(row("cancel to engine free", cancelled_ms, "one round"))
    print(f"\nProcessor time a key, daemon and clients, engine by script included: {key_ms:.1f} ms.")
    print(f"Editor start to `ready`, daemon started too: {start_ms:,.0f} ms.")
    print(f"Second window: {second_bytes / 1e6:.1f} MB more in daemon and client together (bar 60).")
    quarters = ", ".join(f"{size / 1e6:.1f}" for size in rss_bytes)
    print(f"Daemon: {quarters} MB after each quarter, {WINDOWS} documents opened and closed in each.")
    for window in windows:
        await window.stop()


def long_files() -> list[str]:
    """The first lines of the longest files of the running Python's library."""
    files = [path.read_text("utf-8", "replace") for path in Path(sysconfig.get_paths()["stdlib"]).glob("*.py")]
    texts = sorted((text for text in files if text.count("\n") >= FILE_LINES), key=len)
    return ["".join(text.splitlines(keepends=True)[:FILE_LINES]) for text in texts[:FILES]]


async def measure_model() -> None:
    command = [sys.executable, "-m", "completer", "lsp"]
    began_s = time.perf_counter()
    window = await Window.start(*command)
    window.open("file:///project/first.py", "def fibonacci(n):\n    if n < 2:\n        return n\n    return ")
    answer = await window.complete("file:///project/first.py", 3, 11, INVOKED)
    print(f"Editor start to first ghost text, daemon and model included: {time.perf_counter() - began_s:.1f} s.")
    assert answer["items"], answer
    other_s = time.perf_counter()
    other = await Window.start(*command)
    other.open("file:///project/second.py", "def fibonacci(n):\n    if n < 2:\n        return n\n    return ")
    await other.complete("file:///project/second.py", 3, 11, INVOKED)
    client_bytes = psutil.Process(other.process.pid).memory_info().rss
    second_s = time.perf_counter() - other_s
    print(f"The same in a second window: {second_s:.1f} s; its client has {client_bytes / 1e6:.1f} MB.")
    answers_ms, lines_ms, empty = [], [], 0
    for number, text in enumerate(long_files()):
        uri = f"file:///project/{number}.py"
        lines = text.splitlines(keepends=True)
        line = next(i for i in range(FILE_LINES // 2, FILE_LINES) if len(lines[i].strip()) > 20)
        column = len(lines[line]) - len(lines[line].lstrip()) + 6
        lines[line] = lines[line][:column] + "\n"
        window.open(uri, "".join(lines))
        window.grown = ""
        began_s = time.perf_counter()
        answer = await window.complete(uri, line, column, INVOKED)
        answers_ms.append((time.perf_counter() - began_s) * 1000)
        if answer["items"]:
            await window.has_line()
        else:
            empty += 1
        lines_ms.append((time.perf_counter() - began_s) * 1000)
    print(
        f"In {len(lines_ms)} files of {FILE_LINES:,} lines with a hole to the end of a line, asked for as they open, "
    )
    print(f"{empty} of them answered with nothing:\n")
    print("| ms | requests | p50 | p90 | longest | bar |\n|---|---|---|---|---|---|")
    for name, taken_ms in (("answer", answers_ms), ("whole first line", lines_ms)):
        p50, p90 = statistics.median(taken_ms), statistics.quantiles(taken_ms, n=10)[-1]
        print(f"| {name} | {len(taken_ms)} | {p50:,.0f} | {p90:,.0f} | {max(taken_ms):,.0f} | p90 ≤ 1,500 |")
    for opened in (window, other):
        await opened.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description="What the editor service costs besides the engine.")
    parser.add_argument("--model", nargs="?", const="auto", help="measure a real model instead")
    model = parser.parse_args().model
    cache = paths.cache_dir()
    with tempfile.TemporaryDirectory() as name:
        for variable in paths.FOLDER_VARIABLES:
            os.environ[variable] = f"{name}/{variable.lower()}"
        os.environ |= {"PYTHONPATH": str(ROOT), "COMPLETER_SERVICE_IDLE_EXIT_MINUTES": "2"}
        if model is not None:
            os.environ |= {"COMPLETER_CACHE_DIR": str(cache), "COMPLETER_MODEL_TARGET": model}
        folder = Path(name) / "engine"
        folder.mkdir()
        try:
            asyncio.run(measure_overhead(folder) if model is None else measure_model())
        finally:
            ask(socket_path(), STOP_DAEMON)


if __name__ == "__main__":
    main()

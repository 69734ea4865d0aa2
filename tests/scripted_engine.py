"""An engine that completes from a script, at a pace that the test sets. It stands below the real server.

The script is a file, written by the test and read at every request:

    writes    a whole document: what follows the text before the cursor in it is the completion
    otherwise the completion where the document says nothing
    chunk     characters a round
    pace      "free", or "steps": every round waits until the test allows it
    brief     true: say that the prompt was cut to what could be read in time
    warm      "gate": reading ahead goes on until it is interrupted
    battery   true: the machine runs on its battery
    fails     every completion fails with an error of this text
    load      "free", "gate": loading waits until the test opens it; any other text: loading fails with it
    model     what is missing then, by name
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from completer.config import Config
from completer.errors import ModelNotInstalled
from completer.request import CompletionChunk, CompletionRequest, CompletionResult, RoundPlanner, SourceCounts
from lsp import power

WAIT_S = 0.001


@dataclass
class Script:
    """The test's side: what the engine shall do, and what it did."""

    folder: Path
    values: dict[str, Any] = field(default_factory=dict)
    allowed_rounds: int = 0

    def write(self, **values: Any) -> None:
        self.values |= values
        self._replace("script.json", json.dumps(self.values))

    def allow(self, rounds: int = 1) -> None:
        self.allowed_rounds += rounds
        self._replace("rounds", str(self.allowed_rounds))

    def open_gate(self) -> None:
        self._replace("gate", "open")

    def calls(self, kind: str = "calls") -> list[dict[str, Any]]:
        """Every request that reached the engine, with how it ended, in order; "warmed_calls" were read ahead."""
        file = self.folder / kind
        lines = file.read_text("utf-8").split("\n")[:-1] if file.exists() else []  # the last may be half written
        return [json.loads(line) for line in lines]

    def count(self, what: str) -> int:
        """How many completions have "begun" or been read ahead ("warmed"), and how often the engine was "loaded"."""
        file = self.folder / what
        return len(file.read_text()) if file.exists() else 0

    def _replace(self, name: str, text: str) -> None:
        beside = self.folder / f".{name}"
        beside.write_text(text, "utf-8")
        beside.replace(self.folder / name)


class ScriptedEngine:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rounds = 0

    def complete(
        self, request: CompletionRequest, planner: RoundPlanner, cancelled: Callable[[], bool]
    ) -> Iterator[CompletionChunk]:
        script = _script(self._folder)
        _count(self._folder / "begun")
        if "fails" in script:
            raise ValueError(script["fails"])
        document = script.get("writes", "")
        is_known = document.startswith(request.fim_prefix)
        text = document[len(request.fim_prefix) :] if is_known else script.get("otherwise", "")
        text = text[: script.get("most", 200)]
        size = script.get("chunk", 8)
        done, reason, started_s = "", "eos", time.perf_counter()
        for start in range(0, len(text), size):
            if not self._may_go_on(script, cancelled):
                reason = "cancelled"
                break
            done += text[start : start + size]
            yield CompletionChunk(text[start : start + size])
        self._note(request, done, reason)
        ms = (time.perf_counter() - started_s) * 1000
        result = CompletionResult(text=done, tokens=len(done), ttft_ms=script.get("ttft_ms", 1.0), total_ms=ms)
        result.sources = {"ngram": SourceCounts(rounds=2, drafted=4, accepted=3)}
        result.tpot_ms, result.stop_reason = 20.0, reason
        result.is_brief = script.get("brief", False)
        yield CompletionChunk("", result=result)

    def warm(self, request: CompletionRequest, cancelled: Callable[[], bool]) -> None:
        script = _script(self._folder)
        _count(self._folder / "warmed")
        while script.get("warm") == "gate" and not cancelled():
            time.sleep(WAIT_S)
        self._note(request, "", "cancelled" if cancelled() else "warm", "warmed_calls")

    def forget(self) -> None:
        pass

    def rest(self) -> None:
        pass

    def _may_go_on(self, script: dict[str, Any], cancelled: Callable[[], bool]) -> bool:
        if script.get("pace") not in ("steps", "late"):
            return not cancelled()
        self._rounds += 1
        notices = cancelled if script["pace"] == "steps" else lambda: False
        while not notices() and self._rounds > _number(self._folder / "rounds"):
            time.sleep(WAIT_S)
        if cancelled():
            self._rounds -= 1
        return not cancelled()

    def _note(self, request: CompletionRequest, text: str, reason: str, file: str = "calls") -> None:
        call = {
            "prefix": request.fim_prefix,
            "suffix": request.fim_suffix,
            "previous": request.previous_suggestion,
            "language": request.language,
            "mode": request.mode,
            "max_lines": request.max_lines,
            "project": request.project_id,
            "path": request.path,
            "context": [chunk.path for chunk in request.context_chunks],
            "background": request.request_id.endswith("+"),
            "first_line_ms": request.first_line_ms,
            "text": text,
            "stop": reason,
        }
        with (self._folder / file).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(call) + "\n")


def load_scripted(folder: Path) -> Callable[[Config], ScriptedEngine]:
    def load(config: Config) -> ScriptedEngine:
        _count(folder / "loaded")
        kind = _script(folder).get("load", "free")
        while kind == "gate" and not (folder / "gate").exists():
            time.sleep(WAIT_S)
        if kind not in ("free", "gate"):
            model = _script(folder).get("model")
            raise ModelNotInstalled(kind, model and f"completer models pull {model}", model)
        return ScriptedEngine(folder)

    return load


@dataclass
class _Battery:
    power_plugged: bool


def set_battery(folder: Path) -> None:
    """Have the operating system tell what the script says, as often as it is asked."""
    power.CHECK_S = 0.0
    psutil.sensors_battery = lambda: _Battery(not _script(folder).get("battery", False))


def _script(folder: Path) -> dict[str, Any]:
    file = folder / "script.json"
    script: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return script


def _count(file: Path) -> None:
    with file.open("a") as stream:
        stream.write("x")


def _number(file: Path) -> int:
    return int(file.read_text() or 0) if file.exists() else 0

"""A model that is missing may be on its way: a pull in another process. How far it has come, and that it is there."""

import asyncio
from collections.abc import Callable

from completer.errors import CompleterError
from completer.models.registry import KNOWN_MODELS
from completer.models.store import arrived_bytes, installed_names
from lsp.worker import Worker

LOOK_S = 2.0


class Arrival:
    """percent: of the missing model that is being pulled, None while none is. Works in the event loop."""

    def __init__(self, worker: Worker, changed: Callable[[], None]) -> None:
        """changed is called when percent has changed. A model that has arrived is loaded."""
        self.percent: int | None = None
        self._worker = worker
        self._changed = changed
        self._timer: asyncio.TimerHandle | None = None
        worker.on_state.append(self._look)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self.close()
        error = self._worker.error
        model = error.model if isinstance(error, CompleterError) else None
        percent = None if model is None else _percent(model)
        if percent != self.percent:
            self.percent = percent
            self._changed()
        if model is not None:
            if model in installed_names():
                self._worker.load()
            self._timer = asyncio.get_running_loop().call_later(LOOK_S, self._look)


def _percent(name: str) -> int | None:
    """Of the download; what follows it is short."""
    arrived = arrived_bytes(name)
    total = next(model.gguf_bytes for model in KNOWN_MODELS if model.name == name)
    return None if arrived is None else min(99, arrived * 100 // total)

"""Ctrl-C that lets the work in progress end cleanly."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def first_interrupt() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed: the first one lets the round in progress finish, a second one interrupts it."""
    interrupted = threading.Event()
    before = signal.getsignal(signal.SIGINT)

    def note(signal_number: int, frame: object) -> None:
        interrupted.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield interrupted.is_set
    finally:
        signal.signal(signal.SIGINT, before)

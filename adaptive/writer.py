"""The store's own thread: news is taken every few seconds and written at once; what others wrote is handed back.

A disk that is full, read-only or gone stops nothing: news is kept and tried again, and `status` says so.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

from adaptive.context_key import Environment
from adaptive.controller import Controller
from adaptive.news import Key, KeyNews, News
from adaptive.store import Store
from adaptive.store_errors import NewerStore, StoreError, is_damage

log = logging.getLogger(__name__)

BATCH_S = 3.0
ROLL_UP_S = 6 * 3600.0
_CLOSE_S = 10.0


class Writer:
    """Keeps a controller's news in a store, from construction to `close`."""

    def __init__(
        self,
        controller: Controller,
        path: Path,
        environment: Environment,
        batch_s: float = BATCH_S,
        clock_s: Callable[[], float] = time.time,
    ) -> None:
        self.status = ""
        """A sentence for the user while nothing can be written, else empty."""
        self._controller, self._path, self._environment = controller, path, environment
        self._batch_s, self._clock_s = batch_s, clock_s
        self._store: Store | None = None
        self._version = -1
        self._rolled_up_s = float("-inf")
        self._unwritten = News()
        self._stored: set[Key] = set()
        self._is_left_alone = False
        self._turned = threading.Condition()
        self._turns, self._is_turning = 0, False
        self._is_closing = threading.Event()
        self._wake = threading.Event()
        self.has_loaded = threading.Event()
        """Set once what was known before has been handed to the controller, or cannot be."""
        self._thread = threading.Thread(target=self._run, name="statistics", daemon=True)
        self._thread.start()

    def write_now(self) -> None:
        """Have a turn now, and wait for its end."""
        with self._turned:
            wanted = self._turns + 2 if self._is_turning else self._turns + 1
            self._wake.set()
            self._turned.wait_for(lambda: self._turns >= wanted or not self._thread.is_alive())

    def close(self) -> None:
        """Write what is left, and end the thread. A disk that does not answer is not waited for."""
        self._is_closing.set()
        self._wake.set()
        self._thread.join(_CLOSE_S)

    def _run(self) -> None:
        while True:
            is_last = self._is_closing.is_set()
            with self._turned:
                self._is_turning = True
            try:
                self._turn()
            except Exception as error:
                self._say(f"statistics are no longer written: {error!r}; restart the daemon")
                raise
            finally:
                with self._turned:
                    self._turns, self._is_turning = self._turns + 1, False
                    self._turned.notify_all()
                self.has_loaded.set()
            if is_last:
                break
            self._wake.wait(self._batch_s)
            self._wake.clear()
        if self._store is not None:
            self._store.close()

    def _turn(self) -> None:
        """Open what is not open, write what is news, read what is not ours."""
        if self._is_left_alone:
            return
        self._unwritten.add(self._controller.take_news())
        try:
            if self._store is None:
                self._store = Store(self._path)
            elif not self._unwritten.is_empty and not self._store.is_in_place:
                self._store = self._moved_to_new_file(self._store)
            self._exchange(self._store)
            self._say("")
        except NewerStore as error:
            self._is_left_alone = True
            self._say(str(error))
        except (StoreError, OSError) as error:
            self._say(f"{error}; what is learned lasts as long as this process")
        except sqlite3.DatabaseError as error:
            if self._store is not None and is_damage(error):
                self._start_afresh(self._store, error)
            else:
                self._say(f"cannot write {self._path}: {error}; what is learned is kept in memory")

    def _exchange(self, store: Store) -> None:
        now_s = self._clock_s()
        if not self._unwritten.is_empty:
            store.write(self._environment, self._unwritten, now_s, self._stored)
            self._stored |= self._unwritten.keys.keys()
            self._unwritten = News()
        version = store.version
        if version != self._version:
            known, projects = store.known(self._environment, now_s), store.projects()
            self._controller.rebase(known, projects, store.cost(self._environment))
            self._version, self._stored = version, set(known)
        if now_s - self._rolled_up_s > ROLL_UP_S:
            store.roll_up(now_s)
            self._rolled_up_s = now_s

    def _moved_to_new_file(self, old: Store) -> Store:
        """Somebody has removed or replaced the file: what it held of this environment goes where it is not known."""
        new, now_s = Store(self._path), self._clock_s()
        try:
            known, projects = old.known(self._environment, now_s), old.projects()
        except sqlite3.Error:  # it may lie on a disk that is gone
            known, projects = {}, {}
        there = new.known(self._environment, now_s)
        keys = {
            key: KeyNews(
                {source: (0.0, table) for source, table in entry.counts.items()}, dict(entry.state), list(entry.changes)
            )
            for key, entry in known.items()
            if key not in there
        }
        new.write(self._environment, News(keys, projects), now_s)
        old.close()
        self._version, self._stored = -1, set()
        log.warning("%s had been removed or replaced: what was learned is written again", self._path)
        return new

    def _start_afresh(self, store: Store, error: sqlite3.DatabaseError) -> None:
        try:
            self.status = store.set_aside(error)
            store.reopen()
            self._version, self._stored = store.version, set()
            for news in self._unwritten.keys.values():
                news.changes = []  # they are among all that is known
            self._unwritten.add(self._controller.take_all())
        except (OSError, sqlite3.Error) as another:
            self._say(f"{self._path} is damaged and cannot be replaced: {another}")

    def _say(self, status: str) -> None:
        if status and status != self.status:
            log.warning(status)
        self.status = status

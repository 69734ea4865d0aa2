"""What all editors of a daemon share: the settings in force, the worker with the one engine, the planner for a request.

Settings are read again when their file changes; what concerns the model then unloads it. Knows no editor.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from completer.config import Config, ConfigSource
from completer.errors import ConfigError
from completer.planner import fixed_planner
from completer.request import RoundPlanner
from lsp.feedback import LogSink, Sink
from lsp.worker import Engine, Worker

log = logging.getLogger(__name__)

CHECK_S = 1.0
"""The settings file is looked at no more often than this."""

BATTERY_CHECK_S = 30.0


class Service:
    def __init__(
        self,
        source: ConfigSource,
        load_engine: Callable[[Config], Engine],
        sink: Sink | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Must be made in the event loop. Settings that cannot be read are an error to show, not one to die of."""
        self._source = source
        self._load_engine = load_engine
        self.sink = sink or LogSink()
        self.clock_s = clock_s
        self.config = Config()
        self.config_error: ConfigError | None = None
        self.on_config: list[Callable[[], None]] = []
        """Called in the event loop after `config` or `config_error` has changed."""
        self._version = self._file_version()
        self._read()
        idle_unload_s = self.config.service.idle_unload_minutes * 60 or None
        self.worker = Worker(self._load, asyncio.get_running_loop(), idle_unload_s, clock_s)
        self._reader = ThreadPoolExecutor(1, "reader")
        self._checked_s = clock_s()
        self._battery_checked_s = float("-inf")
        self._is_on_battery = False

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
        if _of_the_engine(self.config) != _of_the_engine(before):
            self.worker.unload()
        for notice in [*self.on_config]:
            notice()

    def may_work_ahead(self) -> bool:
        """Whether there is power for work that nobody waits for yet: on battery there is none."""
        if self.clock_s() - self._battery_checked_s > BATTERY_CHECK_S:
            self._battery_checked_s = self.clock_s()
            battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
            self._is_on_battery = battery is not None and battery.power_plugged is False
        return not self._is_on_battery

    def read(self, task: Callable[[], None]) -> None:
        """Do what reads files, beside the event loop, one after another."""
        self._reader.submit(task)

    def close(self) -> None:
        self.worker.close()
        self._reader.shutdown(cancel_futures=True)

    def planner(self) -> RoundPlanner:
        speculation = self.config.speculation
        return fixed_planner(speculation.source, speculation.k, speculation.stop_below)

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


def _of_the_engine(config: Config) -> tuple[object, ...]:
    return config.model, config.prompt, config.cache, config.completion.max_tokens, config.speculation.exact

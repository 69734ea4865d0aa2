"""`completer daemon run` by script: its arguments are the engine's folder, and perhaps a door of its own."""

import logging
import os
import sys
from pathlib import Path
from typing import Any

from adaptive.context_key import Environment
from adaptive.learning import Learning as Statistics
from completer import logs, paths
from completer.config import Config
from completer.config_source import ConfigSource
from lsp.daemon import run_daemon
from lsp.endpoint import socket_path
from lsp.learning import Learning, learn_from
from tests.scripted_engine import load_scripted


class ScriptedLearning(Learning):
    """Keeps its statistics as ever, of models that need not be installed."""

    def loaded(self, engine: Any, config: Config) -> None:
        self.close()
        self._statistics = Statistics(Environment("target", "draft", "kernels", "cpu", "qwen"), self._store)

    wants_engine = False  # the engine by script has no passes to time


if __name__ == "__main__":
    logs.configure(logging.CRITICAL)
    path = Path(sys.argv[2]) if len(sys.argv) > 2 else socket_path()
    learning = ScriptedLearning(paths.statistics_file())
    load: Any = load_scripted(Path(sys.argv[1]))
    run_daemon(ConfigSource(paths.config_file(), os.environ), learn_from(learning, load), path, learning)

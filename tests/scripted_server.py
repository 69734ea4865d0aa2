"""`completer lsp --in-process` with the scripted engine of the folder named on the command line."""

import logging
import os
import sys
from pathlib import Path

from completer import logs, paths
from completer.config_source import ConfigSource
from lsp.stdio import serve_stdio
from tests.scripted_engine import load_scripted, set_battery

if __name__ == "__main__":
    logs.configure(logging.DEBUG)
    set_battery(Path(sys.argv[1]))
    serve_stdio(ConfigSource(paths.config_file(), os.environ), load_scripted(Path(sys.argv[1])))

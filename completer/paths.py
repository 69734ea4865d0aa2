"""Where this program keeps its files. Knows folders and names; knows nothing of what is written in them.

Each of the folders follows the platform's habit and can be moved by an environment variable.
"""

import os
import sys
import tempfile
from pathlib import Path

import platformdirs

from completer.errors import ConfigError

APP_NAME = "completer"
FOLDER_VARIABLES = (
    "COMPLETER_CONFIG_DIR",
    "COMPLETER_DATA_DIR",
    "COMPLETER_CACHE_DIR",
    "COMPLETER_STATE_DIR",
    "COMPLETER_RUNTIME_DIR",
)


def config_dir() -> Path:
    return _folder("COMPLETER_CONFIG_DIR", platformdirs.user_config_dir(APP_NAME, appauthor=False))


def data_dir() -> Path:
    return _folder("COMPLETER_DATA_DIR", platformdirs.user_data_dir(APP_NAME, appauthor=False))


def cache_dir() -> Path:
    return _folder("COMPLETER_CACHE_DIR", platformdirs.user_cache_dir(APP_NAME, appauthor=False))


def state_dir() -> Path:
    return _folder("COMPLETER_STATE_DIR", platformdirs.user_state_dir(APP_NAME, appauthor=False))


def runtime_dir() -> Path:
    """For the daemon's socket; gone after a restart of the machine."""
    return _folder("COMPLETER_RUNTIME_DIR", _default_runtime_dir())


def config_file() -> Path:
    return config_dir() / "config.toml"


def models_dir() -> Path:
    return cache_dir() / "models"


def statistics_dir() -> Path:
    return data_dir() / "statistics"


def statistics_file() -> Path:
    return statistics_dir() / "statistics.sqlite3"


def log_file() -> Path:
    return state_dir() / "completer.log"


def _folder(variable: str, default: str) -> Path:
    """Raises ConfigError where it lies in a home folder that cannot be found."""
    wanted = os.environ.get(variable) or default
    folder = os.path.expanduser(wanted)
    if folder.startswith("~"):
        raise ConfigError(f"{wanted}: there is no such home folder; set {variable} to another folder")
    return Path(folder).absolute()


def _default_runtime_dir() -> str:
    """Where the system has no such folder for its users: one of our own in the folder for temporary files."""
    if sys.platform in ("win32", "darwin"):
        return platformdirs.user_runtime_dir(APP_NAME, appauthor=False)
    of_the_user = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    if os.path.isdir(of_the_user):
        return os.path.join(of_the_user, APP_NAME)
    return os.path.join(tempfile.gettempdir(), f"{APP_NAME}-{os.getuid()}")

"""Where this program keeps its files. Knows folders and names; knows nothing of what is written in them.

Each of the four folders follows the platform's habit and can be moved by an environment variable.
"""

import os
from pathlib import Path

import platformdirs

APP_NAME = "completer"
FOLDER_VARIABLES = ("COMPLETER_CONFIG_DIR", "COMPLETER_DATA_DIR", "COMPLETER_CACHE_DIR", "COMPLETER_STATE_DIR")


def config_dir() -> Path:
    return _folder("COMPLETER_CONFIG_DIR", platformdirs.user_config_dir(APP_NAME, appauthor=False))


def data_dir() -> Path:
    return _folder("COMPLETER_DATA_DIR", platformdirs.user_data_dir(APP_NAME, appauthor=False))


def cache_dir() -> Path:
    return _folder("COMPLETER_CACHE_DIR", platformdirs.user_cache_dir(APP_NAME, appauthor=False))


def state_dir() -> Path:
    return _folder("COMPLETER_STATE_DIR", platformdirs.user_state_dir(APP_NAME, appauthor=False))


def config_file() -> Path:
    return config_dir() / "config.toml"


def models_dir() -> Path:
    return cache_dir() / "models"


def statistics_dir() -> Path:
    return data_dir() / "statistics"


def log_file() -> Path:
    return state_dir() / "completer.log"


def _folder(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or default).expanduser().absolute()

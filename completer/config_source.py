"""Where settings come from: one TOML file, then environment variables, then flags, the stronger the later."""

import difflib
import logging
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from completer.config import KEYS, Config, Key, Value
from completer.errors import ConfigError, UsageError
from completer.paths import FOLDER_VARIABLES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

log = logging.getLogger(__name__)

_VARIABLES: Mapping[str, Key] = {key.variable: key for key in KEYS.values()}


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """origins: where each value that is not a default came from, by `section.name`. warnings: what was ignored."""

    config: Config
    origins: Mapping[str, str]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """Where settings are read from. A file that does not exist holds no settings, unless it must exist."""

    file: Path
    environ: Mapping[str, str]
    must_exist: bool = False

    def load(self, flags: Mapping[str, object] | None = None) -> Config:
        """The settings in force; logs a warning for each name it did not know.

        flags: values by `section.name`, None where a flag was not given.
        Raises ConfigError for a bad file or variable, UsageError for a bad flag.
        """
        loaded = self.read(flags)
        for warning in loaded.warnings:
            log.warning(warning)
        return loaded.config

    def read(self, flags: Mapping[str, object] | None = None) -> LoadedConfig:
        """As load, with what there is to tell about it."""
        values: dict[str, Value] = {}
        origins: dict[str, str] = {}
        warnings: list[str] = []
        for name, value in _flatten(self._document(), self.file):
            key = KEYS.get(name)
            if key is None:
                warnings.append(f"{self.file}: unknown setting {name} is ignored{_did_you_mean(name, KEYS)}")
                continue
            values[name], origins[name] = _checked(key, value, f"{self.file}: {name}"), str(self.file)
        for variable, text in self.environ.items():
            if not variable.startswith("COMPLETER_") or variable in FOLDER_VARIABLES or not text:
                continue
            key = _VARIABLES.get(variable)
            if key is None:
                hint = _did_you_mean(variable, _VARIABLES)
                warnings.append(f"environment: unknown variable {variable} is ignored{hint}")
                continue
            values[key.dotted], origins[key.dotted] = _checked(key, text, variable), variable
        for name, value in (flags or {}).items():
            if value is not None:
                try:
                    values[name], origins[name] = KEYS[name].parse(value), "flag"
                except ValueError as error:
                    raise UsageError(f"{name} = {error}") from None
        return LoadedConfig(_build(values), origins, tuple(warnings))

    def _document(self) -> dict[str, Any]:
        if not self.must_exist and not self.file.exists():
            return {}
        try:
            return tomllib.loads(self.file.read_text("utf-8-sig"))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ConfigError(f"cannot read the configuration {self.file}: {reason}") from error
        except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or nested without end
            raise ConfigError(f"{self.file} is not a TOML file: {error}") from error


def _flatten(document: Mapping[str, Any], file: Path) -> Iterator[tuple[str, object]]:
    sections = {section.name for section in fields(Config)}
    for section, content in document.items():
        if isinstance(content, dict):
            yield from ((f"{section}.{name}", value) for name, value in content.items())
        elif section in sections:
            raise ConfigError(f"{file}: {section} = {content!r} is not allowed: it must be a section, [{section}]")
        else:
            yield section, content


def _checked(key: Key, value: object, where: str) -> Value:
    try:
        return key.parse(value)
    except ValueError as error:
        raise ConfigError(f"{where} = {error}") from None


def _did_you_mean(name: str, known: Mapping[str, Key]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _build(values: Mapping[str, Value]) -> Config:
    sections = {}
    for section in fields(Config):
        own = {
            key.name: values[key.dotted] for key in KEYS.values() if key.section == section.name if key.dotted in values
        }
        sections[section.name] = replace(getattr(Config(), section.name), **own)
    return Config(**sections)

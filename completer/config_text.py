"""Settings as text: the file that `config init` writes, what `config show` prints, the README's table. Pure."""

import json
from collections.abc import Callable

from completer.config import KEYS, Key, Value
from completer.config_source import LoadedConfig


def starter_file() -> str:
    """A TOML file with every setting explained and commented out, so that later defaults reach its owner."""
    return _toml(lambda key: f"# {key.help}\n# must be {key.allowed}\n# {key.name} = {_literal(key.default)}\n")


def in_force(loaded: LoadedConfig) -> str:
    """Every setting as TOML, with where it came from unless that is the default."""

    def line(key: Key) -> str:
        value = getattr(getattr(loaded.config, key.section), key.name)
        origin = loaded.origins.get(key.dotted)
        return f"{key.name} = {_literal(value)}" + (f"  # {origin}" if origin else "") + "\n"

    return _toml(line)


def markdown_table() -> str:
    rows = [
        f"| `{key.dotted}` | `{_literal(key.default)}` | {key.help} | {key.allowed} |".replace("\n", " ")
        for key in KEYS.values()
    ]
    return "\n".join(["| setting | default | meaning | may be |", "| --- | --- | --- | --- |", *rows]) + "\n"


def _toml(line: Callable[[Key], str]) -> str:
    text, section = "", ""
    for key in KEYS.values():
        if key.section != section:
            text += ("\n" if text else "") + f"[{key.section}]\n"
            section = key.section
        text += line(key)
    return text


def _literal(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False)

"""Command-line flags that set a setting for one run. Their help and what they may hold come from the setting."""

import functools
from collections.abc import Callable
from typing import Any

import click

from completer.config import KEYS, Key
from completer.config_source import ConfigSource


def takes_config(*settings: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a click command a flag per setting (`model.target` becomes --target), and the Config as first argument."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def with_config(*args: Any, **parameters: Any) -> Any:
            flags = {setting: parameters.pop(KEYS[setting].name) for setting in settings}
            source = click.get_current_context().find_object(ConfigSource)
            assert source is not None, "the group puts it there"
            return function(source.load(flags), *args, **parameters)

        command: Callable[..., Any] = with_config
        for setting in reversed(settings):
            command = _flag(KEYS[setting])(command)
        return command

    return decorate


def _flag(key: Key) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def parse(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else key.parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    name = f"--{key.name.replace('_', '-')}"
    help = f"{key.help[0].upper()}{key.help[1:]}. [{key.allowed}; default {key.default}]"
    return click.option(name, key.name, callback=parse, metavar=key.name.upper(), help=help)

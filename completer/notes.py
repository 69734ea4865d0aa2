"""What is said besides the result: on stderr, unless --quiet."""

import click


def is_quiet() -> bool:
    return bool(click.get_current_context().find_root().params.get("quiet", False))


def note(text: str) -> None:
    if not is_quiet():
        click.echo(text, err=True)

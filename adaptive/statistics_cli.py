"""`completer stats` and `completer why`: what was learned and counted, shown, shared and reset."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from completer import paths
from completer.config_source import ConfigSource
from completer.errors import InputError, UsageError
from completer.notes import note

if TYPE_CHECKING:
    from adaptive.context_key import Environment
    from adaptive.statistics import Selection
    from adaptive.store import Store

_NOTHING = "Nothing has been learned yet: write code in an editor, or run `completer tune` in a repository."
_as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def _chosen(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of `stats` and `stats show`."""
    for option in reversed(
        (
            click.option("--project", default="", help="Only this project: its name or its folder."),
            click.option("--language", default="", help="Only this language, by its id."),
            click.option("--since", default="", help="Only from then on: 7d, 2w, 3m, 1y or a date."),
            click.option(
                "--by", type=click.Choice(["day", "source", "language", "project"]), help="Divide the figures."
            ),
            click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page to look at."),
            _as_json,
        )
    ):
        function = option(function)
    return function


@click.group(invoke_without_command=True)
@_chosen
@click.pass_context
def stats(context: click.Context, **options: Any) -> None:
    """What was suggested, accepted and saved, and what was learned.

    Without a command: stats show.
    """
    if context.invoked_subcommand is None:
        context.invoke(show, **options)


@stats.command()
@_chosen
@click.pass_obj
def show(
    source: ConfigSource, project: str, language: str, since: str, by: str | None, html: Path | None, as_json: bool
) -> None:
    """Show suggestions, token acceptance, speed and time saved."""
    from adaptive.page import page
    from adaptive.report import print_summary
    from adaptive.statistics import Selection, in_force, is_empty, since_day, summary
    from completer.files import write_file

    now_s = time.time()
    try:
        first = since_day(since, now_s) if since else ""
    except (ValueError, OverflowError):
        raise UsageError(f"--since {since!r} is neither a span such as 7d nor a date such as 2026-01-31") from None
    with open_store() as store:
        selection = Selection(store, first, project, language)
        _must_be_known(selection, project, language)
        document = summary(store, selection, by or "")
        environment = environment_in(store, source)
        document["in_force"] = in_force(store, environment, selection, now_s) if environment is not None else []
        if html is not None:
            parts = {part: summary(store, selection, part)["by"] for part in ("day", "language", "source", "project")}
            write_file(html, page(document, parts).encode())
            note(f"{html} written")
    if as_json:
        click.echo(json.dumps(document, ensure_ascii=False))
    elif html is None and is_empty(document):
        click.echo(f"Nothing has been counted since {first}." if first else _NOTHING)
    elif html is None:
        print_summary(document)


@stats.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@_as_json
@click.pass_obj
def export(source: ConfigSource, file: Path, as_json: bool) -> None:
    """Write what was learned, by language, to share: no text, no path, no project.

    FILE: - for standard output.
    """
    from adaptive.profile import profile_of

    with open_store() as store:
        environment = environment_in(store, source)
        profile: dict[str, Any] = {}
        if environment is not None:
            tallies = ((language, tally) for _, _, language, tally in store.tallies())
            suggestions = ((key, count) for _, key, count in store.suggestions())
            profile = profile_of(environment, store.known(environment, time.time()), tallies, suggestions)
    if not profile or not profile["languages"]:
        raise InputError("nothing has been learned yet: there is nothing to export; `completer tune` learns from code")
    _write_profile(profile, file, as_json)


@stats.command("import")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@_as_json
@click.pass_obj
def import_profile(source: ConfigSource, file: Path, as_json: bool) -> None:
    """Start new projects from a profile that somebody exported. Replaces what was imported before."""
    from adaptive.environment import environment_of
    from adaptive.profile import models_of, news_of, read_profile

    profile, environment = read_profile(file), environment_of(source.load())
    news, models = news_of(profile), models_of(environment)
    is_of_these_models = models in profile["models"]
    if not is_of_these_models:
        described = "; ".join(_described(other) for other in profile["models"]) or "no model that it names"
        note(f"{file} was learned with {described}, not with {_described(models)}: acceptance may differ")
    with open_store() as store:
        store.write(environment, news, time.time())
    if as_json:
        languages = sorted(profile["languages"])
        click.echo(json.dumps({"languages": languages, "is_of_these_models": is_of_these_models}))
    else:
        note(f"{_counted(len(news.keys), 'language')} imported")


@stats.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write one profile; - for stdout."
)
@_as_json
def merge(files: tuple[Path, ...], output: Path | None, as_json: bool) -> None:
    """Add up several profiles, and show what they say together; --output writes it as one."""
    from adaptive.profile import merged, read_profile
    from adaptive.report import print_profile

    profile = merged(map(read_profile, files))
    if output is not None:
        _write_profile(profile, output, as_json)
    elif as_json:
        click.echo(json.dumps(profile))
    else:
        print_profile(profile)


@stats.command()
@click.option("--project", default="", help="Only this project: its name or its folder.")
@click.option("--language", default="", help="Only this language, by its id.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_as_json
def reset(project: str, language: str, yes: bool, as_json: bool) -> None:
    """Forget what was learned and counted. A running daemon forgets it too."""
    from adaptive.statistics import Selection

    with open_store() as store:
        selection = Selection(store, "", project, language)
        _must_be_known(selection, project, language)
        names = " and ".join(sorted(map(selection.name, selection.project_ids))) if project else ""
        what = " in ".join(part for part in (language, names) if part) or "everything"
        if not yes:
            click.confirm(f"Forget {what}?", abort=True, err=True)
        ids = selection.project_ids if project else [None]
        count = sum(store.reset(project_id, language or None) for project_id in ids)
    if as_json:
        click.echo(json.dumps({"keys_forgotten": count}))
    else:
        note(f"{_counted(count, 'key')} forgotten")


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@_as_json
@click.pass_obj
def why(source: ConfigSource, file: Path | None, as_json: bool) -> None:
    """Say why drafts come from where they do, and since when.

    FILE: for its project and language; without one, for all.
    """
    from adaptive.context_key import project_of
    from adaptive.report import print_outlook
    from adaptive.statistics import Selection, in_force, sentences
    from completer.languages import language_of

    language = language_of(file).id if file is not None else ""
    with open_store() as store:
        project = project_of(file, known=store.projects().values()) if file is not None else None
        environment = environment_in(store, source)
        selection = Selection(store, "", project.id if project is not None else "", language)
        rows = in_force(store, environment, selection, time.time()) if environment is not None else []
    if as_json:
        click.echo(json.dumps({"keys": [row | {"sentences": sentences(row)} for row in rows]}, ensure_ascii=False))
        return
    if not rows:
        where = f"{language} in {project.name}" if project is not None else "any project"
        click.echo(f"Nothing has been learned for {where} yet: drafts are chosen by what most code has shown.")
    for row in rows:
        click.echo(f"{row['language']} in {row['project']}")
        for sentence in sentences(row):
            click.echo(f"  {sentence}")
        print_outlook(row["outlook"])


@contextmanager
def open_store() -> "Iterator[Store]":
    """Raises StoreError for whatever is wrong with the database, then and later."""
    import sqlite3

    from adaptive.store import Store
    from adaptive.store_errors import unusable

    path = paths.statistics_file()
    try:
        with closing(Store(path)) as store:
            yield store
    except sqlite3.Error as error:
        raise unusable(path, error) from error


def environment_in(store: "Store", source: ConfigSource) -> "Environment | None":
    """The configured one, or its models run otherwise where only that is known; without them, the one used last."""
    from adaptive.environment import environment_of
    from completer.errors import CompleterError

    try:
        configured = environment_of(source.load())
    except CompleterError:
        return next(iter(store.environments()), None)
    used = [
        known for known in store.environments() if (known.target, known.draft) == (configured.target, configured.draft)
    ]
    return configured if configured.id in [known.id for known in used] else next(iter(used), configured)


def _must_be_known(selection: "Selection", project: str, language: str) -> None:
    if project and not selection.project_ids:
        raise UsageError(f"no project {project!r} is known; `completer stats --by project` lists them")
    if language and language not in selection.languages:
        raise UsageError(f"no language {language!r} is known; `completer stats --by language` lists them")


def _write_profile(profile: dict[str, Any], file: Path, as_json: bool) -> None:
    """To a file, or where that is - to stdout, which then has nothing else."""
    from completer.files import write_file

    if file == Path("-"):
        click.echo(json.dumps(profile))
        return
    write_file(file, (json.dumps(profile) + "\n").encode())
    if as_json:
        click.echo(json.dumps({"file": str(file), "languages": sorted(profile["languages"])}, ensure_ascii=False))
    else:
        note(f"{file}: {_counted(len(profile['languages']), 'language')}")


def _described(models: dict[str, str]) -> str:
    return ", ".join(part for part in (models["target"], models["draft"], models["weights"]) if part)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

"""Profiles: what was learned, and what it came to, by language, to share with a team: no text, no path, no project.

JSON. Profiles written before they had `use` are read as well.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from adaptive.buckets import BUCKETS, SOURCES
from adaptive.context_key import Environment, Project
from adaptive.counts import Counts, no_counts
from adaptive.news import Key, KeyNews, Known, News, SuggestionCount, SuggestionKey
from adaptive.tally import Tally
from completer.errors import InputError

VERSION = 1
_FORMAT = "completer-statistics"
IMPORTED = Project("imported", "imported profile", "")
"""Where an imported profile is kept: as one more project, which lends to all others what it knows of a language."""

_MOST = 1e6


@dataclass(slots=True)
class Use:
    """In one language: tokens, the milliseconds they took and would have taken in plain decoding, and suggestions."""

    tokens: float = 0.0
    ms: float = 0.0
    plain_ms: float = 0.0
    suggestions: dict[str, SuggestionCount] = field(default_factory=dict)

    def add(self, other: "Use") -> None:
        self.tokens, self.ms, self.plain_ms = (
            self.tokens + other.tokens,
            self.ms + other.ms,
            self.plain_ms + other.plain_ms,
        )
        for kind, count in other.suggestions.items():
            self.suggestions.setdefault(kind, SuggestionCount()).add(count)


def profile_of(
    environment: Environment,
    known: Mapping[Key, Known],
    tallies: Iterable[tuple[str, Tally]] = (),
    suggestions: Iterable[tuple[SuggestionKey, SuggestionCount]] = (),
) -> dict[str, Any]:
    """Of all projects together, imported ones left out. tallies: with their languages."""
    languages: dict[str, Counts] = {}
    for key, entry in known.items():
        if key.project_id != IMPORTED.id:
            _add(languages.setdefault(key.language, no_counts()), entry.counts)
    uses: dict[str, Use] = defaultdict(Use)
    for language, tally in tallies:
        for source in tally.sources.values():
            uses[language].add(Use(source.tokens, source.ms, source.plain_ms))
    for suggestion, count in suggestions:
        uses[suggestion.language].add(Use(suggestions={suggestion.kind: count}))
    return _document([models_of(environment)], languages, uses)


def models_of(environment: Environment) -> dict[str, str]:
    """As profiles name them."""
    return {"target": environment.target, "draft": environment.draft, "weights": environment.weights}


def merged(profiles: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    models: list[dict[str, str]] = []
    languages: dict[str, Counts] = {}
    uses: dict[str, Use] = defaultdict(Use)
    for profile in profiles:
        models += [model for model in profile["models"] if model not in models]
        for language, counts in counts_of(profile).items():
            _add(languages.setdefault(language, no_counts()), counts)
        for language, use in uses_of(profile).items():
            uses[language].add(use)
    return _document(models, languages, uses)


def counts_of(profile: Mapping[str, Any]) -> dict[str, Counts]:
    """By language. Raises ValueError, KeyError or TypeError for what is no profile."""
    languages = {}
    for language, sources in profile["languages"].items():
        counts = no_counts()
        for source in SOURCES:
            table = np.array(sources[source], float)
            if table.shape != (2, BUCKETS) or not ((table >= 0.0) & (table <= _MOST)).all():
                raise ValueError(f"counts of {source} in {language}")
            counts[source] = table
        languages[str(language)] = counts
    return languages


def uses_of(profile: Mapping[str, Any]) -> dict[str, Use]:
    """By language. Raises ValueError, KeyError, TypeError or AttributeError for what is no profile."""
    uses = {}
    for language, found in profile.get("use", {}).items():
        counts = {str(kind): SuggestionCount(*map(int, numbers)) for kind, numbers in found["suggestions"].items()}
        uses[str(language)] = Use(float(found["tokens"]), float(found["ms"]), float(found["plain_ms"]), counts)
    return uses


def news_of(profile: Mapping[str, Any]) -> News:
    """What replaces an earlier import in the languages that the profile has."""
    keys = {
        Key(IMPORTED.id, language): KeyNews({source: (0.0, table) for source, table in counts.items()})
        for language, counts in counts_of(profile).items()
    }
    return News(keys, {IMPORTED.id: IMPORTED})


def read_profile(path: Path) -> dict[str, Any]:
    """Raises InputError for a file that is no profile, or one of another version."""
    try:
        document: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if document["format"] != _FORMAT:
            raise ValueError
        if document["version"] != VERSION:
            raise InputError(f"{path} is a profile of version {document['version']}; this program reads {VERSION}")
        counts_of(document)
        uses_of(document)
        for models in document["models"]:
            if set(models) != {"target", "draft", "weights"} or not all(isinstance(n, str) for n in models.values()):
                raise ValueError("models")
        return document
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is no profile; name a file that `completer stats export` wrote") from error


def _add(sums: Counts, counts: Counts) -> None:
    for source in SOURCES:
        sums[source] = sums[source] + counts[source]


def _document(models: list[dict[str, str]], languages: Mapping[str, Counts], uses: Mapping[str, Use]) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "version": VERSION,
        "models": models,
        "languages": {
            language: {source: np.round(table, 2).tolist() for source, table in counts.items()}
            for language, counts in sorted(languages.items())
        },
        "use": {
            language: {
                "tokens": use.tokens,
                "ms": round(use.ms, 1),
                "plain_ms": round(use.plain_ms, 1),
                "suggestions": {kind: [*astuple(count)] for kind, count in sorted(use.suggestions.items())},
            }
            for language, use in sorted(uses.items())
        },
    }

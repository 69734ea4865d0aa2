"""Outcomes on disk and in tables: scores only and never text, a line of JSON a problem, so that a run can go on."""

import json
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from completer.errors import InputError
from completer.evaluation.scores import interval_of_difference

METRICS = ("exact", "passed", "first_line", "identifiers", "similarity", "valid", "empty")

Outcome = Mapping[str, Any]
"""Fields: id, kind, language, pipeline, prompt_tokens, tokens, ms, stop_reason, changed_by, those of METRICS."""


class Results:
    """Those of one run. With a file they outlive it."""

    def __init__(self, settings: Mapping[str, Any], file: Path | None = None) -> None:
        """settings: all that the outcomes depend on. Raises InputError for a file of other settings."""
        self.outcomes: list[Outcome] = []
        self._file = file
        if file is None:
            return
        if file.exists():
            found, self.outcomes = read_results(file)
            if found != settings:
                changed = sorted(name for name in {*found, *settings} if found.get(name) != settings.get(name))
                raise InputError(f"{file} holds results with another {', '.join(changed)}; name another file")
        else:
            self._append(settings)

    def done(self) -> set[str]:
        """Ids of the problems that need not be completed again."""
        return {outcome["id"] for outcome in self.outcomes}

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Those of one problem, all of its pipelines together."""
        self.outcomes += outcomes
        if self._file is not None:
            self._append({"outcomes": outcomes})

    def _append(self, document: Mapping[str, Any]) -> None:
        assert self._file is not None
        try:
            with self._file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(document) + "\n")
        except OSError as error:
            raise InputError(f"cannot write {self._file}: {error.strerror}") from error


def read_results(file: Path) -> tuple[dict[str, Any], list[Outcome]]:
    """(settings, outcomes). A last line that was cut short is left out. Raises InputError."""
    try:
        lines = file.read_text("utf-8").splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]
        documents = [json.loads(line) for line in whole]
        outcomes = [outcome for document in documents[1:] for outcome in document["outcomes"]]
        return documents[0], outcomes
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError) as error:
        raise InputError(f"{file} holds no results of completer eval") from error


@dataclass(frozen=True, slots=True)
class Row:
    """Means of the metrics over n problems, None where one does not apply to any; medians of the rest."""

    kind: str
    language: str
    pipeline: str
    n: int
    means: Mapping[str, float | None]
    prompt_tokens: float
    ms: float


def rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """By class and pipeline, then by language and pipeline where there are several languages."""
    languages = sorted({outcome["language"] for outcome in outcomes})
    kinds = list(dict.fromkeys(outcome["kind"] for outcome in outcomes))
    pipelines = list(dict.fromkeys(outcome["pipeline"] for outcome in outcomes))
    found = [_row(outcomes, pipeline, kind=kind) for kind in kinds for pipeline in pipelines]
    if len(languages) > 1:
        found += [_row(outcomes, pipeline, language=language) for language in languages for pipeline in pipelines]
    return found


def differences(ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> dict[str, Any]:
    """Of each metric, over the problems in both: both means, ours minus theirs, and its 95 % interval."""
    by_id = {outcome["id"]: outcome for outcome in theirs}
    pairs = [(outcome, by_id[outcome["id"]]) for outcome in ours if outcome["id"] in by_id]
    found: dict[str, Any] = {"problems": len(pairs)}
    for metric in METRICS:
        values = [(a[metric], b[metric]) for a, b in pairs if a[metric] is not None and b[metric] is not None]
        if values:
            first, second = [float(a) for a, _ in values], [float(b) for _, b in values]
            means = statistics.fmean(first), statistics.fmean(second)
            found[metric] = {
                "ours": means[0],
                "theirs": means[1],
                "difference": means[0] - means[1],
                "interval": interval_of_difference(first, second),
            }
    return found


def filters(outcomes: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    """By filter: completions it changed, those among them that only became exact by the filters, or ceased to be so."""
    raw_exact = {outcome["id"]: outcome["exact"] for outcome in outcomes if outcome["pipeline"] == "raw"}
    counts: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        for name in outcome["changed_by"]:
            count = counts.setdefault(name, Counter(changed=0, mended=0, spoilt=0))
            was_exact = raw_exact.get(outcome["id"])
            count["changed"] += 1
            count["mended"] += was_exact is False and outcome["exact"]
            count["spoilt"] += was_exact is True and not outcome["exact"]
    return {name: dict(count) for name, count in counts.items()}


def document_of(settings: Mapping[str, Any], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {"settings": dict(settings), "rows": [asdict(row) for row in rows(outcomes)], "filters": filters(outcomes)}


def _row(outcomes: Sequence[Outcome], pipeline: str, kind: str = "all", language: str = "all") -> Row:
    chosen = [
        outcome
        for outcome in outcomes
        if outcome["pipeline"] == pipeline
        and kind in ("all", outcome["kind"])
        and language in ("all", outcome["language"])
    ]
    means = {metric: _mean(outcome[metric] for outcome in chosen) for metric in METRICS}
    prompt_tokens, ms = (statistics.median([outcome[name] for outcome in chosen]) for name in ("prompt_tokens", "ms"))
    return Row(kind, language, pipeline, len(chosen), means, prompt_tokens, ms)


def _mean(values: Iterator[Any]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return statistics.fmean(known) if known else None

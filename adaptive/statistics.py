"""What the store holds, summed up for people: documents that `stats` and `why` print. Knows no terminal."""

import datetime
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from adaptive.context_key import Environment
from adaptive.memory import Memory
from adaptive.news import SuggestionCount
from adaptive.outlook import outlook
from adaptive.profile import IMPORTED
from adaptive.store import Store, day_of
from adaptive.tally import POSITIONS, SourceTally, Tally
from completer.request import PLAIN

LEAST_CHECKS = 5
KINDS = ("shown", "accepted", "partially_accepted", "typed_through", "rejected", "kept", "removed")


class Selection:
    """Which days, projects and languages count. since: a date, "" for all; project: a name, root or id, "" for all."""

    def __init__(self, store: Store, since: str = "", project: str = "", language: str = "") -> None:
        self._since, self._language = since, language
        self.projects, self.languages = store.projects(), store.languages()
        self.project_ids = {
            known.id for known in self.projects.values() if project in (known.id, known.name, known.root)
        }
        self._is_any_project = not project

    def has(self, day: str, project_id: str, language: str) -> bool:
        in_project = self._is_any_project or project_id in self.project_ids
        return day >= self._since and in_project and self._language in ("", language)

    def name(self, project_id: str) -> str:
        """The project's, with its folder where another has the same."""
        if project_id not in self.projects:
            return project_id
        project = self.projects[project_id]
        is_clear = sum(other.name == project.name for other in self.projects.values()) == 1
        return project.name if is_clear else f"{project.name} ({project.root})"


def since_day(text: str, now_s: float) -> str:
    """The first day of a span such as 7d, 2w, 3m or a date; 0d and 1d are today. Raises ValueError, OverflowError."""
    units = {"d": 1, "w": 7, "m": 30, "y": 365}
    text = text.lower()
    if text and text[-1] in units and text[:-1].isdigit():
        return day_of(max(0.0, now_s - max(0, int(text[:-1]) * units[text[-1]] - 1) * 86400.0))
    return datetime.date.fromisoformat(text).isoformat()


def summary(store: Store, selection: Selection, by: str = "") -> dict[str, Any]:
    """All of the selection, and its parts `by` day, source, language or project."""
    tallies = [entry for entry in store.tallies() if selection.has(*entry[:3])]
    suggestions = [entry for entry in store.suggestions() if selection.has(entry[0], *_where(entry))]
    total = Tally()
    for *_, tally in tallies:
        total.add(tally)
    document: dict[str, Any] = {
        "suggestions": _kinds((key.kind, count) for _, key, count in suggestions),
        "completions": total.completions,
        "decoding": _decoding(total),
        "sources": {name: _source(source) for name, source in sorted(total.sources.items())},
    }
    if by == "source":
        document["by"] = {name: _source(source) for name, source in sorted(total.sources.items())}
    elif by:
        part_of: Callable[[str, str, str], str] = {
            "day": lambda day, project, language: day,
            "language": lambda day, project, language: language,
            "project": lambda day, project, language: selection.name(project),
        }[by]
        parts: dict[str, Tally] = defaultdict(Tally)
        shown: dict[str, list[tuple[str, SuggestionCount]]] = defaultdict(list)
        for day, project, language, tally in tallies:
            parts[part_of(day, project, language)].add(tally)
        for day, key, count in suggestions:
            shown[part_of(day, key.project_id, key.language)].append((key.kind, count))
        document["by"] = {
            part: {"suggestions": _kinds(shown[part]), "completions": parts[part].completions, **_decoding(parts[part])}
            for part in sorted(parts.keys() | shown.keys())
        }
    return document


def is_empty(document: dict[str, Any]) -> bool:
    """Whether a summary has nothing to show, neither counted nor in force."""
    is_counted = document["completions"] or any(kind["count"] for kind in document["suggestions"].values())
    return not is_counted and not document["in_force"]


def in_force(store: Store, environment: Environment, selection: Selection, now_s: float) -> list[dict[str, Any]]:
    """By key, what the controller uses now and why."""
    cost, all_known = store.cost(environment), store.known(environment, now_s)
    memory = Memory()
    memory.projects = selection.projects
    memory.rebase(all_known, now_s)
    rows = []
    for key, known in sorted(all_known.items(), key=lambda entry: (entry[0].project_id, entry[0].language)):
        if key.project_id == IMPORTED.id or not selection.has("9999", key.project_id, key.language):
            continue
        learned = memory.learned(key)
        force = sorted(learned.force.items(), key=lambda entry: -entry[1][0])
        plain_ms = cost.plain_ms if cost is not None else 1.0
        rows.append(
            {
                "project": selection.name(key.project_id),
                "language": key.language,
                "sources": [{"source": name, "share": share, "k": k} for name, (share, k) in force if share > 0.01],
                "speedup_of_late": learned.rate(plain_ms) * plain_ms,
                "plain_ms": cost.plain_ms if cost is not None else None,
                "is_paused": learned.guard.is_closed,
                "changes": [{"at": change.at_s, "cause": change.cause} for change in known.changes],
                "outlook": outlook(learned, cost, has_draft_model=environment.draft != ""),
            }
        )
    return rows


def sentences(row: dict[str, Any]) -> list[str]:
    """What `in_force` says of a key, a sentence each."""
    if not row["sources"]:
        return [f"Nothing has been decoded in {row['language']} in {row['project']} yet."]
    first = row["sources"][0]
    share = f"{first['share']:.0%} of recent rounds"
    said = [
        f"Plain decoding serves {share}: no draft promised to save time."
        if first["source"] == PLAIN
        else f"Drafts by {first['source']} serve {share}, {first['k']:.1f} tokens long on average."
    ]
    said.append(f"Of late, text is written {row['speedup_of_late']:.2f} times as fast as by plain decoding.")
    if row["plain_ms"] is not None:
        said.append(f"A round of plain decoding takes {row['plain_ms']:.0f} ms on this machine.")
    if row["is_paused"]:
        said.append("Speculation is paused: it had cost more than it saved.")
    for change in row["changes"][-3:]:
        when = datetime.datetime.fromtimestamp(change["at"]).strftime("%Y-%m-%d %H:%M")
        said.append(f"{when}: {change['cause']}.")
    return said


def _where(entry: tuple[str, Any, SuggestionCount]) -> tuple[str, str]:
    return entry[1].project_id, entry[1].language


def _kinds(counted: Iterable[tuple[str, SuggestionCount]]) -> dict[str, dict[str, int]]:
    sums = {kind: SuggestionCount() for kind in KINDS}
    for kind, count in counted:
        sums.setdefault(kind, SuggestionCount()).add(count)
    return {kind: {"count": sum_.count, "chars": sum_.chars} for kind, sum_ in sums.items()}


def _decoding(tally: Tally) -> dict[str, Any]:
    """saved_ms: against plain decoding of the same tokens, by the passes timed now and then.

    saved_ms_interval: the same by the completions that ran plain as a check, 95 %; None with fewer than
    LEAST_CHECKS. checks: those completions.
    """
    tokens = sum(source.tokens for source in tally.sources.values())
    ms = sum(source.ms for source in tally.sources.values())
    plain_ms = sum(source.plain_ms for source in tally.sources.values())
    drafted = sum(source.drafted for source in tally.sources.values())
    accepted = sum(source.accepted for source in tally.sources.values())
    return {
        "tokens": tokens,
        "tokens_per_s": 1000.0 * tokens / ms if ms else None,
        "draft_acceptance_rate": accepted / drafted if drafted else None,
        "mean_k": drafted / rounds if (rounds := _speculative_rounds(tally)) else None,
        "saved_ms": plain_ms - ms,
        "saved_ms_interval": _interval(tally, plain_ms, ms),
        "checks": tally.checks,
    }


def _interval(tally: Tally, plain_ms: float, ms: float) -> list[float] | None:
    if tally.checks < LEAST_CHECKS:
        return None
    mean = tally.check_sum / tally.checks
    variance = max(0.0, tally.check_squares / tally.checks - mean**2) * tally.checks / (tally.checks - 1)
    reach = _students_t(tally.checks - 1) * math.sqrt(variance / tally.checks)
    return [plain_ms * (mean - reach) - ms, plain_ms * (mean + reach) - ms]


def _students_t(freedom: int) -> float:
    """The quantile of 97.5 %, within 2 % from four degrees of freedom on: Abramowitz and Stegun, 26.7.5."""
    z = 1.959964
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def _speculative_rounds(tally: Tally) -> int:
    return sum(source.rounds for name, source in tally.sources.items() if name != PLAIN)


def _source(source: SourceTally) -> dict[str, Any]:
    return {
        "rounds": source.rounds,
        "mean_k": source.drafted / source.rounds if source.rounds else None,
        "draft_acceptance_rate": source.accepted / source.drafted if source.drafted else None,
        "acceptance_by_position": [
            source.accepted_at[i] / source.at_risk[i] if source.at_risk[i] else None for i in range(POSITIONS)
        ],
        "tokens": source.tokens,
        "tokens_per_s": 1000.0 * source.tokens / source.ms if source.ms else None,
        "saved_ms": source.plain_ms - source.ms,
    }

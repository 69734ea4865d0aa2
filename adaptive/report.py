"""`completer stats` as tables. Token acceptance and people's acceptance are never in one number."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from adaptive.buckets import MATCH_EDGES
from adaptive.news import SuggestionCount
from adaptive.profile import uses_of

_BARS = " ▁▂▃▄▅▆▇█"


def print_summary(document: dict[str, Any]) -> None:
    console = Console()
    _print_suggestions(console, document["suggestions"])
    _print_decoding(console, document["decoding"], document["completions"])
    if document["sources"]:
        _print_sources(console, document["sources"])
    if document.get("by"):
        _print_parts(console, document["by"])
    if document["in_force"]:
        _print_force(console, document["in_force"])


def print_profile(profile: dict[str, Any]) -> None:
    """What several have seen together: by language and source, tokens judged and accepted; by language, all in all."""
    for models in profile["models"]:
        print(f"learned with {models['target']}, draft {models['draft']}, weights {models['weights']}")
    table = Table("language", "source", "tokens judged", "accepted", f"by match of {', '.join(map(str, MATCH_EDGES))}+")
    for language, sources in profile["languages"].items():
        for source, (accepted, failed) in sources.items():
            if judged := sum(accepted) + sum(failed):
                shares = [yes / (yes + no) if yes + no else None for yes, no in zip(accepted, failed, strict=True)]
                table.add_row(language, source, f"{judged:,.0f}", share(sum(accepted) / judged), sparkline(shares))
    Console().print(table)
    table = Table("language", "shown", "accepted", "kept", "tokens", "tokens/s", "speedup")
    for language, use in uses_of(profile).items():
        counts = [use.suggestions.get(kind, SuggestionCount()).count for kind in ("shown", "accepted", "kept")]
        speed = [f"{use.tokens / use.ms * 1000:.1f}", f"{use.plain_ms / use.ms:.2f}"] if use.ms else ["", ""]
        table.add_row(language, *[f"{count:,}" for count in counts], f"{use.tokens:,.0f}", *speed)
    if table.row_count:
        Console().print(table)


def print_outlook(outlook: dict[str, Any]) -> None:
    """Some lengths of match; the JSON document has them all."""
    lengths = MATCH_EDGES[::3]
    table = Table("by length of match", *[f"{length}+" for length in lengths], box=None, padding=(0, 1))
    if outlook["pass_ms"] is not None:
        table.add_row("plain", f"{outlook['plain_tokens_per_s']:.1f}/s")
    for source in dict.fromkeys(draft["source"] for draft in outlook["drafts"]):
        drafts = {draft["match"]: draft for draft in outlook["drafts"] if draft["source"] == source}
        table.add_row(source, *[_expected(drafts[length]) for length in (lengths if 1 in drafts else [None])])
    console = Console()
    console.print(table)
    if outlook["pass_ms"] is not None:
        passes = ", ".join(f"{ms:.0f}" for ms in outlook["pass_ms"].values())
        console.print(f"  a pass over {', '.join(outlook['pass_ms'])} positions: {passes} ms", highlight=False)


def _expected(draft: dict[str, Any]) -> str:
    """The chance of a drafted token, and the tokens a second at the best k."""
    speed = f" {draft['tokens_per_s']:.1f}/s k {draft['k']}" if draft["k"] is not None else ""
    return f"{draft['chance']:.0%}{speed}"


def sparkline(shares: Sequence[float | None]) -> str:
    """One bar for each share of 1; a dot where there is none."""
    return "".join("·" if share is None else _BARS[round(share * (len(_BARS) - 1))] for share in shares)


def share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def span(ms: float) -> str:
    """Milliseconds as a person says them."""
    if abs(ms) < 120_000:
        return f"{ms / 1000:,.1f} s"
    return f"{ms / 60_000:,.1f} min" if abs(ms) < 7_200_000 else f"{ms / 3_600_000:,.1f} h"


def force(row: Mapping[str, Any]) -> str:
    """What serves a key now: sources, their share of recent rounds, and their k."""
    return ", ".join(f"{s['source']} {s['share']:.0%} k {s['k']:.1f}" for s in row["sources"]) or "nothing yet"


def _print_suggestions(console: Console, kinds: dict[str, dict[str, int]]) -> None:
    table = Table("suggestions", "count", "characters", "of shown")
    shown = kinds["shown"]["count"]
    for kind, sums in kinds.items():
        of_shown = share(sums["count"] / shown) if shown else ""
        table.add_row(kind.replace("_", " "), f"{sums['count']:,}", f"{sums['chars']:,}", of_shown)
    console.print(table)


def _print_decoding(console: Console, decoding: dict[str, Any], completions: int) -> None:
    speed = f", {decoding['tokens_per_s']:.1f} tokens a second" if decoding["tokens_per_s"] else ""
    console.print(f"{completions:,} completions, {decoding['tokens']:,} tokens{speed}")
    interval = decoding["saved_ms_interval"]
    console.print(
        f"time saved against plain decoding: {span(decoding['saved_ms'])}, by single plain passes timed between"
    )
    if interval is not None:
        low, high = map(span, interval)
        console.print(f"  {low} to {high} by {decoding['checks']:,} completions that ran plain as a check (95 %)")


def _print_sources(console: Console, sources: dict[str, dict[str, Any]]) -> None:
    table = Table("tokens by source", "rounds", "k", "accepted", "by position", "tokens/s", "saved")
    for name, source in sources.items():
        table.add_row(
            name,
            f"{source['rounds']:,}",
            f"{source['mean_k']:.1f}" if source["mean_k"] else "",
            share(source["draft_acceptance_rate"]),
            sparkline(source["acceptance_by_position"]) if source["mean_k"] else "",
            f"{source['tokens_per_s']:.1f}" if source["tokens_per_s"] else "",
            span(source["saved_ms"]),
        )
    console.print(table)


def _print_parts(console: Console, parts: dict[str, dict[str, Any]]) -> None:
    table = Table("", "shown", "accepted", "tokens", "k", "tokens accepted", "tokens/s", "saved")
    for name, part in parts.items():
        kinds = part.get("suggestions")
        table.add_row(
            name,
            f"{kinds['shown']['count']:,}" if kinds else "",
            f"{kinds['accepted']['count']:,}" if kinds else "",
            f"{part['tokens']:,}",
            f"{part['mean_k']:.1f}" if part["mean_k"] else "",
            share(part["draft_acceptance_rate"]),
            f"{part['tokens_per_s']:.1f}" if part["tokens_per_s"] else "",
            span(part["saved_ms"]),
        )
    console.print(table)


def _print_force(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    table = Table("project", "language", "in force", "of late, x plain")
    for row in rows:
        table.add_row(row["project"], row["language"], force(row), f"{row['speedup_of_late']:.2f}")
    console.print(table)

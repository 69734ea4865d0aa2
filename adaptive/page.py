"""`completer stats --html`: one self-contained page, light and dark. No script, nothing remote; inline SVG."""

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from adaptive.report import force, share, span

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --line: #d0d7de; --one: #0969da; --loss: #bc4c00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --line: #30363d; --one: #58a6ff; --loss: #f0883e; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1.5rem 0; }
th, td { padding: .25rem .75rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1.5rem 0; }
svg { width: 100%; height: auto; }
text { fill: var(--ink); font-size: 11px; }
.one { fill: var(--one); stroke: var(--one); }
.loss { fill: var(--loss); }
.zero { stroke: var(--line); }
.curve { fill: none; stroke-width: 2; }
"""
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'"
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 200, 60, 30
_BARS_LEFT, _LONGEST = 200, 400

Parts = Mapping[str, Mapping[str, Any]]


def page(document: Mapping[str, Any], parts: Mapping[str, Parts]) -> str:
    """document: as of `summary`, with what is `in_force`; parts: its `by`, for day, language, source and project."""
    figures = [
        _curve("tokens accepted, by day", parts["day"], lambda part: part["draft_acceptance_rate"], share, most=1.0),
        _curve("k, by day", parts["day"], lambda part: part["mean_k"], "{:.1f}".format),
        _curve("time saved, by day", parts["day"], lambda part: part["saved_ms"], span),
        *(_bars(f"tokens accepted, by {name}", parts[name], "draft_acceptance_rate", share) for name in _KINDS),
        *(_bars(f"time saved, by {name}", parts[name], "saved_ms", span) for name in _KINDS),
    ]
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width">
<title>completer: statistics</title>
<style>{_STYLE}</style>
<h1>completer: statistics</h1>
<p>{document["completions"]:,} completions, {document["decoding"]["tokens"]:,} tokens,
{span(document["decoding"]["saved_ms"])} saved against plain decoding.</p>
{_suggestions(document["suggestions"])}
{_in_force(document["in_force"])}
{"".join(figures)}
</html>
"""


_KINDS = ("project", "language", "source")


def _suggestions(kinds: Mapping[str, Mapping[str, int]]) -> str:
    rows = "".join(
        f"<tr><td>{escape(kind.replace('_', ' '))}<td>{sums['count']:,}<td>{sums['chars']:,}"
        for kind, sums in kinds.items()
    )
    return f"<table><tr><th>suggestions<th>count<th>characters{rows}</table>"


def _in_force(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    lines = "".join(
        f"<tr><td>{escape(row['project'])}<td>{escape(row['language'])}<td>{escape(force(row))}"
        f"<td>{row['speedup_of_late']:.2f}"
        for row in rows
    )
    return f"<table><tr><th>project<th>language<th>in force<th>of late, x plain{lines}</table>"


def _curve(
    title: str,
    parts: Parts,
    value: Callable[[Mapping[str, Any]], float | None],
    text: Callable[[float], str],
    most: float | None = None,
) -> str:
    points = [(name, v) for name, part in parts.items() if (v := value(part)) is not None]
    if not points:
        return ""
    low = min(0.0, *(v for _, v in points))
    high = most or max(*(v for _, v in points), low + 1e-9, 0.0)
    step = (_WIDTH - _LEFT) / max(1, len(points) - 1)
    places = [(_LEFT + i * step, _y(v, low, high)) for i, (_, v) in enumerate(points)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(
        f'<circle class="one" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{escape(name)}: {escape(text(v))}</title></circle>'
        for (x, y), (name, v) in zip(places, points, strict=True)
    )
    picture = (
        f'<polyline class="one curve" points="{line}"/>{dots}'
        f'<text x="0" y="{_y(high, low, high) + 10:.0f}">{escape(text(high))}</text>'
        f'<text x="0" y="{_y(low, low, high):.0f}">{escape(text(low))}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 5}">{escape(points[0][0])}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT - 5}" text-anchor="end">{escape(points[-1][0])}</text>'
    )
    return _figure(title, picture, _HEIGHT)


def _bars(title: str, parts: Parts, figure: str, text: Callable[[float], str]) -> str:
    rows = [(name, part[figure]) for name, part in parts.items() if part[figure] is not None]
    if not rows:
        return ""
    low, high = min(0.0, *(value for _, value in rows)), max(0.0, *(value for _, value in rows))
    scale = _LONGEST / (high - low or 1.0)
    zero = _BARS_LEFT - low * scale
    picture = "".join(_bar(i, name, value, (zero, scale), text) for i, (name, value) in enumerate(rows))
    height = 24 * len(rows) + 8
    axis = f'<line class="zero" x1="{zero:.1f}" y1="0" x2="{zero:.1f}" y2="{height}"/>'
    return _figure(title, picture + axis, height)


def _bar(index: int, name: str, value: float, axis: tuple[float, float], text: Callable[[float], str]) -> str:
    """axis: where zero is, and the length of 1. A gain goes to the right of zero, a loss to its left."""
    zero, scale = axis
    y, end = 24 * index + 4, zero + value * scale
    shape = f'x="{min(zero, end):.1f}" y="{y}" width="{abs(end - zero):.1f}" height="16"'
    return (
        f'<text x="0" y="{y + 13}">{escape(_shortened(name))}<title>{escape(name)}</title></text>'
        f'<rect class="{"loss" if value < 0.0 else "one"}" {shape}/>'
        f'<text x="{max(zero, end) + 6:.1f}" y="{y + 13}">{escape(text(value))}</text>'
    )


def _shortened(name: str) -> str:
    """Of a folder both ends: the last part tells most."""
    return name if len(name) <= 28 else f"{name[:10]}…{name[-17:]}"


def _figure(title: str, picture: str, height: int) -> str:
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">{picture}</svg></figure>\n'
    )


def _y(value: float, low: float, high: float) -> float:
    return (_HEIGHT - _BOTTOM) * (1.0 - (value - low) / (high - low)) + 5 if high > low else _HEIGHT - _BOTTOM

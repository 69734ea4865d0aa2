"""`completer stats --html`: one self-contained page, light and dark. No script, nothing remote; inline SVG."""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from adaptive.report import share, span

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --line: #d0d7de; --one: #0969da; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --line: #30363d; --one: #58a6ff; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; }
th, td { padding: .25rem .75rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1.5rem 0; }
svg { width: 100%; height: auto; }
text { fill: var(--ink); font-size: 11px; }
.one { fill: var(--one); stroke: var(--one); }
.curve { fill: none; stroke-width: 2; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 200, 60, 30

Parts = Mapping[str, Mapping[str, Any]]


def page(document: Mapping[str, Any], parts: Mapping[str, Parts]) -> str:
    """document: as of `summary`; parts: its `by`, for day, language, source and project."""
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
    most = max(abs(value) for _, value in rows) or 1.0
    picture = "".join(_bar(i, name, value, most, text) for i, (name, value) in enumerate(rows))
    return _figure(title, picture, 24 * len(rows) + 8)


def _bar(index: int, name: str, value: float, most: float, text: Callable[[float], str]) -> str:
    y, length = 24 * index + 4, 400 * abs(value) / most
    return (
        f'<text x="0" y="{y + 13}">{escape(name[:28])}</text>'
        f'<rect class="one" x="200" y="{y}" width="{length:.1f}" height="16"/>'
        f'<text x="{206 + length:.1f}" y="{y + 13}">{escape(text(value))}</text>'
    )


def _figure(title: str, picture: str, height: int) -> str:
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">{picture}</svg></figure>\n'
    )


def _y(value: float, low: float, high: float) -> float:
    return (_HEIGHT - _BOTTOM) * (1.0 - (value - low) / (high - low)) + 5 if high > low else _HEIGHT - _BOTTOM

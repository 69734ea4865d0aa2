"""Brackets and quotes that text closes although what follows the cursor closes them."""

from completer.postprocess.context import FilterContext
from completer.postprocess.parse_errors import has_strict_grammar

_OPENING = {")": "(", "]": "[", "}": "{"}
_QUOTES = "\"'`"
_MOST_TRIED = 8


def drop_closers(text: str, context: FilterContext) -> str:
    """End before a bracket or quote that the suffix holds, where the text around the cursor parses better so.

    It must be on the last line, since without many lines much would parse better; and where the suffix holds it on
    another line, no error may be left. Nothing is ever added: what is open, the user may close.
    """
    shorter = [text[:at] for at in _closers(text, context)[:_MOST_TRIED]]
    if context.is_at_line_end:
        return next((other for other in shorter if context.repaired(text, other) != text), text)
    return context.fewest_errors(text, shorter)


def hold_closers(text: str, context: FilterContext) -> str:
    places = _closers(text, context)
    return text[: places[0]] if places else text


def _closers(text: str, context: FilterContext) -> list[int]:
    last_line = text.rstrip().rfind("\n") + 1
    return [at for at in _unopened(text, _closer_in_suffix(context)) if at >= last_line]


def _closer_in_suffix(context: FilterContext) -> str:
    """The first bracket after the cursor that is not opened there; a quote right at it. "" for none.

    Below the cursor's line it must be the first visible character, and the language have a grammar.
    """
    rest = context.current_line_suffix.strip()
    if rest:
        return rest[0] if rest[0] in _QUOTES else _first_unopened(rest)
    below = context.next_lines[0].text.strip() if context.next_lines and has_strict_grammar(context.language) else ""
    return below[0] if below.startswith(tuple(_OPENING)) else ""


def _first_unopened(text: str) -> str:
    found = {at: closer for closer in _OPENING for at in _unopened(text, closer)[:1]}
    return found[min(found)] if found else ""


def _unopened(text: str, closer: str) -> list[int]:
    """Where text has that closer without having opened it; every place of it, if it is a quote."""
    places, depth = [], 0
    for at, char in enumerate(text):
        if char == closer and not depth:
            places.append(at)
        elif closer in _OPENING:
            depth += (char == _OPENING[closer]) - (char == closer)
    return places

"""Cases of post-processing as TOML: a document with its cursor, what a model wrote there, what is to be shown of it.

    [[case]]
    name = "the closing bracket is there already"
    language = "python"
    mode = "line"             # "auto" where it is missing
    document = "print(█)"
    completion = "x)"
    expected = "x"            # or: outcome = "discard", outcome = "unchanged"

Knows no model.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import cast

from completer.errors import InputError
from completer.languages import language
from completer.postprocess import FilterContext, apply_filters
from completer.request import CompletionRequest, Mode

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CURSOR = "█"
_ESCAPED = re.compile(r'[\x00-\x09\x0b-\x1f\x7f\\]|"(?=""|\Z)')  # of quotes, those that would end the string
_ESCAPES = {"\t": r"\t", "\r": r"\r", "\\": r"\\", '"': r"\""}


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    language: str
    fim_prefix: str
    fim_suffix: str
    completion: str
    expected: str
    mode: Mode = "auto"


def case_of(request: CompletionRequest, completion: str) -> Case:
    """What a model wrote at the cursor of a request; expected is what is shown of it today."""
    line_start = request.fim_prefix.rfind("\n") + 1
    line, column = request.fim_prefix.count("\n") + 1, len(request.fim_prefix) - line_start + 1
    around = FilterContext(language(request.language), request.fim_prefix, request.fim_suffix, request.mode)
    return Case(
        name=f"{PurePath(request.path).name}:{line}:{column}",
        language=request.language,
        fim_prefix=request.fim_prefix,
        fim_suffix=request.fim_suffix,
        completion=completion,
        expected=apply_filters(completion, around)[0],
        mode=request.mode,
    )


def read_cases(toml: str) -> list[Case]:
    """Raises InputError, naming the case, where one is incomplete."""
    return [_case(table) for table in tomllib.loads(toml)["case"]]


def write_cases(cases: Sequence[Case]) -> str:
    """TOML that read_cases reads back. Raises InputError for a document that has the cursor mark itself."""
    return "\n".join(map(_table, cases))


def check_text(text: str) -> None:
    """Raises InputError for a document that has the cursor mark itself."""
    if CURSOR in text:
        raise InputError(f"the text has the character {CURSOR}, which marks the cursor in a case; use another file")


def _case(table: dict[str, str]) -> Case:
    name, completion = table.get("name", "without a name"), table.get("completion", "")
    prefix, *suffixes = table.get("document", "").split(CURSOR)
    known = {"discard": "", "unchanged": completion}
    expected = table.get("expected", known.get(table.get("outcome", "")))
    if len(suffixes) != 1 or expected is None or not table.get("language"):
        raise InputError(f"case {name}: it needs a language, a document with one {CURSOR}, and expected or outcome")
    return Case(
        name, table["language"], prefix, suffixes[0], completion, expected, cast(Mode, table.get("mode", "auto"))
    )


def _table(case: Case) -> str:
    check_text(case.fim_prefix + case.fim_suffix)
    outcome = {case.completion: "unchanged", "": "discard"}.get(case.expected)
    values = {
        "name": case.name,
        "language": case.language,
        "mode": case.mode,
        "document": case.fim_prefix + CURSOR + case.fim_suffix,
        "completion": case.completion,
    }
    values |= {"expected": case.expected} if outcome is None else {"outcome": outcome}
    return "[[case]]\n" + "".join(f"{key} = {_string(value)}\n" for key, value in values.items())


def _string(text: str) -> str:
    escaped = _ESCAPED.sub(lambda match: _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04X}", text)
    return f'"""\n{escaped}"""' if set(text) & {"\n", '"'} else f'"{escaped}"'

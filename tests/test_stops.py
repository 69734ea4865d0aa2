"""Golden cases: where completions end in real-looking code of many languages. One TOML per language, no code."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from completer.languages import language
from completer.stops import Stops

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CURSOR = "█"
EOS = 0
FOLDER = Path(__file__).parent / "cases" / "stops"


def _cases() -> Iterator[object]:
    for path in sorted(FOLDER.glob("*.toml")):
        for case in tomllib.loads(path.read_text("utf-8"))["case"]:
            yield pytest.param({"language": path.stem, "mode": "auto", **case}, id=f"{path.stem}: {case['name']}")


CASES = list(_cases())


def whole(text: str) -> list[bytes]:
    return [text.encode()]


def words(text: str) -> list[bytes]:
    return [word.encode() for word in re.findall(r" ?\w+|\s*\n\s*|\s+|[^\w\s]+", text)]


def pieces(text: str) -> list[bytes]:
    encoded = text.encode()
    return [encoded[start : start + 3] for start in range(0, len(encoded), 3)]


def complete(stops: Stops, tokens: Sequence[bytes]) -> str | None:
    """The stop reason, the model having nothing to say after tokens. Equal tokens have equal ids."""
    ids = {token: number for number, token in enumerate(dict.fromkeys(tokens), start=1)}
    for token in tokens:
        reason = stops.push(ids[token], token)
        if reason is not None:
            return reason
    return stops.push(EOS, b"")


def stops_at(case: dict[str, str], line_end: str = "\n") -> Stops:
    before, after = case["document"].replace("\n", line_end).split(CURSOR)
    return Stops(
        language=language(case["language"]),
        fim_prefix=before,
        fim_suffix=after,
        mode=case["mode"],  # type: ignore[arg-type]
        stop_token_ids=(EOS,),
        max_tokens=1000,
    )


@pytest.mark.parametrize("tokens", [words, pieces, whole], ids=lambda tokens: tokens.__name__)
@pytest.mark.parametrize("case", CASES)
def test_completion_ends_where_a_programmer_would_end_it(case: dict[str, str], tokens) -> None:
    stops = stops_at(case)
    reason = complete(stops, tokens(case["model"]))
    assert (stops.text, reason) == (case["text"], case["reason"])


@pytest.mark.parametrize("case", CASES)
def test_completion_ends_at_the_same_place_with_carriage_returns(case: dict[str, str]) -> None:
    stops = stops_at(case, "\r\n")
    reason = complete(stops, words(case["model"].replace("\n", "\r\n")))
    assert (stops.text, reason) == (case["text"].replace("\n", "\r\n"), case["reason"])


@pytest.mark.parametrize("case", CASES)
def test_nothing_but_what_the_model_wrote_is_shown(case: dict[str, str]) -> None:
    assert case["model"].startswith(case["text"])
    assert len(case["model"]) > len(case["text"]), "the model must run on, or the stop proves nothing"

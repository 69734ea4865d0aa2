"""How near a completion is to what stood there, and how sure it is that one way of completing beats another. Pure."""

import difflib
import random
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from completer.evaluation.problems import Problem
from completer.languages import language
from completer.postprocess.context import FilterContext

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Score:
    """exact: the same but for white space at the end. first_line, identifiers: of these, the same.

    similarity: 0 to 1, 2 M / T of matching characters (Ratcliff and Obershelp). valid: no more syntax errors than with
    what stood there; None where that cannot be told. passed: the program ran; None where there is none to run.
    """

    exact: bool
    first_line: bool
    identifiers: bool
    similarity: float
    valid: bool | None
    empty: bool
    passed: bool | None = None


def score(problem: Problem, text: str) -> Score:
    truth = problem.truth
    return Score(
        exact=text.rstrip() == truth.rstrip(),
        first_line=_first_line(text) == _first_line(truth),
        identifiers=_IDENTIFIER.findall(text) == _IDENTIFIER.findall(truth),
        similarity=difflib.SequenceMatcher(None, text, truth, autojunk=False).ratio(),
        valid=_is_valid(problem, text),
        empty=not text.strip(),
    )


def interval_of_difference(ours: Sequence[float], theirs: Sequence[float], seed: int = 1) -> tuple[float, float]:
    """95 % interval of mean(ours) - mean(theirs), paired, by bootstrap over the pairs (Efron 1979)."""
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    if not any(differences):
        return 0.0, 0.0
    rng = random.Random(seed)
    means = sorted(statistics.fmean(rng.choices(differences, k=len(differences))) for _ in range(_RESAMPLES))
    return means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES) - 1]


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip()


def _is_valid(problem: Problem, text: str) -> bool | None:
    request = problem.request
    context = FilterContext(language(request.language), request.fim_prefix, request.fim_suffix, request.mode)
    errors, errors_before = context.errors_with(text), context.errors_with(problem.truth)
    return None if errors is None or errors_before is None else errors <= errors_before

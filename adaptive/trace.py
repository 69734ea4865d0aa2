"""Traces: what every draft source offered at every position of real completions, and what of it was right. Text-free.

A file of JSON lines, compressed where its name ends in .gz. The first line is {"format": "completer-trace",
"version": 1, ...}, every other one a completion. The text being independent of the drafts, such a trace replays any
policy exactly.

    language, project, split    `tune` or `held_out`
    tokens                      its length
    context, new                tokens of its prompt, and those of them that the completion before did not end with; all
                                of them where it is the first in its document
    first_line                  tokens up to the end of its first line
    offers                      by lookup source: match and length of its offer at each position, 0 where it had none,
                                and how many tokens of it the text went on to agree with
    model                       how the draft model, having read the text up to a position, judged the next token: its
                                own probability of what it would have drafted in per cent, negative where that was wrong
"""

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from completer.errors import InputError
from completer.files import write_file

VERSION = 1
_FORMAT = "completer-trace"


@dataclass(frozen=True, slots=True)
class Offers:
    """One source's offers, by position in the completion."""

    match: Sequence[int]
    length: Sequence[int]
    accepted: Sequence[int]


@dataclass(frozen=True, slots=True)
class Traced:
    """One completion."""

    language: str
    project: str
    tokens: int
    offers: dict[str, Offers]
    model: Sequence[int] = ()
    split: str = "tune"
    first_line: int = 0
    context_tokens: int = 0
    new_tokens: int = 0

    @property
    def goes_on(self) -> bool:
        """Whether it is in the same document as the completion before."""
        return self.new_tokens < self.context_tokens

    def model_accepted(self, position: int, k: int) -> int:
        """How many of k tokens that the draft model would draft at a position are right."""
        for count in range(k):
            if position + count >= self.tokens or self.model[position + count] < 0:
                return count
        return k


@dataclass(frozen=True, slots=True)
class Trace:
    completions: list[Traced] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        return sum(traced.tokens for traced in self.completions)


def write_trace(path: Path, trace: Trace) -> None:
    header = {"format": _FORMAT, "version": VERSION, **trace.about}
    lines = [
        json.dumps(header),
        *(json.dumps(as_document(traced), separators=(",", ":")) for traced in trace.completions),
    ]
    data = ("\n".join(lines) + "\n").encode()
    write_file(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def read_trace(path: Path) -> Trace:
    """Raises InputError for a file that is no trace, or one of another version."""
    try:
        data = path.read_bytes()
        lines = (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()
        header = json.loads(lines[0])
        if header.pop("format") != _FORMAT:
            raise ValueError
        version = header.pop("version")
        if version != VERSION:
            raise InputError(f"{path} is a trace of version {version}; this program reads version {VERSION}")
        return Trace([from_document(json.loads(line)) for line in lines[1:]], header)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, EOFError) as error:
        raise InputError(f"{path} is not a trace of completer's; name a file that the recorder wrote") from error


def trace_files(path: Path) -> list[Path]:
    """path itself, or the traces in a folder, by name."""
    return sorted([*path.glob("*.jsonl"), *path.glob("*.jsonl.gz")]) if path.is_dir() else [path]


def joined(traces: Iterable[Trace]) -> Trace:
    return Trace([traced for trace in traces for traced in trace.completions])


def by_key(completions: Iterable[Traced]) -> dict[tuple[str, str], list[Traced]]:
    """By project and language, in order."""
    keys: dict[tuple[str, str], list[Traced]] = {}
    for traced in completions:
        keys.setdefault((traced.project, traced.language), []).append(traced)
    return keys


def as_document(traced: Traced) -> dict[str, Any]:
    return {
        "language": traced.language,
        "project": traced.project,
        "split": traced.split,
        "tokens": traced.tokens,
        "first_line": traced.first_line,
        "context": traced.context_tokens,
        "new": traced.new_tokens,
        "offers": {name: [list(o.match), list(o.length), list(o.accepted)] for name, o in traced.offers.items()},
        "model": list(traced.model),
    }


def from_document(document: dict[str, Any]) -> Traced:
    traced = Traced(
        language=document["language"],
        project=document["project"],
        tokens=document["tokens"],
        offers={name: Offers(*columns) for name, columns in document["offers"].items()},
        model=document["model"],
        split=document["split"],
        first_line=document["first_line"],
        context_tokens=document["context"],
        new_tokens=document["new"],
    )
    if any(len(column) != traced.tokens for column in _columns(traced)):
        raise ValueError("columns of different lengths")
    return traced


def _columns(traced: Traced) -> Iterator[Sequence[int]]:
    for offers in traced.offers.values():
        yield from (offers.match, offers.length, offers.accepted)
    if traced.model:
        yield traced.model

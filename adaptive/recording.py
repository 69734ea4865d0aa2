"""Traces of real completions: code is typed again, and at every place of what it completes to every source is asked.

At a hole in a file, the lines that were there are typed as by a person who takes over what was suggested right and
types on where it was wrong; what a completion comes to is written once, by the target. A draft that is right so far has
the context of the text itself, so one pass of the draft model over the finished text says what it would have drafted at
every position. Knows the engine; keeps numbers only.
"""

import os
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from adaptive.trace import Offers, Traced
from completer.backends.target import read
from completer.draft.source import MAX_K, DraftContext, DraftSource
from completer.engine import Engine, never
from completer.holes import Hole
from completer.planner import FixedPlanner
from completer.prefix_cache import PrefixCache, common_prefix_length
from completer.prompt import Anchor, Prompt, build_prompt
from completer.request import Choice, CompletionRequest, RoundOutcome, RoundState

TYPED_LINES = 12
"""As many lines are typed at a hole, from its cursor on; what follows them is the text behind the cursor."""

COMPLETIONS = 16
"""Most of them at one hole."""

TYPED_CHARS = 6
"""At most so many characters are typed against a suggestion before the next one is asked for."""

_LINE = re.compile(r"[^\n]*\n")
_JUDGED_WIDTH = 32


class _Emitted:
    """A planner that drafts by lookup and notes down the text's tokens; healing: how many retype the seam, about."""

    def __init__(self) -> None:
        self._planner = FixedPlanner(("previous_suggestion", "ngram"), 3)
        self.token_ids: list[int] = []
        self.healed = 0

    def choose(self, state: RoundState) -> Choice:
        return self._planner.choose(state)

    def observe(self, outcome: RoundOutcome) -> None:
        self.token_ids += outcome.emitted
        if outcome.healing:
            self.healed = len(self.token_ids)


@dataclass(frozen=True, slots=True)
class _Written:
    """A completion as the target wrote it. first: index of the first of token_ids that counts."""

    request: CompletionRequest
    prompt: Prompt
    token_ids: Sequence[int]
    first: int
    text: str


class Recorder:
    def __init__(self, engine: Engine, project: str, split: str) -> None:
        self._engine = engine
        self._project, self._split = project, split
        self._lookups = engine.lookups()
        self._draft_model = engine.draft_target()
        if self._draft_model is not None:
            capacity = engine.limits.budget.total_tokens + 2 * engine.limits.max_tokens
            self._draft_caches = PrefixCache(self._draft_model, 1, capacity)

    def record(self, hole: Hole, cancelled: Callable[[], bool] = never) -> Iterator[Traced]:
        """The completions while the hole is filled. Who cancels loses the one in progress."""
        typist = random.Random(hole.name)
        text, cursor = hole.file.text, hole.span[0]
        end = lines_end(text, cursor)
        anchor: Anchor | None = None
        previous = ""
        before: list[int] = []
        for _ in range(COMPLETIONS):
            if cursor >= end:
                break
            request = CompletionRequest(
                fim_prefix=text[:cursor],
                fim_suffix=text[end:],
                document_id=hole.name,
                path=hole.file.path,
                language=hole.file.language,
                previous_suggestion=previous,
            )
            written = self._write(request, anchor, cancelled)
            if cancelled():
                break
            anchor = written.prompt.anchor
            if written.first < len(written.token_ids):
                yield self._traced(written, common_prefix_length(before, written.prompt.token_ids))
            before = [*written.prompt.token_ids, *written.token_ids]
            agreed = len(os.path.commonprefix([text[cursor:end], written.text]))
            previous = written.text[agreed:]
            cursor += agreed + (typist.randint(1, TYPED_CHARS) if previous or not agreed else 0)

    def _write(self, request: CompletionRequest, anchor: Anchor | None, cancelled: Callable[[], bool]) -> _Written:
        engine = self._engine
        prompt = build_prompt(request, engine.tokenizer, engine.template, engine.limits.budget, anchor)
        planner = _Emitted()
        text = "".join(chunk.text for chunk in engine.complete(request, planner, cancelled))
        # the round that healed also wrote the first token that nobody typed
        return _Written(request, prompt, planner.token_ids, max(planner.healed - 1, 0), text)

    def _traced(self, written: _Written, known: int) -> Traced:
        """known: tokens of its prompt that had been read or written in the completion before."""
        engine, prompt = self._engine, written.prompt
        context = DraftContext(
            prompt_ids=prompt.token_ids,
            remainder=prompt.remainder.encode(),
            document_id=written.request.document_id,
            previous_suggestion=written.request.previous_suggestion,
            reference_ids=prompt.reference_ids,
            tokenizer=engine.tokenizer,
            vocabulary=engine.vocabulary,
            sampling=None,
            rng=np.random.default_rng(0),
        )
        return Traced(
            language=written.request.language,
            project=self._project,
            tokens=len(written.token_ids) - written.first,
            offers={source.name: _offers(source, context, written) for source in self._lookups},
            model=self._judged(written),
            split=self._split,
            first_line=_first_line(engine, written),
            context_tokens=len(prompt.token_ids),
            new_tokens=len(prompt.token_ids) - known,
        )

    def _judged(self, written: _Written) -> Sequence[int]:
        """() without a draft model."""
        if self._draft_model is None:
            return ()
        token_ids = [*written.prompt.token_ids, *written.token_ids]
        begin = len(written.prompt.token_ids) + written.first - 1
        cache = self._draft_caches.acquire(written.request.document_id, token_ids).cache
        cache.crop(min(cache.length, begin))
        read(self._draft_model, cache, token_ids[cache.length : begin])
        judged: list[int] = []
        for start in range(begin, len(token_ids) - 1, _JUDGED_WIDTH):
            end = min(start + _JUDGED_WIDTH, len(token_ids) - 1)
            rows = self._draft_model.forward(cache, token_ids[start:end], rows=end - start)
            wanted = token_ids[start + 1 : end + 1]
            for token_id, drafted, probability in zip(wanted, rows.argmax(), rows.top1_probs(), strict=True):
                judged.append(max(1, round(100 * probability)) * (1 if drafted == token_id else -1))
        return judged


def hole_classes(count: int) -> dict[str, int]:
    """Classes of holes to draw, count in all or some more."""
    return {"line": (2 * count + 2) // 3, "block": (count + 2) // 3}


def lines_end(text: str, cursor: int) -> int:
    """Behind the last of the lines that are typed, its line end left out: it is there when one types above it."""
    lines = 0
    for line in _LINE.finditer(text, cursor):
        lines += bool(line[0].strip())
        if lines == TYPED_LINES:
            return line.end() - 1
    return len(text.rstrip("\n"))


def _offers(source: DraftSource, context: DraftContext, written: _Written) -> Offers:
    source.start(context)
    offers = Offers([], [], [])
    token_ids = written.token_ids
    for position in range(written.first, len(token_ids)):
        draft = source.offer([*context.prompt_ids, *token_ids[:position]], MAX_K)
        right = common_prefix_length(draft.token_ids, tuple(token_ids[position : position + len(draft)]))
        for column, value in zip(
            (offers.match, offers.length, offers.accepted), (draft.match_length, len(draft), right), strict=True
        ):
            column.append(value)  # type: ignore[attr-defined]
    return offers


def _first_line(engine: Engine, written: _Written) -> int:
    """Tokens up to the end of the first line of the text."""
    if "\n" in written.text.rstrip("\n"):
        so_far = b""
        for count, token_id in enumerate(written.token_ids[written.first :], start=1):
            so_far += engine.vocabulary.token_bytes[token_id]
            if b"\n" in so_far.strip(b"\n"):
                return count
    return len(written.token_ids) - written.first

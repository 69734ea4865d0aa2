"""The loop of speculative decoding: offers, choose, target pass, verify, crop, emit. Knows token ids and no text.

After Leviathan, Kalman and Matias 2023 (arXiv 2211.17192). The cache always lacks the last token of token_ids, so a
pass over that token and k drafts answers k + 1 times: row i has seen the drafts before draft i and judges draft i.
The first pass of a warm request also carries the uncached tail of its prompt.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from completer.backends.target import WIDEST_VERIFICATION, KVCache, Target, TargetRows
from completer.draft.offers import DraftSources
from completer.healing import Vocabulary
from completer.request import Draft, RoundOutcome, RoundPlanner, RoundState, Sampling
from completer.stops import Stops
from completer.verify import Verified, greedy_verify, rejection_verify


@dataclass(slots=True)
class Decoding:
    """One completion in progress. token_ids: prompt, then everything emitted; remainder: bytes still to be retyped.

    max_tokens: most tokens to emit, those that retype the remainder left out. deadline_ms: of now_ms, by when the
    first line is wanted. prefill_ms: spent before the first round.
    """

    target: Target
    cache: KVCache
    token_ids: list[int]
    remainder: bytes
    vocabulary: Vocabulary
    sources: DraftSources
    planner: RoundPlanner
    stops: Stops
    sampling: Sampling | None
    rng: np.random.Generator
    max_tokens: int
    deadline_ms: float | None
    now_ms: Callable[[], float]
    prefill_ms: float = 0.0
    emitted_tokens: int = 0
    stop_reason: str | None = None


def speculate(decoding: Decoding, cancelled: Callable[[], bool]) -> Iterator[RoundOutcome]:
    """Run rounds until a stop or until cancelled, growing decoding.token_ids; the cache is valid after every round."""
    d = decoding
    while d.stop_reason is None and not cancelled():
        started_ms = d.now_ms()
        offers = d.sources.offers(d.token_ids, d.remainder)
        state = _state(d, offers)
        choice = d.planner.choose(state)
        chosen_ms = d.now_ms()
        draft = d.sources.draft(choice, offers, d.token_ids, d.remainder, _room(d))
        drafted_ms = d.now_ms()
        pass_ids = [*d.token_ids[d.cache.length :], *draft.token_ids]
        rows = d.target.forward(d.cache, pass_ids, rows=len(draft) + 1)
        answered_ms = d.now_ms()
        verified = _verify(d, draft, rows)
        d.cache.crop(len(d.token_ids) + verified.accepted)
        verified_ms = d.now_ms()
        is_healing = bool(d.remainder)
        retyped = d.vocabulary.retyping(d.remainder, draft.token_ids) or 0
        emitted = _emit(d, [*draft.token_ids[: verified.accepted], verified.next_token])
        accepted = min(verified.accepted, len(emitted)) - retyped
        outcome = RoundOutcome(
            state=state,
            choice=choice,
            draft=draft.behind(retyped) if accepted >= 0 else Draft.EMPTY,
            accepted=max(accepted, 0),
            emitted=emitted,
            cut_by_stop=len(emitted) <= verified.accepted,
            width=len(pass_ids),
            prefill_ms=d.prefill_ms,
            draft_ms=drafted_ms - chosen_ms,
            verify_ms=answered_ms - drafted_ms,
            sample_ms=verified_ms - answered_ms,
            schedule_ms=chosen_ms - started_ms + d.now_ms() - verified_ms,
            catch_up_tokens=d.sources.catch_up_tokens,
            healing=is_healing,
        )
        d.prefill_ms = 0.0
        d.planner.observe(outcome)
        yield outcome


def _state(d: Decoding, offers: dict[str, Draft]) -> RoundState:
    return RoundState(
        offers=offers,
        draft_lag_tokens=d.sources.lag_tokens(d.token_ids),
        context_tokens=len(d.token_ids),
        remaining_tokens=d.max_tokens - d.emitted_tokens,
        first_line_done=d.stops.first_line_done,
        deadline_ms=d.deadline_ms,
    )


def _room(d: Decoding) -> int:
    """Drafted tokens, retyping ones left out, that are of use (the target adds one) and fit the pass and the cache."""
    most_retyped = len(d.remainder)  # a token has at least a byte
    pass_room = WIDEST_VERIFICATION - (len(d.token_ids) - d.cache.length) - most_retyped
    cache_room = d.cache.capacity - len(d.token_ids) - most_retyped - 1
    return min(d.max_tokens - d.emitted_tokens - 1, pass_room, cache_room)


def _verify(d: Decoding, draft: Draft, rows: TargetRows) -> Verified:
    allowed = d.vocabulary.allowed_rows(d.remainder, draft.token_ids)
    if d.sampling is None:
        return greedy_verify(draft.token_ids, rows.argmax(allowed))
    return rejection_verify(draft.token_ids, draft.distributions, rows.probs(d.sampling, allowed), d.rng)


def _emit(d: Decoding, token_ids: list[int]) -> tuple[int, ...]:
    """Append token_ids up to the first that stops the completion; returns those appended."""
    for count, token_id in enumerate(token_ids, start=1):
        d.token_ids.append(token_id)
        text = d.vocabulary.token_bytes[token_id]
        if d.remainder:
            retyped = min(len(d.remainder), len(text))
            d.remainder = d.vocabulary.remainder_after(d.remainder, (token_id,))
            text = text[retyped:]
            if not text:
                continue
        d.emitted_tokens += 1
        d.stop_reason = d.stops.push(token_id, text)
        if d.stop_reason is not None:
            d.cache.crop(min(d.cache.length, len(d.token_ids)))
            return tuple(token_ids[:count])
    return tuple(token_ids)

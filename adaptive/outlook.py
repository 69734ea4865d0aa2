"""What each source promises under a key, by what is known now: the numbers behind the planner's choices. Pure."""

from typing import Any

from adaptive.buckets import DRAFT_MODEL, LOOKUPS, MATCH_EDGES
from adaptive.cost import Cost
from adaptive.learned import Learned
from adaptive.planner import DRAFT_MODEL_MOST
from completer.draft.source import MAX_K

PASSES = (1, 2, 4, 8, 16)


def outlook(learned: Learned, cost: Cost | None, has_draft_model: bool) -> dict[str, Any]:
    """pass_ms: by positions. drafts: by source and the least length of match, None for the draft model's.

    chance: of a draft's first token. tokens_per_s: of rounds that all have such a draft, at the k that gives most, the
    draft model having caught up. It, k and all times are None while no costs are known.
    """
    drafts = [_draft(learned, cost, source, match) for source in LOOKUPS for match in MATCH_EDGES]
    if has_draft_model:
        drafts.append(_draft(learned, cost, DRAFT_MODEL, None))
    return {
        "pass_ms": {str(width): cost.verify_ms[width] for width in PASSES} if cost is not None else None,
        "plain_tokens_per_s": 1000.0 / cost.plain_ms if cost is not None else None,
        "drafts": drafts,
    }


def _draft(learned: Learned, cost: Cost | None, source: str, match: int | None) -> dict[str, Any]:
    chances = learned.acceptance.chances(source, match or 1, MAX_K if match else DRAFT_MODEL_MOST)
    rate, k = None, None
    if cost is not None:
        token_ms = 0.0 if match else cost.draft_step_ms
        tokens = survives = 1.0
        rates = []
        for drafted, chance in enumerate(chances, start=1):
            survives *= chance * learned.goes_on
            tokens += survives
            ms = cost.verify_ms[drafted + 1] + cost.overhead_ms + drafted * token_ms
            rates.append((1000.0 * tokens / ms, drafted))
        rate, k = max(rates)
    return {"source": source, "match": match, "chance": chances[0], "k": k, "tokens_per_s": rate}

"""transformers' own decoding on the same model and prompts: plain, assisted by the draft model, prompt lookup.

It keeps no prompt between calls and heals no token, so it is compared with our cold runs only, and on time alone: each
peer writes exactly as many tokens as our run of the hole did, after the same prompt ids with the seam's text behind.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from completer.arms import PLAIN_ARM, Run
from completer.engine import Engine
from completer.holes import Hole
from completer.models.store import InstalledModel
from completer.prompt import build_prompt

_SETTINGS: dict[str, dict[str, Any]] = {
    "transformers": {},
    "transformers prompt lookup": {"prompt_lookup_num_tokens": 10, "max_matching_ngram_size": 3},
    "transformers assisted": {},
}
_ASSISTANT_TOKENS = 4  # transformers' default of 20 loses more; its confidence threshold stays on


@dataclass(frozen=True, slots=True)
class PeerRun:
    """One hole through one peer. ours_ms: what our plain cold run took for as many tokens of the same hole."""

    name: str
    hole: Hole
    tokens: int
    total_ms: float
    ours_ms: float


class Peers:
    def __init__(self, engine: Engine, target: InstalledModel, draft: InstalledModel | None) -> None:
        self._engine = engine
        self._model = _load(target)
        self._draft = _load(draft) if draft is not None else None

    def compare(
        self, cold: Sequence[Run], cancelled: Callable[[], bool], done: Callable[[Hole], None]
    ) -> list[PeerRun]:
        """Each hole of our plain cold runs through every peer, in an order that rotates, until cancelled."""
        names = [name for name in _SETTINGS if name != "transformers assisted" or self._draft is not None]
        runs: list[PeerRun] = []
        for turn, ours in enumerate(run for run in cold if run.arm == PLAIN_ARM):
            shift = turn % len(names)
            for name in names[shift:] + names[:shift]:
                if cancelled():
                    return runs
                tokens = max(1, ours.result.tokens)
                runs.append(
                    PeerRun(name, ours.hole, tokens, self._generate_ms(name, ours.hole, tokens), ours.result.total_ms)
                )
            done(ours.hole)
        return runs

    def _generate_ms(self, name: str, hole: Hole, tokens: int) -> float:
        engine = self._engine
        prompt = build_prompt(hole.request(), engine.tokenizer, engine.template, engine.limits.budget)
        ids = torch.tensor([[*prompt.token_ids, *engine.tokenizer.encode(prompt.remainder)]])
        assistant = {"assistant_model": self._draft} if name == "transformers assisted" else {}
        started = time.perf_counter()
        with torch.inference_mode():
            self._model.generate(  # type: ignore[operator]  # the stubs take it for a tensor
                ids,
                attention_mask=torch.ones_like(ids),
                min_new_tokens=tokens,
                max_new_tokens=tokens,
                do_sample=False,
                **_SETTINGS[name],
                **assistant,
            )
        return (time.perf_counter() - started) * 1000.0


def _load(model: InstalledModel) -> PreTrainedModel:
    loaded: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
        model.folder, dtype=torch.bfloat16, attn_implementation="sdpa", local_files_only=True
    )
    loaded.generation_config.num_assistant_tokens = _ASSISTANT_TOKENS
    loaded.generation_config.num_assistant_tokens_schedule = "constant"
    return loaded.eval()

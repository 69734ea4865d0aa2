"""transformers' own decoding on the same model and prompts: plain, assisted by the draft model, prompt lookup.

It keeps no prompt between calls and heals no token, so it is compared with our cold runs only, and on time alone: each
peer writes exactly as many tokens as our run of the hole did, after the same prompt ids with the seam's text behind.
"""

import time
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from completer.arms import Run
from completer.backends.chosen import choose_device, choose_dtype
from completer.config import ModelConfig
from completer.engine import Engine
from completer.holes import Hole
from completer.models.store import InstalledModel
from completer.prompt import build_prompt

_ASSISTANT_TOKENS = {"transformers assisted": 4, "transformers assisted, its own k": 20}
"""transformers drafts 20 tokens unless told otherwise; 4 loses less. Its confidence threshold stays on in both."""

_SETTINGS: dict[str, dict[str, Any]] = {
    "transformers": {},
    "transformers prompt lookup": {"prompt_lookup_num_tokens": 10, "max_matching_ngram_size": 3},
    **{name: {} for name in _ASSISTANT_TOKENS},
}


@dataclass(frozen=True, slots=True)
class PeerRun:
    """One hole through one peer. ours_ms: what our plain cold run took for as many tokens of the same hole."""

    name: str
    hole: Hole
    tokens: int
    total_ms: float
    ours_ms: float


class Peers:
    def __init__(
        self, engine: Engine, target: InstalledModel, draft: InstalledModel | None, config: ModelConfig
    ) -> None:
        """config: the device and number format to run in, as the engine does."""
        self._engine = engine
        self._device = choose_device(config.device)
        dtype = choose_dtype(config.dtype, self._device)
        self._model = _load(target, self._device, dtype)
        self._draft = _load(draft, self._device, dtype) if draft is not None else None
        self._names = [name for name in _SETTINGS if name not in _ASSISTANT_TOKENS or self._draft is not None]

    def run(self, ours: Run) -> list[PeerRun]:
        """The hole of our plain cold run through every peer, in an order that rotates from hole to hole."""
        self._names.append(self._names.pop(0))
        tokens = max(1, ours.result.tokens)
        return [
            PeerRun(name, ours.hole, tokens, self._generate_ms(name, ours.hole, tokens), ours.result.total_ms)
            for name in self._names
        ]

    def _generate_ms(self, name: str, hole: Hole, tokens: int) -> float:
        engine = self._engine
        prompt = build_prompt(hole.request(), engine.tokenizer, engine.template, engine.limits.budget)
        ids = torch.tensor([[*prompt.token_ids, *engine.tokenizer.encode(prompt.remainder)]], device=self._device)
        assistant: dict[str, Any] = {}
        if name in _ASSISTANT_TOKENS and self._draft is not None:
            assert self._draft.generation_config is not None
            self._draft.generation_config.num_assistant_tokens = _ASSISTANT_TOKENS[name]
            assistant = {"assistant_model": self._draft}
        started = time.perf_counter()
        with torch.inference_mode():
            output = self._model.generate(  # type: ignore[operator]  # the stubs take it for a tensor
                ids,
                attention_mask=torch.ones_like(ids),
                min_new_tokens=tokens,
                max_new_tokens=tokens,
                do_sample=False,
                **_SETTINGS[name],
                **assistant,
            )
            output.cpu()
        return (time.perf_counter() - started) * 1000.0


def _load(model: InstalledModel, device: str, dtype: torch.dtype) -> PreTrainedModel:
    loaded: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
        model.folder, dtype=dtype, attn_implementation="sdpa", local_files_only=True, trust_remote_code=False
    )
    loaded.generation_config.num_assistant_tokens_schedule = "constant"
    return loaded.eval().to(device)

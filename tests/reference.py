"""What the target alone would write, by transformers alone: no KV cache of ours, no drafts, no rounds."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel


def load_reference(folder: Path, dtype: torch.dtype = torch.float64) -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="sdpa").eval()


def generated(model: PreTrainedModel, prompt_ids: Sequence[int], tokens: int) -> list[int]:
    """transformers' own greedy generate, with a fresh cache and no end of text."""
    with torch.inference_mode():
        output = model.generate(  # type: ignore[operator]
            torch.tensor([list(prompt_ids)]),
            attention_mask=torch.ones(1, len(prompt_ids), dtype=torch.long),
            max_new_tokens=tokens,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
        )
    return output[0, len(prompt_ids) :].tolist()


@torch.inference_mode()
def healed(
    model: PreTrainedModel, prompt_ids: Sequence[int], remainder: bytes, token_bytes: Sequence[bytes]
) -> Iterator[int]:
    """Greedy decoding that must first write remainder: the whole sequence again for each token, allowed ids by scan."""
    ids = list(prompt_ids)
    while True:
        logits = model(torch.tensor([ids])).logits[0, -1]
        allowed = [
            i
            for i, b in enumerate(token_bytes)
            if not remainder or (b and (b.startswith(remainder) or remainder.startswith(b)))
        ]
        ids.append(max(allowed, key=lambda i: (logits[i].item(), -i)))
        remainder = remainder[len(token_bytes[ids[-1]]) :]
        yield ids[-1]

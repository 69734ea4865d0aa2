"""The torch backend: any decoder transformers can load, on CPU, CUDA or MPS. Knows tensors; knows no text."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.utils.logging import disable_progress_bar, set_verbosity_error

from completer.backends import attention
from completer.backends.target import WIDEST_VERIFICATION, Allowed, KVCache
from completer.errors import ModelCorrupt, ModelError, ResourceError, first_line
from completer.kv_cache import TorchKVCache
from completer.request import Sampling
from completer.sampling import distributions


class TorchRows:
    """The logits of the last positions of a pass: (rows, vocabulary), in the model's own format."""

    def __init__(self, logits: torch.Tensor) -> None:
        self._logits = logits

    def argmax(self, allowed: Allowed | None = None) -> list[int]:
        best: list[int] = torch.argmax(self._logits, dim=-1).tolist()
        for i, ids in enumerate(allowed or ()):
            if ids is not None:
                choices = torch.from_numpy(ids).to(self._logits.device)
                best[i] = int(ids[int(torch.argmax(self._logits[i, choices]))])
        return best

    def top2(self) -> list[tuple[int, float, int, float]]:
        values, ids = torch.topk(self._logits.float(), 2, dim=-1)
        return [(i[0], v[0], i[1], v[1]) for i, v in zip(ids.tolist(), values.tolist(), strict=True)]

    def top1_probs(self) -> list[float]:
        logits = self._logits.float()
        return (logits.amax(-1) - logits.logsumexp(-1)).exp().tolist()

    def probs(self, sampling: Sampling, allowed: Allowed | None = None) -> np.ndarray:
        return distributions(self._logits.double().cpu().numpy(), sampling, allowed)


class TorchTarget:
    """A causal language model behind the Target protocol.

    canonical: a narrow pass gives each position the result it would have alone. In 16-bit formats a pass is then at
    least two positions wide, because one position takes another matrix kernel (a slower one on the CPUs measured).
    """

    prefill_width = 128

    def __init__(self, model: PreTrainedModel, canonical: bool = True) -> None:
        self._model = model.eval()
        self._body = model.get_decoder()
        self._head = model.get_output_embeddings()
        self._device = next(model.parameters()).device
        self._layers: int = model.config.num_hidden_layers
        self._own_attention = model.config._attn_implementation == attention.NAME
        self._canonical = canonical and self._own_attention
        self._min_width = 2 if self._canonical and model.dtype in (torch.bfloat16, torch.float16) else 1
        self.vocabulary_size: int = self._head.weight.shape[0]

    @classmethod
    def load(
        cls, folder: Path, *, device: str = "cpu", dtype: torch.dtype = torch.bfloat16, canonical: bool = True
    ) -> "TorchTarget":
        """Raises ModelCorrupt when the files do not make a model, ResourceError when memory does not suffice."""
        disable_progress_bar()
        set_verbosity_error()  # what it warns of is an error here, and is said once
        try:
            config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            plain = attention.is_plain_causal(config, getattr(config, "max_position_embeddings", 0))
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                folder,
                config=config,
                dtype=dtype,
                attn_implementation=attention.NAME if plain else None,
                local_files_only=True,
                trust_remote_code=False,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
            )
            model, found = loaded  # so with output_loading_info
            # transformers fills both with random numbers and goes on
            wrong = sorted(found["missing_keys"]) + sorted(name for name, *_ in found["mismatched_keys"])
            if wrong:
                raise ValueError(f"its weights lack {wrong[0]} in the shape that config.json asks for")
            return cls(model.to(device), canonical)
        except (MemoryError, torch.OutOfMemoryError) as error:
            raise ResourceError(f"not enough memory on {device} for {folder.name}; choose a smaller model") from error
        except (
            Exception
        ) as error:  # transformers and safetensors raise many kinds; each means the folder is not a model
            raise ModelCorrupt(f"cannot load the model in {folder} ({first_line(error)}); pull it again") from error

    def new_cache(self, capacity: int) -> TorchKVCache:
        # One more position than asked for, where a pass of one position is widened to two.
        extent = attention.EXTENT_MULTIPLE if self._canonical else 1
        return TorchKVCache(self._layers, capacity + self._min_width - 1, extent)

    @torch.inference_mode()
    def forward(self, cache: KVCache, token_ids: Sequence[int], rows: int) -> TorchRows:
        assert isinstance(cache, TorchKVCache)
        width, past = len(token_ids), cache.length
        if not 0 <= rows <= width or width == 0:
            raise ValueError(f"cannot answer for {rows} rows of a pass over {width} tokens")
        padding = max(0, self._min_width - width)
        if past + width + padding > cache.capacity:
            raise ModelError(
                f"{past + width} tokens do not fit the KV cache of {cache.capacity}; lower the prompt budget"
            )
        ids = torch.tensor([[*token_ids, *[token_ids[-1]] * padding]], device=self._device)
        hidden = self._hidden_states(cache, ids)
        cache.advance(width)
        if rows == 0:
            return TorchRows(hidden.new_empty((0, self.vocabulary_size)))
        first = max(0, width - max(rows, self._min_width))  # the head takes the same kernel as every other layer
        logits = self._head(hidden[first : width + padding])[width - rows - first : width - first]
        return TorchRows(logits)

    def _hidden_states(self, cache: TorchKVCache, ids: torch.Tensor) -> torch.Tensor:
        """(width, size) for ids of shape (1, width)."""
        past, width = cache.length, ids.shape[1]
        extra: dict[str, object] = {}
        mask: torch.Tensor | None = None
        if self._canonical and width <= WIDEST_VERIFICATION:
            extra["row_groups"] = attention.row_groups(past, width, self._device)
            mask = extra["row_groups"][0].mask  # type: ignore[index]  # any 4-D mask keeps transformers from building one
        elif self._own_attention:
            mask = attention.causal_mask(past, width, self._device)
        positions = torch.arange(past, past + width, device=self._device)[None]
        output = self._body(
            input_ids=ids, attention_mask=mask, position_ids=positions, cache=cache, use_cache=True, **extra
        )
        return output.last_hidden_state[0]

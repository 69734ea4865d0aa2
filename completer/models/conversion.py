"""A GGUF file into the form models are kept in: a folder with config.json, model.safetensors and tokenizer.json.

Weights are dequantised exactly and rounded to bfloat16, in pieces of a few megabytes, so that memory stays small
whatever the size of the model. Knows nothing of where files come from or where models live.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader, ReaderTensor
from gguf.quants import dequantize

from completer.errors import ModelCorrupt, ModelError
from completer.models.gguf_tokenizer import tokenizer_json
from completer.models.reporter import Advance

_PIECE_VALUES = 4 << 20
_TENSORS = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_LAYER_TENSORS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_ARCHITECTURES = {"qwen2": "Qwen2ForCausalLM", "llama": "LlamaForCausalLM"}


@dataclass(frozen=True, slots=True)
class Weight:
    """A tensor to write: its name and shape there, its source here. rotary_heads > 0: rows to bring back in order."""

    name: str
    shape: tuple[int, ...]
    source: ReaderTensor
    rotary_heads: int = 0

    @property
    def size_bytes(self) -> int:
        return 2 * math.prod(self.shape)

    def rows(self) -> np.ndarray:
        """Its rows as the GGUF file stores them, quantised, in the order they have in transformers; a vector is one."""
        if self.rotary_heads:
            return _without_interleaving(self.source.data, self.rotary_heads)
        return self.source.data if len(self.shape) > 1 else self.source.data[np.newaxis]

    def pieces(self) -> Iterator[np.ndarray]:
        """Its values as bfloat16 bit patterns, a few megabytes at a time."""
        rows = self.rows()
        step = max(1, _PIECE_VALUES // self.shape[-1])
        for start in range(0, len(rows), step):
            values = dequantize(rows[start : start + step], self.source.tensor_type)
            if not np.isfinite(values).all():
                raise ModelCorrupt(f"tensor {self.source.name} of the GGUF file holds values that are not numbers")
            yield to_bfloat16(values)


@dataclass(frozen=True, slots=True)
class GgufModel:
    """An opened GGUF file. config: the transformers configuration it amounts to."""

    metadata: dict[str, Any]
    config: dict[str, Any]
    weights: tuple[Weight, ...]

    @property
    def weight_bytes(self) -> int:
        return sum(weight.size_bytes for weight in self.weights)

    @property
    def gguf_bytes(self) -> int:
        """Of the same weights in the GGUF file."""
        return sum(weight.source.n_bytes for weight in self.weights)


def open_gguf(path: Path, is_tied: bool = False) -> GgufModel:
    """Read a GGUF file's metadata and map its tensors.

    is_tied: the model has one matrix for its input embedding and output head. Such files often hold two quantisations
    of it; the finer one then serves both. (Qwen2.5-Coder 0.5B on 3,577 tokens of code: 1.8834 nats a token, 1.8853
    with the two kept apart; 1.5B: 1.5538 and 1.5545; and 22 % and 13 % fewer bytes.)
    Raises ModelCorrupt for a file that is not whole, ModelError for one that cannot be converted.
    """
    try:
        reader = GGUFReader(path)
        metadata = {name: field.contents() for name, field in reader.fields.items()}
        tensors = {tensor.name: tensor for tensor in reader.tensors}
        embedding, head = tensors["token_embd.weight"], tensors.get("output.weight")
        if head is not None and is_tied:
            tensors["token_embd.weight"] = max(embedding, head, key=lambda tensor: tensor.n_bytes)
            del tensors["output.weight"]
        config = _config(metadata, vocabulary_size=int(embedding.shape[1]), is_tied="output.weight" not in tensors)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, OSError) as error:
        raise ModelCorrupt(f"{path} is not a whole GGUF file ({error})") from error
    weights = (_weight(name, tensor, config) for name, tensor in tensors.items())
    return GgufModel(metadata, config, tuple(sorted(weights, key=lambda weight: weight.name)))


def write_folder(model: GgufModel, folder: Path, advance: Advance) -> dict[str, str]:
    """Write the three files into an existing folder; returns the SHA-256 of each. advance is told weight bytes."""
    texts = {"config.json": model.config, "tokenizer.json": tokenizer_json(model.metadata)}
    checksums = {name: _write_json(folder / name, content) for name, content in texts.items()}
    return checksums | {"model.safetensors": _write_safetensors(folder / "model.safetensors", model.weights, advance)}


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """float32 rounded to the nearest bfloat16, ties to even, as uint16 bit patterns of the same shape."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def _config(metadata: dict[str, Any], vocabulary_size: int, is_tied: bool) -> dict[str, Any]:
    kind = metadata["general.architecture"]
    if kind not in _ARCHITECTURES:
        raise _cannot_convert(f"a GGUF file of architecture {kind!r} (only {', '.join(_ARCHITECTURES)})")
    if metadata.get(f"{kind}.rope.scaling.type", "none") != "none":
        raise _cannot_convert("a GGUF file with scaled rotary embeddings")
    heads, width = metadata[f"{kind}.attention.head_count"], metadata[f"{kind}.embedding_length"]
    epsilon = np.float32(metadata[f"{kind}.attention.layer_norm_rms_epsilon"])
    return {
        "architectures": [_ARCHITECTURES[kind]],
        "model_type": kind,
        "vocab_size": vocabulary_size,
        "hidden_size": width,
        "intermediate_size": metadata[f"{kind}.feed_forward_length"],
        "num_hidden_layers": metadata[f"{kind}.block_count"],
        "num_attention_heads": heads,
        "num_key_value_heads": metadata.get(f"{kind}.attention.head_count_kv", heads),
        "head_dim": metadata.get(f"{kind}.attention.key_length", width // heads),
        "hidden_act": "silu",
        "max_position_embeddings": metadata[f"{kind}.context_length"],
        "rms_norm_eps": float(str(epsilon)),  # stored as float32: 1e-06, not 9.99999997e-07
        "rope_theta": metadata.get(f"{kind}.rope.freq_base", 10000.0),
        "tie_word_embeddings": is_tied,
        "bos_token_id": metadata.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": metadata.get("tokenizer.ggml.eos_token_id"),
        "dtype": "bfloat16",
    }


def _weight(gguf_name: str, tensor: ReaderTensor, config: dict[str, Any]) -> Weight:
    name = _TENSORS.get(gguf_name) or _layer_weight_name(gguf_name)
    if config["model_type"] == "llama" and name.endswith(".bias"):
        raise _cannot_convert(f"tensor {gguf_name!r}")
    shape = tuple(int(size) for size in reversed(tensor.shape))
    rotary_heads = 0
    if config["model_type"] == "llama" and name.endswith(("q_proj.weight", "k_proj.weight")):
        rotary_heads = config["num_attention_heads" if "q_proj" in name else "num_key_value_heads"]
    return Weight(name, shape, tensor, rotary_heads)


def _layer_weight_name(gguf_name: str) -> str:
    block, layer, part, kind = (gguf_name.split(".") + [""] * 4)[:4]
    if block != "blk" or part not in _LAYER_TENSORS or kind not in ("weight", "bias"):
        raise _cannot_convert(f"tensor {gguf_name!r}")
    return f"model.layers.{layer}.{_LAYER_TENSORS[part]}.{kind}"


def _cannot_convert(what: str) -> ModelError:
    return ModelError(f"cannot convert {what}; use this model's Hugging Face folder instead")


def _without_interleaving(rows: np.ndarray, heads: int) -> np.ndarray:
    """Undo what llama.cpp does to q and k of the llama architecture, where it pairs the two halves of each head."""
    return rows.reshape(heads, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def _write_json(path: Path, content: dict[str, Any]) -> str:
    data = json.dumps(content, ensure_ascii=False).encode()
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return hashlib.sha256(data).hexdigest()


def _write_safetensors(path: Path, weights: tuple[Weight, ...], advance: Advance) -> str:
    """Layout: https://github.com/huggingface/safetensors#format. The data starts on a 64-byte boundary."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for weight in weights:
        start, end = end, end + weight.size_bytes
        header[weight.name] = {"dtype": "BF16", "shape": weight.shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    preamble = len(text).to_bytes(8, "little") + text
    digest = hashlib.sha256(preamble)
    with path.open("wb") as file:
        file.write(preamble)
        for weight in weights:
            for piece in weight.pieces():
                digest.update(piece.data)
                file.write(piece.data)
                advance(piece.nbytes)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()

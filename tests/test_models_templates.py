"""FIM templates: the exact order of control tokens of every family, and which tokenizer gets which template."""

import json

import pytest

from completer.models.fim import FimTemplate
from completer.models.store import find
from completer.models.templates import TEMPLATES, template_for
from completer.models.tokenizer import Tokenizer
from completer.prompt import PromptBudget, build_prompt
from completer.request import CompletionRequest, ContextChunk
from tests.tiny_model import tokenizer_json

LAYOUTS = {
    "qwen2.5-coder": "<|fim_prefix|>P<|fim_suffix|>S<|fim_middle|>",
    "starcoder2": "<fim_prefix>P<fim_suffix>S<fim_middle>",
    "deepseek-coder": "<｜begin▁of▁sentence｜><｜fim▁begin｜>P<｜fim▁hole｜>S<｜fim▁end｜>",
    "codegemma": "<bos><|fim_prefix|>P<|fim_suffix|>S<|fim_middle|>",
    "granite": "<|fim_prefix|>P<|fim_suffix|>S<|fim_middle|>",
    "granite-code": "<fim_prefix>P<fim_suffix>S<fim_middle>",
}
OTHER_FILES = {
    "qwen2.5-coder": "<|repo_name|>demo\n<|file_sep|>a.py\nA = 1\n<|file_sep|>me.py\n",
    "starcoder2": "<repo_name>demo\n<file_sep>a.py\nA = 1\n<file_sep>me.py\n",
    "codegemma": "<|file_separator|>a.py\nA = 1\n<|file_separator|>me.py\n",
}


def names_of(template: FimTemplate) -> list[str]:
    named = (template.begin, template.prefix, template.suffix, template.middle, template.repo, template.file)
    return list(dict.fromkeys(name for name in (*named, *template.stops) if name))


def tokenizer_with(names: list[str]) -> Tokenizer:
    return Tokenizer(json.dumps(tokenizer_json(names)))


def tokenizer_of(template: FimTemplate) -> Tokenizer:
    return tokenizer_with(names_of(template))


def prompt_text(template: FimTemplate, **fields: object) -> str:
    tokenizer = tokenizer_of(template)
    names = {tokenizer.special_id(name): name for name in names_of(template)}
    request = CompletionRequest(fim_prefix="P\n", fim_suffix="S", **fields)  # type: ignore[arg-type]
    prompt = build_prompt(request, tokenizer, template, PromptBudget(50, 50, 50))
    return "".join(names.get(t) or tokenizer.decode([t]) for t in prompt.token_ids).replace("P\n", "P")


def test_every_family_has_its_layout_here():
    assert [template.family for template in TEMPLATES] == list(LAYOUTS)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.family)
def test_the_order_of_control_tokens(template):
    assert prompt_text(template) == LAYOUTS[template.family]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.family)
def test_other_files_stand_before_the_cursor_s_own(template):
    chunks = (ContextChunk("a.py", "A = 1\n"),)
    begin = template.begin
    expected = begin + OTHER_FILES.get(template.family, "") + LAYOUTS[template.family].removeprefix(begin)
    assert prompt_text(template, context_chunks=chunks, project_id="demo", path="me.py") == expected


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.family)
def test_a_tokenizer_is_recognised_by_its_control_tokens(template):
    assert template_for(tokenizer_of(template)) == template


def test_stops_the_tokenizer_lacks_are_left_out():
    template = next(t for t in TEMPLATES if t.family == "deepseek-coder")
    names = [name for name in names_of(template) if name != "<|EOT|>"]
    found = template_for(tokenizer_with(names))
    assert found is not None
    assert found.stops == tuple(name for name in template.stops if name != "<|EOT|>")


def test_a_model_without_fim_tokens_has_no_template():
    assert template_for(tokenizer_with(["<|endoftext|>", "<repo_name>", "<file_sep>"])) is None


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.family)
def test_its_own_control_tokens_end_a_completion(template):
    assert {template.prefix, template.suffix, template.middle} <= set(template.stops)


def test_only_families_that_were_run_are_called_verified():
    assert [template.family for template in TEMPLATES if template.verified] == ["qwen2.5-coder"]


@pytest.mark.model("qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b")
@pytest.mark.parametrize("name", ["qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b"])
def test_the_real_control_tokens_have_their_published_ids(name):
    model = find(name)
    assert model.template == TEMPLATES[0]
    tokenizer = Tokenizer.load(model.folder)
    ids = [tokenizer.special_id(name) for name in TEMPLATES[0].stops]
    assert ids == [151643, 151645, 151659, 151660, 151661, 151662, 151663, 151664]

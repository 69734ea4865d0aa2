"""The FIM templates of the families known here, and which of them a tokenizer fits. Knows no weights.

`verified` stands only where weights of the family were run with the template; the others follow their papers and
model cards and are untried:
  Qwen2.5-Coder   https://arxiv.org/abs/2409.12186, section 3.1; Qwen3-Coder kept the tokens
  StarCoder2      https://arxiv.org/abs/2402.19173, section 5.1
  DeepSeek-Coder  https://arxiv.org/abs/2401.14196, section 3.1 (its "hole" is where the suffix starts)
  CodeGemma       https://arxiv.org/abs/2406.11409, section 2.1
  Granite 4       https://huggingface.co/ibm-granite/granite-4.0-h-micro, tokenizer.json
  Granite Code    https://arxiv.org/abs/2405.04324, section 3.1
"""

from dataclasses import replace

from completer.models.fim import FimTemplate
from completer.models.tokenizer import Tokenizer

TEMPLATES = (
    FimTemplate(
        family="qwen2.5-coder",
        prefix="<|fim_prefix|>",
        suffix="<|fim_suffix|>",
        middle="<|fim_middle|>",
        stops=(
            "<|endoftext|>",
            "<|im_end|>",
            "<|fim_prefix|>",
            "<|fim_middle|>",
            "<|fim_suffix|>",
            "<|fim_pad|>",
            "<|repo_name|>",
            "<|file_sep|>",
        ),
        repo="<|repo_name|>",
        file="<|file_sep|>",
        verified=True,
    ),
    FimTemplate(
        family="starcoder2",
        prefix="<fim_prefix>",
        suffix="<fim_suffix>",
        middle="<fim_middle>",
        stops=(
            "<|endoftext|>",
            "<fim_prefix>",
            "<fim_middle>",
            "<fim_suffix>",
            "<fim_pad>",
            "<repo_name>",
            "<file_sep>",
        ),
        repo="<repo_name>",
        file="<file_sep>",
    ),
    FimTemplate(
        family="deepseek-coder",
        prefix="<｜fim▁begin｜>",
        suffix="<｜fim▁hole｜>",
        middle="<｜fim▁end｜>",
        stops=("<｜end▁of▁sentence｜>", "<|EOT|>", "<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
        begin="<｜begin▁of▁sentence｜>",
    ),
    FimTemplate(
        family="codegemma",
        prefix="<|fim_prefix|>",
        suffix="<|fim_suffix|>",
        middle="<|fim_middle|>",
        stops=("<eos>", "<end_of_turn>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|file_separator|>"),
        begin="<bos>",
        file="<|file_separator|>",
    ),
    FimTemplate(
        family="granite",
        prefix="<|fim_prefix|>",
        suffix="<|fim_suffix|>",
        middle="<|fim_middle|>",
        stops=("<|end_of_text|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>"),
    ),
    FimTemplate(
        family="granite-code",
        prefix="<fim_prefix>",
        suffix="<fim_suffix>",
        middle="<fim_middle>",
        stops=("<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>"),
    ),
)


def template_for(tokenizer: Tokenizer) -> FimTemplate | None:
    """The first template whose prompt tokens and end of text this tokenizer has; None where the model knows no FIM.

    Its stops are those the tokenizer has. Templates with more tokens of their own stand before those with fewer.
    """
    for template in TEMPLATES:
        needed = (template.prefix, template.suffix, template.middle, template.stops[0])
        optional = tuple(name for name in (template.begin, template.repo, template.file) if name)
        if all(tokenizer.has_special(name) for name in needed + optional):
            return replace(template, stops=tuple(name for name in template.stops if tokenizer.has_special(name)))
    return None

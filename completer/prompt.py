"""The prompt: text round the cursor to token ids, inside a token budget, laid out so that typing only appends.

    [other files] <fim_prefix> lines up to the anchor <fim_suffix> what follows <fim_middle> lines since, this line

Whole lines above stand in the FIM prefix; the lines finished since the anchor was set, and the current line up to the
healing seam, follow fim_middle. A keystroke, an Enter or an accepted block then leaves all earlier tokens as they are.
The anchor moves when more than ANCHOR_LINES lines or ANCHOR_TOKENS tokens have come behind it, and when the text
before it or the text after the cursor has changed. Window edges lie on line boundaries and do not slide as one types.
Pure: the previous Anchor is an argument and the next one is returned.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from completer.healing import split_at_seam
from completer.models.fim import FimTemplate
from completer.models.tokenizer import Tokenizer
from completer.request import CompletionRequest, ContextChunk

ANCHOR_LINES = 16
ANCHOR_TOKENS = 256
_CHARS_PER_TOKEN = 6  # above what code needs, so that a window cut by characters still fills its token budget
_LINE_STEP_CHARS = 1024  # a line too long for its window is cut in such steps, so that the cut does not slide


@dataclass(frozen=True, slots=True)
class PromptBudget:
    """Most tokens of text before the cursor, after it, and of other files."""

    prefix_tokens: int
    suffix_tokens: int
    context_tokens: int

    @property
    def total_tokens(self) -> int:
        """Room for a whole prompt: the lines since the anchor and the control tokens included."""
        return self.prefix_tokens * 2 + self.suffix_tokens + self.context_tokens + ANCHOR_TOKENS + 64

    def within(self, positions: int) -> "PromptBudget":
        """This budget, scaled down where a model has room for fewer positions."""
        share = min(1.0, max(0, positions - ANCHOR_TOKENS - 64) / (self.total_tokens - ANCHOR_TOKENS - 64))
        scaled = (int(tokens * share) for tokens in (self.prefix_tokens, self.suffix_tokens, self.context_tokens))
        return PromptBudget(*scaled)


@dataclass(frozen=True, slots=True)
class Anchor:
    """The part of a prompt that stays put while the user types: both windows, and their tokens."""

    prefix_text: str
    prefix_ids: tuple[int, ...]
    suffix_text: str
    suffix_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """token_ids end at the seam; remainder is the text the model must type again before it is free.

    reference_ids: tokens of other files that did not fit, of use to lookup sources only.
    """

    token_ids: list[int]
    remainder: str
    anchor: Anchor
    reference_ids: tuple[int, ...]


def build_prompt(
    request: CompletionRequest,
    tokenizer: Tokenizer,
    template: FimTemplate | None,
    budget: PromptBudget,
    previous: Anchor | None = None,
) -> Prompt:
    """Token ids for a request. Without a template the model continues the text before the cursor and sees no suffix."""
    line_start = request.fim_prefix.rfind("\n") + 1
    above, line = request.fim_prefix[:line_start], request.fim_prefix[line_start:]
    suffix = request.fim_suffix if template is not None else ""
    head, remainder = split_at_seam(_tail_in_steps(line, budget.prefix_tokens))
    anchor, since = _anchor(above, suffix, tokenizer, budget, previous)
    middle_ids = tokenizer.encode(since + head)[-budget.prefix_tokens - ANCHOR_TOKENS :]
    context_ids, reference_ids = _context(request, tokenizer, template, budget.context_tokens)
    if template is None:
        token_ids = [*context_ids, *anchor.prefix_ids, *middle_ids] or tokenizer.encode("\n")
        return Prompt(token_ids, remainder, anchor, reference_ids)
    control = [tokenizer.special_id(name) for name in (template.prefix, template.suffix, template.middle)]
    begin = [tokenizer.special_id(template.begin)] if template.begin else []
    token_ids = [*begin, *context_ids, control[0], *anchor.prefix_ids, control[1], *anchor.suffix_ids, control[2]]
    return Prompt([*token_ids, *middle_ids], remainder, anchor, reference_ids)


def _tail_in_steps(line: str, budget_tokens: int) -> str:
    """The end of a line that is too long for the prompt, cut at a multiple of _LINE_STEP_CHARS."""
    excess = len(line) - max(_LINE_STEP_CHARS, budget_tokens * 2)
    return line if excess <= 0 else line[-(-excess // _LINE_STEP_CHARS) * _LINE_STEP_CHARS :]


def _anchor(
    above: str, suffix: str, tokenizer: Tokenizer, budget: PromptBudget, previous: Anchor | None
) -> tuple[Anchor, str]:
    """The anchor to use, and the text of the lines finished since it was set."""
    suffix_text = suffix[: budget.suffix_tokens * _CHARS_PER_TOKEN]
    if previous is not None:
        start = above.rfind(previous.prefix_text) if previous.prefix_text else 0
        since = above[start + len(previous.prefix_text) :]
        is_near = since.count("\n") <= ANCHOR_LINES and len(since) <= ANCHOR_TOKENS * _CHARS_PER_TOKEN
        at_line = start == 0 or (start > 0 and above[start - 1] == "\n")
        if at_line and is_near and suffix_text.startswith(previous.suffix_text):
            fits = not since or len(tokenizer.encode(since)) <= ANCHOR_TOKENS
            if fits and bool(previous.suffix_text) == bool(suffix_text):
                return previous, since
    prefix_text, prefix_ids = _window_before(above, tokenizer, budget.prefix_tokens, previous)
    suffix_text, suffix_ids = _window_after(suffix_text, tokenizer, budget.suffix_tokens)
    return Anchor(prefix_text, tuple(prefix_ids), suffix_text, tuple(suffix_ids)), ""


def _window_before(
    above: str, tokenizer: Tokenizer, budget_tokens: int, previous: Anchor | None
) -> tuple[str, Sequence[int]]:
    """The last whole lines within the budget. A new window leaves a quarter free, so that its start can stay."""
    if previous is not None and previous.prefix_text:
        first_lines = previous.prefix_text[: previous.prefix_text.find("\n", 200) + 1] or previous.prefix_text
        start = above.rfind(first_lines)
        if start >= 0 and len(above) - start <= budget_tokens * _CHARS_PER_TOKEN:
            ids = tokenizer.encode(above[start:])
            if len(ids) <= budget_tokens:
                return above[start:], ids
    cut = above[-budget_tokens * _CHARS_PER_TOKEN :]
    ids, starts = tokenizer.encode_with_offsets(cut)
    if len(cut) == len(above) and len(ids) <= budget_tokens:
        return cut, ids
    for i in range(max(0, len(ids) - budget_tokens * 3 // 4), len(ids)):
        if starts[i] > 0 and cut[starts[i] - 1] == "\n":
            return cut[starts[i] :], ids[i:]
    first = max(0, len(ids) - budget_tokens)  # no line ends within the budget
    return cut[starts[first] :] if ids else "", ids[first:]


def _window_after(text: str, tokenizer: Tokenizer, budget_tokens: int) -> tuple[str, Sequence[int]]:
    """The first whole lines within the budget, or part of a line when not even one fits."""
    ids, starts = tokenizer.encode_with_offsets(text)
    if len(ids) <= budget_tokens:
        return text, ids
    for i in range(budget_tokens, 0, -1):
        if text[starts[i] - 1] == "\n":
            return text[: starts[i]], ids[:i]
    return text[: starts[budget_tokens]], ids[:budget_tokens]


def _context(
    request: CompletionRequest, tokenizer: Tokenizer, template: FimTemplate | None, budget_tokens: int
) -> tuple[list[int], tuple[int, ...]]:
    """(tokens of the other files' chunks that fit, in the given order; tokens of those that do not)."""
    if not request.context_chunks:
        return [], ()
    ids: list[int] = []
    reference: list[int] = []
    separator = [tokenizer.special_id(template.file)] if template is not None and template.file else []
    if template is not None and template.repo:
        ids += [tokenizer.special_id(template.repo), *tokenizer.encode((request.project_id or "project") + "\n")]
    for chunk in request.context_chunks:
        chunk_ids = [*separator, *tokenizer.encode(f"{chunk.path}\n{_with_newline(chunk)}")]
        if separator and len(ids) + len(chunk_ids) <= budget_tokens:
            ids += chunk_ids
        else:
            reference += chunk_ids
    if separator:
        ids += [*separator, *tokenizer.encode((request.path or "untitled") + "\n")]
    return ids, tuple(reference)


def _with_newline(chunk: ContextChunk) -> str:
    return chunk.text if chunk.text.endswith("\n") else chunk.text + "\n"

"""What each draft source offers, and that sampling with a draft model keeps the target's distribution."""

import numpy as np
import pytest
import torch
from scipy import stats

from completer.backends.torch_target import TorchTarget
from completer.draft.draft_model import LOADING_TOKENS, DraftModelSource
from completer.draft.ngram import NgramSource
from completer.draft.offers import DraftSources
from completer.draft.previous_suggestion import PreviousSuggestionSource
from completer.draft.source import DraftContext
from completer.errors import UsageError
from completer.healing import Vocabulary
from completer.languages import PLAIN_TEXT
from completer.models.tokenizer import Tokenizer
from completer.planner import FixedPlanner, fixed_planner
from completer.request import Choice, Draft, RoundState, Sampling
from completer.sampling import distribution
from completer.speculative import Decoding, speculate
from completer.stops import Stops
from tests.reference import generated, load_reference
from tests.tiny_model import write_tiny_model


@pytest.fixture(scope="module")
def tokenizer(tiny_model) -> Tokenizer:
    return Tokenizer.load(tiny_model)


@pytest.fixture(scope="module")
def target(tiny_model) -> TorchTarget:
    return TorchTarget.load(tiny_model, dtype=torch.float64)


@pytest.fixture(scope="module")
def other_target(tmp_path_factory) -> TorchTarget:
    return TorchTarget.load(write_tiny_model(tmp_path_factory.mktemp("other"), seed=9), dtype=torch.float64)


def context(tokenizer: Tokenizer, prompt: str, **fields: object) -> DraftContext:
    defaults = dict(
        prompt_ids=tokenizer.encode(prompt), remainder=b"", document_id="", previous_suggestion="", reference_ids=(),
        tokenizer=tokenizer, vocabulary=Vocabulary(tokenizer.token_bytes), sampling=None, rng=np.random.default_rng(0),
    )  # fmt: skip
    return DraftContext(**(defaults | fields))  # type: ignore[arg-type]


def offered(tokenizer: Tokenizer, draft: Draft) -> str:
    return tokenizer.decode(draft.token_ids)


def test_ngram_offers_what_followed_before_and_learns_from_the_output(tokenizer):
    source = NgramSource()
    start = context(tokenizer, "alpha beta gamma\nalpha be")
    source.start(start)
    assert offered(tokenizer, source.offer(start.prompt_ids, 8)) == "ta gamma"
    written = [*start.prompt_ids, *tokenizer.encode("st!\nzeta\nalpha be")]
    assert offered(tokenizer, source.offer(written, 4)) == "st!\n"


def test_ngram_reads_other_files_that_did_not_fit_the_prompt(tokenizer):
    source = NgramSource()
    start = context(tokenizer, "x = conf", reference_ids=tokenizer.encode("config.load()"))
    source.start(start)
    assert offered(tokenizer, source.offer(start.prompt_ids, 8)) == "ig.load()"


def test_ngram_never_offers_a_control_token(tokenizer):
    prompt_ids = [*tokenizer.encode("abc"), tokenizer.special_id("<|fim_suffix|>"), *tokenizer.encode("zabc")]
    source = NgramSource()
    source.start(context(tokenizer, "", prompt_ids=prompt_ids))
    assert source.offer(prompt_ids, 8) == Draft.EMPTY


def test_ngram_forgets_the_output_of_an_earlier_request(tokenizer):
    source = NgramSource()
    first = context(tokenizer, "foo")
    source.start(first)
    source.offer([*first.prompt_ids, *tokenizer.encode("bar foo")], 8)
    source.start(first)
    assert "bar" not in offered(tokenizer, source.offer(first.prompt_ids, 8))


def test_previous_suggestion_goes_on_where_the_text_agrees(tokenizer):
    source = PreviousSuggestionSource()
    start = context(tokenizer, "x = ", previous_suggestion="value + self()")
    source.start(start)
    assert offered(tokenizer, source.offer(start.prompt_ids, 32)) == "value + self()"
    written = [*start.prompt_ids, *tokenizer.encode("value +")]
    assert offered(tokenizer, source.offer(written, 32)) == " self()"


def test_previous_suggestion_realigns_by_bytes_when_the_text_is_tokenised_otherwise(tokenizer):
    source = PreviousSuggestionSource()
    start = context(tokenizer, "x = ", previous_suggestion="value + self()")
    source.start(start)
    source.offer(start.prompt_ids, 32)
    written = [*start.prompt_ids, *(t for c in "valu" for t in tokenizer.encode(c))]
    assert offered(tokenizer, source.offer(written, 32)) == "e + self()"


def test_previous_suggestion_finds_its_way_back_after_a_difference(tokenizer):
    source = PreviousSuggestionSource()
    start = context(tokenizer, "x = ", previous_suggestion="first(alpha, beta, gamma)")
    source.start(start)
    source.offer(start.prompt_ids, 32)
    written = [*start.prompt_ids, *tokenizer.encode("second(alpha, be")]
    assert offered(tokenizer, source.offer(written, 32)) == "ta, gamma)"


def test_previous_suggestion_begins_with_the_word_being_typed(tokenizer):
    source = PreviousSuggestionSource()
    start = context(tokenizer, "x =", remainder=b" va", previous_suggestion="lue + 1")
    source.start(start)
    assert offered(tokenizer, source.offer(start.prompt_ids, 32)) == " value + 1"


@pytest.mark.parametrize(
    ("remainder", "retyped"), [(b"        ", "       "), (b"\t\t", "\t"), (b" ", ""), (b" va", " va"), (b".na", ".na")]
)
def test_what_is_left_of_the_line_is_retyped_but_for_a_blank_that_belongs_to_the_next_word(
    tokenizer, remainder, retyped
):
    start = context(tokenizer, "x =", remainder=remainder)
    sources = DraftSources([], None)
    sources.start(start)
    draft = sources.draft(Choice(), {}, start.prompt_ids, remainder, room=8)
    assert offered(tokenizer, draft) == retyped


@pytest.mark.parametrize("source", [NgramSource(), PreviousSuggestionSource()], ids=lambda s: s.name)
def test_a_source_with_nothing_to_say_offers_the_empty_draft(tokenizer, source):
    start = context(tokenizer, "q")
    source.start(start)
    assert source.offer(start.prompt_ids, 8) == Draft.EMPTY


def draft_source(target: TorchTarget) -> DraftModelSource:
    return DraftModelSource(lambda: target, slots=1, capacity=512)


def test_a_draft_model_drafts_its_own_greedy_text_whatever_was_accepted(tokenizer, target, tiny_model):
    """After full and partial acceptance, and after text it never drafted, its cache is where the text is."""
    source, reference = draft_source(target), load_reference(tiny_model)
    start = context(tokenizer, "value = self\n" * 8)
    source.start(start)
    token_ids = list(start.prompt_ids)
    for k, keep, foreign in ((4, 4, []), (4, 2, [5, 6]), (1, 1, []), (6, 0, [9]), (3, 3, [])):
        draft = source.offer(token_ids, k)
        assert list(draft.token_ids) == generated(reference, token_ids, k)
        token_ids += [*draft.token_ids[:keep], *foreign]


def test_a_draft_model_catches_up_with_what_its_cache_lacks_and_no_more(tokenizer, target):
    source = draft_source(target)
    start = context(tokenizer, "value = self\n" * 4)
    source.start(start)
    assert source.lag_tokens(start.prompt_ids) == len(start.prompt_ids) + LOADING_TOKENS
    draft = source.offer(start.prompt_ids, 4)
    assert source.catch_up_tokens == len(start.prompt_ids)
    assert source.lag_tokens(start.prompt_ids) <= 1
    source.offer([*start.prompt_ids, *draft.token_ids, 7], 4)
    assert source.catch_up_tokens == 2  # its own last draft, never fed, and the bonus token
    source.start(start)
    source.offer(start.prompt_ids, 4)
    assert source.catch_up_tokens == 1  # the next request finds the prompt in the cache


def test_a_draft_model_stops_before_a_token_it_doubts(tokenizer, target):
    source = draft_source(target)
    start = context(tokenizer, "value")
    source.start(start)
    free = source.offer(start.prompt_ids, 8)
    assert len(free) == 8
    threshold = sorted(free.token_probs)[3]
    doubtful = next(i for i, p in enumerate(free.token_probs) if p < threshold)
    source.start(start)
    assert source.offer(start.prompt_ids, 8, stop_below=threshold).token_ids == free.token_ids[:doubtful]


def test_a_cancelled_draft_model_stops_at_once(tokenizer, target):
    source = draft_source(target)
    start = context(tokenizer, "value")
    source.start(start)
    source.cancelled = lambda: True
    assert source.offer(start.prompt_ids, 8) == Draft.EMPTY


def test_choosing_a_draft_model_that_is_not_there_is_a_usage_error(tokenizer):
    sources = DraftSources([NgramSource()], None)
    start = context(tokenizer, "value")
    sources.start(start)
    with pytest.raises(UsageError, match="no draft model"):
        sources.draft(Choice("draft_model", 2), {}, start.prompt_ids, b"", 10)


def state(**offers: Draft) -> RoundState:
    return RoundState(offers, None, 100, 20, False, None)


def test_a_cascade_takes_the_first_source_with_an_offer():
    planner = fixed_planner("previous_suggestion, ngram, draft_model", 3, 0.4)
    both = {"ngram": Draft((1, 2)), "previous_suggestion": Draft((3,))}
    assert planner.choose(state(**both)) == Choice("previous_suggestion", 1)
    assert planner.choose(state(ngram=Draft((1, 2, 3, 4)))) == Choice("ngram", 3)
    assert planner.choose(state()) == Choice("draft_model", 3, 0.4)
    assert fixed_planner("ngram", 3).choose(state()) == Choice()
    assert fixed_planner("none", 8).choose(state(**both)) == Choice()
    assert fixed_planner("ngram", 0).choose(state(**both)) == Choice()


@pytest.mark.parametrize(("source", "k"), [("ngrams", 1), ("", 1), ("ngram", -1), ("ngram", 33)])
def test_a_planner_refuses_what_does_not_exist(source, k):
    with pytest.raises(UsageError):
        fixed_planner(source, k)


@pytest.mark.parametrize("k", [1, 3])
def test_sampling_drafted_by_a_model_keeps_the_targets_distribution(tokenizer, target, other_target, tiny_model, k):
    """Chi-square over the first two tokens, against probabilities computed by transformers."""
    sampling = Sampling(temperature=1.5, top_k=3)
    reference = load_reference(tiny_model)
    prompt_ids = tokenizer.encode("value = self")

    @torch.inference_mode()
    def exact(token_ids: list[int]) -> np.ndarray:
        return distribution(reference(torch.tensor([token_ids])).logits[0, -1].double().numpy(), sampling)

    first = exact(prompt_ids)
    pairs = {
        (a, b): first[a] * second[b]
        for a in np.flatnonzero(first).tolist()
        for second in [exact([*prompt_ids, a])]
        for b in np.flatnonzero(second).tolist()
    }
    source = draft_source(other_target)
    sources = DraftSources([], source)
    vocabulary = Vocabulary(tokenizer.token_bytes)
    rng = np.random.default_rng(k)
    cache = target.new_cache(64)
    counts = dict.fromkeys(pairs, 0)
    for _ in range(2500):
        cache.crop(min(cache.length, len(prompt_ids) - 1))
        stops = Stops(
            language=PLAIN_TEXT, fim_prefix="", fim_suffix="", mode="text", stop_token_ids=(), max_tokens=2,
            now_ms=lambda: 0.0,
        )  # fmt: skip
        sources.start(context(tokenizer, "", prompt_ids=prompt_ids, sampling=sampling, rng=rng))
        decoding = Decoding(
            target, cache, list(prompt_ids), b"", vocabulary, sources, FixedPlanner(("draft_model",), k), stops,
            sampling, rng, 2, None, lambda: 0.0,
        )  # fmt: skip
        list(speculate(decoding, lambda: False))
        counts[decoding.token_ids[-2], decoding.token_ids[-1]] += 1
    observed = np.array([counts[pair] for pair in pairs])
    assert stats.chisquare(observed, np.array(list(pairs.values())) * observed.sum()).pvalue > 1e-3

"""Tokenizers as models bring them: what the user typed stays as it is, and never becomes a control token."""

import pytest
from tokenizers import Tokenizer as FastTokenizer
from tokenizers import models, normalizers

from completer.errors import ModelCorrupt
from completer.models.tokenizer import Tokenizer

VOCABULARY = {"a": 0, "b": 1, "▁": 2, "é": 3, "e": 4, "\u0301": 5}
COMPOSED, DECOMPOSED = "é", "e\u0301"


def tokenizer(normalizer: normalizers.Normalizer | None = None) -> Tokenizer:
    fast = FastTokenizer(models.BPE(vocab=VOCABULARY, merges=[]))
    if normalizer is not None:
        fast.normalizer = normalizer
    fast.add_special_tokens(["<fim>"])
    return Tokenizer(fast.to_str())


@pytest.mark.parametrize(
    "normalizer", [normalizers.NFC(), normalizers.NFKD(), normalizers.Sequence([normalizers.NFD(), normalizers.NFC()])]
)
def test_unicode_forms_are_left_as_typed(normalizer):
    assert tokenizer(normalizer).encode(COMPOSED) == [3]
    assert tokenizer(normalizer).encode(DECOMPOSED) == [4, 5]


def test_other_normalization_is_the_models_own():
    blanks = normalizers.Replace(" ", "▁")
    for normalizer in (blanks, normalizers.Sequence([normalizers.NFC(), blanks])):
        assert tokenizer(normalizer).encode("a b" + DECOMPOSED) == [0, 2, 1, 4, 5]


def test_control_tokens_are_reached_by_name_alone():
    plain = tokenizer()
    assert plain.special_id("<fim>") == 6
    assert plain.special_ids == {6}
    assert plain.vocabulary_size == 7
    assert plain.encode("<fim>a") == [0]  # characters that this vocabulary does not have, and a
    assert plain.has_special("a") and not plain.has_special("<pad>")
    with pytest.raises(ModelCorrupt, match="<pad>"):
        plain.special_id("<pad>")


@pytest.mark.parametrize("text", ["", "{}", "null", '{"model": 1}'])
def test_what_is_no_tokenizer_is_refused(text):
    with pytest.raises(ModelCorrupt, match=r"tokenizer\.json is not a readable tokenizer .*; pull the model again"):
        Tokenizer(text)

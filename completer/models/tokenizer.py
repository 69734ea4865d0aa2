"""Text to token ids and back, byte for byte. Knows nothing of prompts.

User text is data: the tokenizer that reads it has no control tokens at all, so `<|fim_middle|>` typed in a file
becomes ordinary characters. Control tokens are reached by name, through `special_id`.
Unicode normalisation is left out, so the bytes of the tokens are always exactly the bytes of the text.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as FastTokenizer

from completer.errors import ModelCorrupt, first_line


def _byte_level_alphabet() -> dict[str, int]:
    """GPT-2's printable stand-ins for bytes: character -> byte."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    alphabet = {chr(b): b for b in printable}
    stand_in = 256
    for b in range(256):
        if b not in printable:
            alphabet[chr(stand_in)] = b
            stand_in += 1
    return alphabet


class Tokenizer:
    """A Hugging Face `tokenizer.json`, read as data and control tokens apart."""

    def __init__(self, tokenizer_json: str, source: str = "tokenizer.json") -> None:
        """Raises ModelCorrupt when tokenizer_json, which came from source, is not a usable tokenizer."""
        try:
            whole = FastTokenizer.from_str(tokenizer_json)
            self._fast = _without_control_tokens(whole)
            self._added = {token.content: token_id for token_id, token in whole.get_added_tokens_decoder().items()}
            self._is_byte_level = any(_is_byte_level(part) for part in (whole.pre_tokenizer, whole.decoder))
            self.vocabulary_size = max([*self._vocabulary.values(), *self._added.values()]) + 1
        except Exception as error:  # tokenizers raises bare Exception
            reason = first_line(error)
            raise ModelCorrupt(f"{source} is not a readable tokenizer ({reason}); pull the model again") from error

    @classmethod
    def load(cls, folder: Path) -> "Tokenizer":
        path = folder / "tokenizer.json"
        try:
            return cls(path.read_text("utf-8"), str(path))
        except OSError as error:
            raise ModelCorrupt(f"cannot read {path} ({error.strerror}); pull the model again") from error

    def encode(self, text: str) -> list[int]:
        return self._fast.encode(text, add_special_tokens=False).ids

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[int]]:
        """Token ids, and for each the index of its first character in text."""
        encoding = self._fast.encode(text, add_special_tokens=False)
        return encoding.ids, [start for start, _ in encoding.offsets]

    def decode(self, token_ids: Sequence[int]) -> str:
        return b"".join(self.token_bytes[t] for t in token_ids).decode("utf-8", "replace")

    @property
    def _vocabulary(self) -> dict[str, int]:
        """Made anew, since it takes tens of megabytes."""
        return self._fast.get_vocab(with_added_tokens=False)

    def special_id(self, name: str) -> int:
        """Id of a control token. Raises ModelCorrupt when the tokenizer has no such token."""
        token_id = self._added.get(name, self._fast.token_to_id(name))
        if token_id is None:
            raise ModelCorrupt(f"the tokenizer has no token {name!r}; this model does not fit its FIM template")
        return token_id

    def has_special(self, name: str) -> bool:
        return name in self._added or self._fast.token_to_id(name) is not None

    @property
    def special_ids(self) -> frozenset[int]:
        return frozenset(self._added.values())

    @cached_property
    def token_bytes(self) -> list[bytes]:
        """Bytes of every token id, in order of id; control tokens and unused ids are empty."""
        table = [b""] * self.vocabulary_size
        to_bytes = _byte_level_bytes if self._is_byte_level else _sentencepiece_bytes
        special = self.special_ids
        for token, token_id in self._vocabulary.items():
            if token_id not in special:
                table[token_id] = to_bytes(token)
        return table

    def same_vocabulary(self, other: "Tokenizer") -> bool:
        return self._vocabulary == other._vocabulary and self._added == other._added


_ALPHABET = _byte_level_alphabet()


def _byte_level_bytes(token: str) -> bytes:
    if all(c in _ALPHABET for c in token):
        return bytes(_ALPHABET[c] for c in token)
    return b""  # a control token kept in the ordinary vocabulary


def _sentencepiece_bytes(token: str) -> bytes:
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        return bytes([int(token[3:5], 16)])
    return token.replace("▁", " ").encode("utf-8")


def _without_control_tokens(whole: FastTokenizer) -> FastTokenizer:
    """The same model, with what makes its tokens of text and nothing else."""
    fast = FastTokenizer(whole.model)
    fast.pre_tokenizer = whole.pre_tokenizer
    fast.decoder = whole.decoder
    if whole.normalizer is not None:
        normalizer = whole.normalizer
        kept = _without_unicode_forms(json.loads(normalizer.__getstate__()))
        if kept is not None:
            normalizer.__setstate__(json.dumps(kept).encode())
            fast.normalizer = normalizer
    return fast


def _is_byte_level(part: Any) -> bool:
    return part is not None and b"ByteLevel" in part.__getstate__()


def _without_unicode_forms(normalizer: dict | None) -> dict | None:
    """The normalizer without NFC and its kin, which would change the user's bytes."""
    if normalizer is None or normalizer["type"] in ("NFC", "NFD", "NFKC", "NFKD"):
        return None
    if normalizer["type"] == "Sequence":
        kept = [n for n in map(_without_unicode_forms, normalizer["normalizers"]) if n is not None]
        return {"type": "Sequence", "normalizers": kept} if kept else None
    return normalizer

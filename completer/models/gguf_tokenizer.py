"""tokenizer.json out of the tokenizer a GGUF file carries. Byte-level BPE only; knows no weights."""

from typing import Any

from completer.errors import ModelCorrupt, ModelError, first_line

# Pre-tokenizers by the name llama.cpp gave them, as the families' own tokenizer.json files have them.
_QWEN2_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_PRE_TOKENIZERS: dict[str, list[dict[str, Any]]] = {
    "qwen2": [
        {"type": "Split", "pattern": {"Regex": _QWEN2_WORDS}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
    ],
    "smollm": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ],
}
_CONTROL, _USER_DEFINED, _UNUSED = 3, 4, 5  # gguf.TokenType


def tokenizer_json(metadata: dict[str, Any]) -> dict[str, Any]:
    """The content of tokenizer.json for a GGUF file's metadata.

    Control tokens, and those marked user-defined, become added tokens; ids that only pad the vocabulary are left out.
    Raises ModelError for a kind of tokenizer that is not built here, ModelCorrupt for one that is not whole.
    """
    kind, words = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre")
    if kind != "gpt2" or words not in _PRE_TOKENIZERS:
        known = ", ".join(_PRE_TOKENIZERS)
        raise ModelError(
            f"cannot convert a GGUF file with tokenizer {kind!r} and pre-tokenizer {words!r} (only gpt2 with {known}); "
            "use this model's Hugging Face folder instead"
        )
    try:
        return _document(metadata, words)
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise ModelCorrupt(f"the tokenizer in the GGUF file is not whole ({first_line(error)})") from error


def _document(metadata: dict[str, Any], words: str) -> dict[str, Any]:
    tokens, types = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    added = [
        {
            "id": token_id,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": token_type == _CONTROL,
        }
        for token_id, (token, token_type) in enumerate(zip(tokens, types, strict=True))
        if token_type in (_CONTROL, _USER_DEFINED)
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": _PRE_TOKENIZERS[words]},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {
                t: i for i, (t, token_type) in enumerate(zip(tokens, types, strict=True)) if token_type != _UNUSED
            },
            "merges": [merge.split(" ") for merge in metadata["tokenizer.ggml.merges"]],
        },
    }

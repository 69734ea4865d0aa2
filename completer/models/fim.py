"""Fill-in-the-middle templates: the control tokens a model family was trained with. Knows no text, only token names."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FimTemplate:
    """Names of the control tokens of a family.

    prefix, suffix, middle: the three FIM tokens, in prefix-suffix-middle order. stops end a completion.
    begin: token put before everything, "" for none. repo and file: tokens for other files' chunks, "" where the
    family has none. verified: weights of this family were run with it here.
    """

    family: str
    prefix: str
    suffix: str
    middle: str
    stops: tuple[str, ...]
    begin: str = ""
    repo: str = ""
    file: str = ""
    verified: bool = False

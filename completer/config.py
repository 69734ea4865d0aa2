"""The settings. Every default of the program lives here, with its meaning and what it may hold.

`completer config init`, the flags and the README's table are made from it. Knows names and ranges; knows neither what
the values do nor where they come from.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

Value = str | int | float | tuple[str, ...]
T = TypeVar("T", str, int, float, tuple[str, ...])


@dataclass(frozen=True, slots=True)
class Rule:
    """allowed completes the sentence "it must be ..."."""

    allowed: str
    accepts: Callable[[Any], bool]


def _one_of(*names: str) -> Rule:
    return Rule(f"one of {', '.join(names)}", lambda value: value in names)


def _draft_sources(*names: str) -> Rule:
    return Rule(
        f"auto, none, or any of {', '.join(names)} with commas between, the preferred first",
        lambda value: value in ("auto", "none") or all(part.strip() in names for part in value.split(",")),
    )


def _between(lowest: float, highest: float) -> Rule:
    return Rule(f"from {lowest} to {highest}", lambda value: lowest <= value <= highest)


def _setting(default: T, help: str, rule: Rule) -> T:
    return field(default=default, metadata={"help": help, "rule": rule})


_MODEL = Rule("a model of `completer models list`, a folder, or auto", bool)
_DRAFT = Rule("a model of `completer models list`, a folder, none, or auto", bool)


@dataclass(frozen=True, slots=True)
class ModelConfig:
    target: str = _setting("auto", "the model whose text you get; auto follows the machine's memory", _MODEL)
    draft: str = _setting("auto", "the smaller model that drafts for it; none for no draft model", _DRAFT)
    backend: str = _setting(
        "auto",
        "what runs the models; auto takes the CPU kernels (cpu) where no GPU is used and they can, else torch",
        _one_of("auto", "cpu", "torch"),
    )
    device: str = _setting("auto", "where the models run", _one_of("auto", "cpu", "cuda", "mps"))
    dtype: str = _setting(
        "auto", "number format of the weights on torch", _one_of("auto", "bfloat16", "float16", "float32")
    )
    threads: int = _setting(
        0,
        "CPU threads; 0 takes one per performance core, and leaves one of them free where there are more than two",
        _between(0, 1024),
    )


@dataclass(frozen=True, slots=True)
class PromptConfig:
    prefix_tokens: int = _setting(1024, "most tokens read before the cursor", _between(16, 32768))
    suffix_tokens: int = _setting(256, "most tokens read after the cursor", _between(0, 32768))
    context_tokens: int = _setting(1024, "most tokens read from other files", _between(0, 32768))


@dataclass(frozen=True, slots=True)
class CompletionConfig:
    max_tokens: int = _setting(64, "most tokens in a completion", _between(1, 4096))
    max_lines: int = _setting(0, "most lines in a completion; 0 for no limit", _between(0, 1000))
    mode: str = _setting(
        "auto",
        "how far to go: the end of the line, of the syntactic block, or until the model stops (text); "
        "auto lets the syntax choose between line and block",
        _one_of("auto", "line", "block", "text"),
    )
    deadline_ms: int = _setting(0, "stop after this many milliseconds; 0 for no deadline", _between(0, 600_000))


@dataclass(frozen=True, slots=True)
class SpeculationConfig:
    source: str = _setting(
        "auto",
        "where drafts come from; none is plain decoding",
        _draft_sources("ngram", "previous_suggestion", "draft_model"),
    )
    k: int = _setting(
        3,
        "most tokens drafted a round; 0 is plain decoding. Editors learn it, up to 32, while source is auto",
        _between(0, 32),
    )
    stop_below: float = _setting(
        0.4, "a draft model stops before a token it gives less than this probability", _between(0, 1)
    )
    exact: str = _setting(
        "canonical",
        "canonical: the same tokens as plain decoding, always; native: faster where near-ties may fall either way",
        _one_of("canonical", "native"),
    )


@dataclass(frozen=True, slots=True)
class CacheConfig:
    slots: int = _setting(4, "recent documents whose prompt stays in the KV cache", _between(1, 64))


def _is_folder_name(name: str) -> bool:
    return os.path.isabs(os.path.expanduser(name))


@dataclass(frozen=True, slots=True)
class PrivacyConfig:
    ignore: tuple[str, ...] = _setting(
        (),
        "files that are never read, besides those that hold secrets; !pattern takes a file out again",
        Rule("patterns as in a .gitignore file, where ~/ is your home folder", all),
    )
    disabled_languages: tuple[str, ...] = _setting(
        (), "languages in which nothing is completed", Rule("language ids such as markdown or plaintext", all)
    )
    disabled_projects: tuple[str, ...] = _setting(
        (),
        "folders in which nothing is completed and from which nothing is read",
        Rule("folders, from / or ~ on", lambda names: all(map(_is_folder_name, names))),
    )


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    first_line_deadline_ms: int = _setting(
        1500,
        "after so long, an editor gets the first line of a completion rather than all of it; of a text not read "
        "before, only as much is read at once as this allows",
        _between(1, 60_000),
    )
    max_document_bytes: int = _setting(
        2_000_000, "a larger document is neither completed nor read", _between(1_000, 100_000_000)
    )
    idle_unload_minutes: float = _setting(
        15.0, "the model leaves the memory when unused for so long; 0 keeps it", _between(0, 100_000)
    )
    idle_exit_minutes: float = _setting(
        240.0, "the daemon ends when no editor was connected for so long; 0 keeps it", _between(0, 100_000)
    )
    on_battery: str = _setting(
        "same",
        "on battery, complete as ever, or only when asked for by hand (manual), or never (off); nothing is prepared "
        "ahead there in any case",
        _one_of("same", "manual", "off"),
    )


@dataclass(frozen=True, slots=True)
class Config:
    model: ModelConfig = ModelConfig()
    prompt: PromptConfig = PromptConfig()
    completion: CompletionConfig = CompletionConfig()
    speculation: SpeculationConfig = SpeculationConfig()
    cache: CacheConfig = CacheConfig()
    privacy: PrivacyConfig = PrivacyConfig()
    service: ServiceConfig = ServiceConfig()


@dataclass(frozen=True, slots=True)
class Key:
    """One setting, named `section.name`."""

    section: str
    name: str
    default: Value
    help: str
    rule: Rule

    @property
    def dotted(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """Name of the environment variable that sets it."""
        return f"COMPLETER_{self.section}_{self.name}".upper()

    @property
    def allowed(self) -> str:
        kind = {int: "a whole number ", float: "a number ", tuple: "a list of "}.get(type(self.default), "")
        return kind + self.rule.allowed

    def parse(self, value: object) -> Value:
        """value, from TOML or as text, in this key's type. Raises ValueError, saying what is allowed.

        A list as text has commas between its items.
        """
        kind = type(self.default)
        try:
            parsed = _as_list(value) if kind is tuple else _as_scalar(value, kind)
        except ValueError:
            parsed = None
        if not isinstance(parsed, kind) or isinstance(parsed, bool) or not self.rule.accepts(parsed):
            raise ValueError(f"{value!r} is not allowed: it must be {self.allowed}")
        return parsed


def _as_scalar(value: object, kind: type) -> Any:
    return kind(value) if isinstance(value, str) or (kind is float and type(value) is int) else value


def _as_list(value: object) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return tuple(item.strip() for item in value.split(","))
    is_list = isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)
    return tuple(value) if is_list else None  # type: ignore[arg-type]


def _keys() -> Iterator[Key]:
    for section in fields(Config):
        defaults = getattr(Config(), section.name)
        for setting in fields(defaults):
            default = getattr(defaults, setting.name)
            yield Key(section.name, setting.name, default, setting.metadata["help"], setting.metadata["rule"])


KEYS: Mapping[str, Key] = {key.dotted: key for key in _keys()}

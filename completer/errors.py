"""Every error a user can meet. Each message says what failed, with which value, and what to do.

CompleterError               exit code 1
├── UsageError               exit code 2: a flag or an argument that makes no sense
├── ConfigError              the configuration file, an environment variable
├── InputError               the file or text to complete
├── ModelError               a model that cannot be used
│   ├── ModelNotInstalled    names the `completer models pull` to run
│   ├── ModelCorrupt         files on disk that are not what they should be
│   └── DraftMismatch        a draft model whose tokenizer is not the target's
├── DownloadError            network, checksum, interrupted transfer
└── ResourceError            disk or memory that does not suffice
"""


class CompleterError(Exception):
    """command: the one to run, where one mends it. model: which is missing, where it is one known by name."""

    exit_code = 1

    def __init__(self, message: str, command: str | None = None, model: str | None = None) -> None:
        super().__init__(message)
        self.command = command
        self.model = model


def first_line(error: BaseException) -> str:
    """What an error of another library says, short enough for a message of ours."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".:")


class UsageError(CompleterError):
    exit_code = 2


class ConfigError(CompleterError):
    pass


class InputError(CompleterError):
    pass


class ModelError(CompleterError):
    pass


class ModelNotInstalled(ModelError):
    pass


class ModelCorrupt(ModelError):
    pass


class DraftMismatch(ModelError):
    pass


class DownloadError(CompleterError):
    pass


class ResourceError(CompleterError):
    pass

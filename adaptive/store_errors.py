"""What can be wrong with the database, and what to do about each."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from completer.errors import CompleterError


class StoreError(CompleterError):
    """The database cannot be used, for the reason given."""


class NewerStore(StoreError):
    """A newer version of this program has changed the file: it is left alone."""


def unusable(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    """What failed, and what to do."""
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        remedy = "another process is writing to it; try again when that is done"
    elif isinstance(error, sqlite3.DatabaseError) and is_damage(error):
        remedy = "move the file away, and statistics start afresh"
    else:
        remedy = "mend that, or set COMPLETER_DATA_DIR to another folder"
    return StoreError(f"cannot use {path}: {error}; {remedy}")


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the file itself is at fault, not the disk, a lock or a permission."""
    return type(error) is sqlite3.DatabaseError or str(error).startswith(("no such table", "no such column"))


@contextmanager
def content_of(table: str) -> Iterator[None]:
    """What is read there may be anything: what this program cannot have written is damage, as a torn page is."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise sqlite3.DatabaseError(f"the table {table} holds what completer did not write") from error

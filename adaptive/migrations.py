"""The database's tables, as named steps. A step once released is never changed; the next one is added below it."""

from typing import TYPE_CHECKING

from sqlite_utils import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

migrations = Migrations("completer")


@migrations()
def m001_first(db: "Database") -> None:
    """days: one row a day, and for those older than a season one a month."""
    db.table("projects").create({"id": str, "name": str, "root": str, "parent_id": str}, pk="id")
    db.table("keys").create(
        {"id": int, "environment": str, "project": str, "language": str, "state": str, "updated": float}, pk="id"
    )
    db.table("keys").create_index(["environment", "project", "language"], unique=True)
    db.table("acceptance").create({"key": int, "source": str, "counts": bytes}, pk=("key", "source"))
    db.table("changes").create({"id": int, "key": int, "at": float, "cause": str}, pk="id")
    db.table("costs").create({"machine": str, "document": str, "updated": float}, pk="machine")
    db.table("days").create({"key": int, "day": str, "tally": str}, pk=("key", "day"))
    db.table("suggestions").create(
        {"day": str, "project": str, "language": str, "kind": str, "count": int, "chars": int, "of_chars": int},
        pk=("day", "project", "language", "kind"),
    )
    db.table("environments").create({"id": str, "document": str}, pk="id")


@migrations()
def m002_completions(db: "Database") -> None:
    """What the newest completions were offered, and what of it was right, for replays."""
    db.table("completions").create({"id": int, "key": int, "document": str}, pk="id")


def unknown_steps(db: "Database") -> list[str]:
    """Steps that a newer version has taken and this one does not know."""
    return [step.name for step in migrations.applied(db) if step.name not in STEPS]


STEPS = ("m001_first", "m002_completions")

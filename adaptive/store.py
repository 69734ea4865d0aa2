"""The database: what was learned and counted, in one SQLite file. No text, and no path but the projects' roots.

Several processes may have it open (WAL). Every write is one transaction that adds to what is there, so that two daemons
do not undo each other's counting. Knows nothing of threads: `Writer` has one for it.
"""

import datetime
import json
import logging
import os
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from sqlite_utils import Database

from adaptive.buckets import BUCKETS, SOURCES
from adaptive.context_key import Environment, Project
from adaptive.cost import Cost
from adaptive.counts import Counts, faded, no_counts, with_news
from adaptive.learned import CHANGES, Change, Learned
from adaptive.migrations import migrations, unknown_steps
from adaptive.news import COMPLETIONS_KEPT, Key, KeyNews, Known, News, SuggestionCount, SuggestionKey
from adaptive.store_errors import NewerStore, content_of, is_damage, unusable
from adaptive.tally import Tally
from adaptive.trace import Traced, as_document, from_document

log = logging.getLogger(__name__)

BUSY_S = 5.0
DAYS_KEPT_SINGLY = 92
MONTHS_KEPT = 24
CHANGES_KEPT = 10_000
_DAY_S = 86400.0


class Store:
    def __init__(self, path: Path) -> None:
        """Open or make the file. One that is damaged is moved aside, with a warning, and a fresh one made.

        Raises NewerStore, and StoreError where the operating system or SQLite does not allow it.
        """
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._open()
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                self.set_aside(error)
                self._open()
        except (sqlite3.Error, OSError) as error:
            raise unusable(path, error) from error

    def close(self) -> None:
        self._db.close()

    @property
    def is_in_place(self) -> bool:
        """Whether the file that is open is still the one at `path`: it may have been removed, or another put there."""
        try:
            return self._identity == _identity(self.path)
        except FileNotFoundError:
            return False

    def set_aside(self, error: sqlite3.Error) -> str:
        """Move a damaged file out of the way, for whoever wants to look into it. Returns what to say of it."""
        if hasattr(self, "_db"):
            self._db.close()
        aside = self.path.with_name(
            f"{self.path.name}.damaged-{datetime.datetime.now():%Y%m%d-%H%M%S-%f}-{os.getpid()}"
        )
        os.replace(self.path, aside)
        for ending in ("-wal", "-shm"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        said = f"{self.path} is damaged ({error}): it is kept as {aside.name}, and statistics start afresh"
        log.warning(said)
        return said

    def reopen(self) -> None:
        """After `set_aside`."""
        self._open()

    @property
    def version(self) -> int:
        """A number that changes when another connection has written."""
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def write(self, environment: Environment, news: News, now_s: float, stored: Collection[Key] = ()) -> None:
        """Add news, in one transaction.

        stored: keys that were here. News of those that are gone is dropped: somebody has reset them.
        """
        with self._transaction():
            gone = set(stored) - self._keys(environment)
            for project in news.projects.values():
                self._db.table("projects").upsert(asdict(project), pk="id")
            self._db.table("environments").upsert(
                {"id": environment.id, "document": json.dumps(asdict(environment))}, pk="id"
            )
            for key, key_news in news.keys.items():
                if key not in gone:
                    self._write_key(environment, key, key_news, now_s)
            for suggestion, count in news.suggestions.items():
                if Key(suggestion.project_id, suggestion.language) not in gone:
                    self._add_suggestions(day_of(now_s), suggestion, count)
            self._keep_newest("completions", COMPLETIONS_KEPT)
            if news.cost:
                row = {"machine": environment.machine_id, "document": json.dumps(news.cost), "updated": now_s}
                self._db.table("costs").upsert(row, pk="machine")

    def known(self, environment: Environment, now_s: float) -> dict[Key, Known]:
        """All that was learned in an environment, faded by its age."""
        known = {}
        for row in self._db.query("select * from keys where environment = ?", [environment.id]):
            days = (now_s - row["updated"]) / _DAY_S
            counts = {source: faded(table, days) for source, table in self._counts(row["id"]).items()}
            changes = self._db.query(
                f"select at, cause from changes where key = ? order by id desc limit {CHANGES}", [row["id"]]
            )
            notes = tuple(Change(change["at"], change["cause"]) for change in changes)[::-1]
            with content_of("keys"):
                state = dict(json.loads(row["state"]))
                Learned(None, state)
            known[Key(row["project"], row["language"])] = Known(counts, state, notes)
        return known

    def projects(self) -> dict[str, Project]:
        return {row["id"]: Project(**row) for row in self._db.query("select * from projects")}

    def languages(self) -> set[str]:
        """All that something was learned or counted in."""
        rows = self._db.query("select language from keys union select language from suggestions")
        return {row["language"] for row in rows}

    def environments(self) -> list[Environment]:
        """Latest used first."""
        rows = self._db.query(
            "select document from environments order by (select max(updated) from keys where environment = "
            "environments.id) desc"
        )
        with content_of("environments"):
            return [Environment(**json.loads(row["document"])) for row in rows]

    def cost(self, environment: Environment) -> Cost | None:
        row = next(self._db.query("select document from costs where machine = ?", [environment.machine_id]), None)
        with content_of("costs"):
            return Cost.from_document(json.loads(row["document"])) if row is not None else None

    def tallies(self) -> Iterator[tuple[str, str, str, Tally]]:
        """(day, project id, language, tally), in order of days; months of old days are named by their first one."""
        for row in self._db.query(
            "select day, project, language, tally from days join keys on keys.id = days.key order by day"
        ):
            yield row["day"], row["project"], row["language"], _tally(row)

    def suggestions(self) -> Iterator[tuple[str, SuggestionKey, SuggestionCount]]:
        for row in self._db.query("select * from suggestions order by day"):
            key = SuggestionKey(row["project"], row["language"], row["kind"])
            yield row["day"], key, SuggestionCount(row["count"], row["chars"], row["of_chars"])

    def completions(self, environment: Environment) -> list[Traced]:
        """The newest ones, as they came."""
        rows = self._db.query(
            "select document from completions join keys on keys.id = completions.key where environment = ? "
            "order by completions.id",
            [environment.id],
        )
        with content_of("completions"):
            return [from_document(json.loads(row["document"])) for row in rows]

    def reset(self, project_id: str | None = None, language: str | None = None) -> int:
        """Forget what was learned and counted, of a project, of a language, or all; returns how many keys that were."""
        chosen = "(:project is null or project = :project) and (:language is null or language = :language)"
        values = {"project": project_id, "language": language}
        with self._transaction():
            keys = [row["id"] for row in self._db.query(f"select id from keys where {chosen}", values)]
            for key in keys:
                for table in ("acceptance", "changes", "days", "completions"):
                    self._db.execute(f"delete from {table} where key = ?", [key])
                self._db.execute("delete from keys where id = ?", [key])
            self._db.execute(f"delete from suggestions where {chosen}", values)
            if project_id is None and language is None:
                self._db.execute("delete from costs")
        return len(keys)

    def roll_up(self, now_s: float) -> None:
        """Join days older than a season into months, and drop months older than two years."""
        month, oldest = day_of(now_s - DAYS_KEPT_SINGLY * _DAY_S), day_of(now_s - MONTHS_KEPT * 30.44 * _DAY_S)
        with self._transaction():
            self._db.execute("delete from days where day < ?", [oldest])
            self._db.execute("delete from suggestions where day < ?", [oldest])
            old = "day < ? and substr(day, 9) != '01'"
            for row in [*self._db.query(f"select * from days where {old}", [month])]:
                self._db.execute("delete from days where key = ? and day = ?", [row["key"], row["day"]])
                self._add_tally(row["key"], row["day"][:8] + "01", _tally(row))
            for row in [*self._db.query(f"select * from suggestions where {old}", [month])]:
                key = SuggestionKey(row["project"], row["language"], row["kind"])
                self._db.table("suggestions").delete((row["day"], *asdict(key).values()))
                count = SuggestionCount(row["count"], row["chars"], row["of_chars"])
                self._add_suggestions(row["day"][:8] + "01", key, count)
            self._keep_newest("changes", CHANGES_KEPT)

    def _open(self) -> None:
        connection = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        self._db = Database(connection)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            damage = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if damage != "ok":
                raise sqlite3.DatabaseError(damage)
            newer = unknown_steps(self._db)
            if newer:
                raise NewerStore(
                    f"{self.path} was changed by a newer version of completer ({newer[-1]}): it is not used; update "
                    "completer, or set COMPLETER_DATA_DIR to another folder"
                )
            if migrations.pending(self._db):
                migrations.apply(self._db)
            self._identity = _identity(self.path)
        except BaseException:
            connection.close()
            raise

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            if self._db.conn.in_transaction:
                self._db.execute("rollback")
            raise
        self._db.execute("commit")

    def _write_key(self, environment: Environment, key: Key, news: KeyNews, now_s: float) -> None:
        where = [environment.id, key.project_id, key.language]
        sql = "select id, updated from keys where environment = ? and project = ? and language = ?"
        row = next(self._db.query(sql, where), None)
        if row is None:
            inserted = self._db.execute(
                "insert into keys (environment, project, language, state, updated) values (?, ?, ?, '{}', ?)",
                [*where, now_s],
            )
            key_id, days = int(inserted.lastrowid or 0), 0.0
        else:
            key_id, days = row["id"], (now_s - row["updated"]) / _DAY_S
        if news.state:
            self._db.execute("update keys set state = ? where id = ?", [json.dumps(news.state), key_id])
        self._db.execute("update keys set updated = ? where id = ?", [now_s, key_id])
        stored = {source: faded(table, days) for source, table in self._counts(key_id).items()}
        for source, table in with_news(stored, news.counts).items():
            if table.any() or stored[source].any():
                row = {"key": key_id, "source": source, "counts": table.astype("<f4").tobytes()}
                self._db.table("acceptance").upsert(row, pk=("key", "source"))
        for change in news.changes:
            self._db.table("changes").insert({"key": key_id, "at": change.at_s, "cause": change.cause})
        for traced in news.completions:
            document = json.dumps(as_document(traced), separators=(",", ":"))
            self._db.execute("insert into completions (key, document) values (?, ?)", [key_id, document])
        if not news.tally.is_empty:
            self._add_tally(key_id, day_of(now_s), news.tally)

    def _keys(self, environment: Environment) -> set[Key]:
        rows = self._db.query("select project, language from keys where environment = ?", [environment.id])
        return {Key(row["project"], row["language"]) for row in rows}

    def _keep_newest(self, table: str, count: int) -> None:
        self._db.execute(f"delete from {table} where id <= (select max(id) from {table}) - {count}")

    def _counts(self, key_id: int) -> Counts:
        counts = no_counts()
        for row in self._db.query("select source, counts from acceptance where key = ?", [key_id]):
            with content_of("acceptance"):
                table = np.frombuffer(row["counts"], "<f4").astype(float)
            if row["source"] in SOURCES and table.size == counts[row["source"]].size:
                counts[row["source"]] = table.reshape(2, BUCKETS)
        return counts

    def _add_tally(self, key_id: int, day: str, tally: Tally) -> None:
        row = next(self._db.query("select tally from days where key = ? and day = ?", [key_id, day]), None)
        total = _tally(row) if row is not None else Tally()
        total.add(tally)
        document = json.dumps(total.as_document(), separators=(",", ":"))
        self._db.table("days").upsert({"key": key_id, "day": day, "tally": document}, pk=("key", "day"))

    def _add_suggestions(self, day: str, key: SuggestionKey, count: SuggestionCount) -> None:
        self._db.execute(
            "insert into suggestions values (?, ?, ?, ?, ?, ?, ?) on conflict do update set "
            "count = count + excluded.count, chars = chars + excluded.chars, of_chars = of_chars + excluded.of_chars",
            [day, *asdict(key).values(), count.count, count.chars, count.of_chars],
        )


def day_of(at_s: float) -> str:
    """Its date, here."""
    return datetime.datetime.fromtimestamp(at_s).strftime("%Y-%m-%d")


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _tally(row: dict[str, Any]) -> Tally:
    with content_of("days"):
        return Tally.from_document(json.loads(row["tally"]))

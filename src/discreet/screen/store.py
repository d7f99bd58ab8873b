"""The work file of a screening: SQLite, with every click on disk before it is answered.

It holds positions and kinds of marks and no text. Each change of a record's marks is a new version beside the old, so
undo is taking the last one back. A record is held by one worker (a tab of a browser) at a time; a hold that is not
renewed runs out, and the record goes to whoever asks next. All of it is in the file, so a restart loses nothing.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import InputError, RefusedError
from discreet.screen.marking import Mark, Marks

FORM = "discreet screening 1"
HOLD_SECONDS = 180
"""A page renews its hold every half minute; browsers slow the timers of hidden tabs down to one a minute."""

TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE records (
    number INTEGER PRIMARY KEY, position INTEGER NOT NULL, policy TEXT NOT NULL,
    serial INTEGER NOT NULL DEFAULT 0, holder TEXT, held_until REAL, opened INTEGER NOT NULL DEFAULT 0,
    done_by TEXT, done_order INTEGER);
CREATE TABLE versions (
    number INTEGER NOT NULL, version INTEGER NOT NULL, marks TEXT NOT NULL, PRIMARY KEY (number, version));
"""


class LostError(RefusedError):
    """The record is not, or no longer, with this worker as it was seen; the page shows what is there now."""


@dataclass(frozen=True)
class Held:
    """A record as its holder sees it."""

    number: int
    serial: int
    """Counts every change; a change must name the one it saw."""
    marks: Marks
    policy: Marks
    """The policy's own answer."""
    undoable: bool


@dataclass(frozen=True)
class Progress:
    done: int
    total: int
    held: int
    """Records that are open somewhere now."""


class Store:
    """One work file, open."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path, self._clock, self._lock = path, clock, threading.Lock()
        try:
            self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=30)
            self._database.execute("PRAGMA journal_mode = DELETE")
            self._database.execute("PRAGMA synchronous = EXTRA")  # also the folder: a commit survives a power cut
        except sqlite3.Error as error:
            raise InputError(f"{path}: not a work file of a screening ({error}); name another with --work.") from None

    def close(self) -> None:
        with self._lock:
            self._database.close()

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """One transaction; what it did is on disk when it ends, or undone."""
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def facts(self) -> dict[str, Any] | None:
        """What the screening is about; None for a file that has just been made."""
        with self._lock:
            names = {name for (name,) in self._database.execute("SELECT name FROM sqlite_master")}
            if not names:
                return None
            if "facts" not in names:
                raise InputError(f"{self.path}: a database, but not of a screening; name another file with --work.")
            return {name: json.loads(value) for name, value in self._database.execute("SELECT name, value FROM facts")}

    def begin(self, facts: dict[str, Any], positions: Sequence[int], policy: Sequence[Marks]) -> None:
        """Writes down the sample and the policy's answers, all or nothing."""
        with self._change() as database:
            for statement in TABLES.split(";")[:-1]:
                database.execute(statement)
            database.executemany("INSERT INTO facts VALUES (?, ?)", [(k, json.dumps(v)) for k, v in facts.items()])
            rows = [(n, p, _written(m)) for n, (p, m) in enumerate(zip(positions, policy, strict=True))]
            database.executemany("INSERT INTO records (number, position, policy) VALUES (?, ?, ?)", rows)

    def policy_marks(self) -> list[Marks]:
        """The policy's answers as they were when the screening began."""
        with self._lock:
            return [_read(text) for (text,) in self._database.execute("SELECT policy FROM records ORDER BY number")]

    def done(self) -> dict[int, Marks]:
        """The screened records with the person's marks."""
        with self._lock:
            query = "SELECT number FROM records WHERE done_order IS NOT NULL ORDER BY number"
            return {number: self._marks(number)[0] for (number,) in self._database.execute(query).fetchall()}

    def kinds(self) -> set[str]:
        """All kinds that occur in marks."""
        with self._lock:
            query = "SELECT policy FROM records UNION ALL SELECT marks FROM versions"
            return {mark.kind for (text,) in self._database.execute(query) for mark in _read(text)}

    def progress(self) -> Progress:
        with self._lock:
            query = (
                "SELECT COUNT(done_order), COUNT(*), COUNT(CASE WHEN done_order IS NULL AND held_until > ? THEN 1 END)"
                " FROM records"
            )
            return Progress(*self._database.execute(query, (self._clock(),)).fetchone())

    def next(self, worker: str) -> Held | None:
        """The record this worker has open, or the next one that nobody has; None where there is none to be had."""
        now = self._clock()
        with self._change() as database:
            row = database.execute(
                "SELECT number FROM records WHERE done_order IS NULL AND holder = ? ORDER BY opened DESC LIMIT 1",
                (worker,),
            ).fetchone()
            row = (
                row
                or database.execute(
                    "SELECT number FROM records WHERE done_order IS NULL AND (holder IS NULL OR held_until <= ?)"
                    " ORDER BY number LIMIT 1",
                    (now,),
                ).fetchone()
            )
            if row is None:
                return None
            self._hold(row[0], worker)
            return self._held(row[0])

    def renew(self, worker: str, number: int) -> None:
        """Holds a record a little longer."""
        with self._change():
            self._check(worker, number)
            self._hold(number, worker)

    def change(self, worker: str, number: int, serial: int, edit: Callable[[Marks], Marks]) -> Held:
        """Puts the marks that `edit` makes of the present ones in their place."""
        with self._change() as database:
            self._check(worker, number, serial)
            marks, version = self._marks(number)
            changed = edit(marks)
            if changed != marks:
                database.execute("INSERT INTO versions VALUES (?, ?, ?)", (number, version + 1, _written(changed)))
                self._count(number)
            self._hold(number, worker)
            return self._held(number)

    def undo(self, worker: str, number: int, serial: int) -> Held:
        """Takes the last change of a record's marks back; the first state is the policy's answer."""
        with self._change() as database:
            self._check(worker, number, serial)
            _, version = self._marks(number)
            if version:
                database.execute("DELETE FROM versions WHERE number = ? AND version = ?", (number, version))
                self._count(number)
            self._hold(number, worker)
            return self._held(number)

    def finish(self, worker: str, number: int, serial: int) -> None:
        """Counts a record as screened and lets go of it."""
        with self._change() as database:
            self._check(worker, number, serial)
            database.execute(
                "UPDATE records SET done_by = ?, holder = NULL, held_until = NULL,"
                " done_order = (SELECT IFNULL(MAX(done_order), 0) + 1 FROM records) WHERE number = ?",
                (worker, number),
            )
            self._count(number)

    def back(self, worker: str) -> Held | None:
        """Opens the record again that this worker screened last; None where there is none."""
        with self._change() as database:
            row = database.execute(
                "SELECT number FROM records WHERE done_by = ? AND done_order IS NOT NULL"
                " ORDER BY done_order DESC LIMIT 1",
                (worker,),
            ).fetchone()
            if row is None:
                return None
            database.execute("UPDATE records SET done_by = NULL, done_order = NULL WHERE number = ?", row)
            self._count(row[0])
            database.execute("UPDATE records SET opened = (SELECT MAX(opened) + 1 FROM records) WHERE number = ?", row)
            self._hold(row[0], worker)
            return self._held(row[0])

    def has_back(self, worker: str) -> bool:
        with self._lock:
            query = "SELECT 1 FROM records WHERE done_by = ? AND done_order IS NOT NULL LIMIT 1"
            return self._database.execute(query, (worker,)).fetchone() is not None

    def _check(self, worker: str, number: int, serial: int | None = None) -> None:
        row = self._database.execute(
            "SELECT holder, serial, done_order FROM records WHERE number = ?", (number,)
        ).fetchone()
        if row is None or row[0] != worker or row[2] is not None or serial not in (None, row[1]):
            raise LostError("This record has been changed elsewhere or went to somebody else; here is what is next.")

    def _hold(self, number: int, worker: str) -> None:
        until = self._clock() + HOLD_SECONDS
        self._database.execute(
            "UPDATE records SET holder = ?, held_until = ? WHERE number = ?", (worker, until, number)
        )

    def _count(self, number: int) -> None:
        self._database.execute("UPDATE records SET serial = serial + 1 WHERE number = ?", (number,))

    def _held(self, number: int) -> Held:
        serial, policy = self._database.execute(
            "SELECT serial, policy FROM records WHERE number = ?", (number,)
        ).fetchone()
        marks, version = self._marks(number)
        return Held(number, serial, marks, _read(policy), undoable=version > 0)

    def _marks(self, number: int) -> tuple[Marks, int]:
        row = self._database.execute(
            "SELECT marks, version FROM versions WHERE number = ? ORDER BY version DESC LIMIT 1", (number,)
        ).fetchone()
        row = row or (*self._database.execute("SELECT policy FROM records WHERE number = ?", (number,)).fetchone(), 0)
        return _read(row[0]), row[1]


def _written(marks: Marks) -> str:
    return json.dumps(marks, separators=(",", ":"))


def _read(text: str) -> Marks:
    return tuple(Mark(*one) for one in json.loads(text))

"""Where snapshots are kept: contents by their digest, what is known of the tree, what was done to it.

One SQLite file per project under PaiCLI's own folder. Every method that changes something is one
transaction, so a killed program leaves either all of it or nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paicli.errors import PaiCliError
from paicli.extensions.snapshots.entries import CLOSED, FILE, NOTHING, Change, Entry, Operation
from paicli.extensions.snapshots.place import is_there
from paicli.i18n import t

_VERSION = 1
_PATIENCE = 30.0
"""Seconds to wait for another PaiCLI's transaction."""
_COLUMNS = "kind, mode, size, mtime, ctime, inode, content"
_SCHEMA = f"""
CREATE TABLE file (path BLOB PRIMARY KEY, {_COLUMNS}) WITHOUT ROWID;
CREATE TABLE content (digest BLOB PRIMARY KEY, packed INTEGER, data BLOB);
CREATE TABLE operation (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, time REAL, text TEXT,
    session TEXT, place INTEGER, of INTEGER, state INTEGER);
CREATE TABLE change (id INTEGER PRIMARY KEY, operation INTEGER, path BLOB,
    {", ".join("old_" + name for name in _COLUMNS.split(", "))},
    {", ".join("new_" + name for name in _COLUMNS.split(", "))});
CREATE INDEX change_of ON change (operation);
CREATE TABLE journal (path BLOB PRIMARY KEY,
    {", ".join("old_" + name for name in _COLUMNS.split(", "))},
    {", ".join("new_" + name for name in _COLUMNS.split(", "))});
CREATE TABLE note (key TEXT PRIMARY KEY, value TEXT);
"""


class Store:
    """The snapshots of one project. Everything is done inside `locked()`.

    Any method raises PaiCliError when the disk or the database fails.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._database: Any = None
        self._lock = threading.RLock()
        self._depth = 0
        self._lock_file = -1
        self._holding: dict[int, int] = {}

    @property
    def exists(self) -> bool:
        """Tell whether something was ever kept here."""
        return is_there(self.folder / "snapshots.db")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be alone with the store and the project's files, among threads and among PaiCLIs."""
        with self._lock:
            if self._depth == 0:
                self._enter()
            self._depth += 1
            try:
                with _told():
                    yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    fcntl.flock(self._lock_file, fcntl.LOCK_UN)

    def _enter(self) -> None:
        with _told():
            if self._lock_file < 0:
                self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
                self._lock_file = os.open(self.folder / "lock", flags, 0o600)
            fcntl.flock(self._lock_file, fcntl.LOCK_EX)
        try:
            with _told():
                self._open()
        except PaiCliError:
            fcntl.flock(self._lock_file, fcntl.LOCK_UN)
            raise

    def _open(self) -> None:
        if self._database is not None:
            return
        import sqlite3

        path = self.folder / "snapshots.db"
        try:
            self._database = self._connected(path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            path.rename(path.with_name(f"damaged-{int(time.time())}.db"))
            self._database = self._connected(path)

    def _connected(self, path: Path) -> Any:
        import sqlite3

        path.touch(0o600)
        database = sqlite3.connect(
            path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            version = database.execute("PRAGMA user_version").fetchone()[0]
            if version > _VERSION:
                raise PaiCliError(t("undo.newer_store"))
            if version == 0:
                database.execute("PRAGMA page_size = 8192")
                database.execute("PRAGMA auto_vacuum = INCREMENTAL")
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            if version == 0:
                database.executescript(
                    f"BEGIN; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;"
                )
        except (sqlite3.Error, PaiCliError):
            database.close()
            raise
        return database

    def close(self) -> None:
        """Let go of the files."""
        with self._lock:
            for descriptor in (*self._holding.values(), self._lock_file):
                if descriptor >= 0:
                    os.close(descriptor)
            self._holding.clear()
            self._lock_file = -1
            if self._database is not None:
                self._database.close()
                self._database = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make what is done inside one change of the database."""
        self._database.execute("BEGIN IMMEDIATE")
        whole = False
        try:
            yield
            whole = True
        finally:
            self._database.execute("COMMIT" if whole else "ROLLBACK")

    def version(self) -> int:
        """Return a number that changes when another PaiCLI has written."""
        return int(self._database.execute("PRAGMA data_version").fetchone()[0])

    # -- contents

    def keep(self, digest: bytes, data: bytes) -> None:
        """Keep a content."""
        known = self._database.execute("SELECT 1 FROM content WHERE digest = ?", (digest,))
        if known.fetchone():
            return
        packed = _packed(data)
        smaller = len(packed) < len(data)
        self._database.execute(
            "INSERT INTO content VALUES (?, ?, ?)", (digest, smaller, packed if smaller else data)
        )

    def content(self, digest: bytes) -> bytes:
        """Return a content. Raises PaiCliError when it is not there, or damaged."""
        row = self._database.execute(
            "SELECT packed, data FROM content WHERE digest = ?", (digest,)
        ).fetchone()
        try:
            data: bytes = zlib.decompress(row[1]) if row and row[0] else row[1] if row else b""
        except zlib.error:
            data = b""
        if hashlib.sha256(data).digest() != digest:
            raise PaiCliError(t("undo.content_lost"))
        return data

    # -- what is known of the tree

    def known(self) -> dict[str, Entry]:
        """Return all entries by path."""
        rows = self._database.execute(f"SELECT path, {_COLUMNS} FROM file")
        return {os.fsdecode(row[0]): Entry(*row[1:]) for row in rows}

    def learn(self, entries: Iterable[tuple[str, Entry | None]]) -> None:
        """Replace what is known of some paths; None forgets one."""
        there, gone = [], []
        for path, entry in entries:
            name = os.fsencode(path)
            if entry is None:
                gone.append((name,))
            else:
                there.append((name, *entry))
        self._database.executemany("DELETE FROM file WHERE path = ?", gone)
        marks = ", ".join("?" * (1 + len(NOTHING)))
        self._database.executemany(f"INSERT OR REPLACE INTO file VALUES ({marks})", there)

    def forget_tree(self) -> None:
        """Forget what is known of all paths."""
        self._database.execute("DELETE FROM file")

    # -- what was done

    def operations(self) -> list[Operation]:
        """Return all operations, oldest first."""
        rows = self._database.execute("SELECT * FROM operation ORDER BY id")
        return [Operation(*row) for row in rows]

    def begin(self, operation: Operation) -> int:
        """Add an operation and return its id. An open one is ours until `end` or our death."""
        cursor = self._database.execute(
            "INSERT INTO operation (kind, time, text, session, place, of, state)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                operation.kind,
                operation.time,
                operation.text,
                operation.session,
                operation.place,
                operation.of,
                operation.state,
            ),
        )
        id_ = int(cursor.lastrowid)
        if operation.state != CLOSED:
            descriptor = os.open(self._open_mark(id_), os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._holding[id_] = descriptor
        return id_

    def set_state(self, id_: int, state: int) -> None:
        """Say whether a tool of an open operation runs now."""
        self._database.execute("UPDATE operation SET state = ? WHERE id = ?", (state, id_))

    def end(self, id_: int) -> None:
        """Close an operation; one that changed nothing is forgotten."""
        self._database.execute("UPDATE operation SET state = 0 WHERE id = ?", (id_,))
        self._database.execute(
            "DELETE FROM operation WHERE id = ? AND id NOT IN (SELECT operation FROM change)",
            (id_,),
        )
        self._open_mark(id_).unlink(missing_ok=True)
        if id_ in self._holding:
            os.close(self._holding.pop(id_))

    def is_alive(self, id_: int) -> bool:
        """Tell whether the PaiCLI that opened an operation still runs."""
        if id_ in self._holding:
            return True
        try:
            descriptor = os.open(self._open_mark(id_), os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _open_mark(self, id_: int) -> Path:
        return self.folder / f"open-{id_}"

    def add_changes(self, id_: int, changes: Iterable[Change]) -> None:
        """Record what an operation changed, in order."""
        marks = ", ".join("?" * (3 + 2 * len(NOTHING)))
        self._database.executemany(
            f"INSERT INTO change VALUES ({marks})",
            [(None, id_, *_row(change)) for change in changes],
        )

    def changes(self, ids: Sequence[int]) -> list[Change]:
        """Return what some operations changed, in order."""
        found: list[Change] = []
        for id_ in sorted(ids):
            rows = self._database.execute(
                "SELECT * FROM change WHERE operation = ? ORDER BY id", (id_,)
            )
            found += [_change(row[2:]) for row in rows]
        return found

    # -- the journal of a restore

    def write_journal(self, changes: Sequence[Change], note: dict[str, Any]) -> None:
        """Write down, so that it outlives a power cut, what is about to be done to the files."""
        self._database.execute("PRAGMA synchronous = FULL")
        with self.transaction():
            self._database.execute("DELETE FROM journal")
            marks = ", ".join("?" * (1 + 2 * len(NOTHING)))
            self._database.executemany(
                f"INSERT INTO journal VALUES ({marks})", [_row(change) for change in changes]
            )
            self.note("journal", json.dumps(note))
        self._database.execute("PRAGMA synchronous = NORMAL")

    def journal(self) -> tuple[list[Change], dict[str, Any]] | None:
        """Return what a restore that did not end was about to do; None when there is none."""
        note = self.noted("journal")
        if not note:
            return None
        rows = self._database.execute("SELECT * FROM journal ORDER BY path")
        return [_change(row) for row in rows], json.loads(note)

    def clear_journal(self) -> None:
        """The restore has ended."""
        self._database.execute("DELETE FROM journal")
        self.note("journal", "")

    # -- notes and size

    def note(self, key: str, value: str) -> None:
        """Remember a text under a key."""
        self._database.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (key, value))

    def noted(self, key: str) -> str:
        """Return the text under a key, empty when there is none."""
        row = self._database.execute("SELECT value FROM note WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def size(self) -> int:
        """Return the bytes that the contents and their tables take."""
        pages, free, page = (
            self._database.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * page)

    def drop(self, ids: Sequence[int]) -> None:
        """Forget some operations, and every content that nothing needs any more."""
        marks = [(id_,) for id_ in ids]
        with self.transaction():
            self._database.executemany("DELETE FROM change WHERE operation = ?", marks)
            self._database.executemany("DELETE FROM operation WHERE id = ?", marks)
            self._database.execute(
                "DELETE FROM content WHERE digest NOT IN ("
                f"SELECT content FROM file WHERE kind = '{FILE}' AND content IS NOT NULL"
                f" UNION SELECT old_content FROM change WHERE old_kind = '{FILE}'"
                " AND old_content IS NOT NULL"
                f" UNION SELECT new_content FROM change WHERE new_kind = '{FILE}'"
                " AND new_content IS NOT NULL)"
            )
        self._database.execute("PRAGMA incremental_vacuum").fetchall()
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _row(change: Change) -> tuple[Any, ...]:
    return (os.fsencode(change.path), *(change.before or NOTHING), *(change.after or NOTHING))


def _change(row: Sequence[Any]) -> Change:
    half = 1 + len(NOTHING)
    before, after = row[1:half], row[half:]
    return Change(
        os.fsdecode(row[0]),
        Entry(*before) if before[0] is not None else None,
        Entry(*after) if after[0] is not None else None,
    )


def _packed(data: bytes) -> bytes:
    """Compress quickly: a window no larger than the data costs a tenth of the usual set-up."""
    window = max(9, min(15, (len(data) - 1).bit_length() if data else 9))
    packer = zlib.compressobj(1, zlib.DEFLATED, window, max(1, window - 7))
    return packer.compress(data) + packer.flush()


@contextmanager
def _told() -> Iterator[None]:
    """Turn what the disk and the database complain about into one line for the person."""
    import sqlite3

    try:
        yield
    except OSError as error:
        raise PaiCliError(t("undo.store_failed", reason=error.strerror or error)) from error
    except sqlite3.Error as error:
        raise PaiCliError(t("undo.store_failed", reason=error)) from error

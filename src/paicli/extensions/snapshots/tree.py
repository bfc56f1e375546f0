"""What is known of the project's tree, and how it is brought up to date."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from paicli.errors import PaiCliError
from paicli.extensions.snapshots.entries import FILE, FOLDER, Change, Entry
from paicli.extensions.snapshots.rules import ALWAYS_OUT, Rules
from paicli.extensions.snapshots.scan import look
from paicli.extensions.snapshots.store import Store
from paicli.i18n import t

_MANY = 3_000
"""Files to read before the person is told why it takes a moment."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept, and what is left out beyond the usual."""

    days: int = 14
    megabytes: int = 1000
    excludes: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """Return the most bytes of contents."""
        return self.megabytes * 1024 * 1024


class Tree:
    """The tree as it was at the last look. Use it only while the store is locked."""

    def __init__(
        self, home: Path, root: Path, limits: Limits, store: Store, tell: Callable[[str], None]
    ) -> None:
        self.known: dict[str, Entry] = {}
        self._root = root
        self._limits = limits
        self._store = store
        self._tell = tell
        inside = home.relative_to(root).as_posix() if home.is_relative_to(root) else ""
        self._inside = "" if inside == "." else inside
        self._rules: Rules | None = None
        self._version = -1

    def known_now(self, entries: Iterable[tuple[str, Entry | None]]) -> None:
        """Take over what stands at some paths; None for nothing."""
        for path, entry in entries:
            if entry is None:
                self.known.pop(path, None)
            else:
                self.known[path] = entry

    def scan(self, doer: int | None) -> None:
        """Look at the tree and keep what is new, as done by the operation `doer` or by the person."""
        self._catch_up()
        if self._rules is None:
            self._rules = Rules(self._root, self._limits.excludes, self._inside)
        with self._store.transaction():
            found = look(
                self._root,
                self.known,
                self._rules.current(),
                self._store.keep,
                self._before_reading,
            )
            entries: dict[str, Entry | None] = {c.path: c.after for c in found.changes}
            entries |= found.refreshed
            self._store.learn(entries.items())
            if doer is not None:
                self._store.add_changes(doer, self._really_done(self._rules, found.changes))
        self.known_now(entries.items())

    def _catch_up(self) -> None:
        """Learn what other PaiCLIs, now or earlier, found out."""
        rules = json.dumps([ALWAYS_OUT, self._limits.excludes])
        if self._store.noted("rules") != rules:
            with self._store.transaction():
                self._store.forget_tree()
                self._store.note("rules", rules)
            self._version = -1
        if self._version != self._store.version():
            self.known = self._store.known()
            self._version = self._store.version()

    def _before_reading(self, files: int, size: int) -> None:
        if size > self._limits.bytes:
            megabytes = size // 1024 // 1024
            raise PaiCliError(t("undo.too_much", size=megabytes, most=self._limits.megabytes))
        if files > _MANY:
            self._tell(t("undo.keeping", count=files))

    def _really_done(self, rules: Rules, changes: list[Change]) -> list[Change]:
        """Leave out paths that only came into sight because a .gitignore changed: they may be old."""
        if not any(change.path.rpartition("/")[2] == ".gitignore" for change in changes):
            return changes

        def as_it_was(folder: str) -> bytes | None:
            entry = self.known.get(f"{folder}/.gitignore" if folder else ".gitignore")
            if entry is None or entry.kind != FILE or entry.content is None:
                return None
            return self._store.content(entry.content)

        was_ignored = rules.as_of(as_it_was)

        def may_be_old(change: Change) -> bool:
            is_folder = change.after is not None and change.after.kind == FOLDER
            return change.before is None and was_ignored(change.path, folder=is_folder)

        return [change for change in changes if not may_be_old(change)]

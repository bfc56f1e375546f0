"""The history of the project's files: it grows with every change, and leads back."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from paicli.agent.file_changes import FileChange, PastChange, Preview, Restored, SnapshotStatus
from paicli.config_files import user_home
from paicli.display import Diff
from paicli.errors import PaiCliError
from paicli.extensions.snapshots.entries import (
    CHANGING,
    CLOSED,
    FILE,
    FOLDER,
    OPEN,
    Change,
    Operation,
    same,
)
from paicli.extensions.snapshots.lines import counted, diff, net
from paicli.extensions.snapshots.place import RESTORING, is_there, project_folder
from paicli.extensions.snapshots.planning import Plan, stacks, way_back
from paicli.extensions.snapshots.pruning import Pruning
from paicli.extensions.snapshots.restore import Restore, closed_folders
from paicli.extensions.snapshots.rules import ALWAYS_OUT, LARGEST_FILE
from paicli.extensions.snapshots.scan import examine
from paicli.extensions.snapshots.store import Store
from paicli.extensions.snapshots.telling import for_model
from paicli.extensions.snapshots.tree import Limits, Tree
from paicli.i18n import t


class History:
    """Implements `TakesBack`, and is told before and after everything that may change files.

    `tell` takes a line for the person; `off` says why nothing is kept. All methods may be slow and raise PaiCliError.
    """

    def __init__(
        self,
        home: Path,
        root: Path,
        limits: Limits,
        tell: Callable[[str], None],
        off: str = "",
        session: Callable[[], str] = lambda: "",
    ) -> None:
        self._root = root
        self._limits = limits
        self._tell = tell
        self._off = off
        self._store = Store(project_folder(home, root))
        self._tree = Tree(home, root, limits, self._store, tell)
        self._open: int | None = None
        self._session = session
        self._pruning = Pruning(self._store, limits)

    # -- growing

    def recover(self) -> None:
        """Roll back what a killed restore left half done; costs nothing when there is nothing."""
        if not is_there(self._store.folder / RESTORING):
            return
        try:
            with self._store.locked():
                self._settle()
        except PaiCliError as error:
            self._tell(str(error))

    def before_change(self, text: str, session: str = "", place: int = 0) -> None:
        """Keep the state of the files: something may change them now."""
        self._check_place()
        with self._store.locked():
            self._settle()
            self._tree.scan(self._others())
            if self._open is None:
                turn = Operation(0, "turn", time.time(), text, session, place, None, CHANGING)
                with self._store.transaction():
                    self._open = self._store.begin(turn)
            else:
                self._store.set_state(self._open, CHANGING)

    def after_change(self) -> None:
        """Keep what was changed since `before_change`, as done by this turn."""
        if self._open is None:
            return
        with self._store.locked():
            self._tree.scan(self._open)
            self._store.set_state(self._open, OPEN)

    def close_turn(self) -> list[FileChange]:
        """The turn is over: return what it did to files."""
        if self._open is None:
            return []
        with self._store.locked():
            turn, operations = self._open, {one.id: one for one in self._store.operations()}
            if turn in operations and operations[turn].state == CHANGING:
                self._tree.scan(turn)
            done = net(self._store.changes([turn]))
            self._store.end(turn)
            self._open = None
            self._pruning.do()
            return [f for f in self._counted(done) if not f.path.endswith("/")]

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()

    def _check_place(self) -> None:
        if self._off:
            raise PaiCliError(self._off)
        if self._root in (Path(self._root.anchor), user_home()):
            raise PaiCliError(t("undo.no_project", path=self._root))

    def _settle(self) -> None:
        """Make up for what other PaiCLIs did, ended or not."""
        journal = self._store.journal()
        if journal is not None:
            changes, note = journal
            opened = tuple((path, mode) for path, mode in note["opened"])
            restore = Restore(self._root, tuple(changes), self._store.content, note["mark"], opened)
            left = self._roll_back(restore)
            self._tell(t("undo.rolled_back", count=len(changes)))
            if left:
                self._tell(t("undo.rolled_back_but", paths=", ".join(left)))
        for operation in self._store.operations():
            if operation.state != CLOSED and not self._store.is_alive(operation.id):
                if operation.state == CHANGING:
                    self._tree.scan(operation.id)
                    self._tell(t("undo.was_cut_off"))
                self._store.end(operation.id)

    def _others(self) -> int | None:
        """Return the turn of another PaiCLI in which a tool runs now: it, not the person, did it."""
        running = [
            one.id
            for one in self._store.operations()
            if one.state == CHANGING and one.id != self._open
        ]
        return running[0] if len(running) == 1 else None

    # -- leading back

    def since(self, session: str, place: int) -> int:
        """Count the newest entries that are turns of a session's messages behind the `place`-th."""
        count = 0
        closed = [one for one in self._store.operations() if one.state == CLOSED]
        for one in reversed(closed if self._store.exists else []):
            if one.kind != "turn" or one.session != session or one.place <= place:
                break
            count += 1
        return count

    def plan(self, kind: str, count: int = 1, *, force: bool = False) -> Plan:
        """Tell what an `undo`, a `redo`, a `restore` or a `revert` would do; see `TakesBack.plan`.

        A `revert` takes back the last `count` turns that changed files, the present one included.
        """
        self._check_place()
        if not self._store.exists:
            raise PaiCliError(t(f"undo.nothing_to_{kind}"))
        with self._store.locked():
            self._settle()
            self._tree.scan(self._open or self._others())
            return self._planned(kind, count, force=force)

    def _planned(self, kind: str, count: int, *, force: bool) -> Plan:
        wanted = self._wanted(kind, count)
        changes = self._store.changes([operation.id for operation in wanted])
        way = way_back(changes, self._tree.known, force=force)
        files = tuple(self._counted(way.changes))
        oldest = min(wanted, key=lambda operation: operation.id)
        return Plan(
            kind,
            count,
            force,
            wanted[-1].id if kind in ("undo", "redo") else None,
            oldest.text,
            tuple(way.changes),
            files,
            tuple(way.conflicts),
            tuple(way.not_kept),
        )

    def _wanted(self, kind: str, count: int) -> list[Operation]:
        """Return the operations whose changes would be taken back."""
        operations = self._store.operations()
        past = stacks(operations)
        if kind == "restore":
            found = [one for one in operations if one.state == CLOSED]
        elif kind == "redo":
            found = past.undone
        else:
            found = past.done
            if kind == "revert":
                found = [one for one in found if one.kind == "turn"]
                if self._open is not None and self._store.changes([self._open]):
                    found += [one for one in operations if one.id == self._open]
        if not found:
            raise PaiCliError(t(f"undo.nothing_to_{kind}"))
        if not 1 <= count <= len(found):
            raise PaiCliError(t("undo.out_of_range", most=len(found)))
        return found[-count:] if kind in ("restore", "revert") else found[-1:]

    def carry_out(self, preview: Preview) -> Restored:
        """Do what `preview`, a plan of ours, says: all of it or nothing.

        Raises PaiCliError when the files have changed since it was made, or when the disk refuses.
        """
        if not isinstance(preview, Plan):
            raise TypeError("carry_out takes what plan returned")
        with self._store.locked():
            self._settle()
            self._tree.scan(self._open or self._others())
            plan = self._planned(preview.kind, preview.count, force=preview.force)
            if not plan.equals(preview):
                raise PaiCliError(t("undo.changed_meanwhile"))
            left = (*plan.conflicts, *plan.not_kept)
            if not plan.changes and left:
                return Restored((), left, for_model(plan, [], left))
            self._apply(plan)
            return self._recorded(plan, left)

    def _apply(self, plan: Plan) -> None:
        restore = Restore(
            self._root,
            plan.changes,
            self._store.content,
            secrets.token_hex(4),
            closed_folders(self._root, plan.changes),
        )
        for _, _, after in plan.changes:
            if after is not None and after.kind == FILE and after.content is not None:
                self._store.content(after.content)  # nothing is touched when one cannot be had
        self._store.write_journal(
            plan.changes, {"mark": restore.mark, "opened": list(restore.opened)}
        )
        (self._store.folder / RESTORING).touch()
        try:
            restore.apply()
        except (OSError, PaiCliError) as error:
            left = self._roll_back(restore)
            reason = getattr(error, "strerror", None) or str(error)
            more = t("undo.rolled_back_but", paths=", ".join(left)) if left else ""
            raise PaiCliError(f"{t('undo.failed', reason=reason)} {more}".strip()) from error

    def _roll_back(self, restore: Restore) -> list[str]:
        try:
            left = restore.roll_back()
        except (OSError, PaiCliError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise PaiCliError(t("undo.stuck", reason=reason)) from error
        self._store.clear_journal()
        (self._store.folder / RESTORING).unlink(missing_ok=True)
        return left

    def _recorded(self, plan: Plan, left: Sequence[str]) -> Restored:
        """Write down what a restore did, and that it is over."""
        done: list[Change] = []
        with self._store.transaction():
            for path, before, _ in plan.changes:
                now = examine(self._root, path, self._store.keep)
                if not same(before, now):
                    done.append(Change(path, before, now))
            if plan.kind != "revert":  # what a tool does belongs to its turn
                operation = Operation(
                    0, plan.kind, time.time(), plan.about, self._session(), of=plan.of
                )
                self._store.add_changes(self._store.begin(operation), done)
                self._store.learn((change.path, change.after) for change in done)
            self._store.clear_journal()
        if plan.kind != "revert":
            self._tree.known_now((change.path, change.after) for change in done)
        (self._store.folder / RESTORING).unlink(missing_ok=True)
        files = tuple(self._counted(done))
        return Restored(files, tuple(left), for_model(plan, files, left))

    # -- looking at it

    def history(self) -> list[PastChange]:
        """Return what was done to the files, newest first."""
        if not self._store.exists:
            return []
        with self._store.locked():
            closed = [one for one in self._store.operations() if one.state == CLOSED]
            return [
                PastChange(
                    number,
                    one.kind,
                    one.time,
                    one.text,
                    len(net(self._store.changes([one.id]))),
                )
                for number, one in enumerate(reversed(closed), 1)
            ]

    def diffs(self, number: int | None = None) -> list[Diff]:
        """Return what the `number`-th newest entry did, or all that was done in this session."""
        if not self._store.exists:
            return []
        with self._store.locked():
            if number is None:
                ids = self._ids_of_session()
            else:
                ids = [self._wanted("restore", number)[0].id]
            changes = net(self._store.changes(ids))
            return [
                diff(change, self._store.content)
                for change in changes
                if not same(change.before, change.after)
                and FOLDER
                not in (change.before and change.before.kind, change.after and change.after.kind)
            ]

    def _ids_of_session(self) -> list[int]:
        """Return the turns of this session, whoever ran them, and what was taken back of them since."""
        session, ids = self._session(), list[int]()
        for one in self._store.operations():
            if one.state == CLOSED and (one.session == session != "" or one.of in ids):
                ids.append(one.id)
        return ids

    def status(self) -> SnapshotStatus:
        """Tell how snapshots are kept."""
        off, paths, entries, size = "", 0, 0, 0
        try:
            self._check_place()
            if self._store.exists:
                with self._store.locked():
                    paths = len(self._store.known())
                    entries, size = len(self._store.operations()), self._store.size()
        except PaiCliError as error:
            off = str(error)
        return SnapshotStatus(
            off,
            str(self._store.folder),
            paths,
            entries,
            size,
            self._limits.bytes,
            self._limits.days,
            LARGEST_FILE,
            ALWAYS_OUT,
            self._limits.excludes,
        )

    def _counted(self, changes: Sequence[Change]) -> list[FileChange]:
        return [
            counted(change, self._store.content)
            for change in changes
            if not same(change.before, change.after)
        ]

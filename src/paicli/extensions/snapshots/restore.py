"""Bring paths from one state to another: all of them, or none.

Everything goes through descriptors of real folders, so no symbolic link is ever followed, and a file is
replaced by renaming a finished one over it. What was done half can be rolled back by anyone who has
the list: the journal in the store.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from paicli.errors import PaiCliError
from paicli.extensions.snapshots.entries import (
    FILE,
    FOLDER,
    LINK,
    Change,
    Entry,
    kind_of,
    same,
)
from paicli.extensions.snapshots.lines import Content
from paicli.extensions.snapshots.scan import examine
from paicli.i18n import t

_SYNCED_ONE_BY_ONE = 200
_OWNER_ALL = 0o700


@dataclass(frozen=True, slots=True)
class Restore:
    """A restore of the paths in `changes`, from `before` to `after`.

    `mark` names its temporary files. `opened` are folders, with their modes, that are made writable for
    the time of the restore.
    """

    root: Path
    changes: tuple[Change, ...]
    content: Content
    mark: str
    opened: tuple[tuple[str, int], ...]

    def apply(self) -> None:
        """Do it. Raises OSError or PaiCliError when it had to stop half-way: call `roll_back`."""
        self._move(self.changes)

    def roll_back(self) -> list[str]:
        """Bring everything back that `apply` did, and return paths that somebody else changed since."""
        left, back = [], []
        for number, (path, before, after) in enumerate(self.changes):
            with suppress(OSError), _inside(self.root, path) as (folder, _):
                os.unlink(self._temporary(number), dir_fd=folder)
            now = examine(self.root, path, _forget)
            if same(now, before):
                continue
            if _is_ours(now, before, after):
                back.append(Change(path, now, before))
            else:
                left.append(path)
        self._move(back)
        return left

    def _move(self, changes: Sequence[Change]) -> None:
        deep_first = sorted(changes, key=lambda change: change.path.count("/"), reverse=True)
        for path, mode in sorted(self.opened):
            self._set_mode(path, mode | _OWNER_ALL)
        for change in deep_first:
            if change.before and (not change.after or change.before.kind != change.after.kind):
                self._remove(change)
        for path, before, after in reversed(deep_first):
            if after and after.kind == FOLDER and not (before and before.kind == FOLDER):
                with _inside(self.root, path) as (folder, name):
                    os.mkdir(name, _OWNER_ALL, dir_fd=folder)
        for number, change in enumerate(changes):
            if change.after and change.after.kind in (FILE, LINK):
                self._put(change, self._temporary(number), sync=len(changes) < _SYNCED_ONE_BY_ONE)
        modes = dict(self.opened)
        modes |= {c.path: c.after.mode for c in changes if c.after and c.after.kind == FOLDER}
        for path in sorted(modes, reverse=True):
            self._set_mode(path, modes[path])
        if len(changes) >= _SYNCED_ONE_BY_ONE:
            os.sync()

    def _temporary(self, number: int) -> str:
        return f".paicli-{self.mark}-{number}"

    def _remove(self, change: Change) -> None:
        with _inside(self.root, change.path) as (folder, name):
            _expect(change, folder, name)
            if change.before is None or change.before.kind != FOLDER:
                os.unlink(name, dir_fd=folder)
                return
            try:
                os.rmdir(name, dir_fd=folder)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or change.after is not None:
                    raise
                # Something stands in there that is not ours to delete, so the folder stays.

    def _put(self, change: Change, temporary: str, *, sync: bool) -> None:
        path, before, after = change
        if after is None:
            return
        with _inside(self.root, path) as (folder, name):
            stays = before is not None and before.kind == after.kind
            if (
                stays
                and before is not None
                and before.kind == FILE
                and before.content == after.content
            ):
                _expect(change, folder, name)
                os.chmod(name, after.mode, dir_fd=folder)
                return
            data = after.content or b""
            if after.kind == LINK:
                os.symlink(data, temporary, dir_fd=folder)
            else:
                owner = _owner(folder, name) if stays else None
                _write(folder, temporary, self.content(data), after.mode, owner, sync=sync)
            try:
                if stays:
                    _expect(change, folder, name)
                else:
                    _expect(Change(path, None, None), folder, name)
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except (OSError, PaiCliError):
                os.unlink(temporary, dir_fd=folder)
                raise

    def _set_mode(self, path: str, mode: int) -> None:
        try:
            with _inside(self.root, path) as (folder, name):
                if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                    os.chmod(name, mode, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError):
            pass  # it went away meanwhile, and its mode with it


def closed_folders(root: Path, changes: Sequence[Change]) -> tuple[tuple[str, int], ...]:
    """Return the folders, with their modes, in which nothing could be changed as they are."""
    folders = {
        path[:place] for path, *_ in changes for place, sign in enumerate(path) if sign == "/"
    }
    found = []
    for folder in sorted(folders):
        try:
            status = (root / folder).lstat()
        except OSError:
            continue
        if stat.S_ISDIR(status.st_mode) and status.st_mode & _OWNER_ALL != _OWNER_ALL:
            found.append((folder, stat.S_IMODE(status.st_mode)))
    return tuple(found)


@contextmanager
def _inside(root: Path, path: str) -> Iterator[tuple[int, str]]:
    """Give a descriptor of the folder that holds `path`, and the name in there."""
    *folders, name = path.split("/")
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for folder in folders:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            inner = os.open(folder, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor, name
    finally:
        os.close(descriptor)


def _expect(change: Change, folder: int, name: str) -> None:
    """Raise PaiCliError unless what stands there is what the plan was made for."""
    before = change.before
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        status = None
    if status is None or before is None:
        is_same = status is None and before is None
    elif before.kind == FILE and stat.S_ISREG(status.st_mode):
        now = (status.st_size, status.st_mtime_ns, status.st_ino)
        is_same = now == (before.size, before.mtime_ns, before.inode)
    elif before.kind == LINK and stat.S_ISLNK(status.st_mode):
        is_same = os.fsencode(os.readlink(name, dir_fd=folder)) == before.content
    else:
        is_same = kind_of(status.st_mode) == before.kind
    if not is_same:
        raise PaiCliError(t("undo.disturbed", path=change.path))


def _is_ours(now: Entry | None, before: Entry | None, after: Entry | None) -> bool:
    """Tell whether `now` is what a restore from `before` to `after` may have left."""
    if same(now, after):
        return True
    if now is None:
        return before is not None and after is not None and before.kind != after.kind
    return now.kind == FOLDER and FOLDER in (before and before.kind, after and after.kind)


def _owner(folder: int, name: str) -> tuple[int, int] | None:
    with suppress(OSError):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        return status.st_uid, status.st_gid
    return None


def _write(
    folder: int,
    name: str,
    data: bytes,
    mode: int,
    owner: tuple[int, int] | None,
    *,
    sync: bool,
) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(name, flags, 0o600, dir_fd=folder), "wb") as file:
        try:
            file.write(data)
            file.flush()
            if owner is not None and owner != (os.geteuid(), os.getegid()):
                with suppress(OSError):
                    os.fchown(file.fileno(), *owner)
            os.fchmod(file.fileno(), mode)
            if sync:
                os.fsync(file.fileno())
        except OSError:
            os.unlink(name, dir_fd=folder)
            raise


def _forget(_digest: bytes, _data: bytes) -> None:
    """What is looked at only to compare need not be kept."""

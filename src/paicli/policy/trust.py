"""Whether the person trusts what a project folder brings along: its `.env` and its `.paicli/`.

Trust is bound to the content. When that changes it is gone until the person says so again, and
what changed can be told. Nothing is asked here; the answer of the person comes in by `grant`.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from paicli.policy.private_file import read_document, write_document
from paicli.values import value

_MAX_FILES = 1_000
_MAX_BYTES = 20_000_000
_MADE_BY_US = frozenset({"tool-outputs"})
_VARIABLE = re.compile(rb"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$", re.M)


@value
class Change:
    """What differs from what was trusted: a file, or a variable of `.env`; `kind` is added, removed or changed."""

    name: str
    kind: str


@value
class TrustState:
    """What a folder brings, and whether it is trusted as it is now.

    `covered` are the files; none: there is nothing to trust. `before`: it was trusted with another
    content, and `changes` says what differs. `too_much`: more than can be looked at, never trusted.
    """

    covered: tuple[str, ...] = ()
    trusted: bool = False
    before: bool = False
    changes: tuple[Change, ...] = ()
    too_much: bool = False

    @property
    def needs_answer(self) -> bool:
        """Tell whether the person should be asked."""
        return bool(self.covered) and not self.trusted and not self.too_much


class Trust:
    """The trust in one folder, kept in `trusted.json` of PaiCLI's own folder."""

    def __init__(self, home: Path, root: Path) -> None:
        self._home = home
        self._file = home / "trusted.json"
        self._root = root
        self._folder = os.path.realpath(root)

    def state(self) -> TrustState:
        """Look at the folder as it is now."""
        kept = self._kept()
        salt = str(kept.get("salt", ""))
        print_now = _fingerprint(self._root, self._home, salt)
        if print_now is None:
            return TrustState((".paicli",), too_much=True)
        covered = tuple(sorted(name for name in print_now if "$" not in name))
        if not covered:
            return TrustState()
        before = kept.get("content")
        if not salt or not isinstance(before, dict):
            return TrustState(covered)
        changes = _changes(before, print_now)
        return TrustState(covered, trusted=not changes, before=True, changes=changes)

    def grant(self) -> bool:
        """Remember that the person trusts the folder as it is now; False when that cannot be written."""
        salt = secrets.token_hex(16)
        content = _fingerprint(self._root, self._home, salt)
        if content is None:
            return False
        return self._write({"salt": salt, "content": content})

    def revoke(self) -> bool:
        """Forget the trust; False when that cannot be written."""
        return self._write(None)

    def _kept(self) -> dict[str, Any]:
        folders = read_document(self._file).get("folders")
        kept = folders.get(self._folder) if isinstance(folders, dict) else None
        return kept if isinstance(kept, dict) else {}

    def _write(self, entry: Mapping[str, Any] | None) -> bool:
        folders = read_document(self._file).get("folders")
        folders = dict(folders) if isinstance(folders, dict) else {}
        folders.pop(self._folder, None)
        if entry is not None:
            folders[self._folder] = dict(entry)
        return write_document(self._file, {"version": 1, "folders": folders})


def _fingerprint(root: Path, home: Path, salt: str) -> dict[str, str] | None:
    """Return a keyed hash for each covered file and each variable (`$NAME`); None when it is too much.

    The key keeps a short secret in `.env` from being guessed out of its hash.
    """
    found: dict[str, str] = {}
    total = 0
    for name in _covered(root, home):
        data = _content(root / name)
        total += len(data)
        if len(found) >= _MAX_FILES or total > _MAX_BYTES:
            return None
        found[name] = _hash(salt, data)
        if name == ".env":
            for variable, value in _VARIABLE.findall(data):
                found["$" + variable.decode()] = _hash(salt, value.strip())
    return found


def _covered(root: Path, home: Path) -> Iterator[str]:
    if os.path.lexists(root / ".env"):
        yield ".env"
    own = root / ".paicli"
    if os.path.realpath(own) == os.path.realpath(home):
        return  # PaiCLI works in the home folder itself: this is its own
    if own.is_symlink():
        yield ".paicli"
    if not own.is_dir():
        return
    for folder, folders, names in os.walk(own, followlinks=False):
        inside = Path(folder)
        if inside == own:
            folders[:] = [name for name in folders if name not in _MADE_BY_US]
        linked = [name for name in folders if (inside / name).is_symlink()]
        for name in sorted([*names, *linked]):
            yield str((inside / name).relative_to(root))


def _content(path: Path) -> bytes:
    """Return what a file holds, and where it leads when it is a link."""
    link = b""
    try:
        if path.is_symlink():
            link = b"-> " + os.fsencode(path.readlink()) + b"\n"
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return link + b"(not a regular file)"
            return link + file.read(_MAX_BYTES + 1)
    except OSError as error:
        return link + f"(unreadable: {error.errno})".encode()


def _hash(salt: str, data: bytes) -> str:
    return hmac.new(salt.encode(), data, hashlib.sha256).hexdigest()


def _changes(before: Mapping[str, Any], now: Mapping[str, str]) -> tuple[Change, ...]:
    names = sorted({*before, *now})
    found = []
    for name in names:
        if name not in before:
            found.append(Change(name.lstrip("$"), "added"))
        elif name not in now:
            found.append(Change(name.lstrip("$"), "removed"))
        elif before[name] != now[name]:
            found.append(Change(name.lstrip("$"), "changed"))
    return tuple(found)

"""Forgetting what is too old or too much."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress

from paicli.extensions.snapshots.entries import CLOSED
from paicli.extensions.snapshots.store import Store
from paicli.extensions.snapshots.tree import Limits

_DAY = 86_400


class Pruning:
    """Keeps one store within its limits, and once a run looks at those of other projects."""

    def __init__(self, store: Store, limits: Limits) -> None:
        self._store = store
        self._limits = limits
        self._is_first = True

    def do(self) -> None:
        """Forget the oldest entries beyond the limits, and every content that nothing needs any more."""
        cutoff = time.time() - self._limits.days * _DAY
        closed = [one for one in self._store.operations() if one.state == CLOSED]
        old = [one.id for one in closed if one.time < cutoff]
        if old or self._is_first:
            self._store.drop(old)
        closed = closed[len(old) :]
        while self._store.size() > self._limits.bytes and len(closed) > 1:
            some = closed[: max(1, len(closed) // 4)]
            self._store.drop([one.id for one in some])
            closed = closed[len(some) :]
        if self._is_first:
            self._is_first = False
            self._drop_unused(cutoff)

    def _drop_unused(self, cutoff: float) -> None:
        """Delete the snapshots of projects in which nobody worked for long."""
        with suppress(OSError):
            for other in self._store.folder.parent.iterdir():
                if other == self._store.folder or other.is_symlink() or not other.is_dir():
                    continue
                times = [entry.stat().st_mtime for entry in os.scandir(other)]
                if times and max(times) < cutoff:
                    shutil.rmtree(other)

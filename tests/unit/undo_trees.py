"""Trees of files as values, and a history to try on one."""

import os
import stat

from paicli.extensions.snapshots.history import History
from paicli.extensions.snapshots.tree import Limits


def picture(root, skip=()):
    """Return everything that stands under `root`: path -> (kind, mode, content)."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in [*folders, *files]:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, root)
            if any(relative == one or relative.startswith(one + "/") for one in skip):
                continue
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                found[relative] = ("link", 0, os.readlink(path))
            elif stat.S_ISDIR(status.st_mode):
                found[relative] = ("folder", stat.S_IMODE(status.st_mode), b"")
            else:
                with open(path, "rb") as file:
                    found[relative] = ("file", stat.S_IMODE(status.st_mode), file.read())
    return found


class Desk:
    """A project folder with its history; `turn(function)` lets a turn do something to it."""

    def __init__(self, folder, **limits):
        self.root = folder / "project"
        self.root.mkdir(exist_ok=True)
        self.home = folder / "home"
        self.told = []
        self.limits = Limits(**limits)
        self.session = "one"
        self.history = self.another()

    def another(self):
        return History(
            self.home, self.root, self.limits, self.told.append, session=lambda: self.session
        )

    def turn(self, *steps, text="a task"):
        for step in steps:
            self.history.before_change(text, self.session)
            step(self.root)
            self.history.after_change()
        return self.history.close_turn()

    def do(self, kind, count=1, *, force=False):
        return self.history.carry_out(self.history.plan(kind, count, force=force))

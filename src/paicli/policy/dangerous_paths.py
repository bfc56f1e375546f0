"""Places whose loss is a disaster: the root, system folders, homes, and the project's parents.

Everything is decided by the text of a path; nothing on disk is asked.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from pathlib import Path

from paicli.config_files import user_home
from paicli.policy.shell_words import HERE, HOME, UNKNOWN, Word

_SYSTEM = frozenset({
    "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt", "opt", "proc",
    "root", "run", "sbin", "snap", "srv", "sys", "usr", "var", "Users", "System", "Library", "Applications",
    "Volumes", "private", "cores",
})  # fmt: skip
_SYSTEM_BELOW = frozenset({
    "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/local", "/usr/share", "/usr/include",
    "/var/lib", "/var/log", "/etc/ssh", "/private/etc", "/private/var",
})  # fmt: skip
_HOMES = frozenset({"/home", "/Users"})
_SAMPLES = {
    "/": [*sorted(_SYSTEM), ".hidden"],
    "home": ["Documents", "Desktop", "projects", ".bashrc", ".ssh", ".config"],
}
_HARMLESS_DEVICES = frozenset({
    "null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr", "ptmx",
})  # fmt: skip
_HARMLESS_FOLDERS = ("fd/", "pts/", "shm/", "tcp/", "udp/", "mqueue/")
_SOMEBODYS_HOME = re.compile(f"/(?:home|Users)/{UNKNOWN}")
_GLOB = "*?["


def is_device(path: str) -> bool:
    """Tell whether writing to this path changes a device or the running kernel."""
    path = posixpath.normpath(path.replace("//", "/")) if path else ""
    if path == "/proc/sysrq-trigger" or path.startswith("/proc/sys/"):
        return True
    if not path.startswith("/dev/"):
        return False
    name = path[len("/dev/") :]
    return name not in _HARMLESS_DEVICES and not name.startswith(_HARMLESS_FOLDERS)


class Places:
    """What is vital on this machine, seen from a project."""

    def __init__(self, root: Path | None) -> None:
        self.home = HOME
        self._real_home = posixpath.normpath(str(user_home()))
        self._root = posixpath.normpath(str(root)) if root is not None else None

    def within(self, directory: str, target: Word) -> str:
        """Return where `cd target` leads from `directory`; empty means the project root."""
        path = target.text
        if path == "-" or UNKNOWN in path:
            return UNKNOWN
        return path if path.startswith(("/", HOME)) else posixpath.join(directory or ".", path)

    def vital(self, word: Word, directory: str = "") -> str | None:
        """Return what the path is if it is vital, or covers something that is: words for a sentence."""
        if not word.text:
            return None
        path = word.text
        if not path.startswith(("/", HOME, HERE)) and directory:
            path = posixpath.join(directory, path)
        folder, pattern = self._plain(path, word)
        what = self._named(folder)
        if UNKNOWN in folder and not _SOMEBODYS_HOME.fullmatch(folder):
            return None
        if pattern is None or what is None:
            return what
        samples = self._inside(folder, what)
        return what if any(fnmatch.fnmatchcase(name, pattern) for name in samples) else None

    def _plain(self, path: str, word: Word) -> tuple[str, str | None]:
        """Split a path at its first glob: the folder before it, and the glob itself."""
        path = path.replace(HERE, self._root or ".")
        if path.startswith(HOME):
            path = self._real_home + "/" + path[len(HOME) :]
        if not word.has_active(_GLOB):
            return _normal(path), None
        parts = path.split("/")
        at = next(index for index, part in enumerate(parts) if any(c in part for c in _GLOB))
        return _normal("/".join(parts[:at]) or ("/" if at else ".")), parts[at]

    def _named(self, path: str) -> str | None:
        if path == "/":
            return "the whole disk"
        if path.startswith("/"):
            return self._named_absolute(path)
        if path == ".." or (path.startswith("../") and not path.strip("./")):
            return "a folder above the project"
        return None

    def _named_absolute(self, path: str) -> str | None:
        if path == self._real_home or posixpath.dirname(path) in _HOMES or path == "/root":
            return "the home folder"
        if (posixpath.dirname(path) == "/" and path[1:] in _SYSTEM) or path in _SYSTEM_BELOW:
            return "a system folder"
        if self._real_home.startswith(path + "/"):
            return "a folder above the home folder"
        if self._root is not None and self._root.startswith(path + "/"):
            return "a folder above the project"
        return None

    def _inside(self, path: str, what: str) -> list[str]:
        """Return names that stand for what lies in a vital folder, to try a glob on."""
        if path == "/":
            return _SAMPLES["/"]
        if what == "the home folder":
            return _SAMPLES["home"]
        if what == "a folder above the project":
            if self._root is None or not path.startswith("/"):
                return [posixpath.basename(self._root or "/project")]
            return [self._root[len(path) :].lstrip("/").split("/")[0]]
        return ["bin", "lib", "share", "user", ".hidden"]


def _normal(path: str) -> str:
    path = posixpath.normpath(path)
    return "/" + path.lstrip("/") if path.startswith("/") else path

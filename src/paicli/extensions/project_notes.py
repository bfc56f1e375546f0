"""PAI.md and AGENTS.md: what the person and the project want the agent to know, in the system prompt."""

from __future__ import annotations

import re
from pathlib import Path

from paicli.agent.extension import Extension
from paicli.errors import PolicyDenied
from paicli.policy.path_guard import PathGuard

_BUDGET = 24_000
_IMPORT_DEPTH = 3
_MOST_IMPORTS = 100
"""Of all notes together: notes that import each other many times would take for ever to put together."""
_IMPORT = re.compile(r"@(?P<path>[^\s/][^\s]*)\s*")
_NOTES = ("PAI.md", "AGENTS.md", "PAI.local.md")
_NOTES_WITH_POWER = (".paicli/PAI.md", ".paicli/PAI.local.md")


class ProjectNotes(Extension):
    """Reads the notes once a session (PaiCLI's PAI.md memory, with AGENTS.md beside it).

    A line that is only `@relative/path.md` is replaced by that file, inside the project and three
    levels deep at most. All notes together are cut at 24,000 characters. What lies in the project's
    `.paicli/` is read only when the folder is `trusted`.
    """

    def __init__(self, guard: PathGuard, home: Path, *, trusted: bool) -> None:
        self._guard = guard
        self._home = home
        self._imports = 0
        self._names = (*_NOTES, *(_NOTES_WITH_POWER if trusted else ()))

    def system_prompt(self) -> str:
        """Return all notes under their paths, or nothing."""
        self._imports = 0
        parts = [("~/.paicli/PAI.md", _text(self._home / "PAI.md"))]
        parts += [(name, self._note(name, ())) for name in self._names]
        sections = [f"### {name}\n{text.strip()}" for name, text in parts if text.strip()]
        if not sections:
            return ""
        notes = "\n\n".join(sections)
        if len(notes) > _BUDGET:
            notes = notes[:_BUDGET] + "\n[cut here: the notes are too long]"
        return f"## Project notes\n{notes}"

    def _note(self, name: str, importers: tuple[Path, ...]) -> str:
        try:
            path = self._guard.resolve(name)
        except PolicyDenied:
            return ""
        self._imports += bool(importers)
        if path in importers or len(importers) > _IMPORT_DEPTH or self._imports > _MOST_IMPORTS:
            return ""
        lines = [
            self._note(found["path"], (*importers, path))
            if (found := _IMPORT.fullmatch(line)) and ".." not in found["path"].split("/")
            else line
            for line in _text(path).split("\n")
        ]
        return "\n".join(lines)


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(4 * _BUDGET).decode("utf-8-sig", "replace").replace("\r\n", "\n")
    except (OSError, ValueError):
        return ""

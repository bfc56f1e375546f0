"""What the model is told about files that were taken back."""

from __future__ import annotations

from collections.abc import Sequence

from paicli.agent.file_changes import FileChange
from paicli.extensions.snapshots.planning import Plan
from paicli.text import clean

_MOST_PATHS = 40

_DONE = {
    "undo": "The user took back the file changes of an earlier turn",
    "redo": "The user brought back file changes that had been taken back",
    "restore": "The user restored the files to an earlier state",
    "revert": "The file changes were taken back",
}


def for_model(plan: Plan, files: Sequence[FileChange], left: Sequence[str]) -> str:
    """Return what was done, so that the model does not rely on what it saw before."""
    parts = [f"[PaiCLI] {_DONE[plan.kind]}."]
    if files:
        parts.append("What you read or wrote before may be out of date:")
        parts += [_line(change) for change in files[:_MOST_PATHS]]
        if len(files) > _MOST_PATHS:
            parts.append(f"- and {len(files) - _MOST_PATHS} more")
    else:
        parts.append("No file changed by that.")
    if left:
        names = ", ".join(clean(path) for path in left[:_MOST_PATHS])
        parts.append(f"Left as they are, because they were changed since or never kept: {names}")
    return "\n".join(parts)


def _line(change: FileChange) -> str:
    words = {"created": "was brought back", "changed": "was changed", "deleted": "was deleted"}
    return f"- {change.path} {words[change.action]}"

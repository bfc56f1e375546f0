"""What a checkout says of itself, read without starting git."""

from __future__ import annotations

from pathlib import Path


def git_branch(folder: Path) -> str:
    """Return the branch that is checked out in `folder` or above; a short commit when detached.

    Empty without git. Reads `.git` itself: starting git costs more than the whole first request.
    """
    for place in (folder, *folder.parents):
        marker = place / ".git"
        if marker.is_file():
            marker = place / _first_line(marker).removeprefix("gitdir:").strip()
        head = _first_line(marker / "HEAD")
        if head:
            name = head.removeprefix("ref: refs/heads/")
            return name if name != head else head[:8]
    return ""


def _first_line(file: Path) -> str:
    """Return the first line of a small regular file; empty when it cannot be read."""
    try:
        if not file.is_file():
            return ""
        with file.open(encoding="utf-8", errors="replace") as opened:
            return opened.readline(1_000).strip()
    except OSError:
        return ""

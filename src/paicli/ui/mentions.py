"""`@path` in a message attaches the file, or a folder's list; what is not in the project stays text."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from paicli.text import clean

BEFORE = r"(?:(?<=[\s(\[{，。；：！？、（【《「『\u3400-\u9fff])|^)"
"""What a mention stands behind: nothing that a mail address could be."""
MENTION = re.compile(BEFORE + r"@(?:<((?:\\[\\>]|\\(?![\\>])|[^\\>\n])+)>|([^\s:<>]+))")
_NEEDS_BRACKETS = re.compile(r"[\s:<>]")
_MOST_BYTES = 120_000
_MOST_NAMES = 80
_PUNCTUATION = ".,;!?)]}，。；！？）】、"
_SENTENCE = re.compile("[，。；：！？）】》」』、]")
"""Where a Chinese sentence goes on, without a blank."""


def mention(name: str) -> str:
    """Return what stands behind the @ to mention `name`."""
    if _NEEDS_BRACKETS.search(name) is None:
        return name
    return "<" + re.sub(r"[\\>]", r"\\\g<0>", name) + ">"


def attached(text: str, root: Path) -> str:
    """Return `text` as the model gets it: as it was typed, and behind it what it mentions."""
    parts = {}
    for match in MENTION.finditer(text):
        path = _find(re.sub(r"\\([\\>])", r"\1", match[1]) if match[1] else match[2], root)
        if path is not None and path not in parts:
            parts[path] = _part(path, root)
    return "\n\n".join([text, *filter(None, parts.values())])


def _find(name: str, root: Path) -> Path | None:
    """Return the path inside `root` that `name` means; punctuation behind it may be the sentence's."""
    candidates = (name, name.rstrip(_PUNCTUATION), _SENTENCE.split(name)[0].rstrip(_PUNCTUATION))
    for candidate in dict.fromkeys(candidates):
        try:
            path = (root / Path(candidate).expanduser()).resolve()
            if candidate and path.is_relative_to(root.resolve()) and path.exists():
                return path
        except (OSError, ValueError, RuntimeError):
            continue
    return None


def _part(path: Path, root: Path) -> str:
    name = clean(str(path.relative_to(root.resolve()))).replace('"', "&quot;")
    try:
        if path.is_dir():
            return f'<directory path="{name}">\n{_names(path)}\n</directory>'
        return _file_part(path, name)
    except OSError as error:
        return f'<file path="{name}" error="{error.strerror}"></file>'


def _names(path: Path) -> str:
    with os.scandir(path) as entries:
        names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in entries)
    shown = [clean(name) for name in names[:_MOST_NAMES]]
    if len(names) > _MOST_NAMES:
        shown.append(f"({len(names) - _MOST_NAMES} more)")
    return "\n".join(shown).replace("</directory", "<\\/directory")


def _file_part(path: Path, name: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        data = file.read(_MOST_BYTES + 1)
    if b"\0" in data:
        return f'<file path="{name}" binary="true"></file>'
    text = data[:_MOST_BYTES].decode("utf-8-sig", errors="replace").replace("</file", "<\\/file")
    if len(data) > _MOST_BYTES:
        text += f"\n(cut at {_MOST_BYTES} bytes; read_file shows the rest)"
    return f'<file path="{name}">\n{text}\n</file>'

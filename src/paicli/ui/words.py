"""What tools do, in the person's language."""

from __future__ import annotations

from paicli.i18n import language, load, t
from paicli.text import one_line


def tool_word(name: str) -> str:
    """Return what a tool does; its name when it is not one of ours."""
    return word("terminal.tool", name)


def word(key: str, name: str) -> str:
    """Return the text `<key>_<name>`; the name itself, made safe, when there is none."""
    found = f"{key}_{name}"
    return t(found) if found in load(language()) else one_line(name)

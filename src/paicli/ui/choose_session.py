"""`paicli -r` without an id: a numbered list before the prompt is there."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.session.store import Summary
from paicli.text import cut, one_line
from paicli.ui.session_commands import age

_TITLE_CELLS = 60
_WITH_ID = 72
"""Columns from which there is room for the ids, which are not needed to choose by number."""


def choose_session(summaries: Sequence[Summary]) -> str:
    """Let the person choose and return the id. Raises ConfigError when there is none, or none chosen."""
    if not summaries:
        raise ConfigError(t("session.none"))
    columns = shutil.get_terminal_size().columns
    for number, summary in enumerate(summaries, start=1):
        name = f"{summary.id}  " if columns >= _WITH_ID else ""
        title = cut(one_line(summary.title), _TITLE_CELLS) or "–"
        print(cut(f"{number:3}  {name}{age(summary.changed)}  {title}", columns - 1))
    try:
        answer = input(t("session.which", last=len(summaries))).strip()
    except EOFError:
        answer = ""
    except KeyboardInterrupt:
        print()
        raise
    if answer.isdecimal() and 1 <= int(answer) <= len(summaries):
        return summaries[int(answer) - 1].id
    raise ConfigError(t("session.none_chosen"))

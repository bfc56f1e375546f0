"""`paicli -r` without an id: a numbered list before the prompt is there."""

from __future__ import annotations

from collections.abc import Sequence

from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.session.store import Summary
from paicli.text import cut, one_line
from paicli.ui.session_commands import age

_TITLE_CELLS = 60


def choose_session(summaries: Sequence[Summary]) -> str:
    """Let the person choose and return the id. Raises ConfigError when there is none, or none chosen."""
    if not summaries:
        raise ConfigError(t("session.none"))
    for number, summary in enumerate(summaries, start=1):
        title = cut(one_line(summary.title), _TITLE_CELLS)
        print(f"{number:3}  {summary.id}  {age(summary.changed)}  {title}")
    try:
        answer = input(t("session.which", last=len(summaries))).strip()
    except EOFError:
        answer = ""
    if answer.isdecimal() and 1 <= int(answer) <= len(summaries):
        return summaries[int(answer) - 1].id
    raise ConfigError(t("session.none_chosen"))

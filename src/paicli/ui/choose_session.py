"""`paicli -r` without an id: a numbered list before the prompt is there."""

from __future__ import annotations

from collections.abc import Sequence

from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.session.conversation import LLM_RESPONSE, USER_INPUT
from paicli.session.store import Session, Summary
from paicli.text import cut, one_line
from paicli.ui.session_commands import age

_TITLE_CELLS = 60
_TAIL_CELLS = 300


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


def resumed_remarks(session: Session) -> list[str]:
    """Return lines that remind the person of where a resumed session stands."""
    if not session.resumed:
        return []
    remarks = [t("session.resumed", id=session.id)]
    messages = session.conversation.messages
    for source, mark in ((USER_INPUT, "› "), (LLM_RESPONSE, "")):
        texts = [m.content for m in messages if m.source == source and m.content]
        if texts:
            remarks.append(mark + cut(" ".join(texts[-1].split()), _TAIL_CELLS))
    return remarks

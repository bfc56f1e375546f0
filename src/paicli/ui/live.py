"""The live region: what is in motion, in a few lines just above the prompt."""

from __future__ import annotations

import math

from paicli.i18n import t
from paicli.text import cut, one_line, visible, wrapped
from paicli.text import width as cells
from paicli.ui.render import Renderer, Running
from paicli.ui.shown import Looked

Line = list[tuple[str, str]]
"""One line as (style, text) pieces."""

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TAIL = 4_000
"""Characters of a growing text that are looked at: more than any screen shows of it."""


def spinner(now: float) -> str:
    """Return the picture of this moment."""
    return _SPINNER[int(now * 10) % len(_SPINNER)]


def tail_lines(text: str, width: int, height: int) -> list[str]:
    """Return the last `height` lines of `text` as it looks when wrapped at `width`."""
    found: list[str] = []
    for line in reversed(visible(text[-_TAIL:]).expandtabs(4).split("\n")):
        pieces = wrapped(line, max(width, 4))
        found[:0] = pieces
        if len(found) >= height:
            break
    return found[-height:] if height > 0 else []


def status_line(renderer: Renderer, now: float, width: int) -> Line:
    """Return the line with the spinner: what happens, for how long, and how to stop it."""
    seconds = int(now - renderer.busy_since) if renderer.busy_since is not None else 0
    hint = t("terminal.esc_to_cancel", seconds=seconds)
    what = cut(_what(renderer, now), max(width - cells(hint) - 6, 6))
    return [
        ("class:live.spinner", f"{spinner(now)} "),
        ("class:live.what", what),
        ("class:dim", cut(f" · {hint}", max(width - cells(what) - 3, 0))),
    ]


def _what(renderer: Renderer, now: float) -> str:
    if renderer.retrying is not None:
        return _until_retry(renderer, renderer.retrying.attempt, now)
    if any(tool.started is not None for tool in renderer.tools.values()):
        return t("terminal.running")
    if renderer.tools:
        return t("terminal.reviewing")
    if renderer.thinking_since is not None:
        return t("terminal.thinking")
    if renderer.writing_call is not None:
        call = renderer.writing_call
        return t("terminal.writing_call", name=one_line(call.name), count=call.characters)
    if renderer.answer_tail.source:
        return t("terminal.answering")
    return _waiting(renderer, now)


def _until_retry(renderer: Renderer, attempt: int, now: float) -> str:
    """Return when the next attempt begins; while it runs, which one it is."""
    left = math.ceil(renderer.retry_at - now)
    if left > 0:
        return t("terminal.waiting_to_retry", seconds=left, attempt=attempt)
    return t("terminal.waiting_again", attempt=attempt)


def _waiting(renderer: Renderer, now: float) -> str:
    """Return for how long the model has been silent, where that is not the time of the whole turn."""
    since, turn = renderer.asked_at, renderer.busy_since
    if since is None or turn is None or since - turn < 2 or now - since < 2:
        return t("terminal.waiting")
    return t("terminal.waiting_long", seconds=int(now - since))


def thinking_lines(renderer: Renderer, width: int, height: int) -> list[Line]:
    """Return the end of the model's thinking."""
    text = "".join(renderer.thinking[-200:]).strip("\n")
    return [
        [("class:dim", f"  {line}")] for line in tail_lines(text, width - 3, min(height, 3)) if text
    ]


def tool_lines(width: int, height: int, word: str, tool: Running) -> list[Line]:
    """Return a running call: its line, and under it the end of what it printed."""
    room = max(width - cells(word) - 4, 8)
    lines: list[Line] = [
        [("class:live.tool", f"• {word} "), ("", cut(one_line(tool.subject), room))]
    ]
    recent = "".join(list(tool.output)[-100:]).rstrip("\n")
    if recent:
        tail = tail_lines(recent, width - 4, max(min(height - 1, 4), 0))
        lines += [[("class:dim", f"    {line}")] for line in tail]
    return lines


def reads_line(renderer: Renderer) -> Looked | None:
    """Return the reads that are done but wait for their neighbours."""
    return Looked(renderer.reads) if renderer.reads else None

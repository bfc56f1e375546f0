"""Small parts of the terminal: patience said once, colours on light, rows that folding adds."""

import asyncio

from prompt_toolkit.layout.screen import Char, Screen

from paicli.agent.events import Notice, RequestStarted
from paicli.llm.deltas import TextDelta
from paicli.ui import theme
from paicli.ui.ink import Ink
from paicli.ui.resizing import added_rows, folds
from paicli.ui.waiting import Waiting


async def test_a_silent_model_is_told_of_once():
    heard = []
    waiting = Waiting(heard.append, patience=0.02)
    for step in (1, 2):
        waiting.on_event(RequestStarted(step))
        await asyncio.sleep(0.05)
    waiting.stop()
    assert [event.kind for event in heard if isinstance(event, Notice)] == ["waiting"]


async def test_a_model_that_speaks_is_not_told_of():
    heard = []
    waiting = Waiting(heard.append, patience=0.02)
    waiting.on_event(RequestStarted(1))
    waiting.on_event(TextDelta("a"))
    await asyncio.sleep(0.05)
    assert not any(isinstance(event, Notice) for event in heard)


def test_themes():
    assert theme.for_light("\x1b[1;33mx\x1b[0m") == "\x1b[1;38;5;94mx\x1b[0m"
    assert theme.for_light("\x1b[38;5;33mx") == "\x1b[38;5;33mx"
    assert theme.style_for_light("bold ansicyan") == "bold #005f87"
    xterm = {"TERM": "xterm-256color"}
    assert Ink(xterm).theme == "dark"
    assert Ink(xterm | {"COLORFGBG": "0;15"}).theme == "light"
    assert Ink(xterm, "none").plain
    assert Ink(xterm | {"NO_COLOR": "1"}, "light").plain


def test_folding_adds_rows_above_the_cursor():
    screen = Screen()
    for column in range(95):
        screen.data_buffer[0][column] = Char("x")
    screen.data_buffer[1][3] = Char("y")
    assert added_rows(screen, 2, 2, 100) == 0
    assert added_rows(screen, 2, 2, 40) == 2
    assert added_rows(screen, 50, 0, 40) == 1
    assert folds({"TMUX": "x"})
    assert not folds({"TERM": "xterm-256color"})

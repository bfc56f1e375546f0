"""Small parts of the terminal: patience said once, colours on light, rows that folding adds."""

import asyncio

from prompt_toolkit.data_structures import Point
from prompt_toolkit.layout.screen import Char

from paicli.agent.events import Notice, RequestStarted
from paicli.llm.deltas import TextDelta
from paicli.ui import theme
from paicli.ui.ink import Ink
from paicli.ui.resizing import Row, added_rows, folds, is_tmux
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


def row(text, used=0):
    """A row as prompt_toolkit keeps it: a wide character takes two cells, the second one empty."""
    cells, at = {}, 0
    for character in text:
        cells[at] = Char(character)
        if cells[at].width == 2:
            cells[at + 1] = Char("")
        at += cells[at].width
    made = Row(cells)
    made.used = max(made.used, used)
    return made


def test_folding_adds_rows_above_the_cursor():
    rows = [row("x" * 95), row("y")]
    assert added_rows(rows, Point(2, 1), 100) == 0
    assert added_rows(rows, Point(2, 1), 40) == 2
    assert added_rows(rows, Point(50, 0), 40) == 1
    assert added_rows([row("x" * 40)], Point(40, 0), 40) == 0


def test_a_wide_character_is_not_cut_in_two():
    assert added_rows([row("字" * 40), row("")], Point(0, 1), 40) == 1
    assert added_rows([row("字" * 40), row("")], Point(0, 1), 41) == 1
    assert added_rows([row("字" * 41), row("")], Point(0, 1), 41) == 2


def test_a_cell_that_was_in_use_counts():
    assert added_rows([row("x", used=80), row("")], Point(0, 1), 40) == 1


def test_which_terminals_fold():
    assert folds({"TMUX": "x"})
    assert is_tmux({"TMUX": "x"})
    assert not folds({"TERM": "xterm-256color"})
    assert not is_tmux({"TERM": "xterm-kitty"})

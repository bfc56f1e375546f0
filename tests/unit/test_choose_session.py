"""The list of sessions before the prompt is there."""

import time

import pytest

from paicli.errors import ConfigError
from paicli.session.store import Summary
from paicli.text import width
from paicli.ui.choose_session import choose_session


def summary(number, title):
    return Summary(f"20260101-00000{number}-abcdef", title, "m", time.time(), 1000, 3)


@pytest.mark.parametrize("columns", [40, 80])
def test_every_line_fits_the_window(monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("builtins.input", lambda _: "2")
    sessions = [summary(1, "很长的标题 " * 20), summary(2, "short"), summary(3, "")]
    assert choose_session(sessions) == sessions[1].id
    lines = capsys.readouterr().out.splitlines()
    assert [width(line) < columns for line in lines] == [True] * 3
    assert [sessions[1].id in line for line in lines] == [False, columns == 80, False]
    assert (lines[0][-1], lines[1].split()[-1], lines[2][-1]) == ("…", "short", "–")


@pytest.mark.parametrize("answer", ["", "0", "4", "x"])
def test_what_is_no_number_of_the_list_chooses_nothing(monkeypatch, answer):
    monkeypatch.setattr("builtins.input", lambda _: answer)
    with pytest.raises(ConfigError):
        choose_session([summary(1, "a"), summary(2, "b"), summary(3, "c")])

"""In tmux, which folds what is on the screen anew whenever its window becomes narrower."""

import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from tests.terminal.screen import ROOT

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
WORDS = [f"{number:03}" for number in range(720)]


class Tmux:
    """The stage in a window of a tmux server of its own."""

    def __init__(self, folder, columns, rows):
        self._socket = str(folder / "tmux")
        unset = ("TMUX", "TMUX_PANE", "NO_COLOR", "PAICLI_LANG")
        self._environ = {name: value for name, value in os.environ.items() if name not in unset}
        self._environ |= {"LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT / "src")}
        size = ("-x", str(columns), "-y", str(rows))
        stage = f"{sys.executable} -m tests.terminal.stage ''"
        self("new-session", "-d", *size, "-c", str(ROOT), f"{stage} {folder}; echo left; sleep 60")
        self("set-option", "-g", "history-limit", "10000")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self("kill-server")

    def __call__(self, *arguments):
        command = ["tmux", "-S", self._socket, "-f", os.devnull, *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, env=self._environ, check=False
        ).stdout

    def type(self, text):
        self("send-keys", "-l", text)
        self("send-keys", "Enter")

    def text(self):
        """Return the history and the screen."""
        return self("capture-pane", "-p", "-S", "-")

    def wait_for(self, wanted, seconds=20):
        deadline = time.monotonic() + seconds
        while wanted not in self.text():
            assert time.monotonic() < deadline, f"did not see {wanted!r}:\n{self.text()}"
            time.sleep(0.03)

    def drag(self, *widths, rows=30):
        for columns in widths:
            self("resize-window", "-x", str(columns), "-y", str(rows))
            time.sleep(0.1)  # the hand that moves the window's edge


@pytest.mark.parametrize(
    "widths",
    [(49,), (60, 100, 52), tuple(range(96, 40, -4)), (*range(96, 60, -6), *range(64, 120, 8))],
    ids=["half", "jumps", "narrower", "and wider"],
)
def test_every_word_is_there_once_and_nothing_else(tmp_path, widths):
    with Tmux(tmp_path, 100, 30) as tmux:
        tmux.wait_for("AUTO")
        tmux.type("essay")
        tmux.wait_for("w050")
        tmux.drag(*widths)
        tmux.wait_for("w420")
        tmux.drag(100, *widths)
        tmux.wait_for("The end.")
        tmux.wait_for("›\nAUTO")
        text = tmux.text()
        assert re.findall(r"w(\d{3})", text.replace("\n", "")) == WORDS
        assert text.count("AUTO") == 1
        assert "cancel" not in text


def test_a_message_of_many_lines_stays_one(tmp_path):
    with Tmux(tmp_path, 100, 30) as tmux:
        tmux.wait_for("AUTO")
        for number in range(2):
            tmux.type(f"hello {number}")
            tmux.wait_for(f"You said: hello {number}")
        for number in range(4):
            tmux("send-keys", "-l", f"line {number}: " + "words " * 16)
            tmux("send-keys", "C-j")
        tmux.drag(*range(97, 60, -3), 120, 75, rows=26)
        tmux("send-keys", "-l", "last")
        tmux.wait_for("last")
        text = tmux.text()
        assert re.findall(r"line (\d):", text) == list("0123")
        assert text.count("AUTO") == 1


def test_nothing_that_the_terminal_says_is_taken_for_keys(tmp_path):
    with Tmux(tmp_path, 100, 30) as tmux:
        tmux.wait_for("AUTO")
        tmux.type("essay")
        tmux.wait_for("w050")
        tmux("send-keys", "Escape")
        tmux.wait_for("Cancelled.")
        tmux.type("essay")
        tmux.wait_for("w010")
        tmux("send-keys", "C-d")
        tmux.wait_for("left")
        assert "R" not in tmux.text().rpartition("w010")[2]

"""The screen after a scripted run equals a picture that a person has looked at.

After a change that is meant, write the pictures anew with PAICLI_DRAW_PICTURES=1 and look at them.
"""

import os
import re
from pathlib import Path

import pytest

from tests.terminal.screen import Screen

FOLDER = Path("/tmp/paicli-pictures/project")
PICTURES = Path(__file__).with_name("pictures")


def picture(screen):
    """Return what is on the screen and above it, without what differs from run to run."""
    text = "\n".join(screen.scrollback()).rstrip() + "\n"
    return re.sub(r"\b\d+(\.\d)? (s\b|秒)", r"N \2", text)


def compare(screen, name):
    file = PICTURES / f"{name}.txt"
    found = picture(screen)
    if os.environ.get("PAICLI_DRAW_PICTURES"):
        PICTURES.mkdir(exist_ok=True)
        file.write_text(found, encoding="utf-8")
    assert found == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("columns", [200, 80, 40])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_tour_of_everything(columns, language):
    FOLDER.mkdir(parents=True, exist_ok=True)
    with Screen(
        "tests.terminal.stage", "tour", str(FOLDER), columns=columns, rows=30, PAICLI_LANG=language
    ) as screen:
        screen.wait_for("完成了，请运行", 20)
        screen.wait_for(lambda: "esc" not in "\n".join(screen.lines()[-4:]).lower())
        screen.watch(0.3)
        screen.type("/status")
        screen.wait_for("fake/fake-model")
        screen.watch(0.3)
        compare(screen, f"tour-{columns}-{language}")


@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_question(columns, language):
    FOLDER.mkdir(parents=True, exist_ok=True)
    with Screen(
        "tests.terminal.stage", "write", str(FOLDER), columns=columns, PAICLI_LANG=language
    ) as screen:
        screen.wait_for("[y/N]")
        screen.watch(0.3)
        compare(screen, f"question-{columns}-{language}")

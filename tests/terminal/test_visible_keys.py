"""What is typed, pasted or completed is drawn as visible characters, and sent as it is."""

import pytest

from tests.terminal.screen import ENTER, Screen

STAGE = "tests.terminal.stage"
EVIL = "\u202egnp.exe \u200b \u2066x\u2069 \x9b2J"
RAW = [character.encode() for character in "\u202e\u200b\u2066\u2069\x9b"]


@pytest.fixture
def screen():
    with Screen(STAGE) as made:
        made.wait_for("AUTO")
        made.wait_for("›")
        yield made


def assert_nothing_raw(screen):
    assert not [raw for raw in RAW if raw in screen.raw]


def test_in_the_prompt(screen):
    screen.send(f"\x1b[200~{EVIL} \x1b]0;t\x07 \tend\x1b[201~")
    screen.wait_for("› \\u202egnp.exe \\u200b \\u2066x\\u2069 \\x9b2J \\x1b]0;t\\x07     end")
    screen.send("\x1b[D\x1b[D\x1b[D\x1b[D\x7f")  # before the tab
    screen.send("<here>")
    screen.wait_for("\\x1b]0;t\\x07<here>    end")
    assert_nothing_raw(screen)
    screen.send(ENTER)
    screen.wait_for("You said: \\u202egnp.exe")
    assert_nothing_raw(screen)


def test_the_cursor_stands_where_the_character_is(screen):
    screen.send("a\u202eb")
    screen.wait_for("› a\\u202eb")
    screen.wait_for(lambda: screen.picture.cursor.x == 2 + len("a\\u202eb"))
    screen.send("\x1b[D")
    screen.wait_for(lambda: screen.picture.cursor.x == 2 + len("a\\u202e"))
    screen.send("\x1b[D")
    screen.wait_for(lambda: screen.picture.cursor.x == 2 + len("a"))
    screen.send("\x1b[3~")
    screen.wait_for("› ab")


def test_in_the_command_that_is_edited(screen):
    screen.type("ask touch a\u202etxt.exe")
    screen.wait_for("[y/N]")
    screen.watch(0.5)
    screen.send("e")
    screen.wait_for("Edit: touch a\\u202etxt.exe")
    screen.send("\u200b")
    screen.wait_for("txt.exe\\u200b")
    assert_nothing_raw(screen)
    screen.send(ENTER)
    screen.wait_for("verdict True")
    assert_nothing_raw(screen)


def test_in_what_is_searched_for(screen):
    screen.send("\x12\u202ex")
    screen.wait_for("\\u202ex")
    assert_nothing_raw(screen)


def test_in_a_completed_name(tmp_path):
    (tmp_path / "a\u202etxt.exe").write_text("content of it")
    with Screen(STAGE, "hello", str(tmp_path)) as screen:
        screen.wait_for("You said: hello")
        screen.send("see @a")
        screen.wait_for("a\\u202etxt.exe")
        screen.send("\t")
        screen.wait_for("› see @a\\u202etxt.exe")
        assert_nothing_raw(screen)
        screen.send(ENTER + ENTER)
        screen.wait_for("content of it")
        assert_nothing_raw(screen)

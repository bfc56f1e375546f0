"""The conversation in a real terminal: keys, runs, the dialog, and what stays on the screen."""

import os
import re
import shutil
import signal
import sys
import termios
import time

import pytest

from tests.terminal.screen import (
    ALT_ENTER,
    CTRL_C,
    CTRL_D,
    ENTER,
    ESC,
    SHIFT_TAB,
    Screen,
)

STAGE = "tests.terminal.stage"
PROMPT = "›"


@pytest.fixture
def screen():
    with Screen(STAGE) as made:
        made.wait_for("AUTO")
        yield made


def test_a_turn_and_a_clean_exit(screen):
    screen.type("hello")
    screen.wait_for("You said: hello")
    screen.send(CTRL_D)
    assert screen.exit_code() == 0
    assert "Traceback" not in screen.text()


def test_keys_typed_during_the_start_count():
    with Screen(STAGE) as screen:
        screen.type("early words")
        screen.wait_for("You said: early words")
        assert screen.text().count("You said: early words") == 1


def test_the_terminal_is_given_back_as_it_was(screen):
    master = screen.child.child_fd
    before = termios.tcgetattr(master)
    screen.send(CTRL_D)
    assert screen.exit_code(keep_open=True) == 0
    after = termios.tcgetattr(master)
    assert not before[3] & termios.ECHO
    assert after[3] & termios.ECHO
    assert after[3] & termios.ICANON
    assert after[3] & termios.ISIG


def test_first_prompt_is_sent():
    with Screen(STAGE, "hello") as screen:
        screen.wait_for("You said: hello")


def test_ctrl_c_clears_then_cancels_then_asks_once_more(screen):
    screen.send("junk" + CTRL_C)
    screen.wait_for(lambda: "junk" not in "\n".join(screen.lines()))
    screen.type("chunks")
    screen.wait_for("chunk3")
    screen.send(CTRL_C)
    screen.wait_for("Cancelled.")
    screen.send(CTRL_C)
    screen.wait_for("once more")
    screen.type("hello")
    screen.wait_for("You said: hello")
    screen.wait_for(lambda: "once more" not in screen.text())
    screen.send(CTRL_C)
    screen.wait_for("once more")
    screen.send(CTRL_C)
    assert screen.exit_code() == 0


def test_esc_cancels_the_run_and_keeps_what_was_typed(screen):
    screen.type("chunks")
    screen.wait_for("chunk3")
    screen.send("draft")
    screen.send(ESC)
    screen.wait_for("Cancelled.")
    screen.wait_for(f"{PROMPT} draft")
    assert "chunk3" in screen.text()


def test_enter_right_after_esc_sends_nothing(screen):
    screen.type("chunks")
    screen.wait_for("chunk3")
    screen.send("draft" + ESC)
    time.sleep(0.12)  # the second half of Alt+Enter comes late
    screen.send(ENTER)
    screen.watch(0.6)
    assert "queued" not in screen.text()
    screen.send("more")
    screen.wait_for("more")


@pytest.mark.parametrize(
    "pieces", [("\x1b", "[A"), ("\x1b[", "A"), ("\x1b", "[200~pasted\x1b[201~"), ("\x1bO", "A")]
)
def test_a_sequence_in_pieces_does_not_cancel(screen, pieces):
    screen.type("chunks")
    screen.wait_for("chunk3")
    for piece in pieces:
        screen.send(piece)
        time.sleep(0.08)
    screen.watch(0.6)
    assert "Cancelled" not in screen.text()


def test_new_lines_come_by_alt_enter_ctrl_j_and_backslash(screen):
    screen.send("one" + ALT_ENTER + "two\n" + "three\\" + ENTER + "four")
    screen.wait_for("four")
    screen.send(ENTER)
    screen.wait_for("You said: one")
    assert re.search(r"You said: one\s+two\s+three\s+four", screen.text())


def test_a_long_paste_is_short_on_the_screen_and_sent_whole(screen):
    pasted = "\r".join(f"row {n}" for n in range(120))
    screen.send(f"\x1b[200~{pasted}\x1b[201~")
    screen.wait_for("[pasted 120 lines]")
    screen.send(ENTER)
    screen.wait_for("row 119")
    assert "› [pasted 120 lines]" in screen.text()


def test_shift_tab_cycles_the_modes_also_during_a_run(screen):
    screen.type("chunks")
    screen.wait_for("chunk3")
    screen.send(SHIFT_TAB)
    screen.wait_for("plan: ")
    screen.send(SHIFT_TAB)
    screen.wait_for("ask: ")
    screen.wait_for("ASK")
    assert "Cancelled" not in screen.text()


def test_typing_during_a_run_reaches_the_next_step(screen):
    screen.type("steer")
    screen.wait_for("Waiting")
    screen.type("also this")
    screen.wait_for("⏎ also this")
    screen.wait_for("You added: also this")
    screen.wait_for(f"{PROMPT} also this")
    assert "⏎" not in "\n".join(screen.lines())


def test_what_nobody_took_is_the_next_turn(screen):
    screen.type("count")
    screen.wait_for("line number 003")
    screen.type("and then")
    screen.wait_for("You said: and then")


def test_commands_wait_for_the_end_of_a_run_and_come_in_order(screen):
    screen.type("count")
    screen.wait_for("line number 003")
    screen.type("!ls -l")
    screen.wait_for("⏎ !ls -l")
    screen.wait_for("runs when the task is done")
    screen.type("/model")
    screen.wait_for("⏎ /model")
    screen.type("last words")
    screen.wait_for("⏎ last words")
    screen.type("/status")
    screen.wait_for("fake/fake-model")
    assert "line number 059" not in screen.text()
    order = "number 059.*Run ls -l.*› /model.*Window.*› last words.*You said: .*last words"
    screen.wait_for(lambda: re.search(order, screen.text(), re.S), 20)


def test_arrow_up_takes_a_queued_message_back(screen):
    screen.type("count")
    screen.wait_for("line number 003")
    screen.type("wrong words")
    screen.wait_for("⏎ wrong words")
    screen.send("\x1b[A")
    screen.wait_for(f"{PROMPT} wrong words")
    screen.wait_for(lambda: "⏎" not in "\n".join(screen.lines()))


def test_a_stop_gives_messages_back_and_tells_of_commands(screen):
    screen.type("count")
    screen.wait_for("line number 003")
    for text in ("my words", "/clear", "!ls"):
        screen.type(text)
        screen.wait_for(f"⏎ {text}")
    screen.send(ESC)
    screen.wait_for("Not sent: /clear")
    screen.wait_for("Not sent: !ls")
    screen.wait_for(f"{PROMPT} my words\nAUTO")


def test_a_command_alone_comes_back_to_be_sent(screen):
    screen.type("count")
    screen.wait_for("line number 003")
    screen.type("/clear")
    screen.wait_for("⏎ /clear")
    screen.send(ESC)
    screen.wait_for(f"{PROMPT} /clear\nAUTO")


@pytest.mark.parametrize("columns", [20, 40])
def test_the_menu_describes_commands_where_there_is_room(columns):
    with Screen(STAGE, columns=columns) as screen:
        screen.wait_for("AUTO")
        screen.send("/")
        screen.wait_for("/clear")
        screen.watch(0.3)
        row = next(line for line in screen.lines() if "/clear" in line)
        assert row.split() == (
            ["/clear"] if columns == 20 else ["/clear", *["start", "a", "new", "conversation"]]
        )


def test_commands_answer_and_are_not_sent(screen):
    screen.type("/modle")
    screen.wait_for("Did you mean /mode")
    screen.type("/help")
    screen.wait_for("/model [list|info")
    screen.type("/status")
    screen.wait_for("fake/fake-model")
    screen.type("/lang zh")
    screen.wait_for("语言：zh")
    assert "You said" not in screen.text()
    screen.type("exit")
    assert screen.exit_code() == 0


def test_a_command_of_ones_own_runs_and_the_model_sees_it(screen):
    screen.type("!ls -l")
    screen.wait_for("✓ Run ls -l")
    screen.type("hello")
    screen.wait_for("You said: I ran this in the terminal: ls -l")
    screen.wait_for(lambda: "esc to cancel" not in screen.text())
    screen.type("!long")
    screen.wait_for("output of long")
    screen.type("and what now?")
    screen.wait_for("⏎ and what now?")
    screen.send(ESC)
    screen.wait_for("Cancelled.")
    screen.wait_for("and what now?\nAUTO")


def test_broken_bytes_become_replacement_characters(screen):
    screen.send(b"caf\xe9\r")
    screen.wait_for("You said: caf\ufffd")
    screen.type("second")
    screen.wait_for("You said: second")


def test_a_signal_that_came_ignored_does_not_change_the_keys(monkeypatch):
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        screen = Screen(STAGE)
    finally:
        signal.signal(signal.SIGINT, previous)
    with screen:
        screen.wait_for("AUTO")
        screen.type("chunks")
        screen.wait_for("chunk3")
        screen.send(CTRL_C)
        screen.wait_for("Cancelled.")


def test_what_fails_without_being_waited_for_does_not_stop_the_typing(screen):
    screen.type("break 3")
    screen.wait_for("Broken.")
    screen.type("hello")
    screen.wait_for("You said: hello")
    assert "ENTER" not in screen.text()
    assert "key that failed" not in screen.text()


def test_what_fails_without_end_ends_the_program(screen):
    screen.type("break 50")
    screen.wait_for(lambda: not screen.child.isalive())


def test_hostile_text_steers_nothing(screen):
    screen.type("hostile")
    screen.wait_for("<b>y</b>")
    screen.watch(0.5)
    for evil in (b"\x1b]0;pwned", b"\x1b[31mred", "\x9b2J".encode(), "\u202e".encode()):
        assert evil not in screen.raw
    text = screen.text()
    assert "\\x1b]0;pwned" in text
    assert "[red]x[/red]" in text


class TestDialog:
    def test_keys_typed_before_do_not_answer(self, screen):
        screen.type("ask")
        screen.wait_for("Waiting")
        screen.send("yes y\r y\r")
        screen.send("y")
        screen.wait_for("Allow? [y/N]")
        screen.send("y")
        screen.watch(0.6)
        assert "verdict" not in screen.text()
        screen.send(ENTER)
        screen.wait_for("verdict False")

    def ask(self, screen, text="ask"):
        screen.type(text)
        screen.wait_for("Allow? [y/N]")
        screen.watch(0.5)

    def test_yes(self, screen):
        self.ask(screen)
        assert "$ touch owned" in screen.text()
        screen.send("y")
        screen.wait_for("verdict True")

    def test_what_is_pasted_is_no_answer(self, screen):
        self.ask(screen)
        screen.send("\x1b[200~y\x1b[201~")
        screen.watch(0.6)
        assert "verdict" not in screen.text()
        screen.send("n")
        screen.wait_for("Why not?")

    def test_no_with_a_reason(self, screen):
        self.ask(screen)
        screen.send("n")
        screen.wait_for("Why not?")
        screen.type("too dangerous")
        screen.wait_for("verdict False The user refused this: too dangerous")

    def test_edit(self, screen):
        self.ask(screen)
        screen.send("e")
        screen.wait_for("Edit: touch owned")
        screen.type(" -v")
        screen.wait_for("verdict True")
        screen.wait_for("'touch owned -v'")

    def test_a_long_paste_into_the_edit_is_taken_as_it_is(self, screen):
        self.ask(screen)
        screen.send("e")
        screen.wait_for("Edit: touch owned")
        pasted = "\r".join(f"echo {n}" for n in range(12))
        screen.send(f"\x1b[200~;{pasted}\x1b[201~")
        screen.wait_for("echo 11")
        screen.send(ENTER)
        screen.wait_for("verdict True")
        assert "[pasted" not in screen.text()

    @pytest.mark.parametrize("key", [ESC, ENTER])
    def test_esc_and_enter_refuse(self, screen, key):
        self.ask(screen)
        screen.send(key)
        screen.wait_for("verdict False")

    def test_ctrl_c_refuses_and_stops_the_run(self, screen):
        self.ask(screen)
        screen.send(CTRL_C)
        screen.wait_for("Cancelled.")
        screen.type("hello")
        screen.wait_for("You said: hello")

    def test_the_draft_survives(self, screen):
        screen.type("ask")
        screen.wait_for("Waiting")
        screen.send("my draft")
        screen.wait_for("Allow? [y/N]")
        screen.watch(0.5)
        screen.send(ENTER)
        screen.wait_for("verdict False")
        screen.wait_for(f"{PROMPT} my draft")

    def test_a_long_command_is_shown_whole(self, screen):
        self.ask(screen, "ask " + " ".join(f"word{n}" for n in range(400)) + "; echo \u202eend")
        text = screen.text().replace("\n", "").replace(" ", "")
        assert all(f"word{n}" in text for n in range(400))
        assert "\\u202eend" in text

    def test_a_write_shows_its_diff(self, screen):
        self.ask(screen, "write")
        assert "Hello PaiCLI" in screen.text()
        screen.send("y")
        screen.wait_for("verdict True")


@pytest.mark.parametrize("columns", [200, 80, 40])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_line_is_there_once(columns, language):
    with Screen(STAGE, columns=columns, PAICLI_LANG=language) as screen:
        screen.wait_for("AUTO")
        screen.type("count")
        screen.wait_for("line number 059 of the count", 20)
        screen.wait_for(lambda: PROMPT in screen.lines()[-2] or PROMPT in "".join(screen.lines()))
        screen.watch(0.5)
        found = re.findall(r"line number (\d{3}) of the count", screen.text())
        assert found == [f"{n:03}" for n in range(60)]


def test_every_line_is_there_once_after_resizes():
    with Screen(STAGE) as screen:
        screen.wait_for("AUTO")
        screen.type("count")
        for number, (columns, rows) in ((10, (100, 30)), (20, (60, 20)), (35, (80, 24))):
            screen.wait_for(f"line number {number:03}")
            screen.resize(columns, rows)
        screen.wait_for("line number 059", 20)
        screen.watch(0.5)
        found = re.findall(r"line number (\d{3}) of the count", screen.text())
        assert found == [f"{n:03}" for n in range(60)]


class TestLinesAlone:
    @pytest.fixture
    def lines(self):
        with Screen(STAGE, TERM="dumb") as made:
            made.wait_for("\n>")
            yield made

    def test_turns_commands_and_the_end(self, lines):
        lines.type("hello")
        lines.wait_for("You said: hello")
        lines.type("/modle")
        lines.wait_for("Did you mean")
        lines.type("one\\")
        lines.type("two")
        lines.wait_for(lambda: re.search(r"You said: one\s+two", lines.text()))
        assert b"\x1b" not in lines.raw
        lines.send(CTRL_D)
        assert lines.exit_code() == 0

    def test_what_waits_is_told(self, lines):
        lines.type("count")
        lines.type("my words")
        lines.wait_for("Queued, goes out at the next step: my words")
        lines.type("/model")
        lines.wait_for("Queued, runs when the task is done: /model")
        lines.wait_for("You said: my words", 20)

    def test_ctrl_c(self, lines):
        lines.type("chunks")
        lines.watch(0.5)
        lines.send(CTRL_C)
        lines.wait_for("Cancelled.")
        lines.type("hello")
        lines.wait_for("You said: hello")
        lines.send(CTRL_C)
        lines.wait_for("once more")
        lines.send(CTRL_C)
        assert lines.exit_code() == 0

    def test_a_question(self, lines):
        lines.type("ask")
        lines.type("y")
        lines.wait_for("[y/N]")
        lines.type("y")
        lines.watch(0.6)
        assert "verdict" not in lines.text()
        lines.type("y")
        lines.wait_for("verdict True")

    @pytest.mark.parametrize(
        ("line", "verdict"),
        [("", "'touch owned'"), ("touch other", "'touch other'"), (ESC, "verdict False")],
    )
    def test_a_command_is_edited(self, lines, line, verdict):
        lines.type("ask")
        lines.wait_for("[y/N]")
        lines.watch(0.5)
        lines.type("e")
        lines.wait_for("Esc refuses")
        lines.type(line)
        lines.wait_for(verdict)

    def test_esc_is_a_no(self, lines):
        lines.type("ask")
        lines.wait_for("[y/N]")
        lines.type(ESC)
        lines.wait_for("verdict False")


def test_vi_keys_leave_insert_mode_first():
    with Screen(STAGE, STAGE_EDITING="vi") as screen:
        screen.wait_for("AUTO")
        screen.type("chunks")
        screen.wait_for("chunk3")
        screen.send("abc" + ESC)
        screen.watch(0.5)
        screen.send("0x")
        screen.wait_for(f"{PROMPT} bc")
        assert "Cancelled" not in screen.text()
        screen.send(ESC)
        screen.wait_for("Cancelled.")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a shell with job control")
def test_ctrl_z_and_back():
    with Screen(argv=("bash", ["--norc", "-i"]), PS1="shell: ") as screen:
        screen.type(f"{sys.executable} -m {STAGE}")
        screen.wait_for("AUTO")
        screen.send("draft\x1a")
        screen.wait_for("Stopped")
        assert screen.raw.index(b"\x1b[23;0t") < screen.raw.index(b"Stopped")
        assert screen.raw.count(b"\x1b[22;0t") == 1
        screen.type("fg")
        screen.wait_for(lambda: any(line == f"{PROMPT} draft" for line in screen.lines()))
        screen.send(" more")
        screen.wait_for(f"{PROMPT} draft more")
        assert screen.raw.count(b"\x1b[22;0t") == 2


def test_a_very_small_window():
    with Screen(STAGE, columns=20, rows=6) as screen:
        screen.wait_for("AUTO")
        screen.type("hello")
        screen.wait_for("You said: hello")
        screen.type("ask")
        screen.wait_for("[y/N]")
        screen.watch(0.5)
        screen.send("y")
        screen.wait_for("verdict True")


def test_the_title_is_set_and_given_back(screen):
    assert b"\x1b[22;0t" in screen.raw
    screen.send(CTRL_D)
    assert screen.exit_code() == 0
    assert b"\x1b[23;0t" in screen.raw


def test_no_colours_where_none_are_wanted():
    with Screen(STAGE, NO_COLOR="1") as screen:
        screen.wait_for("AUTO")
        screen.type("tour")
        screen.wait_for("完成了")
        screen.wait_for(lambda: "cancel" not in "\n".join(screen.lines()))
        assert set(re.findall(rb"\x1b\[[\d;]*m", screen.raw)) <= {b"\x1b[0m", b"\x1b[m"}


def test_the_theme_changes_at_once(tmp_path):
    options = ("paicli", "--demo", "-C", str(tmp_path))
    with Screen(*options, PAICLI_HOME=str(tmp_path / "h")) as screen:
        screen.wait_for("AUTO")
        screen.type("/theme none")
        screen.wait_for("Theme: none")
        screen.watch(0.3)
        start = len(screen.raw)
        screen.type("/theme pink")
        screen.wait_for("«pink» is no theme")
        assert not re.search(rb"\x1b\[[\d;]*[39]\d", screen.raw[start:])
        screen.type("/theme light")
        screen.wait_for("Theme: light")
        start = len(screen.raw)
        screen.type("/theme pink")
        screen.wait_for(lambda: b"\x1b[38;5;124m" in screen.raw[start:])


def test_ctrl_o_unfolds(screen):
    screen.type("tour")
    screen.wait_for("more lines (Ctrl+O)")
    screen.wait_for("完成了")
    screen.watch(0.5)
    screen.send("\x0f")
    screen.wait_for(lambda: screen.text().count("assertion line 0") == 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_signal_ends_in_good_order(number, term):
    with Screen(STAGE, TERM=term) as screen:
        screen.wait_for("Esc stop")
        screen.watch(0.3)
        screen.type("count")
        screen.wait_for("line number 003")
        screen.child.kill(number)
        assert screen.exit_code() == 128 + number
        assert "Traceback" not in screen.text()
        if term != "dumb":
            for given_back in (b"\x1b[23;0t", b"\x1b[?2004l"):
                assert screen.raw.rindex(given_back) > screen.raw.rindex(b"line number 003")


def test_a_terminal_that_goes_away_ends_the_program():
    screen = Screen(STAGE)
    screen.wait_for("AUTO")
    screen.type("count")
    screen.wait_for("line number 003")
    pid = screen.child.pid
    os.close(screen.child.child_fd)
    deadline = time.monotonic() + 10
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_editor_of_the_person(tmp_path):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "from the editor" > "$1"\n')
    editor.chmod(0o700)
    with Screen(STAGE, EDITOR=str(editor), VISUAL="") as screen:
        screen.wait_for("AUTO")
        screen.send("draft\x18\x05")
        screen.wait_for(f"{PROMPT} from the editor")
        screen.send(" and more")
        screen.wait_for(f"{PROMPT} from the editor and more")


def test_completion_of_commands_and_files(tmp_path):
    (tmp_path / "some_file.py").touch()
    with Screen(STAGE, "hello", str(tmp_path)) as screen:
        screen.wait_for("You said: hello")
        screen.send("/")
        screen.wait_for("list commands and keys")
        screen.send("stat\t")
        screen.wait_for(f"{PROMPT} /status")
        screen.send(ENTER)
        screen.wait_for("fake/fake-model")
        screen.send("/he")
        screen.wait_for("list commands and keys")
        screen.send(ESC)
        screen.wait_for(lambda: "list commands and keys" not in screen.text())
        screen.send(CTRL_C)
        screen.send("see @some")
        screen.wait_for("some_file.py")
        screen.send("\t")
        screen.wait_for(f"{PROMPT} see @some_file.py")
        screen.send(ENTER + ENTER)
        screen.wait_for('<file path="some_file.py">')


def test_the_history_is_there_again(tmp_path):
    with Screen(STAGE) as screen:
        screen.wait_for("AUTO")
        screen.type("first words")
        screen.wait_for("You said: first words")
        screen.type("second")
        screen.wait_for("You said: second")
        screen.send("\x1b[A\x1b[A")
        screen.wait_for(f"\n{PROMPT} first words\nAUTO")
        screen.send(CTRL_C + "\x12")
        screen.wait_for("Search backward:")
        screen.send("fir")
        screen.wait_for("Search backward: fir")
        screen.wait_for(f"\n{PROMPT} first words\nSearch backward")
        screen.send(ENTER)
        screen.wait_for(f"\n{PROMPT} first words\nAUTO")


def test_what_begins_with_a_blank_is_not_kept(tmp_path):
    options = ("paicli", "--demo", "-C", str(tmp_path))
    with Screen(*options, PAICLI_HOME=str(tmp_path / "h")) as screen:
        screen.wait_for("AUTO")
        screen.type("/status")
        screen.wait_for("Tokens used")
        screen.type(" /theme")
        screen.wait_for("changes it")
        screen.send(CTRL_D)
        assert screen.exit_code() == 0
    with Screen(*options, PAICLI_HOME=str(tmp_path / "h")) as screen:
        screen.wait_for("AUTO")
        screen.send("\x1b[A")
        screen.wait_for(f"\n{PROMPT} /status\nAUTO")


def test_a_question_calls_when_another_window_is_in_front():
    with Screen(STAGE, STAGE_NOTIFY="desktop") as screen:
        screen.wait_for("AUTO")
        screen.send("\x1b[O")
        screen.type("ask")
        screen.wait_for("[y/N]")
        screen.wait_for(lambda: b"\x1b]9;" in screen.raw)
        screen.send("\x1b[I")
        screen.watch(0.5)
        screen.send(ENTER)
        screen.wait_for("verdict False")
        assert screen.raw.count(b"\x1b]9;") == 1
        assert f"{PROMPT} ask" in screen.text()
        screen.send(CTRL_D)
        screen.exit_code()
        assert b"\x1b[?1004l" in screen.raw

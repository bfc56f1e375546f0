"""/undo and /redo at the terminal: the list first, then a key decides."""

from tests.model_server import ask, call, say
from tests.terminal.screen import ENTER, ESC
from tests.terminal.test_program import start  # noqa: F401  a fixture


def test_undo_shows_what_it_does_and_asks(start):  # noqa: F811  the fixture
    screen = start(ask(call("write_file", path="a.txt", content="new\n")), say("written"))
    (screen.root / "a.txt").write_text("old\n")
    screen.type("write it")
    screen.wait_for("written", 20)
    screen.wait_for("/undo takes back", 10)
    screen.type("/diff")
    screen.wait_for("a.txt · +1 −1", 10)
    screen.watch(0.3)
    screen.type("/undo")
    screen.wait_for("Do it?", 10)
    screen.wait_for("~ changed", 10)
    assert (screen.root / "a.txt").read_text() == "new\n"
    screen.watch(0.6)
    screen.send(ENTER)
    screen.wait_for("Taken back: 1", 10)
    assert (screen.root / "a.txt").read_text() == "old\n"
    screen.type("/redo")
    screen.wait_for("Do it?", 10)
    screen.watch(0.6)
    screen.send(ESC)
    screen.wait_for("Nothing was done", 10)
    assert (screen.root / "a.txt").read_text() == "old\n"
    screen.type("/restore")
    screen.wait_for("undone: write it", 10)
    screen.type("/diff")
    screen.wait_for("There are no changes by PaiCLI", 10)
    screen.type("/snapshot")
    screen.wait_for("node_modules/", 10)


def test_going_back_offers_to_take_the_files_along(start):  # noqa: F811  the fixture
    screen = start(ask(call("write_file", path="a.txt", content="new\n")), say("written"))
    (screen.root / "a.txt").write_text("old\n")
    screen.type("write it")
    screen.wait_for("/undo takes back", 20)
    screen.watch(0.3)
    screen.type("/rewind")
    screen.wait_for("changed files in 1 turn.", 10)
    screen.wait_for("Do it?", 10)
    screen.watch(0.6)
    screen.send(ENTER)
    screen.wait_for(lambda: (screen.root / "a.txt").read_text() == "old\n", 10)

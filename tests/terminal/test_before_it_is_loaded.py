"""The prompt stands before the agent behind it is loaded: no key is lost, and what fails is told."""

import pytest

from tests.terminal.screen import CTRL_D, Screen

STAGE = "tests.terminal.stage"


@pytest.fixture
def loaded(tmp_path):
    """The file that ends the loading; there at last, lest the program wait for it."""
    file = tmp_path / "loaded"
    yield file
    file.touch()


@pytest.fixture
def screen(loaded):
    with Screen(STAGE, STAGE_LOADS_UNTIL=str(loaded)) as made:
        made.wait_for("AUTO")
        yield made


def test_keys_are_shown_while_it_loads(screen, loaded):
    screen.send("hel")
    screen.wait_for("› hel")
    screen.send("lo")
    screen.wait_for("› hello")
    loaded.touch()
    screen.send("\r")
    screen.wait_for("You said: hello")


def test_a_message_does_not_wait_for_what_loads_beside_it(screen, loaded):
    screen.type("hello")
    screen.wait_for("You said: hello")
    assert not loaded.exists()


def test_commands_are_offered_when_they_are_known(screen, loaded):
    screen.send("/mod")
    screen.wait_for("› /mod")
    assert "/model" not in screen.text()
    loaded.touch()
    screen.wait_for("/model  show or change")


def test_leaving_needs_nothing_loaded(screen, loaded):
    screen.send(CTRL_D)
    loaded.touch()
    assert screen.exit_code() == 0


def test_what_cannot_be_opened_ends_the_program_and_is_told(loaded):
    with Screen(STAGE, STAGE_LOADS_UNTIL=str(loaded), STAGE_ROOM_FAILS="no such room") as screen:
        screen.wait_for("AUTO")
        loaded.touch()
        screen.wait_for("ConfigError: no such room")
        assert screen.exit_code() == 1


@pytest.mark.parametrize("wait", [0, 0.05, 0.1, 0.15, 0.2, 0.3])
def test_ctrl_d_counts_from_the_very_first_moment(wait):
    with Screen(STAGE) as screen:
        screen.watch(wait)
        screen.send(CTRL_D)
        assert screen.exit_code() == 0


def test_a_message_and_a_goodbye_in_the_first_moment(loaded):
    with Screen(STAGE) as screen:
        screen.send("hello\r")
        screen.send(CTRL_D)
        screen.wait_for("› hello")
        assert screen.exit_code() == 0

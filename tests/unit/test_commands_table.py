"""The table of slash commands: what is a command, what is a message, what is nearly a command."""

import pytest

from paicli import i18n
from paicli.ui.commands import BUILT_IN, Call, CommandTable, Unknown, unknown_text

TABLE = CommandTable(BUILT_IN)


@pytest.mark.parametrize(
    ("text", "name", "argument"),
    [
        ("/help", "help", ""),
        ("  /MODEL  deepseek/x  ", "model", "deepseek/x"),
        ("exit", "exit", ""),
        ("Quit", "exit", ""),
        ("/quit", "exit", ""),
    ],
)
def test_commands(text, name, argument):
    call = TABLE.parse(text)
    assert isinstance(call, Call)
    assert (call.command.name, call.argument) == (name, argument)


@pytest.mark.parametrize("text", ["hello", "/etc/hosts is odd", "exit the loop", "a /help", ""])
def test_messages(text):
    assert TABLE.parse(text) is None


def test_a_misspelled_command_names_the_nearest():
    unknown = TABLE.parse("/modle x")
    assert isinstance(unknown, Unknown)
    assert "/model" in unknown.nearest
    assert "/model" in unknown_text(unknown)
    assert "\x1b" not in unknown_text(TABLE.parse("/\x1b[2J"))


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_every_command_has_its_help(language):
    texts = i18n.load(language)
    assert [c.name for c in TABLE.commands if not texts.get(c.help)] == []


def test_a_command_is_not_carried_out_while_its_words_are_dropped():
    asked = TABLE.parse("/clear the table in index.html")
    assert asked == Unknown("/clear", takes_nothing=True)
    assert unknown_text(asked).startswith("/clear takes nothing behind it.")
    assert TABLE.parse("/clear ") == Call(TABLE.find("clear"), "")

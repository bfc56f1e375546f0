"""The slash commands: one table that the prompt, completion, /help and the README share."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from paicli import __version__, i18n
from paicli.display import Code, Note, Table
from paicli.errors import PaiCliError
from paicli.git import git_branch
from paicli.i18n import t
from paicli.policy.modes import Mode
from paicli.text import one_line
from paicli.ui import init
from paicli.ui.actions import Actions, RunsTurns, Screen
from paicli.ui.api_key import ask_for_key
from paicli.ui.statusbar import amount
from paicli.values import value

_WORD = re.compile(r"/([^\s/]*)(?:\s+(.*))?\Z", re.S)
_BARE = {"exit": "/exit", "quit": "/exit"}


@value
class Setting:
    """What a command works on: the screen, the agent, the program around them, the whole table."""

    screen: Screen
    agent: RunsTurns
    actions: Actions
    table: CommandTable


Run = Callable[[Setting, str], Awaitable[None]]


@value
class Command:
    """One command.

    `help` is the key of its description, `choices` completes its argument. `during_task`: it may be
    used while a task runs. `asks_model`: it does nothing without one. `not_headless`: the key of the
    line that says why it makes no sense with `-p`.
    """

    name: str
    arguments: str
    help: str
    run: Run
    during_task: bool = False
    aliases: tuple[str, ...] = ()
    choices: Callable[[Actions], Sequence[str]] | None = None
    asks_model: bool = False
    not_headless: str = ""


@value
class Call:
    """A command that was typed, with what follows its name."""

    command: Command
    argument: str


@value
class Unknown:
    """Something typed like a command that is none, and the commands that are spelled most like it.

    `takes_nothing`: it is one, but not with anything behind it.
    """

    word: str
    nearest: tuple[str, ...] = ()
    takes_nothing: bool = False


def is_command(text: str) -> bool:
    """Tell whether `text` is written like a command, whether or not there is such a one."""
    return _WORD.match(text.strip()) is not None


class CommandTable:
    """All commands by name."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self.commands = tuple(sorted(commands, key=lambda command: command.name))
        self._by_name = {
            name: command for command in self.commands for name in (command.name, *command.aliases)
        }

    def parse(self, text: str) -> Call | Unknown | None:
        """Tell which command `text` is; None for a message to the model.

        A path such as /etc/hosts is a message; a lone word with a slash in front never is.
        """
        text = text.strip()
        match = _WORD.match(_BARE.get(text.lower(), text))
        if match is None:
            return None
        word = match[1].lower()
        command = self._by_name.get(word)
        argument = (match[2] or "").strip()
        if command is not None and argument and not command.arguments:
            return Unknown(f"/{command.name}", takes_nothing=True)
        if command is not None:
            return Call(command, argument)
        return Unknown(f"/{match[1]}", self._nearest(word))

    def find(self, name: str) -> Command | None:
        """Return the command of this name, None when there is none."""
        return self._by_name.get(name.lower())

    def _nearest(self, word: str) -> tuple[str, ...]:
        from difflib import get_close_matches

        starting = [name for name in self._by_name if word and name.startswith(word)]
        close = get_close_matches(word, list(self._by_name), n=3, cutoff=0.5)
        return tuple(f"/{name}" for name in dict.fromkeys([*starting, *close]))[:3]


def unknown_text(unknown: Unknown) -> str:
    """Return the line that answers a command that does not exist."""
    word = one_line(unknown.word)
    if unknown.takes_nothing:
        return t("command.takes_nothing", word=word)
    if unknown.nearest:
        return t("command.unknown_near", word=word, names=", ".join(unknown.nearest))
    return t("command.unknown", word=word)


async def _help(at: Setting, _argument: str) -> None:
    rows = tuple(
        (f"/{command.name} {command.arguments}".rstrip(), t(command.help))
        for command in at.table.commands
    )
    keys = tuple(
        (t(f"command.key_{name}"), t(f"command.key_{name}_does"))
        for name in ("send", "newline", "mode", "cancel", "unfold", "file", "own", "leave")
    )
    at.screen.say(
        Table(("", ""), rows),
        Table(("", ""), keys),
    )


async def _model(at: Setting, argument: str) -> None:
    at.screen.say(*await at.actions.model(argument))


async def _key(at: Setting, _argument: str) -> None:
    provider = await at.screen.borrow(partial(ask_for_key, at.actions.home))
    if provider:
        await _model(at, provider)


async def _mode(at: Setting, argument: str) -> None:
    if argument:
        try:
            at.agent.approval.mode = Mode(argument.lower())
        except ValueError:
            at.screen.say(Note(t("command.mode_unknown", word=one_line(argument)), "error"))
            return
    mode = at.agent.approval.mode
    at.screen.say(Note(t(f"terminal.mode_{mode}_means")))


async def _clear(at: Setting, _argument: str) -> None:
    at.actions.new_conversation()
    at.screen.forget_conversation()
    at.screen.say(Note(t("command.cleared")))


async def _init(at: Setting, argument: str) -> None:
    if argument not in ("", "--force"):
        at.screen.say(Note(t("command.init_usage"), "error"))
        return
    try:
        text = init.write_notes(at.actions.root, force=bool(argument))
    except FileExistsError:
        at.screen.say(Note(t("command.init_exists", name=init.NOTES), "warning"))
    except OSError as error:
        at.screen.say(
            Note(t("command.init_failed", name=init.NOTES, reason=error.strerror), "error")
        )
    else:
        at.screen.say(Note(t("command.init_done", name=init.NOTES)), Code(text, "markdown"))


async def _exit(at: Setting, _argument: str) -> None:
    at.screen.leave()


async def _status(at: Setting, _argument: str) -> None:
    profile, root = at.agent.client.profile, at.actions.root
    context, total = at.screen.usage()
    rows = (
        (t("command.status_version"), __version__),
        (t("command.status_model"), f"{profile.provider}/{profile.model}"),
        (t("command.status_mode"), t(f"terminal.mode_{at.agent.approval.mode}_means")),
        (t("command.status_folder"), str(root)),
        (t("command.status_branch"), git_branch(root)),
        (t("command.status_context"), f"{amount(context)} / {amount(profile.context_window)}"),
        (
            t("command.status_used"),
            t(
                "command.status_tokens",
                input=amount(total.input),
                output=amount(total.output),
                cached=amount(total.cached),
            ),
        ),
        (t("command.status_cost"), at.actions.bill.text()),
    )
    at.screen.say(Table(("", ""), tuple(row for row in rows if row[1])))


async def _language(at: Setting, argument: str) -> None:
    word = argument.lower()
    if word in i18n.LANGUAGES:
        i18n.use(word)
        try:
            at.actions.keep_setting("PAICLI_LANG", word)
        except (OSError, PaiCliError) as error:
            at.screen.say(Note(t("command.not_kept", reason=error), "warning"))
    elif word:
        names = ", ".join(i18n.LANGUAGES)
        at.screen.say(
            Note(t("command.language_unknown", word=one_line(word), names=names), "error")
        )
        return
    at.screen.say(Note(t("command.language_is", name=i18n.language())))


BUILT_IN = (
    Command("help", "", "command.help", _help, during_task=True, aliases=("?",)),
    Command(
        "model",
        "[list|info|refresh|add|MODEL]",
        "command.model",
        _model,
        choices=lambda actions: ("list", "info", "refresh", "add", *actions.model_names()),
    ),
    Command(
        "mode",
        "[auto|plan|ask]",
        "command.mode",
        _mode,
        during_task=True,
        choices=lambda _: tuple(mode.value for mode in Mode),
        not_headless="command.mode_headless",
    ),
    Command("key", "", "command.key", _key, not_headless="command.key_headless"),
    Command("clear", "", "command.clear", _clear, not_headless="command.clear_headless"),
    Command(
        "exit",
        "",
        "command.exit",
        _exit,
        during_task=True,
        aliases=("quit",),
        not_headless="command.exit_headless",
    ),
    Command("status", "", "command.status", _status, during_task=True),
    Command("init", "[--force]", "command.init", _init, choices=lambda _: ("--force",)),
    Command(
        "lang",
        "[en|zh]",
        "command.lang",
        _language,
        during_task=True,
        choices=lambda _: i18n.LANGUAGES,
    ),
)
"""The commands that the terminal itself answers; the rooms add theirs through `run_repl`."""

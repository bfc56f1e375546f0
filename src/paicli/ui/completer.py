"""Completion: commands and their arguments behind `/`, files of the project behind `@`."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from paicli.i18n import t
from paicli.text import one_line
from paicli.tools.walk import Ignored, walk
from paicli.ui.actions import Actions
from paicli.ui.commands import CommandTable
from paicli.ui.mentions import BEFORE, mention

_AT = re.compile(BEFORE + r"@(?:<(?P<in_brackets>[^>\n]*)|(?P<bare>[^\s<]*))\Z")
_MOST_FILES = 20_000
_OFFERED = 30
_FRESH = 10.0
_WITH_HELP = 32
"""Columns from which something of a command's description is left beside its name."""


class ProjectFiles:
    """The names of the project's files and folders, looked up again when they are old."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._names: list[str] = []
        self._until = 0.0

    def matching(self, typed: str) -> list[str]:
        """Return the names that contain the letters of `typed` in this order, the closest first."""
        if time.monotonic() > self._until:
            self._names = list(islice(_names(self._root), _MOST_FILES))
            self._until = time.monotonic() + _FRESH
        letters = re.compile(".*?".join(map(re.escape, typed.lower())))
        found = []
        for name in self._names:
            base = name.rstrip("/").rpartition("/")[2].lower()
            in_base = letters.search(base)
            match = in_base or letters.search(name.lower())
            if match is not None:
                span = match.end() - match.start()
                found.append((in_base is None, span, match.start(), len(name), name))
        return [name for *_, name in sorted(found)[:_OFFERED]]


def _names(root: Path) -> Iterator[str]:
    """Yield the paths below `root` that a search would look at, folders with a slash behind."""
    try:
        directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    folders: set[str] = set()
    try:
        for path, _, _ in walk(directory, "", Ignored(root)):
            yield from _new_folders(path, folders)
            yield path
    finally:
        os.close(directory)


def _new_folders(path: str, known: set[str]) -> list[str]:
    """Return the folders above `path` that are not known yet, and know them."""
    found: list[str] = []
    folder = path.rpartition("/")[0]
    while folder and folder not in known:
        known.add(folder)
        found.insert(0, f"{folder}/")
        folder = folder.rpartition("/")[0]
    return found


class PromptCompleter(Completer):
    """Completes what stands before the cursor."""

    def __init__(self, table: CommandTable, actions: Actions) -> None:
        self._table = table
        self._actions = actions
        self._files = ProjectFiles(actions.root)

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002  the signature is prompt_toolkit's
    ) -> Iterable[Completion]:
        """Yield what could stand there."""
        before = document.text_before_cursor
        if before.startswith("/") and "\n" not in before:
            yield from self._commands(before)
        elif match := _AT.search(before):
            yield from self._paths(match["in_brackets"] or match["bare"] or "", len(match[0]) - 1)

    def _commands(self, before: str) -> Iterator[Completion]:
        word, space, argument = before[1:].partition(" ")
        if not space:
            has_room = get_app().output.get_size().columns >= _WITH_HELP
            matching = [c for c in self._table.commands if c.name.startswith(word.lower())]
            for command in matching:
                # arguments would take the room from what all the others do
                arguments = command.arguments if len(matching) == 1 else ""
                yield Completion(
                    f"/{command.name}",
                    start_position=-len(before),
                    display=f"/{command.name} {arguments}".rstrip(),
                    display_meta=t(command.help) if has_room else "",
                )
            return
        found = self._table.find(word)
        if found is not None and found.choices is not None and " " not in argument:
            for choice in found.choices(self._actions):
                if argument.lower() in choice.lower():
                    yield Completion(
                        choice, start_position=-len(argument), display=one_line(choice)
                    )

    def _paths(self, typed: str, length: int) -> Iterator[Completion]:
        for name in self._files.matching(typed):
            yield Completion(mention(name), start_position=-length, display=one_line(name))

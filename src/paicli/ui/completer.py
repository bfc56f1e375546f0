"""Completion: commands and their arguments behind `/`, files of the project behind `@`."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from paicli.i18n import t
from paicli.text import one_line
from paicli.ui.actions import Actions
from paicli.ui.commands import CommandTable
from paicli.ui.mentions import BEFORE, mention

_AT = re.compile(BEFORE + r"@(<?)([^\s>]*)\Z")
_MOST_FILES = 20_000
_OFFERED = 30
_FRESH = 10.0


class ProjectFiles:
    """The names of the project's files and folders, looked up again when they are old."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._names: list[str] = []
        self._until = 0.0

    def matching(self, typed: str) -> list[str]:
        """Return the names that contain the letters of `typed` in this order, the closest first."""
        if time.monotonic() > self._until:
            self._names = list(_walk(self._root))
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


def _walk(root: Path) -> Iterator[str]:
    """Yield the paths below `root` that its .gitignore does not hide, folders with a slash behind."""
    from pathspec import GitIgnoreSpec

    always = [".git/", "node_modules/", "__pycache__/"]
    try:
        file = root / ".gitignore"
        rules = file.read_text(errors="replace").splitlines() if file.is_file() else []
        ignored = GitIgnoreSpec.from_lines([*always, *rules])
    except (OSError, ValueError):
        ignored = GitIgnoreSpec.from_lines(always)
    count = 0
    for folder, folders, files in os.walk(root):
        place = os.path.relpath(folder, root)
        prefix = "" if place == "." else place + "/"
        folders[:] = sorted(f for f in folders if not ignored.match_file(f"{prefix}{f}/"))
        for name in [*(f"{f}/" for f in folders), *sorted(files)]:
            if count >= _MOST_FILES:
                return
            if not ignored.match_file(prefix + name):
                count += 1
                yield prefix + name


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
            yield from self._paths(match[2])

    def _commands(self, before: str) -> Iterator[Completion]:
        word, space, argument = before[1:].partition(" ")
        if not space:
            matching = [c for c in self._table.commands if c.name.startswith(word.lower())]
            for command in matching:
                # arguments would take the room from what all the others do
                arguments = command.arguments if len(matching) == 1 else ""
                yield Completion(
                    f"/{command.name}",
                    start_position=-len(before),
                    display=f"/{command.name} {arguments}".rstrip(),
                    display_meta=t(command.help),
                )
            return
        found = self._table.find(word)
        if found is not None and found.choices is not None and " " not in argument:
            for choice in found.choices(self._actions):
                if argument.lower() in choice.lower():
                    yield Completion(
                        choice, start_position=-len(argument), display=one_line(choice)
                    )

    def _paths(self, typed: str) -> Iterator[Completion]:
        for name in self._files.matching(typed):
            yield Completion(mention(name), start_position=-len(typed), display=one_line(name))

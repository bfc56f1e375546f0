"""What the person allowed from now on: rules for the beginnings of commands, kept in their own folder.

What parses commands is imported when there is one: it is slow to load, and most starts need none.

A rule matches the parsed words of a simple command. A whole command line is allowed when each part
of it is allowed by a rule or provably only reads. Nothing in a project's own files makes a rule.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.policy.private_file import read_document, write_document
from paicli.values import value

_MOST_OFFERED = 3

Rule = tuple[str, ...]


@value
class Part:
    """The verdict on one part of a command: `refused`, `harmless`, `rule` or `review`, and why."""

    text: str
    verdict: str
    why: str


class Permissions:
    """The rules of one project. `allow` are rules for this run alone, as on the command line."""

    def __init__(self, home: Path, root: Path, allow: Sequence[str] = ()) -> None:
        self._file = home / "permissions.json"
        self._root = root
        self._project = os.path.realpath(root)
        self._of_run = tuple(_rule_from(text) for text in allow)
        self._kept: tuple[Rule, ...] | None = None

    def list(self) -> tuple[str, ...]:
        """Return the project's rules, those for this run last, as a person writes them."""
        return tuple(shlex.join(rule) for rule in (*self._rules(), *self._of_run))

    def add(self, prefixes: Sequence[str]) -> None:
        """Keep rules for commands that begin with these words. A file that cannot be written is logged."""
        rules = [_rule_from(text) for text in prefixes]
        self._kept = tuple(dict.fromkeys((*self._read(), *rules)))
        self._save()

    def remove(self, prefix: str) -> bool:
        """Forget a rule of the project; False when there is none like this."""
        with suppress(ValueError):
            rule = tuple(shlex.split(prefix))
            if rule in self._read():
                self._kept = tuple(kept for kept in self._read() if kept != rule)
                self._save()
                return True
        return False

    def only_reads(self, command: str) -> bool:
        """Tell whether a command provably only reads inside the project."""
        from paicli.policy.harmless import why_not_harmless

        return why_not_harmless(command, self._root) is None

    def allows(self, command: str) -> bool:
        """Tell whether rules allow the whole command; what only reads needs none."""
        rules = (*self._rules(), *self._of_run)
        if not rules:
            return False
        from paicli.policy.rule_words import matches, parts, why_not_alone

        found = parts(command)
        return bool(found) and all(
            any(matches(rule, part.words) for rule in rules)
            or why_not_alone(part, found, self._root) is None
            for part in found
        )

    def offer(self, command: str) -> tuple[str, ...]:
        """Return the rules that would allow this command from now on; none when that cannot be said exactly."""
        from paicli.policy.rule_words import offered_prefix, parts, why_not_alone

        wanted = []
        found = parts(command)
        for part in found:
            if why_not_alone(part, found, self._root) is None:
                continue
            prefix = offered_prefix(part.words)
            if not prefix:
                return ()
            wanted.append(shlex.join(prefix))
        offered = tuple(dict.fromkeys(wanted))
        return offered if len(offered) <= _MOST_OFFERED else ()

    def explain(self, command: str) -> tuple[Part, ...]:
        """Return the verdict on each part of a command, as `/permissions test` shows it."""
        from paicli.policy.command_guard import CommandGuard
        from paicli.policy.harmless import why_not_harmless
        from paicli.policy.rule_words import matches, parts, why_not_alone

        if reason := CommandGuard(self._root).check(command):
            return (Part(command, "refused", reason),)
        rules = (*self._rules(), *self._of_run)
        found = parts(command)
        if not found:
            reason = why_not_harmless(command, self._root)
            return (Part(command, "review" if reason else "harmless", reason or ""),)
        explained = []
        for part in found:
            rule = next((rule for rule in rules if matches(rule, part.words)), None)
            reason = why_not_alone(part, found, self._root)
            if rule is not None:
                explained.append(Part(part.text, "rule", shlex.join(rule)))
            elif reason is None:
                explained.append(Part(part.text, "harmless", ""))
            else:
                explained.append(Part(part.text, "review", reason))
        return tuple(explained)

    def _rules(self) -> tuple[Rule, ...]:
        if self._kept is None:
            self._kept = self._read()
        return self._kept

    def _read(self) -> tuple[Rule, ...]:
        rules = self._projects().get(self._project)
        if not isinstance(rules, list):
            return ()
        from paicli.policy.rule_words import unfit

        return tuple(
            tuple(rule)
            for rule in rules
            if isinstance(rule, list) and rule and all(isinstance(word, str) for word in rule)
            if unfit(tuple(rule)) is None
        )

    def _projects(self) -> dict[str, Any]:
        projects = read_document(self._file).get("projects")
        return projects if isinstance(projects, dict) else {}

    def _save(self) -> None:
        projects = self._projects()
        projects[self._project] = [list(rule) for rule in self._kept or ()]
        if not projects[self._project]:
            del projects[self._project]
        write_document(self._file, {"version": 1, "projects": projects})


def _rule_from(text: str) -> Rule:
    """Return the rule that a person wrote. Raises ConfigError for one that would allow anything."""
    from paicli.policy.rule_words import unfit

    try:
        rule = tuple(shlex.split(text))
    except ValueError:
        rule = ()
    reason = unfit(rule)
    if reason is not None:
        raise ConfigError(t(f"permissions.{reason}", rule=text))
    return rule

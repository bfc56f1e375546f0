"""The slash commands about what may run, what runs, and what was decided."""

from __future__ import annotations

import json
import re
from datetime import datetime

from paicli.display import Note, Table
from paicli.i18n import t
from paicli.policy.audit import Audit
from paicli.policy.permissions import Permissions
from paicli.policy.sandbox import CommandSandbox
from paicli.policy.trust import Trust
from paicli.text import cut, one_line
from paicli.tools.processes import Processes
from paicli.ui.commands import Command, Setting
from paicli.ui.words import tool_word, word

_AUDIT_ROWS = 10
_MOST_AUDIT_ROWS = 100
_AUDIT_CELLS = 100
_SUBJECTS = ("command", "path", "pattern", "name", "arguments")
"""Arguments that say what a call is about."""
_SUBJECT = re.compile(rf'\{{"(?:{"|".join(_SUBJECTS)})": "((?:[^"\\]|\\.)*)')


class SafetyCommands:
    """What `/permissions`, `/audit`, `/ps`, `/sandbox` and `/trust` do."""

    def __init__(
        self,
        permissions: Permissions,
        audit: Audit,
        processes: Processes,
        sandbox: CommandSandbox,
        trust: Trust,
    ) -> None:
        self._permissions = permissions
        self._audit = audit
        self._processes = processes
        self._sandbox = sandbox
        self._trust = trust

    def commands(self) -> tuple[Command, ...]:
        """Return the rows for the table of commands."""
        return (
            Command(
                "permissions",
                "[remove RULE|test COMMAND]",
                "command.permissions",
                self._rules,
                during_task=True,
                choices=lambda _: ("remove", "test"),
            ),
            Command("audit", "[N]", "command.audit", self._decisions, during_task=True),
            Command("ps", "", "command.ps", self._running, during_task=True),
            Command("sandbox", "", "command.sandbox", self._state, during_task=True),
            Command(
                "trust",
                "[revoke]",
                "command.trust",
                self._folder,
                choices=lambda _: ("revoke",),
            ),
        )

    async def _rules(self, at: Setting, argument: str) -> None:
        word, _, rest = argument.partition(" ")
        rest = rest.strip()
        if word == "test" and rest:
            at.screen.say(self._explained(rest))
        elif word == "remove" and rest:
            done = self._permissions.remove(rest)
            key = "approval.rule_removed" if done else "approval.rule_unknown"
            at.screen.say(Note(t(key, rule=one_line(rest)), "info" if done else "error"))
        elif rules := self._permissions.list():
            at.screen.say(Table((t("approval.column_rule"),), tuple((one_line(r),) for r in rules)))
        else:
            at.screen.say(Note(t("approval.no_rules")))

    def _explained(self, command: str) -> Table:
        rows = tuple(
            (one_line(part.text), t(f"approval.verdict_{part.verdict}"), one_line(part.why))
            for part in self._permissions.explain(command)
        )
        columns = (
            t("approval.column_part"),
            t("approval.column_verdict"),
            t("approval.column_why"),
        )
        return Table(columns, rows)

    async def _decisions(self, at: Setting, argument: str) -> None:
        count = int(argument) if argument.isdecimal() else _AUDIT_ROWS
        entries = self._audit.last(max(1, min(count, _MOST_AUDIT_ROWS)))
        if not entries:
            at.screen.say(Note(t("approval.no_decisions")))
            return
        rows = tuple(
            (
                _local_time(entry.timestamp),
                word("approval.outcome", entry.outcome),
                word("approval.by", entry.approver),
                cut(f"{tool_word(entry.tool)} {one_line(_subject(entry.arguments))}", _AUDIT_CELLS),
                cut(one_line(entry.reason), _AUDIT_CELLS),
            )
            for entry in entries
        )
        names = ("time", "outcome", "approver", "act", "why")
        at.screen.say(Table(tuple(t(f"approval.column_{name}") for name in names), rows))

    async def _running(self, at: Setting, _argument: str) -> None:
        running = self._processes.list()
        if not running:
            at.screen.say(Note(t("approval.nothing_runs")))
            return
        rows = tuple(
            (str(process.pid), one_line(process.command_line), one_line(process.command))
            for process in running
        )
        columns = ("PID", t("approval.column_process"), t("approval.column_from"))
        at.screen.say(Table(columns, rows), Note(t("approval.ended_at_exit")))

    async def _state(self, at: Setting, _argument: str) -> None:
        state = self._sandbox.state()
        inside = t("approval.sandbox_kind", kind=state.kind) if state.kind else ""
        kind = inside or t("approval.sandbox_none")
        text = t("approval.sandbox_state", wanted=state.wanted, kind=kind)
        at.screen.say(Note(f"{text} {state.problem}".strip()))

    async def _folder(self, at: Setting, argument: str) -> None:
        if argument == "revoke":
            done = self._trust.revoke()
            at.screen.say(
                Note(t("approval.trust_revoked" if done else "approval.trust_not_written"))
            )
            return
        state = self._trust.state()
        if not state.covered:
            at.screen.say(Note(t("approval.trust_nothing")))
            return
        key = "approval.trust_yes" if state.trusted else "approval.trust_no"
        at.screen.say(Note(t(key, names=", ".join(one_line(name) for name in state.covered[:12]))))


def _local_time(timestamp: str) -> str:
    try:
        return f"{datetime.fromisoformat(timestamp).astimezone():%H:%M:%S}"
    except ValueError:
        return one_line(timestamp)


def _subject(arguments: str) -> str:
    """Return what a call was about. The log cuts long arguments: then what stands first says it."""
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        begun = _SUBJECT.match(arguments)
        return begun[1] if begun else arguments
    if not isinstance(found, dict):
        return arguments
    said = (found[name] for name in _SUBJECTS if isinstance(found.get(name), str))
    return next(said, arguments)

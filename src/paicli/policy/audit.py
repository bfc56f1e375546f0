"""What was allowed and refused, a JSON line each, for the person to look up later."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from paicli.config_files import expanded
from paicli.secrets import is_secret_name, redact
from paicli.text import clean
from paicli.values import value

_log = logging.getLogger(__name__)
_LONGEST_ARGUMENTS = 1_000
_LONGEST_REASON = 500
_MAX_READ = 4_000_000


@value
class AuditEntry:
    """One line of the log."""

    timestamp: str
    tool: str
    arguments: str
    outcome: str
    reason: str
    approver: str
    milliseconds: int


class Audit:
    """Appends to a file for each day, readable by the person alone. A failure to write never stops a run."""

    def __init__(self, home: Path, directory: str = "") -> None:
        self.folder = expanded(directory) if directory else home / "audit"
        self._complained = False

    def record(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        outcome: str,
        reason: str = "",
        approver: str = "none",
        seconds: float = 0.0,
    ) -> None:
        """Write one line: `outcome` is allow, deny or error, `approver` who decided it."""
        now = datetime.now(UTC)
        line = {
            "timestamp": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "tool": tool,
            "args": _cut(_without_secrets(arguments), _LONGEST_ARGUMENTS),
            "outcome": outcome,
            "reason": _cut(redact(clean(reason)), _LONGEST_REASON),
            "approver": approver,
            "durationMs": round(seconds * 1000),
        }
        data = (json.dumps(line) + "\n").encode()
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(self._file(now), flags, 0o600)
            try:
                os.write(descriptor, data)
            finally:
                os.close(descriptor)
        except OSError as error:
            if not self._complained:
                _log.warning("the audit log cannot be written: %s", error)
            self._complained = True

    def last(self, count: int = 10) -> list[AuditEntry]:
        """Return the newest lines of today, the oldest of them first; lines that are torn are left out."""
        try:
            descriptor = os.open(self._file(datetime.now(UTC)), os.O_RDONLY | os.O_NONBLOCK)
            with open(descriptor, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _MAX_READ))
                lines = file.read().split(b"\n")
        except OSError:
            return []
        entries: list[AuditEntry] = []
        for line in reversed(lines):
            if len(entries) >= count:
                break
            with suppress(ValueError, RecursionError):
                entries.extend(_entries(json.loads(line)))
        return entries[::-1]

    def _file(self, now: datetime) -> Path:
        return self.folder / f"audit-{now:%Y-%m-%d}.jsonl"


def _entries(row: Any) -> list[AuditEntry]:
    if not isinstance(row, dict):
        return []
    took = row.get("durationMs")
    return [
        AuditEntry(
            timestamp=str(row.get("timestamp", "")),
            tool=str(row.get("tool", "")),
            arguments=str(row.get("args", "")),
            outcome=str(row.get("outcome", "")),
            reason=str(row.get("reason", "")),
            approver=str(row.get("approver", "")),
            milliseconds=took if isinstance(took, int) else 0,
        )
    ]


def _without_secrets(arguments: Mapping[str, object]) -> str:
    shown = {
        name: "***" if is_secret_name(name) else _shown(value) for name, value in arguments.items()
    }
    return redact(json.dumps(shown, ensure_ascii=False, default=str))


def _shown(value: object) -> object:
    """Return a value without secrets; of a long text only what may fit into the line."""
    return redact(clean(value[: 2 * _LONGEST_ARGUMENTS])) if isinstance(value, str) else value


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "...(truncated)"

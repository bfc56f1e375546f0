"""The system prompt: layers put together once a session, so that its bytes never change."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from paicli.git import git_branch
from paicli.policy.modes import Mode
from paicli.text import clean, one_line

_PROMPTS = Path(__file__).with_name("prompts")


def system_prompt(root: Path, mode: Mode, additions: Sequence[str]) -> str:
    """Return base, mode and environment, then what extensions add (project notes among them)."""
    base = (_PROMPTS / "base.md").read_text(encoding="utf-8").replace("{{mode}}", mode.value)
    environment = "\n".join(f"- {name}: {value}" for name, value in _environment(root))
    layers = [base.strip(), f"## Environment\n{environment}", *additions]
    return clean("\n\n".join(layers))


def mode_changed(mode: Mode) -> str:
    """Return what the model is told when the person switches the mode within a session."""
    return f"[PaiCLI] The user switched to {mode.value} mode."


def _environment(root: Path) -> list[tuple[str, str]]:
    system = os.uname()
    facts = [
        ("system", f"{system.sysname} {system.release} ({system.machine})"),
        ("shell", "bash"),
        ("date", time.strftime("%Y-%m-%d %Z")),
        ("project root", one_line(str(root))),
    ]
    if branch := git_branch(root):
        facts.append(("git branch", one_line(branch)))
    return facts

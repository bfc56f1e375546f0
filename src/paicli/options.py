"""What the command line asks for, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from paicli.policy.modes import Mode


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for. `resume` is an id, empty for «let me choose», None for no."""

    prompt: str = ""
    headless: bool = False
    output_format: str = "text"
    mode: Mode = Mode.AUTO
    approve_plan: bool = False
    model: str = ""
    root: Path = Path()
    continue_newest: bool = False
    resume: str | None = None
    allow: tuple[str, ...] = ()
    demo: bool = False

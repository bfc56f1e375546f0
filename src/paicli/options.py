"""What the command line asks for, as one value."""

from __future__ import annotations

import os
from pathlib import Path

from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.policy.modes import Mode
from paicli.values import value


@value
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


def project_folder(directory: str) -> Path:
    """Return the project's folder as a real path. Raises ConfigError when it is not there."""
    try:
        root = Path(directory or Path.cwd()).expanduser().resolve(strict=True)
        if not root.is_dir():
            raise ConfigError(t("cli.not_a_folder", path=root))
        os.scandir(root).close()
        os.stat(f"{root}/.")  # noqa: PTH116  without the right to enter it
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(t("cli.no_folder", path=directory or ".", reason=reason)) from None
    return root

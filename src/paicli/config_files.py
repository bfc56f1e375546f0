"""The files that settings come from, read with distrust: any size, any kind, any content."""

from __future__ import annotations

import json
import os
import stat
from io import StringIO
from pathlib import Path
from typing import Any

from paicli.i18n import t
from paicli.values import value

_MAX_FILE_BYTES = 1_000_000


@value
class Found:
    """A value as it was written, and where it came from."""

    value: str
    origin: str


def user_home() -> Path:
    """Return the person's home folder; one that does not exist where none is known, as in many containers."""
    home = expanded("~")
    return home if home.is_absolute() else Path("/nonexistent")


def expanded(path: str) -> Path:
    """Return a path with its `~` put in; a name that is nobody's stays, as in a shell."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  Path.expanduser raises for nobody's name


def read_small_file(path: Path, most: int = _MAX_FILE_BYTES) -> str | None:
    """Return the text of a regular file; None when there is none. Raises OSError or ValueError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError(t("config.not_a_file"))
    with open(descriptor, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(t("config.too_large"))
    return data.decode("utf-8-sig")


def read_env_file(path: Path, warnings: list[str]) -> dict[str, Found]:
    """Return the variables of an .env file; what is wrong with it goes into `warnings`."""
    try:
        text = read_small_file(path)
    except (OSError, ValueError) as error:
        warnings.append(t("config.unreadable", path=path, reason=_reason(error)))
        return {}
    if not text:
        return {}
    from dotenv.parser import parse_stream

    values: dict[str, Found] = {}
    for binding in parse_stream(StringIO(text)):
        raw = binding.original.string
        blank_lines = raw[: len(raw) - len(raw.lstrip())].count("\n")
        origin = t("config.line", path=path, line=binding.original.line + blank_lines)
        if binding.error:
            warnings.append(t("config.bad_line", origin=origin))
        elif binding.key is not None and binding.value is not None:
            values[binding.key] = Found(binding.value, origin)
    return values


def read_config_json(path: Path, warnings: list[str]) -> dict[str, Any]:
    """Return the content of config.json; what is wrong with it goes into `warnings`."""
    try:
        text = read_small_file(path)
        content = json.loads(text) if text else {}
    except (OSError, ValueError, RecursionError) as error:
        warnings.append(t("config.unreadable", path=path, reason=_reason(error)))
        return {}
    if not isinstance(content, dict):
        warnings.append(t("config.unreadable", path=path, reason=t("config.not_an_object")))
        return {}
    return content


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return t("config.not_utf8")
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)

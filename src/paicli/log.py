"""The log: private, without secrets, and no file before there is something to write."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from paicli.config import Settings, home_directory

_NAME = "paicli.log"


def start(settings: Settings) -> None:
    """Log to `logs/paicli.log` under PaiCLI's own folder, without secrets; silently not when it cannot."""
    logger = logging.getLogger("paicli")
    logger.setLevel(settings.log_level.upper())
    logger.propagate = False
    folder = settings.home / "logs"
    try:
        for private in (settings.home, folder):
            private.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        logger.addHandler(logging.NullHandler())
    else:
        logger.addHandler(_OpenedLate(folder / _NAME))


def note_bug(environ: Mapping[str, str]) -> Path:
    """Write the exception that is being handled to the log, and return where that is."""
    file = home_directory(environ) / "logs" / _NAME
    logger = logging.getLogger("paicli")
    if not logger.handlers:  # it came before the log was begun
        logger.addHandler(_OpenedLate(file))
    logger.exception("internal error")
    return file


class _OpenedLate(logging.Handler):
    """Opens the log file when there is a first line for it; most starts have none."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        self._opened: logging.Handler | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self._opened is None:
            try:
                from paicli.log_file import LogFile
            except (ImportError, OSError):  # too many files are open
                return
            self._opened = LogFile(self._file)
        self._opened.emit(record)

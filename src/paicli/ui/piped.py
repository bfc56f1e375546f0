"""What another program pipes into `paicli -p`."""

from __future__ import annotations

import os
import select
import stat
import sys
import time
from collections.abc import Callable

from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.text import clean

_FIRST_BYTE_SECONDS = 1.0
_SILENCE_SECONDS = 10.0
_LIMIT = 4_000_000


def read_piped_stdin(tell: Callable[[str], None]) -> str:
    """Return all of a piped or redirected standard input; empty when it is a terminal or closed.

    A pipe that stays open and silent is not waited for: after a moment `tell` gets one line for the
    person and the task goes on with what has come. Raises ConfigError above 4 MB.
    """
    if sys.stdin is None or sys.stdin.closed:
        return ""
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError):
        return ""
    if os.isatty(descriptor) or stat.S_ISDIR(mode):
        return ""
    data = bytearray()
    deadline = time.monotonic() + _FIRST_BYTE_SECONDS
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            tell(t("cli.stdin_silent" if not data else "cli.stdin_open"))
            break
        chunk = os.read(descriptor, 1 << 16)
        if not chunk:
            break
        data += chunk
        if len(data) > _LIMIT:
            raise ConfigError(t("cli.stdin_too_large"))
        deadline = time.monotonic() + _SILENCE_SECONDS
    return clean(data.decode("utf-8-sig", "replace").replace("\0", "\ufffd"))

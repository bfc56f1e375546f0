"""The command line: flags to one call, and the last place an error can reach."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from paicli import i18n
from paicli.errors import ConfigError, PaiCliError
from paicli.i18n import t
from paicli.options import Options, project_folder
from paicli.text import visible


def main(arguments: Sequence[str]) -> int:
    """Run PaiCLI and return its exit code. Never raises; a bug is one line and a log entry."""
    _open_closed_streams()
    try:
        return _run(arguments)
    except PaiCliError as error:
        _complain(str(error))
        return 2 if isinstance(error, ConfigError) else 1
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    except Exception as error:  # noqa: BLE001 - the edge: the person gets one line, the log the rest
        from paicli import log

        where = log.note_bug(os.environ)
        _complain(t("cli.internal_error", error=f"{type(error).__name__}: {error}", log=where))
        return 1


def _open_closed_streams() -> None:
    """Put nothing where a standard stream was closed: the next file opened would take its place."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)
            if nothing != descriptor:
                os.dup2(nothing, descriptor)
                os.close(nothing)
            mode = "w" if descriptor else "r"
            stream = os.fdopen(descriptor, mode, encoding="utf-8", closefd=False)
            setattr(sys, name, stream)


def _complain(text: str) -> None:
    line = visible(text).replace("\n", " ")
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    try:
        print(
            f"paicli: {line.encode(encoding, 'backslashreplace').decode(encoding)}", file=sys.stderr
        )
    except (OSError, ValueError, AttributeError):
        pass  # nobody is there to read it


def _run(arguments: Sequence[str]) -> int:
    i18n.use(i18n.detect(os.environ))
    if not arguments:  # there is nothing to read, and argparse takes long to load
        from paicli import app

        return app.run(Options(root=project_folder("")), {})
    from paicli import command_line

    if arguments[0] == "doctor":
        folder, provider = command_line.doctor(arguments[1:])
        from paicli import app

        return app.doctor(folder, provider)
    options, overrides = command_line.read(arguments)
    from paicli import app

    return app.run(options, overrides)

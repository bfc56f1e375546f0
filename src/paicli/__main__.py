"""The entry point; `--version` is answered before anything else is imported."""

from __future__ import annotations

import os
import sys

from paicli import __version__


def main() -> int:
    """Run the command line and return its exit code; 1 when what was printed could not be written."""
    code = 1
    try:
        code = _run()
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        # A full disk, a reader that left: what Python still holds goes nowhere, or it would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = code or 1
    return code


def _run() -> int:
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"paicli {__version__}")
        return 0
    try:
        from paicli import cli

        return cli.main(sys.argv[1:])
    except SystemExit as ending:  # how argparse ends --help
        return int(ending.code or 0)
    except KeyboardInterrupt:  # while modules are still being read
        return 130


if __name__ == "__main__":
    sys.exit(main())

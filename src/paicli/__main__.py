"""The entry point; `--version` is answered before anything else is imported."""

from __future__ import annotations

import sys

from paicli import __version__


def main() -> int:
    """Run the command line and return its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"paicli {__version__}")
        return 0
    try:
        from paicli import cli

        return cli.main(sys.argv[1:])
    except KeyboardInterrupt:  # while modules are still being read
        return 130


if __name__ == "__main__":
    sys.exit(main())

"""The entry point; `--version` is answered before anything else is imported."""

from __future__ import annotations


def main() -> int:
    """Run the command line and return its exit code."""
    return 0

"""Tool definitions made ahead: pydantic and the tools' modules are slow to load, a request is not.

`definitions.jsonl` holds one definition a line, as it is sent. A test compares it with what
`tools.schema` makes of the parameter models.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

FILE = Path(__file__).with_name("definitions.jsonl")


def made_ahead(names: Collection[str]) -> dict[str, bytes] | None:
    """Return the definitions of these tools, sorted by name; None when one of them is not there."""
    lines = FILE.read_bytes().splitlines()
    known = {json.loads(line)["function"]["name"]: line for line in lines}
    if not known.keys() >= set(names):
        return None
    return {name: known[name] for name in sorted(names)}

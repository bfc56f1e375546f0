"""What a session has cost so far, kept among its records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from paicli.llm.bill import Item
from paicli.llm.messages import Usage
from paicli.session.ledger import Ledger, lines

_NAME = "spent"
_BEGINNING = b'{"type":"event"'


def record(ledger: Ledger, item: Item) -> None:
    """Write down what one request cost."""
    usage = item.usage
    ledger.event(
        _NAME,
        input=usage.input,
        output=usage.output,
        cached=usage.cached,
        cost=item.cost,
        currency=item.currency,
    )


def recorded(path: Path) -> Iterator[Item]:
    """Yield what a session's requests cost; nothing for what cannot be read."""
    try:
        found_lines = [line for line in lines(path) if line and line.startswith(_BEGINNING)]
    except OSError:
        return
    for line in found_lines:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        match found:
            case {
                "name": "spent",
                "input": int(sent),
                "output": int(written),
                "cached": int(cached),
                "currency": str(currency),
                **more,
            }:
                cost = more.get("cost")
                known = cost if isinstance(cost, int | float) else None
                yield Item(Usage(sent, written, cached), known, currency)
            case _:
                continue

"""What the requests of a session have cost, each at the price of the model that answered it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from paicli.llm.messages import Usage
from paicli.llm.prices import Prices
from paicli.values import value


@value
class Item:
    """One request on the bill; `cost` None: nobody knows."""

    usage: Usage
    cost: float | None = None
    currency: str = ""


class Bill:
    """Adds up, and knows when it does not know. `added` is told each new item."""

    def __init__(self, added: Callable[[Item], None] = lambda _: None) -> None:
        self._added = added
        self.begin(())

    def begin(self, items: Iterable[Item]) -> None:
        """Start anew with what was spent before."""
        self.tokens = Usage()
        self._sums: dict[str, float] = {}
        self._something_has_no_price = False
        for item in items:
            self.count(item)

    def add(self, usage: Usage | None, prices: Prices | None) -> None:
        """Count one reply; None for tokens that the server did not count or a price nobody knows."""
        if usage is None or prices is None:
            item = Item(usage or Usage())
        else:
            item = Item(usage, prices.of(usage.input, usage.output, usage.cached), prices.currency)
        self.count(item)
        self._added(item)

    def count(self, item: Item) -> None:
        """Add an item that is written down already."""
        self.tokens += item.usage
        if item.cost is None:
            self._something_has_no_price = True
        else:
            self._sums[item.currency] = self._sums.get(item.currency, 0.0) + item.cost

    def text(self) -> str:
        """Return the sum as people write it, with ≥ when a part has no price; empty when unknown."""
        sums = " + ".join(f"{currency}{_amount(spent)}" for currency, spent in self._sums.items())
        return f"≥{sums}" if sums and self._something_has_no_price else sums

    def as_object(self) -> dict[str, object] | None:
        """Return the sum for programs; None unless all of it is known and in one currency."""
        if len(self._sums) != 1 or self._something_has_no_price:
            return None
        ((currency, spent),) = self._sums.items()
        return {"amount": round(spent, 6), "currency": currency}


def _amount(spent: float) -> str:
    """Return an amount with cents; smaller ones with as many places as say something."""
    if spent >= 0.01 or spent == 0:
        return f"{spent:.2f}"
    return f"{max(spent, 0.0001):.4f}"

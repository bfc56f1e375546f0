"""What tokens cost."""

from __future__ import annotations

from paicli.values import value

_MILLION = 1_000_000


@value
class Prices:
    """What a million tokens cost; `currency` is its sign as the person writes it."""

    input: float
    output: float
    cached: float
    currency: str = "$"

    def of(self, input: int, output: int, cached: int) -> float:  # noqa: A002  the names of the usage
        """Return what some tokens cost; those that were `cached` are a part of `input`."""
        cached = min(cached, input)
        spent = (input - cached) * self.input + cached * self.cached + output * self.output
        return spent / _MILLION

"""When a turn has to stop: stagnation, tokens, iterations (PaiCLI's AgentBudget)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from enum import StrEnum

from paicli.llm.messages import ToolCall, Usage


class BudgetState(StrEnum):
    """Whether a turn may go on, and if not, why."""

    WITHIN_BUDGET = "within_budget"
    STAGNATION = "stagnation"
    TOKENS = "tokens"
    ITERATIONS = "iterations"


class AgentBudget:
    """The limits of one turn. A round is all calls of one reply, refused ones included."""

    def __init__(self, *, token_budget: int, max_iterations: int, stagnation_window: int) -> None:
        """Raise ValueError for a window below 2: one round alone cannot be a repetition."""
        if stagnation_window < 2:
            raise ValueError("the stagnation window must be at least 2")
        self._token_budget = token_budget
        self._max_iterations = max_iterations
        self._window = stagnation_window
        self._rounds: deque[tuple[str, ...]] = deque(maxlen=2 * stagnation_window)
        self._iterations = 0
        self._tokens = 0

    @property
    def iterations(self) -> int:
        """Return how many requests this turn has begun."""
        return self._iterations

    def begin_iteration(self) -> int:
        """Count one more request and return its number, from 1."""
        self._iterations += 1
        return self._iterations

    def record_usage(self, usage: Usage) -> None:
        """Add the tokens of a request; cached ones are part of the input."""
        self._tokens += max(0, usage.input) + max(0, usage.output)

    def record_round(self, calls: Sequence[ToolCall]) -> None:
        """Remember the raw text of a reply's calls; a reply without calls breaks every streak."""
        if not calls:
            self._rounds.clear()
            return
        self._rounds.append(tuple(f"{call.name}\0{call.arguments}" for call in calls))

    def check(self) -> BudgetState:
        """Return the first limit that is reached: stagnation, then tokens, then iterations."""
        if self._repeats(1, self._window) or self._repeats(2, 2 * self._window):
            return BudgetState.STAGNATION
        if self._tokens >= self._token_budget:
            return BudgetState.TOKENS
        if self._iterations >= self._max_iterations:
            return BudgetState.ITERATIONS
        return BudgetState.WITHIN_BUDGET

    def _repeats(self, period: int, length: int) -> bool:
        """Tell whether the last `length` rounds repeat with the period (1: AAAA, 2: ABAB)."""
        if len(self._rounds) < length:
            return False
        last = list(self._rounds)[-length:]
        return all(last[i] == last[i - period] for i in range(period, length))

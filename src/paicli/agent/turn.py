"""What one turn accumulates, from the person's words to its result."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from paicli.agent.budget import AgentBudget
from paicli.agent.events import TurnResult
from paicli.agent.runaway import RunawayGuard
from paicli.errors import ModelError, ModelUnreachable
from paicli.llm.messages import Usage


@dataclass(slots=True)
class Turn:
    """One request of the person. `submitted` is what they typed, which alone grants authority."""

    submitted: str
    budget: AgentBudget
    guard: RunawayGuard = field(default_factory=RunawayGuard)
    started: float = field(default_factory=time.monotonic)
    usage: Usage = Usage()
    refused: int = 0
    shown: list[str] = field(default_factory=list)
    """Text of the reply that is arriving, as the person saw it."""

    def spend(self, usage: Usage) -> None:
        """Count the tokens of a request."""
        self.usage += usage
        self.budget.record_usage(usage)

    def result(
        self, status: str, text: str = "", *, error: str = "", exit_code: int = 0
    ) -> TurnResult:
        """Return how the turn ended, with everything it counted."""
        return TurnResult(
            status,
            text,
            self.budget.iterations,
            self.refused,
            self.usage,
            time.monotonic() - self.started,
            error,
            exit_code,
        )

    def failed(self, error: ModelError) -> TurnResult:
        """Return the result of a turn that the model could not carry on."""
        passing = isinstance(error, ModelUnreachable) or error.retryable
        return self.result("error", error=str(error), exit_code=75 if passing else 1)

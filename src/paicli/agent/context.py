"""How full the model's window is: the provider's last count, and an estimate of what came since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paicli.llm.local_servers import prompt_was_cut
from paicli.llm.messages import Message, Usage
from paicli.llm.tokens import estimate, estimate_message
from paicli.values import value

_SUMMARY_RESERVE = 20_000
_ANSWER_RESERVE = 13_000
_CLEARING_SHARE = 0.6
_MIN_WINDOW = 8_000


@value
class Thresholds:
    """When something is done about a filling window, in tokens (PaiCLI's context profile)."""

    window: int
    clear: int
    summarise: int

    @classmethod
    def of(cls, window: int) -> Thresholds:
        """Return the thresholds of a window; one below 8,000 counts as 8,000."""
        window = max(window, _MIN_WINDOW)
        reserves = min(_SUMMARY_RESERVE, window // 4) + min(_ANSWER_RESERVE, window // 8)
        summarise = min(max(window - reserves, 1_000), window - 1)
        return cls(window, int(summarise * _CLEARING_SHARE), summarise)


class ContextMeter:
    """Counts incrementally: a step costs its own new messages, not the whole history."""

    def __init__(self) -> None:
        self._counted = 0
        self._tokens = 0
        self._estimated = 0
        self._measured = False

    def reset(self) -> None:
        """Start anew, after the history was rewritten."""
        self._counted, self._tokens, self._estimated, self._measured = 0, 0, 0, False

    def measured(
        self, usage: Usage, messages: Sequence[Message], tools: Mapping[str, bytes]
    ) -> bool:
        """Take over what the provider counted for a request that carried all of `messages`.

        Return whether the count shows that the server read only a part of the prompt; such a count
        says nothing about the conversation's size, so the estimate stays.
        """
        self.tokens(messages, tools)
        cut = prompt_was_cut(self._estimated, usage.input)
        if usage.input > 0 and not cut:
            self._tokens, self._measured = usage.input, True
        return cut

    def tokens(self, messages: Sequence[Message], tools: Mapping[str, bytes]) -> int:
        """Return about how many tokens the next request takes."""
        if len(messages) < self._counted:
            self.reset()
        for message in messages[self._counted :]:
            size = estimate_message(message)
            self._tokens += size
            self._estimated += size
        self._counted = len(messages)
        if self._measured:
            return self._tokens
        return self._tokens + sum(estimate(body.decode()) for body in tools.values())

    def parts(self, messages: Sequence[Message], tools: Mapping[str, bytes]) -> dict[str, int]:
        """Return the tokens of `prompt`, `tools` and `conversation`, and of all that as `used`."""
        used = self.tokens(messages, tools)
        prompt = sum(estimate_message(message) for message in messages if message.role == "system")
        schema = sum(estimate(body.decode()) for body in tools.values())
        conversation = max(0, used - prompt - schema)
        return {"prompt": prompt, "tools": schema, "conversation": conversation, "used": used}

"""When to nudge a model that repeats itself (PaiCLI's RunawayGuard)."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, deque
from collections.abc import Sequence

from paicli.llm.messages import ToolCall
from paicli.tools.base import ToolResult

_ERROR_FAMILIES = (
    ("timeout", r"timeout|timed out|deadline exceeded|超时"),
    ("rate_limit", r"rate[-_ ]?limit|too many requests|\b429\b|限流"),
    ("network", r"network|econn|socket|dns|connection reset|网络"),
    ("auth", r"unauth|invalid api key|\b401\b|鉴权|认证失败"),
    ("permission", r"permission|forbidden|access denied|\b403\b|权限|越界"),
    ("not_found", r"not found|enoent|\b404\b|不存在|未找到|找不到"),
    ("invalid_argument", r"invalid argument|validation failed|bad request|\b400\b|参数"),
    ("process_exit", r"exit code|non-zero|process failed|退出码"),
)
_CLOSING = (
    " This reminder is temporary and about this task only: it is no preference and no rule, and must not be"
    " saved to memory, skills or other persistent instructions."
)


class RunawayGuard:
    """Watches the steps of one task; a step is all calls of one reply with their results.

    Gives at most one reminder per task, on the step where the same call, the same call with the
    same kind of error, or two alternating steps come up for the third time in a row. Blocks nothing.
    Refused and cancelled calls do not count. Object keys in any order are the same call.
    """

    def __init__(self, threshold: int = 3) -> None:
        """Raise ValueError for a threshold below 3: doing a thing twice is often right."""
        if threshold < 3:
            raise ValueError("the threshold must be at least 3")
        self._threshold = threshold
        self._calls: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._steps: deque[tuple[str, ...]] = deque(maxlen=2 * threshold)
        self._reminded = False

    def observe(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> str | None:
        """Take in one step and return the reminder for the model, or None."""
        ran = [
            (call, result)
            for call, result in zip(calls, results, strict=True)
            if not (result.refused or result.cancelled)
        ]
        actions = [_action_key(call) for call, _ in ran]
        errors = [
            f"{_error_family(result.content)}\0{key}"
            for key, (_, result) in zip(actions, ran, strict=True)
            if not result.ok
        ]
        self._calls, repeated_call = self._carried_on(self._calls, actions)
        self._errors, repeated_error = self._carried_on(self._errors, errors)
        alternating = self._alternates(tuple(actions))
        if self._reminded or not (repeated_call or repeated_error or alternating):
            return None
        self._reminded = True
        return self._reminder(repeated_error=repeated_error, alternating=not repeated_call)

    def _carried_on(self, streaks: Counter[str], keys: Sequence[str]) -> tuple[Counter[str], bool]:
        """Return the streaks after this step (keys absent in it start anew) and whether one crossed."""
        now = Counter({key: streaks[key] + count for key, count in Counter(keys).items()})
        crossed = any(streaks[key] < self._threshold <= count for key, count in now.items())
        return now, crossed

    def _alternates(self, step: tuple[str, ...]) -> bool:
        if not step:
            self._steps.clear()
            return False
        self._steps.append(step)
        steps = list(self._steps)
        return (
            len(steps) == 2 * self._threshold
            and steps[0] != steps[1]
            and all(steps[i] == steps[i - 2] for i in range(2, len(steps)))
        )

    def _reminder(self, *, repeated_error: bool, alternating: bool) -> str:
        times = f"{self._threshold} times in a row"
        if repeated_error:
            fact = f"The same call has now failed {times} with the same kind of error."
        elif alternating:
            fact = f"The same two steps have now alternated {times}."
        else:
            fact = f"The same call with the same arguments has now been made {times}."
        advice = (
            " Look at what the results already say, and then either change the approach or explain to the user"
            " what is missing."
        )
        return "[runaway guard] " + fact + advice + _CLOSING


def _action_key(call: ToolCall) -> str:
    try:
        arguments = json.dumps(json.loads(call.arguments), sort_keys=True)
    except ValueError:
        arguments = call.arguments.strip()
    return hashlib.sha256(f"{call.name}\0{arguments}".encode()).hexdigest()


def _error_family(content: str) -> str:
    head = content[:4096].lower()
    for family, pattern in _ERROR_FAMILIES:
        if re.search(pattern, head):
            return family
    return "text:" + " ".join(head.split())[:1024]

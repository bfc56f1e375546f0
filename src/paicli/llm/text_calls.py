"""Tool calls that a model wrote into its text: held back while they may be calls, then run or shown.

What begins like a call is not shown until it is clear what it is. If it is a call in a form that
the provider's row allows, of an offered tool, it becomes one; anything doubtful is shown as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator

from paicli.llm.messages import ToolCall
from paicli.llm.text_call_signs import FENCE, MAX_CHARACTERS, OPENERS
from paicli.text import clean

_FENCE = re.compile(FENCE)
_FENCE_INFO = ("json", "tool_call", "tool")
_FIRST_KEYS = ('"name"', '"arguments"')
_MARKER = re.compile(
    "<\uff5c{1,2}DSML|<\uff5ctool\u2581call|<tool_call>|<function=[A-Za-z_]|<\\|tool_calls?_(?:section_)?begin\\|>|✿FUNCTION✿"
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.S)
_OBJECT_START = re.compile(
    r'(?:\A|```[ \t]*\w*)\s*\{\s*"(?:name|function)"\s*:\s*"([A-Za-z0-9_.:-]+)"'
)


class CallsInText:
    """Follows the content of one reply. `numbers` gives the calls' numbers for their ids."""

    def __init__(
        self, forms: Collection[str], offered: Collection[str], numbers: Iterator[int]
    ) -> None:
        self._offered = offered
        self._numbers = numbers
        self._forms = {opener: form for form in forms for opener in OPENERS[form]}
        openers = list(self._forms) if offered else []
        self._opener = re.compile("|".join(map(re.escape, openers))) if openers else None
        self._first = re.compile("[" + "".join({re.escape(o[0]) for o in openers} or "<") + "]")
        self._beginnings = {opener[:size] for opener in openers for size in range(1, len(opener))}
        self._longest = max(map(len, openers), default=1) - 1
        self._shown: list[str] = []
        self._tail = ""
        self._form = ""
        self._held: list[str] = []
        self._held_size = 0
        self._shape_is_clear = False

    def feed(self, text: str) -> str:
        """Take a piece of content; return what can be shown of it now."""
        if self._opener is None:
            return text
        if self._form:
            return self._hold(text)
        return self._scan(text)

    def close(self, *, has_calls: bool, cut: bool) -> tuple[str, tuple[ToolCall, ...]]:
        """The reply is over: return the text still to be shown and the calls that were written.

        `has_calls`: the reply has calls of its own, so what is written stays text. `cut`: the
        model was stopped, so a form that was not closed is not complete.
        """
        held = "".join(self._held)
        if not self._form:
            tail, self._tail = self._tail, ""
            return tail, ()
        form, self._form = self._form, ""
        closed = not cut or not _is_open(held)
        from paicli.llm.text_call_forms import FORMS

        found = (
            FORMS[form](held, self._offered)
            if closed and not has_calls and len(held) <= MAX_CHARACTERS
            else None
        )
        if found is None:
            return held, ()
        prefix = "dsml_call" if form == "dsml" else "text_call"
        calls = tuple(
            ToolCall(
                f"{prefix}_{next(self._numbers)}",
                name,
                clean(json.dumps(arguments, ensure_ascii=False)),
            )
            for name, arguments in found[0]
        )
        return found[1].rstrip(), calls

    def left_over(self, content: str) -> bool:
        """Tell whether text that stays text holds something written like a call of an offered tool."""
        if not self._offered:
            return False
        if any(match[1] in self._offered for match in _OBJECT_START.finditer(content)):
            return True
        return bool(_MARKER.search(content) and _MARKER.search(_CODE.sub("", content)))

    def _scan(self, text: str) -> str:
        assert self._opener is not None
        if not self._tail and self._first.search(text) is None:
            self._shown.append(text)
            return text
        buffer, self._tail = self._tail + text, ""
        place = 0
        while match := self._opener.search(buffer, place):
            before = buffer[: match.start()]
            form = self._forms[match[0]]
            if self._counts(before, form):
                self._shown.append(before)
                self._form, self._shape_is_clear = form, form != "fenced"
                return before + self._hold(buffer[match.start() :])
            place = match.end()
        rest = buffer[place:]
        size = next(
            (
                size
                for size in range(min(self._longest, len(rest)), 0, -1)
                if rest[-size:] in self._beginnings
            ),
            0,
        )
        if size:
            self._tail, buffer = rest[-size:], buffer[:-size]
        self._shown.append(buffer)
        return buffer

    def _counts(self, before: str, form: str) -> bool:
        """Tell whether an opener after `before` may open a call: not inside code."""
        shown = "".join(self._shown)
        self._shown = [shown]
        text = shown + before
        if text.count("```") % 2:
            return False
        if form == "fenced":
            return not text.rpartition("\n")[2].strip()
        return text.rpartition("\n")[2].count("`") % 2 == 0

    def _hold(self, text: str) -> str:
        self._held.append(text)
        self._held_size += len(text)
        if self._held_size > MAX_CHARACTERS:
            return self._release()
        if self._form != "fenced":
            return ""
        if not self._shape_is_clear or "`" in text or len(self._held) == 1 or self._after_fence():
            held = "".join(self._held)
            self._held = [held]
            if not self._may_be_fenced(held):
                return self._release()
        return ""

    def _after_fence(self) -> bool:
        return self._held[0].rstrip().endswith("```")

    def _may_be_fenced(self, held: str) -> bool:
        """Tell whether `held`, from its fence on, may still be calls and nothing else."""
        parts = _FENCE.split(held)
        # parts: "", body of the first block, what stands between, body of the second, …
        if any(part.strip(" \t\r\n`") for part in parts[2::2]):
            return False
        for body in parts[1::2]:
            if not _may_be_call(body):
                return False
        self._shape_is_clear = len(parts) % 2 == 0 and _shape_is_clear(parts[-1])
        return True

    def _release(self) -> str:
        """It was no call: show what was held; what comes after its opener is looked at again."""
        held = "".join(self._held)
        self._held, self._held_size, self._form = [], 0, ""
        opener = self._opener.match(held) if self._opener else None
        size = opener.end() if opener else 0
        self._shown.append(held[:size])
        return held[:size] + self._scan(held[size:])


def _may_be_call(body: str) -> bool:
    info, newline, rest = body.partition("\n")
    info = info.strip().lower()
    if not newline:
        return any(word.startswith(info) for word in _FENCE_INFO)
    if info and info not in _FENCE_INFO:
        return False
    rest = rest.lstrip()
    if not rest.startswith("{"):
        return not rest
    inner = rest[1:].lstrip()
    return any(inner.startswith(key) or key.startswith(inner) for key in _FIRST_KEYS)


def _shape_is_clear(body: str) -> bool:
    inner = body.partition("{")[2].lstrip()
    return inner.startswith(_FIRST_KEYS)


def _is_open(held: str) -> bool:
    text = held.rstrip()
    return not text.endswith(("```", "</tool_call>", ">", "|>"))

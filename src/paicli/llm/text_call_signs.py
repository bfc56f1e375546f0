"""With what tool calls written as text begin: all that a reply without any needs to know of them."""

from __future__ import annotations

MAX_CHARACTERS = 256_000

FENCE = r"(?:\A|\n[ \t]*|(?<=\}))```"
"""A fence at the start of a line, or right behind an object: inside a JSON string is neither."""

OPENERS: dict[str, tuple[str, ...]] = {
    "dsml": ("<\uff5c\uff5cDSML\uff5c\uff5c", "<\uff5cDSML\uff5c"),
    "marked": (
        "<tool_call>", "<function=", "<|tool_calls_section_begin|>", "<|tool_call_begin|>",
        "✿FUNCTION✿",
    ),
    "fenced": ("```",),
}  # fmt: skip
"""With what a call in each form begins."""

"""A guess at how many tokens a text takes, where the provider has not counted.

No tokenizer: each model has its own, and their tables would have to be fetched. The guess errs
on the high side for code and Chinese, so that compaction comes early rather than late.
"""

from __future__ import annotations

from paicli.llm.messages import Message

_PER_MESSAGE = 4
_PER_CALL = 8
_CHARACTERS_PER_TOKEN = 3.6
_TOKENS_PER_WIDE_CHARACTER = 0.8


def estimate(text: str) -> int:
    """Return about how many tokens `text` takes; 0 for an empty text only."""
    if not text:
        return 0
    wide = 0 if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
    if wide:
        narrow = len(text.encode("ascii", "ignore"))
        wide -= narrow
    else:
        narrow = len(text)
    return int(narrow / _CHARACTERS_PER_TOKEN + wide * _TOKENS_PER_WIDE_CHARACTER) + 1


def estimate_message(message: Message) -> int:
    """Return about how many tokens a message takes in a request, its calls and reasoning included."""
    calls = sum(
        _PER_CALL + estimate(call.name) + estimate(call.arguments) for call in message.tool_calls
    )
    return (
        _PER_MESSAGE + estimate(message.content or "") + estimate(message.reasoning or "") + calls
    )

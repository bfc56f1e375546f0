"""The end of a conversation that goes on: what was said last, shown as it was then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paicli.llm.messages import Message
from paicli.session.conversation import LLM_RESPONSE, USER_INPUT, own_words
from paicli.text import cut
from paicli.ui.markdown import MarkdownStream
from paicli.ui.shown import Answer, Said

_SAID_CELLS = 600
_ANSWER_LINES = 30
_ANSWER_CHARACTERS = 6_000


def recap(messages: Sequence[Message]) -> Iterator[Said | Answer]:
    """Yield the person's last message and the end of the answer to it, if there are such."""
    typed = [place for place, message in enumerate(messages) if message.source == USER_INPUT]
    if not typed:
        return
    yield Said(cut(own_words(messages[typed[-1]].content or ""), _SAID_CELLS))
    answers = [m.content for m in messages[typed[-1] :] if m.source == LLM_RESPONSE and m.content]
    if answers:
        yield from _end(answers[-1])


def _end(answer: str) -> Iterator[Answer]:
    """Yield the last blocks of Markdown that together are no longer than what one likes to read again."""
    stream = MarkdownStream()
    blocks = [*stream.feed(answer[-_ANSWER_CHARACTERS:]), *stream.finish()]
    first, lines = len(blocks), 0
    while (
        first > 0 and (lines := lines + blocks[first - 1].source.count("\n") + 2) <= _ANSWER_LINES
    ):
        first -= 1
    if first > 0 or len(answer) > _ANSWER_CHARACTERS:
        yield Answer("…")
    yield from (Answer(block.source, block.tight) for block in blocks[first:])

"""`<think>` at the start of the content."""

import pytest

from paicli.llm.think import ThinkTags


def split(pieces):
    tags = ThinkTags()
    results = [tags.feed(piece) for piece in pieces] + [tags.close()]
    return "".join(r for r, _ in results), "".join(t for _, t in results)


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("<think>hm</think>\n\nyes", "hm", "yes"),
        ("\n<think>\nhm\n</think>yes", "\nhm\n", "yes"),
        ("<think></think>yes", "", "yes"),
        ("<think>a</think>\n<think>b</think> yes", "ab", "yes"),
        ("<think>never closed", "never closed", ""),
        ("<think>a < b </thin", "a < b </thin", ""),
        ("yes <think>no</think>", "", "yes <think>no</think>"),
        ("```html\n<think>\n```", "", "```html\n<think>\n```"),
        ("<thinking>no", "", "<thinking>no"),
        ("  plain", "", "  plain"),
        ("<think>a</think>say `<think>` here", "a", "say `<think>` here"),
        ("<thi", "", "<thi"),
        ("", "", ""),
    ],
)
def test_thinking_is_set_apart_whatever_the_cut(text, reasoning, answer):
    for size in (1, 2, 3, 5, 100):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert split(pieces) == (reasoning, answer)


def test_a_server_that_sets_reasoning_apart_is_left_alone():
    tags = ThinkTags()
    tags.reasoning_came()
    assert not tags.watching

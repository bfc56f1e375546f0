"""Calls that a model wrote as text: run when they are certain, shown when they are not."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paicli.llm.deltas import TextDelta
from paicli.llm.reply import Reply
from paicli.llm.text_call_signs import MAX_CHARACTERS

OFFERED = ("list_dir", "read_file", "write_file")
ALL = ("dsml", "marked", "fenced")
READ = '{"name": "read_file", "arguments": {"path": "a.txt"}}'
LIST = '{"arguments": {}, "name": "list_dir"}'
FENCE = "```json\n" + READ + "\n```"


def dsml(body, kind="tool_calls", space=""):
    return f"<｜｜DSML｜｜{space}{kind}>{body}</｜｜DSML｜｜{space}{kind}>"


def invoke(name, **parameters):
    inner = "".join(
        f'<｜｜DSML｜｜parameter name="{key}" string="{"true" if isinstance(value, str) else "false"}">'
        f"{value if isinstance(value, str) else json.dumps(value)}</｜｜DSML｜｜parameter>\n"
        for key, value in parameters.items()
    )
    return f'\n<｜｜DSML｜｜invoke name="{name}">\n{inner}</｜｜DSML｜｜invoke>\n'


def reply_to(text, pieces=None, forms=ALL, offered=OFFERED, finish="stop", native=None):
    heard = []
    reply = Reply(heard.append, offered, text_calls=forms)
    for piece in pieces or [text]:
        reply.take(json.dumps({"choices": [{"delta": {"content": piece}}]}))
    if native:
        reply.take(json.dumps({"choices": [{"delta": {"tool_calls": [native]}}]}))
    reply.take(json.dumps({"choices": [{"delta": {}, "finish_reason": finish}]}))
    shown = "".join(delta.text for delta in heard if isinstance(delta, TextDelta))
    response = reply.finish()
    shown = "".join(delta.text for delta in heard if isinstance(delta, TextDelta))
    return response, shown


def found(response):
    return [(call.name, json.loads(call.arguments)) for call in response.tool_calls]


ONE = [("read_file", {"path": "a.txt"})]
TWO = [*ONE, ("list_dir", {})]
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0"
    '<|tool_call_argument_begin|>{"path": "a.txt"}<|tool_call_end|><|tool_calls_section_end|>'
)
QWEN = (
    "<tool_call>\n<function=read_file>\n<parameter=path>\na.txt\n</parameter>\n</function>\n"
    "</tool_call>"
)
CERTAIN = [
    (FENCE, ONE, ""),
    ("I'll look.\n" + FENCE + "\n\n\n", ONE, "I'll look."),
    ("```\n" + READ + "\n```", ONE, ""),
    ("```json\n" + READ + "```", ONE, ""),
    ("```json\n" + READ + "\n" + LIST + "\n```", TWO, ""),
    (FENCE + "\n```json\n" + LIST + "\n```", TWO, ""),
    (
        '```json\n{"name": "write_file", "arguments": {"path": "a", "content": "```\\nx\\n```"}}\n```',
        [("write_file", {"path": "a", "content": "```\nx\n```"})],
        "",
    ),
    (f"<tool_call>\n{READ}\n</tool_call>", ONE, ""),
    (f"<tool_call>{READ}</tool_call>\n<tool_call>{LIST}</tool_call>", TWO, ""),
    (f"Now:\n<tool_call>{READ}", ONE, "Now:"),
    (QWEN, ONE, ""),
    (KIMI, ONE, ""),
    ('✿FUNCTION✿: read_file\n✿ARGS✿: {"path": "a.txt"}\n✿RESULT✿', ONE, ""),
    (dsml(invoke("read_file", path="a.txt")), ONE, ""),
    (
        "好的\n" + dsml(invoke("read_file", path="a.txt") + invoke("list_dir"), space=" "),
        TWO,
        "好的",
    ),
    (
        dsml(invoke("write_file", path="a", content="x < y\n", n=[1, {"k": None}])),
        [("write_file", {"path": "a", "content": "x < y\n", "n": [1, {"k": None}]})],
        "",
    ),
    (dsml(invoke("read_file", path="a.txt"), kind="calls"), ONE, ""),
]
DOUBTFUL = [
    FENCE + "\nThat is how it is called.",
    FENCE.replace("read_file", "unknown_tool"),
    FENCE.replace("}}", '}, "id": 1}'),
    FENCE.replace('{"path": "a.txt"}', '"a.txt"'),
    "```json\n" + READ[:-1] + "\n```",
    "```json\n" + READ + "\n",
    "```python\n" + READ + "\n```",
    'A map: ```json\n{"name": "x"}\n```',
    f"Write `<tool_call>{READ}</tool_call>` then.",
    f"```xml\n<tool_call>{READ}</tool_call>\n```\n",
    f"<tool_call>{READ[:-3]}</tool_call>",
    "<tool_call>read_file</tool_call>",
    "a <tool_call",
    "a < b and `c` ``` d",
    KIMI.replace("read_file", "rm_all"),
    dsml(""),
    dsml(invoke("unknown", path="a")),
    dsml(invoke("read_file", path="a") + "words"),
    dsml(invoke("read_file", path="a")) + dsml(invoke("list_dir")),
    dsml(invoke("read_file", path="a")).replace(
        "</｜｜DSML｜｜tool_calls>", "</｜｜DSML｜｜calls>"
    ),
    dsml(invoke("read_file", path=1)).replace(">1<", ">1 2<"),
    dsml(invoke("read_file", path="a").replace('string="true"', "")),
    dsml(invoke("read_file", path="a").replace("name=", "id='1' name=")),
    dsml(invoke("list_dir") * 33),
    dsml(invoke("write_file", content="x" * MAX_CHARACTERS)),
    dsml(invoke("read_file", path="a").replace("</｜｜DSML｜｜parameter>", "")),
    dsml(
        '<｜｜DSML｜｜invoke name="read_file">'
        + '<｜｜DSML｜｜parameter name="path" string="true">a</｜｜DSML｜｜parameter>' * 2
        + "</｜｜DSML｜｜invoke>"
    ),
]


@pytest.mark.parametrize(("text", "calls", "rest"), CERTAIN)
def test_a_certain_call_is_a_call(text, calls, rest):
    for pieces in ([text], list(text), [text[at : at + 7] for at in range(0, len(text), 7)]):
        response, shown = reply_to(text, pieces)
        assert found(response) == calls
        assert response.content == shown.strip() == rest
        assert len({call.id for call in response.tool_calls}) == len(calls)


@pytest.mark.parametrize("text", DOUBTFUL)
def test_anything_doubtful_stays_text(text):
    response, shown = reply_to(text, [text[at : at + 5] for at in range(0, len(text), 5)])
    assert response.tool_calls == ()
    assert response.content == shown == text


@pytest.mark.parametrize(("text", "calls", "rest"), CERTAIN)
def test_where_the_row_does_not_allow_it_the_person_is_told(text, calls, rest):
    response, shown = reply_to(text, forms=())
    assert response.tool_calls == ()
    assert response.content == shown == text
    assert response.unexecuted_call
    assert reply_to(text, offered=())[0].unexecuted_call is False


def test_a_call_that_was_cut_is_told_of():
    for cut in (FENCE[:-4], FENCE[:30], f"<tool_call>{READ[:-4]}", f"<tool_call>{READ}"):
        response, shown = reply_to(cut, finish="length")
        assert response.tool_calls == ()
        assert shown == cut
        assert response.unexecuted_call


def test_native_calls_win():
    native = {"index": 0, "id": "x", "function": {"name": "list_dir", "arguments": "{}"}}
    response, shown = reply_to(FENCE, native=native)
    assert found(response) == [("list_dir", {})]
    assert shown == FENCE


def test_text_that_only_looks_alike_is_not_held_for_long():
    heard = []
    reply = Reply(heard.append, OFFERED, text_calls=ALL)

    def say(text):
        heard.clear()
        reply.take(json.dumps({"choices": [{"delta": {"content": text}}]}))
        return "".join(delta.text for delta in heard)

    assert say("if a <") == "if a "
    assert say(" b:") == "< b:"
    assert say("\n``") == "\n"
    assert say("`python\nx") == "```python\nx"
    assert say("\n```\n") == "\n```\n"
    assert say('```json\n{"na') == ""
    assert say('me": 1') == ""
    assert say("\n```\nsee") == '```json\n{"name": 1\n```\nsee'
    assert say('```json\n{"key"') == '```json\n{"key"'


ALPHABET = ["`", "```", "json", "\n", READ, LIST, "<tool_call>", "</tool_call>", "{", "}", "<", "｜",
            "<｜｜DSML｜｜", "tool_calls>", "words ", FENCE, KIMI, dsml(invoke("list_dir")), "✿"]  # fmt: skip


@given(st.lists(st.sampled_from(ALPHABET), max_size=7), st.lists(st.integers(0, 600), max_size=9))
def test_any_cut_of_the_same_text_gives_the_same_reply(parts, cuts):
    text = "".join(parts)
    if not text.strip():
        return
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    pieces = [text[a:b] for a, b in pairwise(places)]
    response, shown = reply_to(text, pieces)
    whole, shown_whole = reply_to(text)
    assert found(response) == found(whole)
    assert response.content == whole.content
    assert shown == shown_whole
    if not response.tool_calls:
        assert shown == text

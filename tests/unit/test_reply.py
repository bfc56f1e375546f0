"""Chunks to a reply: every odd way of saying the same thing."""

import json
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paicli.errors import EmptyReply, ModelError, ModelRefused, PaiCliError, StreamInterrupted
from paicli.llm.calls import CallAssembler
from paicli.llm.deltas import ReasoningDelta, TextDelta
from paicli.llm.messages import ToolCall, Usage
from paicli.llm.reply import Reply, usage_of

OFFERED = ("list_dir", "read_file", "write_file")


def chunk(delta=None, finish=None, **more):
    return json.dumps({"choices": [{"delta": delta, "finish_reason": finish}]} | more)


def text(content):
    return chunk({"content": content})


def calls(*fragments):
    return chunk({"tool_calls": list(fragments)})


def fragment(index=None, call_id=None, name=None, arguments=None, **more):
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    found = {"function": function} | more
    if index is not None:
        found["index"] = index
    if call_id is not None:
        found["id"] = call_id
    return found


def reply_to(*payloads, finish="stop", heard=None, **options):
    reply = Reply((heard if heard is not None else []).append, OFFERED, **options)
    for payload in payloads:
        reply.take(payload)
    if finish:
        reply.take(chunk({}, finish))
    return reply.finish()


def found_calls(*payloads, finish="tool_calls"):
    return [(c.id, c.name, c.arguments) for c in reply_to(*payloads, finish=finish).tool_calls]


A, B = '{"path":"a"}', '{"path":"b"}'


@pytest.mark.parametrize(
    ("payloads", "wanted"),
    [
        # by index, ids and names once, empty, null, or repeated in full
        ([calls(fragment(0.0, "x", "read_file", '{"path"'), fragment(1.0, "y", "read_file", B)),
          calls(fragment(0.0, arguments=':"a"}'))], [("x", "read_file", A), ("y", "read_file", B)]),
        (
            [calls(fragment(0, "x", "read_file", '{"path"')), calls(fragment(0, arguments=':"a"}'))],
            [("x", "read_file", A)],
        ),
        (
            [
                calls(fragment(0, "x", "read_file", '{"path"')),
                calls(fragment(0, "", "", ':"a"}')),
            ],
            [("x", "read_file", A)],
        ),
        (
            [
                calls(fragment(0, "x", "read_file", '{"path"')),
                calls(fragment(0, "x", "read_file", ':"a"')),
                calls(fragment(0, "x", "read_file", "}")),
            ],
            [("x", "read_file", A)],
        ),
        # a name in pieces
        (
            [calls(fragment(0, "x", "read_")), calls(fragment(0, "x", "file", A))],
            [("x", "read_file", A)],
        ),
        # index from 1, with holes, interleaved
        (
            [
                calls(fragment(1, "x", "read_file", ""), fragment(3, "y", "list_dir", "")),
                calls(fragment(3, arguments="{"), fragment(1, arguments='{"path":')),
                calls(fragment(1, arguments='"a"}'), fragment(3, arguments="}")),
            ],
            [("x", "read_file", A), ("y", "list_dir", "{}")],
        ),
        # the same index for different ids
        (
            [calls(fragment(0, "x", "read_file", A)), calls(fragment(0, "y", "read_file", B))],
            [("x", "read_file", A), ("y", "read_file", B)],
        ),
        (
            [
                calls(fragment(0, "x", "read_file", "")),
                calls(fragment(0, "y", "read_file", "")),
                calls(fragment(0, "y", None, B)),
                calls(fragment(0, "x", None, A)),
            ],
            [("x", "read_file", A), ("y", "read_file", B)],
        ),
        # an id of its own for each fragment of one call
        (
            [calls(fragment(0, "x", "read_file", '{"path"')), calls(fragment(0, "z", None, ':"a"}'))],
            [("x", "read_file", A)],
        ),
        # no index: with ids, without, and whole calls one after the other
        (
            [
                calls(fragment(None, "x", "read_file", '{"path"')),
                calls(fragment(None, None, None, ':"a"}')),
                calls(fragment(None, "y", "list_dir", "{}")),
            ],
            [("x", "read_file", A), ("y", "list_dir", "{}")],
        ),
        (
            [calls(fragment(None, None, "read_file", A), fragment(None, None, "read_file", B))],
            [("call_0", "read_file", A), ("call_1", "read_file", B)],
        ),
        # one index and no ids, whole calls one after the other; a call repeated in full
        (
            [calls(fragment(0, None, "read_file", A)), calls(fragment(0, None, "list_dir", "{}"))],
            [("call_0", "read_file", A), ("call_0_2", "list_dir", "{}")],
        ),
        (
            [calls(fragment(0, "x", "read_file", A)), calls(fragment(0, "x", "read_file", A))],
            [("x", "read_file", A)],
        ),
        (
            [calls(fragment(0, "x", "read_file", A)), calls(fragment(0, "", "read_file", ""))],
            [("x", "read_file", A)],
        ),
        # names in pieces and nothing else to go by
        (
            [
                calls(fragment(None, None, "read_", None)),
                calls(fragment(None, None, "file", '{"path":')),
                calls(fragment(None, None, None, '"a"}')),
                calls(fragment(None, None, "list_dir", None)),
            ],
            [("call_0", "read_file", A), ("call_1", "list_dir", "{}")],
        ),
        # no id
        (
            [calls(fragment(0, None, "read_file", A), fragment(1, "", "read_file", B))],
            [("call_0", "read_file", A), ("call_1", "read_file", B)],
        ),
        # one id for two calls
        (
            [calls(fragment(0, "x", "read_file", A), fragment(1, "x", "read_file", B))],
            [("x", "read_file", A), ("x_2", "read_file", B)],
        ),
        # arguments as an object, null, nothing, blank, encoded twice, with raw control characters
        ([calls(fragment(0, "x", "read_file", {"path": "a"}))], [("x", "read_file", '{"path": "a"}')]),
        ([calls(fragment(0, "x", "list_dir", {}))], [("x", "list_dir", "{}")]),
        ([calls({"index": 0, "id": "x", "function": {"name": "list_dir", "arguments": None}})],
         [("x", "list_dir", "{}")]),
        ([calls(fragment(0, "x", "list_dir", " \n"))], [("x", "list_dir", "{}")]),
        ([calls(fragment(0, "x", "read_file", json.dumps(A)))], [("x", "read_file", '{"path": "a"}')]),
        ([calls(fragment(0, "x", "read_file", '{"path":"a\n\tb"}'))],
         [("x", "read_file", '{"path": "a\\n\\tb"}')]),
        # half a surrogate pair, whole and broken
        ([calls(fragment(0, "x", "read_file", '{"path":"\\ud83c\\udf0d \\ud83d."}'))],
         [("x", "read_file", '{"path": "🌍 \ufffd."}')]),
        ([calls(fragment(0, "x", "read_file", '{"path":"\\ud83c\\udf0d"}'))],
         [("x", "read_file", '{"path":"\\ud83c\\udf0d"}')]),
        # the whole message at once; the older form; a prefix of the name; a padding entry
        ([json.dumps({"choices": [{"message": {"tool_calls": [fragment(None, "x", "read_file", A)]}}]})],
         [("x", "read_file", A)]),
        ([chunk({"function_call": {"name": "read_file", "arguments": A}})], [("call_0", "read_file", A)]),
        ([calls(fragment(0, "x", "functions.read_file", A))], [("x", "read_file", A)]),
        ([calls(fragment(0), fragment(1, "x", "read_file", A))], [("x", "read_file", A)]),
    ],
)  # fmt: skip
def test_calls_are_put_together(payloads, wanted):
    assert found_calls(*payloads) == wanted
    assert found_calls(*payloads, finish="stop") == wanted


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"path": "src" "x"', "not valid JSON"),
        ('{"path":"a"} trailing', "not valid JSON"),
        ("[]", "an array"),
        ('"x"', "a string"),
        ("3", "a number"),
        ("true", "a boolean"),
        ("null", "null"),
        ('{"n": NaN}', "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"path":' + "[" * 500 + "]" * 500 + "}", "nested too deeply"),
        (json.loads('{"path":' * 500 + "1" + "}" * 500), "nested too deeply"),
    ],
)
def test_a_call_without_one_whole_object_never_runs(arguments, said):
    call = reply_to(calls(fragment(0, "x", "read_file", arguments))).tool_calls[0]
    assert call.arguments == "{}"
    assert said in call.error
    assert len(call.error) < 1000


def test_a_payload_nested_to_the_limit_of_the_stack_is_one_clear_error():
    arguments = {}
    for _ in range(sys.getrecursionlimit()):
        arguments = {"a": arguments}
    with pytest.raises(ModelError, match="not JSON"):
        CallAssembler(()).add(fragment(0, "x", "read_file", arguments))


@pytest.mark.parametrize("arguments", ["", "{", '{"path":"a'])
def test_a_call_cut_by_the_length_limit_says_so(arguments):
    payloads = [
        calls(fragment(0, "w", "read_file", A)),
        calls(fragment(1, "x", "write_file", arguments)),
    ]
    whole, cut = reply_to(*payloads, finish="length").tool_calls
    assert whole == ToolCall("w", "read_file", A)
    assert "length" in cut.error
    assert cut.arguments == "{}"


def test_a_call_without_a_name_is_told_of():
    response = reply_to(text("so:"), calls(fragment(0, "x", None, A)))
    assert response.tool_calls == ()
    assert response.unexecuted_call


@pytest.mark.parametrize(
    "payload",
    [
        "null", "[]", "3", '"x"', "{}", '{"choices":null}', '{"choices":[]}', '{"choices":[null]}',
        '{"choices":[{}]}', '{"choices":[{"delta":null,"finish_reason":null}]}', " ",
        '{"choices":{"0":{}}}', '{"choices":[{"delta":{"content":null,"tool_calls":null}}]}',
        '{"choices":[{"delta":{"content":7,"tool_calls":[null,3,"x",[]]}}]}', '{"usage":null}',
        '{"choices":[{"delta":"x"}]}', '{"error":null,"choices":[]}', '{"error":{},"choices":[]}',
    ],
)  # fmt: skip
def test_nothing_is_nothing(payload):
    assert reply_to(payload, text("a"), payload).content == "a"


def test_a_second_answer_is_not_glued_to_the_first():
    first, second = ({"index": index, "delta": {"content": str(index)}} for index in (0, 1))
    assert reply_to(json.dumps({"choices": [second, first]})).content == "0"
    apart = [json.dumps({"choices": [choice]}) for choice in (first, second, first)]
    assert reply_to(*apart).content == "00"
    assert reply_to(json.dumps({"choices": [second]})).content == "1"


def test_blanks_are_no_answer():
    with pytest.raises(EmptyReply):
        reply_to(text(" \n"), text("  "))


def test_an_error_in_an_array_is_an_error():
    with pytest.raises(ModelRefused, match="too busy"):
        reply_to('[{"error": {"message": "too busy"}}]')


def test_usage_may_stand_in_the_choice():
    choice = {"delta": {}, "usage": {"prompt_tokens": 7, "completion_tokens": 2}}
    assert reply_to(text("a"), json.dumps({"choices": [choice]})).usage == Usage(7, 2, 0)


def test_content_may_be_a_list_of_parts():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "a"},
        None,
        {"type": "image"},
    ]
    response = reply_to(text(parts))
    assert (response.reasoning, response.content) == ("hm", "a")


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"reasoning_content": "", "reasoning": "hm"},
        {"reasoning_content": "hm", "reasoning": "hm"},
        {"reasoning_details": [{"text": "h"}, {"content": "m"}, None, {}]},
    ],
)
def test_reasoning_has_three_names(delta):
    assert reply_to(chunk(delta)).reasoning == "hm"


def test_a_pair_cut_between_two_deltas_becomes_one_character():
    heard = []
    response = reply_to(text("a\ud83d"), text("\ude80b"), text("c\ud83d"), heard=heard)
    assert response.content == "a🚀bc\ufffd"
    assert "".join(delta.text for delta in heard) == response.content
    response.content.encode()


def test_usage_and_model():
    response = reply_to(
        text("a"),
        json.dumps(
            {"model": " m ", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 1}}
        ),
        json.dumps({"model": "other", "usage": {"prompt_tokens": "7", "completion_tokens": 1}}),
    )
    assert response.usage == Usage(5, 1)
    assert response.model is None
    assert reply_to(text("a"), json.dumps({"model": " m "})).model == "m"


@pytest.mark.parametrize(
    ("value", "cached"),
    [
        ({"cached_tokens": 3}, 3),
        ({"prompt_cache_hit_tokens": 4}, 4),
        ({"cached_tokens": 3, "prompt_tokens_details": {"cached_tokens": 9}}, 9),
        ({"prompt_tokens_details": None}, 0),
        ({"prompt_tokens_details": {"cached_tokens": -1}}, 0),
    ],
)
def test_cached_tokens_have_many_names(value, cached):
    found = usage_of({"prompt_tokens": 10, "completion_tokens": 2} | value)
    assert found == Usage(10, 2, cached)


@pytest.mark.parametrize("bad", [None, [], "x", {}, {"prompt_tokens": 1}, {"prompt_tokens": 1.0, "completion_tokens": 1},
                                 {"prompt_tokens": True, "completion_tokens": 1}, {"prompt_tokens": 2**31, "completion_tokens": 1}])  # fmt: skip
def test_usage_that_is_none(bad):
    assert usage_of(bad) is None


@pytest.mark.parametrize(
    ("payload", "retryable", "words"),
    [
        ({"error": {"message": "no such model", "code": 404}}, False, "no such model"),
        ({"error": {"message": "slow down", "code": 429}}, True, "slow down"),
        ({"error": {"message": "m", "status": 503, "code": 400}}, True, "m"),
        ({"error": {"message": "Overloaded", "type": "x"}}, True, "Overloaded"),
        ({"error": {"message": "bad", "type": "server_error"}}, True, "bad"),
        ({"error": "plain words"}, False, "plain words"),
        ({"object": "error", "message": "vllm says no", "code": 400}, False, "vllm says no"),
        ({"code": "500", "msg": "系统繁忙"}, True, "系统繁忙"),
        ({"detail": "Not Found"}, False, "Not Found"),
    ],
)
def test_an_error_in_the_stream(payload, retryable, words):
    with pytest.raises(ModelRefused, match=words) as caught:
        reply_to(json.dumps(payload))
    assert caught.value.retryable == retryable


def test_how_a_reply_must_end():
    with pytest.raises(StreamInterrupted):
        reply_to(text("a"), finish=None)
    with pytest.raises(EmptyReply):
        reply_to()
    with pytest.raises(ModelError):
        reply_to("{not json")
    reply = Reply([].append)
    assert not reply.take(text("a"))
    assert reply.take(" [DONE]")
    assert reply.finish().finish_reason is None


def test_payloads_that_one_newline_ends_are_taken_one_by_one():
    assert reply_to(f"{text('a')}\n{text('b')}").content == "ab"


@pytest.mark.parametrize(
    "known",
    [{"index": 0}, {"index": 0, "call_id": "x", "name": "write_file"}, {"name": "write_file"}],
)
def test_a_long_argument_in_small_pieces(known):
    big = json.dumps({"path": "a", "content": "}x{" * 70_000})
    payloads = [calls(fragment(0, "x", "write_file", ""))] if known.get("index") == 0 else []
    payloads += [
        calls(fragment(arguments=big[at : at + 20], **known)) for at in range(0, len(big), 20)
    ]
    (call,) = reply_to(*payloads).tool_calls
    assert (call.arguments, call.name) == (big, "write_file")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["id", "index", "function", "name", "arguments", "content", "reasoning", "text", "type"]), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
deltas = st.fixed_dictionaries(
    {},
    optional={
        "content": st.text(max_size=12) | json_values,
        "reasoning_content": st.text(max_size=5) | json_values,
        "tool_calls": st.lists(json_values, max_size=3) | json_values,
        "function_call": json_values,
    },
)
payloads = st.one_of(
    deltas.map(chunk),
    st.builds(chunk, deltas, st.none() | st.sampled_from(["stop", "length", "tool_calls", ""])),
    json_values.map(json.dumps),
    st.fixed_dictionaries({"choices": json_values, "usage": json_values, "model": json_values}).map(json.dumps),
    st.just("[DONE]"),
)  # fmt: skip


@given(st.lists(payloads, max_size=10))
def test_random_payloads_raise_nothing_else_and_keep_what_was_heard(sequence):
    heard = []
    reply = Reply(heard.append, OFFERED, text_calls=("dsml", "marked", "fenced"), think_tags=True)
    try:
        for payload in sequence:
            reply.take(payload)
        response = reply.finish()
    except PaiCliError:
        return
    shown = "".join(delta.text for delta in heard if isinstance(delta, TextDelta))
    assert response.content == shown or (response.tool_calls and response.content == shown.strip())
    assert response.reasoning == "".join(
        delta.text for delta in heard if isinstance(delta, ReasoningDelta)
    )
    for call in response.tool_calls:
        assert isinstance(json.loads(call.arguments), dict)
        assert call.name
        assert call.id
    assert len({call.id for call in response.tool_calls}) == len(response.tool_calls)


@given(st.lists(st.integers(0, 60), max_size=8), st.booleans())
def test_the_key_is_never_said_however_it_is_cut(cuts, thinks):
    secret = "sk-sk-ssk-0123456789"
    said = f"s sk-ss the key sk-{secret}s is {secret[:12]}é{secret} done sk-s"
    places = [0, *sorted(cuts), len(said)]
    pieces = [said[a:b] for a, b in pairwise(places)]
    heard = []
    deltas = [{"reasoning_content": p} if thinks else {"content": p} for p in pieces]
    response = reply_to(*map(chunk, deltas), text("."), heard=heard, secret=secret)
    whole = "".join(delta.text for delta in heard if hasattr(delta, "text"))
    wanted = said.replace(secret, "***")
    assert whole == wanted + "."
    assert (response.reasoning, response.content) == (
        (wanted, ".") if thinks else ("", wanted + ".")
    )


def test_what_might_have_been_a_key_is_said_before_anything_else_is():
    heard, secret = [], "s" * 20
    deltas = [
        {"reasoning": "thinks"},
        {"content": "says"},
        {"tool_calls": [fragment(0, "x", "a", A)]},
    ]
    reply_to(*map(chunk, deltas), heard=heard, secret=secret)
    assert [d.text if hasattr(d, "text") else "call" for d in heard] == [
        "think", "s", "say", "s", "call",
    ]  # fmt: skip


def test_a_placeholder_for_a_key_is_an_ordinary_word():
    assert reply_to(text("ask ollama"), secret="ollama").content == "ask ollama"


@pytest.mark.parametrize(
    "flood",
    [
        [fragment(n, f"x{n}", "read_file", A) for n in range(1000)],
        [fragment(None, f"x{n}", "read_file", A) for n in range(1000)],
        [fragment(0, f"x{n}", "read_file", A) for n in range(1000)],
        [fragment(None, None, "read_file", f'{{"path":"{n}"}}') for n in range(1000)],
    ],
    ids=["index and id", "id", "one index", "nothing"],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_a_flood_of_calls_is_bounded_and_the_model_is_told(flood, size):
    response = reply_to(*[calls(*flood[at : at + size]) for at in range(0, 1000, size)])
    assert len(response.tool_calls) == 129
    assert [call.error for call in response.tool_calls[:128]] == [None] * 128
    assert {call.arguments for call in response.tool_calls[:128]} != {"{}"}
    last = response.tool_calls[128]
    assert (last.name, last.arguments) == ("read_file", "{}")
    assert "at most 128 calls" in (last.error or "")


def test_calls_past_the_bound_take_no_memory_and_the_earlier_ones_still_grow():
    assembler = CallAssembler(OFFERED)
    for n in range(129):
        assembler.add(fragment(n, f"x{n}", "read_file", '{"path":'))
    for n in range(129, 5000):
        assert assembler.add(fragment(n, f"x{n}", "read_file", A)) is None
    for n in range(129):
        assembler.add(fragment(n, None, None, '"a"}'))
    assert len(assembler) == 129
    built, _ = assembler.build("tool_calls")
    assert {call.arguments for call in built[:128]} == {A}
    assert built[128].arguments == "{}"


def test_as_many_calls_as_the_bound_allows_all_run():
    flood = [fragment(n, f"x{n}", "read_file", A) for n in range(128)]
    assert [call.error for call in reply_to(calls(*flood)).tool_calls] == [None] * 128

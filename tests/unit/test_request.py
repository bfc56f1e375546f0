"""The bytes of a request: kept ones and new ones make what all of them would make anew."""

import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from paicli.llm.messages import Message, ToolCall
from paicli.llm.providers import demo_profile
from paicli.llm.request import RequestBody

PROFILE = demo_profile()
TOOLS = {"a": b'{"name":"a"}', "b": b'{"name":"b"}'}

messages = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.none() | st.text(max_size=9),
    st.none() | st.text(max_size=3),
    st.just(()) | st.just((ToolCall("1", "read_file", "{}"),)),
)
histories = st.lists(
    st.tuples(st.integers(0, 6), st.lists(messages, max_size=4)), min_size=1, max_size=8
)


@given(histories)
def test_a_conversation_that_grows_or_is_rewritten_is_sent_as_if_it_were_new(
    changes: Sequence[tuple[int, list[Message]]],
) -> None:
    kept = RequestBody(PROFILE)
    conversation: list[Message] = []
    for length, added in changes:
        conversation = conversation[:length] + added
        assert kept.body(conversation, TOOLS) == RequestBody(PROFILE).body(conversation, TOOLS)


def test_the_request_is_json_with_the_messages_last() -> None:
    said = [Message("user", "做"), Message("assistant", "好的", "想")]
    body = json.loads(RequestBody(PROFILE).body(said, TOOLS))
    assert list(body)[-2:] == ["tools", "messages"]
    assert (body["model"], body["stream"]) == (PROFILE.model, True)
    assert body["tools"] == [{"name": "a"}, {"name": "b"}]
    assert [message["content"] for message in body["messages"]] == ["做", "好的"]


def test_a_request_without_tools_has_no_such_key() -> None:
    assert "tools" not in json.loads(RequestBody(PROFILE).body([Message("user", "hi")], {}))


def test_a_tuple_of_messages_grows_as_a_list_does() -> None:
    kept = RequestBody(PROFILE)
    first, second = Message("user", "1"), Message("user", "2")
    kept.body((first,), {})
    assert kept.body((first, second), {}) == RequestBody(PROFILE).body([first, second], {})

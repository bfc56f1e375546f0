"""The message list is append-only, recorded first, and always legal."""

import json

from hypothesis import given
from hypothesis import strategies as st

from paicli.llm.messages import Message, ToolCall
from paicli.session.conversation import Conversation, repaired


class Notes:
    def __init__(self):
        self.written = []

    def message(self, message):
        self.written.append(message)

    def rewritten(self, why, messages):
        self.written.append((why, tuple(messages)))


def asking(*ids):
    return Message("assistant", None, tool_calls=tuple(ToolCall(i, "list_dir", "{}") for i in ids))


def test_every_message_is_recorded_as_it_is_added():
    notes = Notes()
    conversation = Conversation(notes)
    conversation.append(Message("user", "hi"))
    conversation.rewrite("clear", [])
    assert notes.written == [Message("user", "hi"), ("clear", ())]
    assert list(conversation.messages) == []


def test_open_calls_are_those_without_a_result():
    conversation = Conversation(Notes(), [Message("user", "go"), asking("a", "b", "c")])
    conversation.answer("a", "done")
    assert [call.id for call in conversation.open_calls()] == ["b", "c"]
    conversation.close_open_calls("cancelled")
    assert conversation.open_calls() == []
    assert [m.tool_call_id for m in conversation.messages if m.role == "tool"] == ["a", "b", "c"]


def test_nothing_is_open_after_an_answer():
    conversation = Conversation(Notes(), [asking("a"), Message("assistant", "text")])
    assert conversation.open_calls() == []


def is_object(text):
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def legal(messages):
    waiting = []
    for message in messages:
        if message.role == "tool":
            if message.tool_call_id not in waiting:
                return False
            waiting.remove(message.tool_call_id)
            continue
        if waiting:
            return False
        if message.role == "assistant" and not (message.content or message.tool_calls):
            return False
        if not all(is_object(call.arguments) for call in message.tool_calls):
            return False
        waiting = [call.id for call in message.tool_calls]
    return not waiting


def test_a_torn_history_is_made_legal():
    torn = [
        Message("user", "go"),
        Message("tool", "orphan", tool_call_id="z"),
        asking("a", "b"),
        Message("tool", "A", tool_call_id="a"),
        Message("assistant", None),
        Message("assistant", None, tool_calls=(ToolCall("c", "read_file", "{broken"),)),
    ]
    mended = repaired(torn)
    assert legal(mended)
    assert [(m.role, m.tool_call_id) for m in mended] == [
        ("user", None), ("assistant", None), ("tool", "a"), ("tool", "b"), ("assistant", None), ("tool", "c"),
    ]  # fmt: skip
    assert mended[4].tool_calls[0].arguments == "{}"


messages = st.one_of(
    st.builds(Message, st.just("user"), st.text(min_size=1)),
    st.builds(Message, st.just("assistant"), st.none() | st.text()),
    st.builds(
        lambda ids, arguments: Message(
            "assistant", None, tool_calls=tuple(ToolCall(i, "t", arguments) for i in ids)
        ),
        st.lists(st.sampled_from("abcd"), unique=True, max_size=3),
        st.sampled_from(["{}", '{"a":1}', "[]", "{", ""]),
    ),
    st.builds(lambda i: Message("tool", "r", tool_call_id=i), st.sampled_from("abcd")),
)


@given(st.lists(messages, max_size=20))
def test_repair_makes_anything_legal_and_leaves_the_legal_alone(history):
    mended = repaired(history)
    assert legal(mended)
    assert repaired(mended) == mended
    if legal(history):
        assert mended == history

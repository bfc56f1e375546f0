"""The conversation stays inside the window and loses nothing that matters."""

import json
from types import SimpleNamespace

import pytest

from paicli.agent.compaction import SUMMARY, Compactor
from paicli.agent.context import ContextMeter, Thresholds
from paicli.errors import ModelUnreachable
from paicli.llm.messages import ChatResponse, Message, ToolCall, Usage
from paicli.llm.tokens import estimate_message
from paicli.session.conversation import Conversation

GOOD = (
    "## Goal and success criteria\nport it\n## User requirements and decisions\nnone\n"
    "## Work done and evidence\nread\n## Open problems and next step\ngo on"
)


class Nowhere:
    def message(self, message):
        pass

    def rewritten(self, why, messages):
        pass


class Scripted:
    """A client that gives the same answers in turn and keeps the requests."""

    def __init__(self, *answers, window=20_000):
        self.profile = SimpleNamespace(context_window=window)
        self.answers = list(answers)
        self.requests = []

    async def chat(self, messages, tools, emit):
        self.requests.append(list(messages))
        assert tools == {}
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return ChatResponse(answer, usage=Usage(10, 5))


def work(steps, size=2_000):
    """A long turn: one request of the person, then calls and results."""
    messages = [
        Message("system", "rules"),
        Message("user", "The goal: port foo.py", source="user_input"),
    ]
    for i in range(steps):
        call = ToolCall(f"c{i}", "read_file", json.dumps({"path": f"src/f{i}.py"}))
        messages.append(Message("assistant", None, tool_calls=(call,), source="llm_response"))
        messages.append(
            Message("tool", f"{i} " + "x" * size, tool_call_id=call.id, source="tool_execution")
        )
    return messages


def paired(messages):
    waiting = []
    for message in messages:
        if message.role == "tool":
            waiting.remove(message.tool_call_id)
        else:
            assert waiting == []
            waiting = [call.id for call in message.tool_calls]
    return waiting == []


def total(messages):
    return sum(estimate_message(message) for message in messages)


async def test_nothing_happens_while_there_is_room():
    told, client = [], Scripted(GOOD)
    conversation = Conversation(Nowhere(), work(3))
    before = list(conversation.messages)
    await Compactor(told.append).fit(client, conversation, {}, lambda _: None)
    assert (list(conversation.messages), told, client.requests) == (before, [], [])


async def test_old_results_are_cleared_in_one_batch_and_the_last_ones_stay():
    told, client = [], Scripted(GOOD, window=200_000)
    conversation = Conversation(Nowhere(), work(60, size=8_000))
    compactor = Compactor(told.append)
    await compactor.fit(client, conversation, {}, lambda _: None)
    contents = [m.content for m in conversation.messages if m.role == "tool"]
    assert [content.startswith("[old tool result cleared") for content in contents] == [
        True
    ] * 57 + [False] * 3
    assert [notice.kind for notice in told] == ["results_cleared"]
    assert client.requests == []
    assert paired(conversation.messages)


async def test_a_long_turn_is_summarised_and_the_persons_words_stay():
    told, spent = [], []
    client = Scripted(GOOD)
    conversation = Conversation(Nowhere(), work(8, size=6_000))
    outcome = await Compactor(told.append).compact(client, conversation, spent.append)
    messages = conversation.messages
    assert outcome.after < outcome.before
    assert messages[0] == Message("system", "rules")
    assert messages[1].source == SUMMARY
    assert GOOD in messages[1].content
    assert "The goal: port foo.py" in messages[1].content
    assert "src/f0.py" in messages[1].content
    assert messages[-1].content.startswith("7 ")
    assert paired(messages)
    assert spent == [Usage(10, 5)] * len(client.requests)
    assert [notice.kind for notice in told] == ["compacted"]


async def test_the_goal_survives_many_compactions():
    client = Scripted(GOOD, window=10_000)
    conversation = Conversation(Nowhere(), work(1))
    compactor = Compactor(lambda _: None)
    for i in range(300):
        call = ToolCall(f"d{i}", "read_file", json.dumps({"path": f"g{i}.py"}))
        conversation.append(Message("assistant", None, tool_calls=(call,)))
        conversation.append(Message("tool", "y" * 390, tool_call_id=call.id))
        await compactor.fit(client, conversation, {}, lambda _: None)
        assert total(conversation.messages) < 10_000
        assert paired(conversation.messages)
    assert len(client.requests) > 3
    assert any("The goal: port foo.py" in (m.content or "") for m in conversation.messages)


@pytest.mark.parametrize(
    "answer", ["no headings at all", "", GOOD + "x" * 9_000, ModelUnreachable("down")]
)
async def test_a_bad_summary_leaves_everything_as_it_was(answer):
    told, client = [], Scripted(answer)
    conversation = Conversation(Nowhere(), work(8, size=6_000))
    before = list(conversation.messages)
    assert await Compactor(told.append).compact(client, conversation, lambda _: None) is None
    assert list(conversation.messages) == before
    assert [notice.kind for notice in told] == ["compaction_failed"]


async def test_a_summary_without_headings_gets_one_repair():
    client = Scripted("oops", GOOD)
    conversation = Conversation(Nowhere(), work(8, size=6_000))
    assert await Compactor(lambda _: None).compact(client, conversation, lambda _: None)
    assert [m.role for m in client.requests[1]] == ["system", "user", "assistant", "user"]


async def test_one_giant_batch_is_shortened_rather_than_sent():
    told, client = [], Scripted("useless")
    conversation = Conversation(Nowhere(), work(2, size=60_000))
    await Compactor(told.append).fit(client, conversation, {}, lambda _: None)
    assert total(conversation.messages) < 20_000
    assert told[-1].kind == "results_shortened"


@pytest.mark.parametrize(
    ("window", "summarise"), [(200_000, 167_000), (1_000_000, 967_000), (1_000, 5_000)]
)
def test_thresholds_are_the_originals(window, summarise):
    assert Thresholds.of(window).summarise == summarise


def test_the_meter_takes_the_providers_count_and_adds_what_is_new():
    meter = ContextMeter()
    messages = work(1)
    assert meter.measured(Usage(input=1_000), messages, {}) is False
    new = Message("user", "and now?")
    assert meter.tokens([*messages, new], {}) == 1_000 + estimate_message(new)


def test_a_count_far_below_the_text_means_that_the_server_cut_it():
    meter = ContextMeter()
    messages = work(10, size=4_000)
    assert meter.measured(Usage(input=2_048), messages, {}) is True
    assert meter.tokens(messages, {}) == total(messages)

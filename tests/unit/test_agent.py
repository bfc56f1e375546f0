"""The loop: what the model asks for is done, told and kept, whatever happens on the way."""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import Field

from paicli.agent.agent import Agent
from paicli.agent.events import (
    Notice,
    ReplyFinished,
    RequestStarted,
    ToolCalled,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from paicli.agent.extension import Extension
from paicli.config import Settings
from paicli.errors import EditError, ModelRefused, ModelUnreachable, PolicyDenied, ToolFailed
from paicli.llm.deltas import TextDelta
from paicli.llm.messages import ChatResponse, Message, ToolCall, Usage
from paicli.policy.approval import Verdict
from paicli.policy.modes import Effect, Mode
from paicli.session.conversation import Conversation
from paicli.tools.base import Tool, ToolOutput
from paicli.tools.parameters import Parameters
from paicli.tools.registry import ToolRegistry


class Nowhere:
    def message(self, message):
        pass

    def rewritten(self, why, messages):
        pass


class Plain:
    """Results as they are."""

    def bound(self, tool, text, *, keep_inline=False):
        return text


class Says:
    """An approval that gives one verdict and keeps the requests."""

    def __init__(self, verdict=None):
        self.mode = Mode.AUTO
        self.verdict = verdict or Verdict(allowed=True)
        self.asked = []

    def start_turn(self, user_request):
        self.user_request = user_request

    async def decide(self, request, must_ask=None):
        self.asked.append((request.tool, request.subject, must_ask))
        return self.verdict

    def note_refusal(self, tool, arguments, reason):
        self.refused = (tool, arguments)


class Scripted:
    """A client that replies from a list; an item may be a function of the request."""

    def __init__(self, *replies):
        self.profile = SimpleNamespace(context_window=1_000_000, model="m")
        self.replies = list(replies)
        self.requests = []

    async def chat(self, messages, tools, emit):
        self.requests.append((list(messages), list(tools)))
        reply = self.replies.pop(0)
        if callable(reply):
            reply = await reply(emit)
        if isinstance(reply, Exception):
            raise reply
        return reply


def asks(*calls, content=""):
    made = tuple(
        ToolCall(f"c{i}", name, json.dumps(arguments)) for i, (name, arguments) in enumerate(calls)
    )
    return ChatResponse(content, tool_calls=made, finish_reason="tool_calls", usage=Usage(10, 2, 4))


def says(text):
    return ChatResponse(text, finish_reason="stop", usage=Usage(20, 3))


class Look(Parameters):
    """Look at a thing."""

    what: str = Field(description="the thing")
    count: int = 1


def tool(name, effect, run, **hooks):
    return Tool(name, Look, run, effect, subject=lambda p: p.what, **hooks)


async def sees(parameters, tell):
    tell("looking")
    return ToolOutput(f"saw {parameters.what} {parameters.count}", summary="1 line")


def agent_with(client, *tools, approval=None, extensions=(), root=Path("/nowhere"), **settings):
    events = []
    registry = ToolRegistry(lambda: tools or [tool("look", Effect.READ, sees)], Plain())
    conversation = Conversation(Nowhere())
    settings = Settings(root=root, home=root, trusted=False, providers={}, **settings)
    agent = Agent(
        client, registry, approval or Says(), conversation, settings, events.append, extensions
    )
    return agent, events


def history(agent):
    return [(m.role, m.content) for m in agent.conversation.messages[1:]]


def wrapped(name, text):
    return f'<tool_result tool="{name}" trust="untrusted-data">\n{text}\n</tool_result>'


async def test_a_task_from_call_to_answer():
    client = Scripted(asks(("look", {"what": "sky"}), content="Let me look."), says("It is blue."))
    agent, events = agent_with(client)
    result = await agent.run("what colour?")
    assert (result.status, result.text, result.steps, result.exit_code) == (
        "done",
        "It is blue.",
        2,
        0,
    )
    assert result.usage == Usage(30, 5, 4)
    assert [m.role for m in agent.conversation.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert history(agent)[2] == ("tool", wrapped("look", "saw sky 1"))
    kinds = [type(event) for event in events]
    assert [k for k in kinds if k.__name__ != "UsageReported"] == [
        RequestStarted, ReplyFinished, ToolCalled, ToolStarted, ToolProgress, ToolFinished,
        RequestStarted, ReplyFinished,
    ]  # fmt: skip


async def test_each_request_begins_with_the_one_before():
    client = Scripted(*[asks(("look", {"what": str(i)})) for i in range(4)], says("done"))
    agent, _ = agent_with(client)
    await agent.run("go")
    for (before, tools), (after, tools_after) in zip(
        client.requests, client.requests[1:], strict=False
    ):
        assert after[: len(before)] == before
        assert tools == tools_after == ["look"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (ToolCall("c", "fly", "{}"), "Error: Unknown tool: fly. The tools are: look."),
        (ToolCall("c", "look", "{}"), "`what` is missing"),
        (ToolCall("c", "look", '{"what":"a","huh":1}'), "`huh` is not a parameter"),
        (ToolCall("c", "look", '{"what":"a","count":"many"}'), "`count`: Input should be a valid integer"),
        (ToolCall("c", "look", "{}", error="the arguments were cut off"), "Error: the arguments were cut off"),
    ],
)  # fmt: skip
async def test_a_wrong_call_is_explained_and_never_run(call, said):
    client = Scripted(ChatResponse(tool_calls=(call,)), says("sorry"))
    agent, events = agent_with(client)
    result = await agent.run("go")
    assert said in history(agent)[2][1]
    assert result.status == "done"
    assert not [event for event in events if isinstance(event, ToolStarted)]


async def test_a_null_for_an_optional_parameter_counts_as_left_out():
    client = Scripted(asks(("look", {"what": "a", "count": None})), says("ok"))
    agent, _ = agent_with(client)
    await agent.run("go")
    assert "saw a 1" in history(agent)[2][1]


async def test_a_lone_surrogate_in_arguments_never_reaches_the_tool():
    call = ToolCall("c", "look", '{"what":"a\\ud83d"}')
    agent, _ = agent_with(Scripted(ChatResponse(tool_calls=(call,)), says("ok")))
    await agent.run("go")
    assert "saw a\ufffd 1" in history(agent)[2][1]


async def test_reads_run_together_and_results_keep_their_order():
    gate, running = asyncio.Event(), []

    async def waits(parameters, tell):
        running.append(parameters.what)
        if len(running) == 3:
            gate.set()
        await gate.wait()
        return ToolOutput(parameters.what)

    client = Scripted(asks(*(("look", {"what": w}) for w in "abc")), says("ok"))
    agent, events = agent_with(client, tool("look", Effect.READ, waits))
    await agent.run("go")
    assert [e.result.id for e in events if isinstance(e, ToolFinished)] == ["c0", "c1", "c2"]


async def test_at_most_four_reads_at_once():
    now, most = 0, 0

    async def counted(parameters, tell):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        return ToolOutput("")

    client = Scripted(asks(*(("look", {"what": str(i)}) for i in range(12))), says("ok"))
    agent, _ = agent_with(client, tool("look", Effect.READ, counted))
    await agent.run("go")
    assert most == 4


async def test_anything_but_a_read_is_a_barrier():
    order = []

    def named(name):
        async def run(parameters, tell):
            order.append(f"{name} begins")
            await asyncio.sleep(0)
            order.append(f"{name} ends")
            return ToolOutput("")

        return run

    tools = [tool("look", Effect.READ, named("look")), tool("cut", Effect.WRITE, named("cut"))]
    what = {"what": "x"}
    client = Scripted(
        asks(("look", what), ("cut", what), ("cut", what), ("look", what)), says("ok")
    )
    agent, _ = agent_with(client, *tools)
    await agent.run("go")
    assert order == [f"{n} {e}" for n in ("look", "cut", "cut", "look") for e in ("begins", "ends")]


async def test_only_acts_with_effects_are_reviewed_with_the_persons_own_words():
    approval = Says()
    tools = [tool("look", Effect.READ, sees), tool("cut", Effect.WRITE, sees)]
    client = Scripted(asks(("look", {"what": "a"}), ("cut", {"what": "b"})), says("ok"))
    agent, _ = agent_with(client, *tools, approval=approval)
    await agent.run("expanded", submitted="typed")
    assert approval.asked == [("cut", "b", None)]
    assert approval.user_request == "typed"


async def test_a_refused_act_does_not_run_and_the_run_says_so():
    approval = Says(Verdict(allowed=False, reason="too dangerous"))
    client = Scripted(asks(("cut", {"what": "b"})), says("could not"))
    agent, events = agent_with(client, tool("cut", Effect.WRITE, sees), approval=approval)
    result = await agent.run("go")
    assert (result.status, result.refused, result.exit_code) == ("refused", 1, 4)
    assert "Refused, nothing was done: too dangerous" in history(agent)[2][1]
    assert not [event for event in events if isinstance(event, ToolStarted)]


async def test_a_guard_refuses_before_anybody_is_asked():
    approval = Says()
    guarded = tool("cut", Effect.WRITE, sees, guard=lambda p: "never")
    client = Scripted(asks(("cut", {"what": "b"})), says("ok"))
    agent, _ = agent_with(client, guarded, approval=approval)
    assert (await agent.run("go")).refused == 1
    assert approval.asked == []
    assert approval.refused == ("cut", '{"what": "b"}')


@pytest.mark.parametrize(
    ("mode", "why_ask", "asked"),
    [(Mode.ASK, None, 0), (Mode.ASK, "a key", 1), (Mode.AUTO, None, 1), (Mode.AUTO, "a key", 1)],
)
async def test_nobody_is_asked_about_what_cannot_be_done(mode, why_ask, asked):
    def preview(_parameters):
        raise EditError("no such text", "not_found")

    async def fails(parameters, _tell):
        preview(parameters)

    client = Scripted(asks(("change", {"what": "f"})), says("I see."))
    approval = Says()
    approval.mode = mode
    change = tool("change", Effect.WRITE, fails, preview=preview, asks=lambda _: why_ask)
    agent, events = agent_with(client, change, approval=approval)
    await agent.run("go")
    assert len(approval.asked) == asked
    result = next(event.result for event in events if isinstance(event, ToolFinished))
    assert (result.ok, result.refused, result.summary) == (False, False, "text not found")
    assert "no such text" in history(agent)[2][1]


async def test_an_edited_call_goes_through_the_guards_again():
    approval = Says(Verdict(allowed=True, arguments={"what": "evil"}))
    guarded = tool("cut", Effect.WRITE, sees, guard=lambda p: "no" if p.what == "evil" else None)
    client = Scripted(asks(("cut", {"what": "good"})), says("ok"))
    agent, _ = agent_with(client, guarded, approval=approval)
    assert (await agent.run("go")).refused == 1


@pytest.mark.parametrize(
    ("error", "said", "refused"),
    [
        (ToolFailed("no such file"), "Error: no such file", 0),
        (PolicyDenied("outside"), "Refused, nothing was done: outside", 1),
        (OSError(28, "No space left on device"), "Error: look failed: No space left on device.", 0),
        (ZeroDivisionError(), "internal error", 0),
    ],
)
async def test_a_tool_that_fails_never_ends_the_turn(error, said, refused):
    async def fails(parameters, tell):
        raise error

    client = Scripted(asks(("look", {"what": "a"})), says("ok"))
    agent, _ = agent_with(client, tool("look", Effect.READ, fails))
    result = await agent.run("go")
    assert said in history(agent)[2][1]
    assert result.refused == refused


async def test_cancelling_a_tool_answers_every_open_call():
    started = asyncio.Event()

    async def hangs(parameters, tell):
        started.set()
        await asyncio.Event().wait()

    what = {"what": "x"}
    client = Scripted(asks(("cut", what), ("cut", what)), says("next"))
    agent, events = agent_with(client, tool("cut", Effect.WRITE, hangs))
    task = asyncio.create_task(agent.run("go"))
    await started.wait()
    task.cancel()
    result = await task
    assert (result.status, result.exit_code) == ("cancelled", 130)
    partly = "Cancelled by the user. It may have taken effect in part: check before you rely on it."
    assert history(agent)[2:] == [
        ("tool", wrapped("cut", partly)),
        ("tool", wrapped("cut", "Cancelled by the user.")),
    ]
    assert [e.result.cancelled for e in events if isinstance(e, ToolFinished)] == [True, True]
    assert (await agent.run("again")).text == "next"


async def test_cancelling_a_reply_keeps_what_was_shown():
    shown = asyncio.Event()

    async def half(emit):
        emit(TextDelta("I was about to"))
        shown.set()
        await asyncio.Event().wait()

    agent, _ = agent_with(Scripted(half, says("next")))
    task = asyncio.create_task(agent.run("go"))
    await shown.wait()
    task.cancel()
    assert (await task).status == "cancelled"
    assert history(agent)[1] == (
        "assistant",
        "I was about to\n\n[PaiCLI] This reply was interrupted here.",
    )
    assert (await agent.run("again")).text == "next"


@pytest.mark.parametrize(
    ("error", "code"),
    [(ModelUnreachable("down"), 75), (ModelRefused("bad key", status=401), 1),
     (ModelRefused("busy", status=429, retryable=True), 75)],
)  # fmt: skip
async def test_a_model_that_fails_is_a_result_not_an_exception(error, code):
    agent, _ = agent_with(Scripted(error, says("back")))
    result = await agent.run("go")
    assert (result.status, result.error, result.exit_code) == ("error", str(error), code)
    assert (await agent.run("again")).status == "done"


async def test_an_empty_answer_is_told_and_never_kept():
    agent, _ = agent_with(Scripted(ChatResponse("", "hmm"), says("two")))
    result = await agent.run("go")
    assert (result.status, result.exit_code) == ("error", 1)
    await agent.run("again")
    assert all(m.content for m in agent.conversation.messages)


async def test_a_call_written_as_text_is_told_to_both():
    agent, events = agent_with(Scripted(ChatResponse("<tool_call>", unexecuted_call=True)))
    result = await agent.run("go")
    assert result.text == "<tool_call>"
    assert "It was not run" in history(agent)[1][1]
    assert [e.kind for e in events if isinstance(e, Notice)] == ["call_not_run"]


async def test_five_identical_rounds_end_with_an_honest_account():
    same = [asks(("look", {"what": "a"})) for _ in range(5)]
    agent, events = agent_with(client := Scripted(*same, says("This much is done.")))
    result = await agent.run("go")
    assert (result.status, result.exit_code, result.steps) == ("partial", 3, 6)
    assert result.text == "⚠️ Partly done (the same steps were repeated)\n\nThis much is done."
    assert [tools for _, tools in client.requests] == [["look"]] * 5 + [[]]
    notices = [e.kind for e in events if isinstance(e, Notice)]
    assert notices == ["runaway_reminder", "partly_done"]
    roles = [m.role for m in agent.conversation.messages]
    assert roles[7:11] == ["tool", "user", "assistant", "tool"], (
        "the reminder follows the third result"
    )


async def test_the_iteration_cap_stops_too():
    agent, _ = agent_with(Scripted(asks(("look", {"what": "a"})), says("so far")), max_iterations=1)
    result = await agent.run("go")
    assert result.text.startswith("⚠️ Partly done (the limit of model requests is reached)")


async def test_a_broken_extension_is_told_once_and_the_rest_goes_on():
    class Broken(Extension):
        def before_request(self):
            raise RuntimeError

    class Adds(Extension):
        def before_request(self):
            return [Message("user", "by the way", source="steering")]

    agent, events = agent_with(
        Scripted(asks(("look", {"what": "a"})), says("ok")), extensions=(Broken(), Adds())
    )
    await agent.run("go")
    assert [e.kind for e in events if isinstance(e, Notice)] == ["extension_failed"]
    assert [c for r, c in history(agent) if r == "user"] == ["go", "by the way", "by the way"]


async def test_a_changed_mode_is_told_with_the_next_message():
    agent, _ = agent_with(Scripted(says("1"), says("2"), says("3")))
    await agent.run("a")
    agent.approval.mode = Mode.PLAN
    await agent.run("b")
    await agent.run("c")
    users = [c for r, c in history(agent) if r == "user"]
    assert users == ["a", "b\n\n[PaiCLI] The user switched to plan mode.", "c"]


async def test_too_long_a_conversation_is_compacted_and_sent_once_more():
    too_long = ModelRefused("too long", status=400, context_overflow=True)
    headings = "\n".join(
        f"## {h}\nx" for h in ("Goal and success criteria", "User requirements and decisions",
                               "Work done and evidence", "Open problems and next step")
    )  # fmt: skip
    client = Scripted(
        *[ChatResponse("a" * 4_000)] * 40, too_long, says(headings), ChatResponse("it fits now")
    )
    client.profile.context_window = 100_000
    agent, events = agent_with(client)
    for i in range(40):
        await agent.run(f"question {i} " + "b" * 400)
    result = await agent.run("last question")
    assert result.text == "it fits now"
    assert [e.kind for e in events if isinstance(e, Notice)] == ["compacted"]
    assert client.requests[-1][0][-1].content == "last question"

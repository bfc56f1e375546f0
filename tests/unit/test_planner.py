"""Plan mode, driven with a scripted model: explore, propose, judge, carry out, remember."""

import asyncio
import json
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from paicli import i18n
from paicli.agent.agent import Agent
from paicli.agent.events import (
    Notice,
    PlanProposed,
    PlanStarted,
    TaskFinished,
    TaskStarted,
    ToolCalled,
)
from paicli.agent.extension import Extension
from paicli.agent.hooks import Hooks
from paicli.agent.plan import Task, from_value
from paicli.agent.plan_crew import FreshAgents
from paicli.agent.plan_journal import Journal
from paicli.agent.plan_progress import DEPENDS, REPLACED, Outcome, Status
from paicli.agent.plan_report import outcome_line
from paicli.agent.plan_review import Always, Choice, Judgement
from paicli.agent.planner import Planner
from paicli.config import Settings
from paicli.errors import ModelRefused, ModelUnreachable
from paicli.llm.deltas import TextDelta
from paicli.llm.messages import ChatResponse, ToolCall, Usage
from paicli.policy.approval import Approval, Verdict
from paicli.policy.modes import Effect, Mode
from paicli.session.ledger import load, records
from paicli.session.store import SessionStore
from paicli.tools.base import Tool, ToolOutput
from paicli.tools.parameters import Parameters
from paicli.tools.registry import ToolRegistry
from paicli.tools.results import ResultStore


class Look(Parameters):
    """Look at a thing, or change it."""

    what: str = Field(description="the thing")


class Model:
    """Answers by the place of the request: `planning` replies in order, `tasks` by task id."""

    def __init__(self, planning=(), tasks=None, tools=True):
        self.profile = SimpleNamespace(context_window=1_000_000, model="m", tools=tools)
        self.planning = list(planning)
        self.tasks = tasks or {}
        self.requests = []
        self.at_once = self.most_at_once = 0

    async def chat(self, messages, tools, emit):
        self.requests.append((list(messages), list(tools)))
        users = [m.content for m in messages if m.role == "user"]
        own = next((u for u in users if u.startswith("[PaiCLI] You carry out one task")), "")
        if own:
            id_ = own.split("## Your task: ")[1].split()[0]
            reply = self.tasks.get(id_, finish(True, f"{id_} is done"))
        else:
            reply = self.planning.pop(0)
        if isinstance(reply, list):
            reply = reply.pop(0)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        try:
            if callable(reply):
                reply = await reply(messages)
        finally:
            self.at_once -= 1
        if isinstance(reply, Exception):
            raise reply
        if reply.content:
            emit(TextDelta(reply.content))
        return reply

    def last_user(self, place=-1):
        return [m.content for m in self.requests[place][0] if m.role == "user"][-1]


def calls(*wanted):
    made = tuple(ToolCall(f"c{i}", name, json.dumps(args)) for i, (name, args) in enumerate(wanted))
    return ChatResponse(tool_calls=made, finish_reason="tool_calls", usage=Usage(10, 2))


def says(text):
    return ChatResponse(text, finish_reason="stop", usage=Usage(20, 3))


def finish(ok, result):
    return calls(("finish_task", {"ok": ok, "result": result}))


def task(id_, *needs, kind="FILE_WRITE"):
    return {"id": id_, "description": f"do {id_}", "type": kind, "dependencies": list(needs)}


def plan_value(*tasks, **more):
    return {"summary": "the summary", "findings": "the findings", "tasks": list(tasks)} | more


def submit(*tasks, **more):
    return calls(("submit_plan", plan_value(*tasks, **more)))


THREE = (task("a"), task("b", "a"), task("c", "b"))


class Nobody:
    def record(self, *_args, **_more):
        pass

    def only_reads(self, command):
        return False

    def allows(self, command):
        return False


class Allows:
    async def review(self, request):
        return Verdict(allowed=True)


class Scripted:
    """A person who judges plans in order."""

    def __init__(self, *judgements):
        self.judgements = list(judgements)
        self.seen = []

    async def review_plan(self, plan):
        self.seen.append(plan)
        return self.judgements.pop(0)


class Counts(Extension):
    def __init__(self):
        self.turns, self.results = [], []

    async def before_turn(self, text):
        self.turns.append(text)

    async def after_turn(self):
        self.turns.append("end")

    async def after_tool(self, result):
        self.results.append(result.name)


class Stage:
    """A planner with everything around it, in a folder of its own."""

    def __init__(self, tmp_path, model, reviewer=None, session=None, **settings):
        self.model, self.events, self.changed = model, [], []
        self.store = SessionStore(tmp_path / "home", tmp_path)
        self.session = session or self.store.create("m")
        settings = Settings(
            root=tmp_path, home=tmp_path / "home", providers={}, trusted=False, **settings
        )

        async def look(parameters, tell):
            return ToolOutput(f"saw {parameters.what}")

        async def change(parameters, tell):
            self.changed.append(parameters.what)
            return ToolOutput("changed")

        subject = {"subject": lambda p: p.what}
        tools = [
            Tool("look", Look, look, Effect.READ, **subject),
            Tool("change", Look, change, Effect.WRITE, **subject),
            Tool("command", Look, change, Effect.COMMAND, **subject),
        ]
        results = ResultStore(None, 32_000)
        self.extension = Counts()
        approval = Approval(Mode.PLAN, None, Allows(), Nobody(), Nobody())
        self.agent = Agent(
            model,
            ToolRegistry(lambda: tools, results),
            approval,
            self.session.conversation,
            settings,
            self.events.append,
            [self.extension],
        )
        crew = FreshAgents(
            self.agent,
            tools,
            [tools[0], tools[2]],
            results,
            settings,
            [self.extension],
        )
        self.planner = Planner(
            self.agent,
            crew,
            reviewer or Always(Choice.RUN),
            Journal(lambda: self.session.ledger),
            Hooks([self.extension], self.events.append),
            self.events.append,
            settings.plan_max_replans,
        )

    def run(self, text="do it all", **more):
        return asyncio.run(self.planner.run(text, **more))

    def history(self):
        return [(m.role, m.content) for m in self.session.conversation.messages[1:]]

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    def outcomes(self):
        return {e.task.id: (e.outcome.status.value, e.outcome.text) for e in self.of(TaskFinished)}

    def reopened(self, tmp_path, model, reviewer=None, **settings):
        self.session.ledger.close()
        session = self.store.resume(None, "m")
        return Stage(tmp_path, model, reviewer, session, **settings)


def test_a_plan_is_explored_carried_out_and_remembered(tmp_path):
    model = Model([calls(("look", {"what": "code"})), submit(*THREE)])
    stage = Stage(tmp_path, model)
    result = stage.run()
    assert (result.status, result.exit_code) == ("done", 0)
    assert stage.outcomes() == {f"task_{n}": ("done", f"task_{n} is done") for n in (1, 2, 3)}
    assert result.text.startswith("✅")
    assert "- ✓ task_3 do c — task_3 is done" in result.text
    role, told = stage.history()[-1]
    assert role == "assistant"
    assert "- task_2: do b [done] task_2 is done" in told
    assert stage.history()[0] == ("user", "do it all")
    assert result.steps == 5
    assert stage.agent.usage == result.usage == Usage(50, 10)
    model.planning.append(says("I know."))
    stage.agent.approval.mode = Mode.AUTO
    asyncio.run(stage.agent.run("what was done?"))
    assert any("the summary" in (m.content or "") for m in model.requests[-1][0])


def test_a_task_knows_the_goal_the_findings_and_the_results_it_builds_on(tmp_path):
    model = Model([submit(task("a"), task("b"), task("c", "a"))])
    Stage(tmp_path, model).run("the goal")
    messages, tools = model.requests[-1]
    assert [m.role for m in messages] == ["system", "user"]
    told = messages[1].content
    for part in (
        "the goal",
        "the summary",
        "the findings",
        "task_1 is done",
        "task_3 (FILE_WRITE)",
    ):
        assert part in told
    assert "task_2 is done" not in told
    assert tools == ["change", "command", "finish_task", "look"]


def test_the_planner_and_reading_tasks_have_no_tool_that_writes(tmp_path):
    attempt = calls(("change", {"what": "x"}), ("command", {"what": "rm -rf x"}))
    model = Model(
        [attempt, submit(task("a", kind="ANALYSIS"))],
        {"task_1": [attempt, finish(True, "thought")]},
    )
    stage = Stage(tmp_path, model)
    result = stage.run()
    assert stage.changed == []
    assert model.requests[0][1] == ["command", "look", "submit_plan"]
    assert result.status == "refused"
    assert result.refused == 1


def test_attempts_refused_while_exploring_do_not_count(tmp_path):
    model = Model([calls(("command", {"what": "rm x"})), submit(task("a"))])
    result = Stage(tmp_path, model, Always(Choice.KEEP)).run()
    assert (result.status, result.exit_code, result.refused) == ("done", 0, 0)
    assert "task_1 · " in result.text


def test_writing_tasks_have_the_rights_of_auto(tmp_path):
    act = [calls(("change", {"what": "f"}), ("command", {"what": "make"})), finish(True, "ok")]
    stage = Stage(tmp_path, Model([submit(task("a"))], {"task_1": act}))
    assert stage.run().status == "done"
    assert stage.changed == ["f", "make"]


def test_readers_run_together_and_writers_one_after_another(tmp_path):
    readers = [task(f"r{n}", kind="FILE_READ") for n in range(4)]
    model = Model([submit(*readers)])
    Stage(tmp_path, model).run()
    assert model.most_at_once == 4
    model = Model([submit(task("a"), task("b"), task("c"))])
    Stage(tmp_path, model).run()
    assert model.most_at_once == 1


def test_calls_of_parallel_tasks_say_whose_they_are(tmp_path):
    look = calls(("look", {"what": "x"}))
    readers = [task("a", kind="FILE_READ"), task("b", kind="FILE_READ")]
    replies = {f"task_{n}": [look, finish(True, "r")] for n in (1, 2)}
    stage = Stage(tmp_path, Model([submit(*readers)], replies))
    stage.run()
    called = [e for e in stage.of(ToolCalled) if e.name == "look"]
    assert {(e.id, e.subject) for e in called} == {
        ("task_1/c0", "[task_1] x"),
        ("task_2/c0", "[task_2] x"),
    }
    assert [d for d in stage.of(TextDelta) if "✅" not in d.text] == []


# Making the plan


def test_one_repair_with_the_exact_error(tmp_path):
    model = Model([submit(task("a", "z")), submit(task("a"))])
    stage = Stage(tmp_path, model)
    assert stage.run().status == "done"
    told = model.requests[1][0][-1].content
    assert 'Task "a" depends on "z", which is no task of this plan.' in told


def test_a_second_bad_plan_is_a_clear_failure(tmp_path):
    model = Model([submit(task("a", "z")), submit(), submit(task("a"))])
    stage = Stage(tmp_path, model)
    result = stage.run()
    assert (result.status, result.exit_code) == ("error", 1)
    assert "`tasks` is empty" in result.error
    assert len(model.requests) == 2
    assert "No plan could be made" in stage.history()[-1][1]


def test_a_plan_may_come_as_text_and_is_repaired_there(tmp_path):
    good = json.dumps(plan_value(task("a")))
    model = Model(
        [says('```json\n{"summary": "s"}\n```'), says(f"```\n{good}\n```")],
        {"task_1": says("It is done.")},
        tools=False,
    )
    stage = Stage(tmp_path, model)
    assert stage.run().status == "done"
    assert "`tasks` must be an array, not null." in model.last_user(1)
    assert stage.outcomes() == {"task_1": ("done", "It is done.")}
    assert not any('"summary"' in event.text for event in stage.of(TextDelta))


def test_text_twice_where_a_plan_was_due_is_a_failure(tmp_path):
    model = Model([says("I would do this and that."), says("As I said.")])
    result = Stage(tmp_path, model).run()
    assert (result.status, result.exit_code) == ("error", 1)
    assert result.error == "No plan could be made: the model gave none."
    assert "no plan" in model.last_user(1)


def test_a_question_that_needs_no_work_may_be_answered(tmp_path):
    model = Model([says("It is a parser."), says("ANSWERED.")])
    stage = Stage(tmp_path, model)
    result = stage.run("explain to me in some detail what this rather long module is about")
    assert (result.status, result.text) == ("done", "It is a parser.")
    assert stage.history()[-1] == ("assistant", "It is a parser.")


def test_a_simple_look_is_answered_without_a_plan(tmp_path):
    attempt = calls(("look", {"what": "."}), ("change", {"what": "x"}))
    model = Model([attempt, says("Two files.")])
    stage = Stage(tmp_path, model)
    result = stage.run("list the files")
    assert result.text == "Two files."
    assert stage.changed == []
    assert stage.of(PlanProposed) == []
    assert stage.history()[-1] == ("assistant", "Two files.")
    assert "change" not in model.requests[0][1]


def test_a_model_that_fails_while_exploring_ends_the_run(tmp_path):
    result = Stage(tmp_path, Model([ModelUnreachable("no route")])).run()
    assert (result.status, result.exit_code, result.error) == ("error", 75, "no route")


def test_the_planner_knows_what_was_said_before(tmp_path):
    model = Model([says("There is a bug in x."), submit(task("a"))])
    stage = Stage(tmp_path, model)
    stage.agent.approval.mode = Mode.AUTO
    asyncio.run(stage.agent.run("look for bugs"))
    stage.agent.approval.mode = Mode.PLAN
    stage.run("fix that bug")
    sent = [m.content for m in model.requests[1][0]]
    assert "There is a bug in x." in sent
    assert sum("fix that bug" in (text or "") for text in sent) == 1


# The person's judgement


def test_a_dropped_plan_is_not_carried_out_but_known(tmp_path):
    model = Model([submit(*THREE)])
    stage = Stage(tmp_path, model, Always(Choice.DROP))
    assert stage.run().status == "cancelled"
    assert stage.of(PlanStarted) == []
    assert "did not want this plan" in stage.history()[-1][1]


def test_requirements_are_added_and_planned_again(tmp_path):
    person = Scripted(Judgement(Choice.REVISE, requirements="and test it"), Judgement(Choice.RUN))
    model = Model([submit(task("a")), submit(task("a"), task("t", "a"))])
    stage = Stage(tmp_path, model, person)
    assert stage.run("the goal").status == "done"
    assert [len(plan.tasks) for plan in person.seen] == [1, 2]
    assert "Additional requirements: and test it" in model.last_user(1)
    told = model.requests[-1][0][1].content
    assert "the goal\n\nAdditional requirements: and test it" in told


def test_an_edited_plan_is_what_runs(tmp_path):
    edited = from_value(plan_value(task("x"), task("y")))
    stage = Stage(
        tmp_path, Model([submit(task("a"))]), Scripted(Judgement(Choice.RUN, plan=edited))
    )
    stage.run()
    assert [event.task.description for event in stage.of(TaskStarted)] == ["do x", "do y"]


# When tasks fail


def test_a_late_failure_skips_what_depends_on_it_and_the_rest_goes_on(tmp_path):
    tasks = [task("a"), task("b"), task("c"), task("d", "c"), task("e", "d"), task("f")]
    model = Model([submit(*tasks)], {"task_3": finish(False, "it is locked")})
    stage = Stage(tmp_path, model, plan_max_replans=0)
    result = stage.run()
    assert (result.status, result.exit_code) == ("partial", 3)
    assert {id_: status for id_, (status, _) in stage.outcomes().items()} == {
        "task_1": "done",
        "task_2": "done",
        "task_3": "failed",
        "task_4": "skipped",
        "task_5": "skipped",
        "task_6": "done",
    }
    lines = [line for line in result.text.split("\n") if line.startswith("- ")]
    assert lines == [
        "- ✓ task_1 do a — task_1 is done",
        "- ✓ task_2 do b — task_2 is done",
        "- ✓ task_6 do f — task_6 is done",
        "- ✗ task_3 do c — it is locked",
        "- – task_4 do d — it depends on task_3",
        "- – task_5 do e — it depends on task_4",
    ]


def test_why_a_task_was_left_out_is_told_in_the_persons_words():
    one = Task("task_2", "写很长的东西" * 30)
    lines = []
    i18n.use("zh")
    try:
        lines.extend(
            outcome_line(one, Outcome(Status.SKIPPED, text))
            for text in (f"{DEPENDS}task_1", REPLACED, "no such file")
        )
    finally:
        i18n.use("en")
    assert [line.split("… — ")[1] for line in lines] == [
        "依赖 task_1",
        "已由新的计划取代",
        "no such file",
    ]


def test_an_early_failure_makes_another_plan(tmp_path):
    model = Model(
        [submit(*THREE), submit(task("n"), task("m", "n"))],
        {"task_1": finish(False, "no such file")},
    )
    stage = Stage(tmp_path, model)
    result = stage.run()
    assert result.status == "done"
    assert "task_1: do a [failed] no such file" in model.last_user(2)
    assert stage.outcomes() == {
        "task_1": ("failed", "no such file"),
        "task_2": ("skipped", "another plan replaced this one"),
        "task_3": ("skipped", "another plan replaced this one"),
        "task_4": ("done", "task_4 is done"),
        "task_5": ("done", "task_5 is done"),
    }


def test_replanning_has_an_end(tmp_path):
    failing = {f"task_{n}": finish(False, "no") for n in range(1, 10)}
    model = Model([submit(task("a")), submit(task("b")), submit(task("c"))], failing)
    stage = Stage(tmp_path, model)
    result = stage.run()
    assert (result.status, result.exit_code) == ("error", 1)
    assert len(stage.of(PlanStarted)) == 3
    assert [e.kind for e in stage.of(Notice)] == ["replanning", "replanning"]


def test_a_replan_that_fails_lets_the_rest_go_on(tmp_path):
    model = Model(
        [submit(task("a"), task("b"), task("c")), says("no"), says("no")],
        {"task_1": finish(False, "no")},
    )
    stage = Stage(tmp_path, model)
    assert stage.run().status == "partial"
    assert [s for s, _ in stage.outcomes().values()] == ["failed", "done", "done"]


@pytest.mark.parametrize(
    ("reply", "status", "text"),
    [
        (says("All done."), "done", "All done."),
        (says("TASK FAILED: no compiler"), "failed", "no compiler"),
        (says("I tried.\n**TASK FAILED:** nothing works"), "failed", "** nothing works"),
        (says("TASK FAILED:"), "failed", "no reason given"),
        (ModelRefused("bad key", status=401), "failed", "bad key"),
        (
            says("  "),
            "failed",
            "The model ended without an answer. Ask again, or try another model.",
        ),
        (finish(True, ""), "done", ""),
    ],
)
def test_how_a_task_ends_is_its_own_judgement(tmp_path, reply, status, text):
    stage = Stage(tmp_path, Model([submit(task("a"))], {"task_1": reply}), plan_max_replans=0)
    stage.run()
    assert stage.outcomes() == {"task_1": (status, text)}


def test_an_unreachable_model_ends_the_plan_soon(tmp_path):
    gone = ModelUnreachable("no route")
    tasks = [task(f"t{n}") for n in range(30)]
    model = Model([submit(*tasks), gone], {f"task_{n}": gone for n in range(1, 31)})
    stage = Stage(tmp_path, model)
    result = stage.run()
    assert (result.status, result.exit_code) == ("error", 75)
    assert len(model.requests) <= 5
    assert [s for s, _ in stage.outcomes().values()] == ["failed", "failed"] + ["skipped"] * 28


def test_a_task_that_reaches_a_limit_has_failed(tmp_path):
    again = calls(("look", {"what": "x"}))
    model = Model([submit(task("a"))], {"task_1": [again, again, says("Half of it.")]})
    stage = Stage(tmp_path, model, plan_max_replans=0, max_iterations=2)
    stage.run()
    ((status, text),) = stage.outcomes().values()
    assert status == "failed"
    assert "Half of it." in text


# Stopping, and going on


class Stops:
    """A task that waits until the run is cancelled."""

    def __init__(self):
        self.reached = asyncio.Event()

    async def __call__(self, _messages):
        self.reached.set()
        await asyncio.Event().wait()


async def cancelled_at(stage, place):
    run = asyncio.create_task(stage.planner.run("do it all"))
    await place.reached.wait()
    run.cancel()
    return await run


def test_cancelling_while_exploring_says_that_nothing_was_changed(tmp_path):
    async def go():
        stop = Stops()
        stage = Stage(tmp_path, Model([stop]))
        return stage, await cancelled_at(stage, stop)

    stage, result = asyncio.run(go())
    assert (result.status, result.exit_code) == ("cancelled", 130)
    assert "Nothing was changed" in stage.history()[-1][1]


def test_cancelling_a_task_says_what_was_done_and_what_not(tmp_path):
    async def go():
        stop = Stops()
        stage = Stage(tmp_path, Model([submit(*THREE)], {"task_2": stop}))
        return stage, await cancelled_at(stage, stop)

    stage, result = asyncio.run(go())
    assert (result.status, result.exit_code) == ("cancelled", 130)
    for told in (result.text, stage.history()[-1][1]):
        assert "task_1 is done" in told
        assert "stopped while it ran; it may be done in part" in told
        assert "not begun" in told


def test_a_stopped_plan_can_go_on_in_a_later_session(tmp_path):
    async def go():
        stop = Stops()
        stage = Stage(tmp_path, Model([submit(*THREE)], {"task_2": stop}))
        await cancelled_at(stage, stop)
        return stage

    stage = asyncio.run(go())
    assert stage.planner.unfinished().left == 2
    person = Scripted(Judgement(Choice.RUN))
    later = stage.reopened(tmp_path, Model(), person)
    result = asyncio.run(later.planner.go_on())
    assert result.status == "done"
    assert [one.id for one in person.seen[0].tasks] == ["task_2", "task_3"]
    told = later.model.requests[0][0][1].content
    assert "task_1 is done" in told
    assert "An earlier attempt at it was interrupted" in told
    assert later.planner.unfinished() is None
    assert "- ✓ task_1 do a — task_1 is done" in result.text


def test_a_crash_leaves_a_session_that_loads_and_goes_on(tmp_path):
    async def go():
        stop = Stops()
        stage = Stage(tmp_path, Model([submit(*THREE)], {"task_3": stop}))
        run = asyncio.create_task(stage.planner.run("do it all"))
        await stop.reached.wait()
        crashed = stage.session.ledger.path.read_bytes()
        run.cancel()
        await run
        return stage, crashed

    stage, crashed = asyncio.run(go())
    stage.session.ledger.path.write_bytes(crashed + b'{"type":"ev')
    loaded = load(stage.session.ledger.path)
    assert [m.role for m in loaded.messages] == ["system", "user"]
    names = [r["name"] for r in records(stage.session.ledger.path) if r and r["type"] == "event"]
    assert [name for name in names if name != "aside"] == [
        "plan_proposed",
        "plan_started",
        "task_started",
        "task_ended",
        "task_started",
        "task_ended",
        "task_started",
    ]
    later = stage.reopened(tmp_path, Model())
    assert (later.planner.unfinished().left, later.planner.unfinished().begun) == (1, {"task_3"})
    assert asyncio.run(later.planner.go_on()).status == "done"


def test_a_resumed_plan_may_be_planned_anew(tmp_path):
    async def go():
        stop = Stops()
        stage = Stage(tmp_path, Model([submit(*THREE)], {"task_2": stop}))
        await cancelled_at(stage, stop)
        return stage

    stage = asyncio.run(go())
    person = Scripted(Judgement(Choice.REVISE, requirements="only docs"), Judgement(Choice.RUN))
    later = stage.reopened(tmp_path, Model([submit(task("d"))]), person)
    assert asyncio.run(later.planner.go_on()).status == "done"
    asked = later.model.last_user(0)
    assert "Plan mode: make a plan" in asked
    assert "only docs" in asked


def test_saying_something_else_ends_the_offer(tmp_path):
    async def go():
        stop = Stops()
        stage = Stage(tmp_path, Model([submit(*THREE)], {"task_2": stop}))
        await cancelled_at(stage, stop)
        stage.model.planning.append(says("Fine."))
        stage.agent.approval.mode = Mode.AUTO
        await stage.agent.run("leave it")
        return stage

    stage = asyncio.run(go())
    assert stage.planner.unfinished() is None
    assert asyncio.run(stage.planner.go_on()).status == "error"


def test_for_the_extensions_a_plan_is_one_turn(tmp_path):
    act = [calls(("change", {"what": "f"})), finish(True, "ok")]
    stage = Stage(tmp_path, Model([submit(task("a"))], {"task_1": act}))
    stage.run("go")
    assert stage.extension.turns == ["go", "end"]
    assert stage.extension.results == ["submit_plan", "change", "finish_task"]


def test_in_ask_mode_tasks_ask(tmp_path):
    act = [calls(("change", {"what": "f"})), finish(True, "ok")]
    stage = Stage(tmp_path, Model([submit(task("a"))], {"task_1": act}))
    stage.agent.approval.mode = Mode.ASK
    stage.run("go")
    assert stage.changed == []  # nobody is there to be asked


# Random plans


@st.composite
def random_tasks(draw):
    count = draw(st.integers(1, 9))
    kinds = st.sampled_from(["FILE_READ", "FILE_WRITE", "ANALYSIS", "COMMAND", "other"])
    return [
        task(
            f"t{n}",
            *(
                draw(st.lists(st.sampled_from([f"t{m}" for m in range(n)]), max_size=3))
                if n
                else ()
            ),
            kind=draw(kinds),
        )
        for n in range(count)
    ]


@settings(max_examples=40, deadline=None)
@given(random_tasks(), st.sets(st.integers(1, 9)), st.integers(1, 12))
def test_whatever_fails_or_stops_every_task_ends_once(tasks, failing, stops_at):
    running, together, begun = set(), [], []

    async def work(messages):
        told = next(m.content for m in messages if m.role == "user")
        id_ = told.split("## Your task: ")[1].split()[0]
        running.add(id_)
        begun.append(id_)
        together.append(set(running))
        if len(begun) == stops_at:
            run.cancel()
        try:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        finally:
            running.discard(id_)
        return finish(int(id_[5:]) not in failing, f"result of {id_}")

    async def play(stage):
        nonlocal run
        run = asyncio.create_task(stage.planner.run("go"))
        return await run

    run = None
    with tempfile.TemporaryDirectory() as folder:
        model = Model([submit(*tasks)], {f"task_{n}": work for n in range(1, 10)})
        stage = Stage(Path(folder), model, plan_max_replans=0)
        result = asyncio.run(play(stage))
        plan = stage.of(PlanStarted)[0].plan
        ids = [one.id for one in plan.tasks]
        ended = [event.task.id for event in stage.of(TaskFinished)]
        assert len(ended) == len(set(ended))
        assert (sorted(ended) == sorted(ids)) or result.status == "cancelled"
        for group in together:
            assert len(group) == 1 or all(plan.task(id_).only_reads for id_ in group)
        lines = [line for line in result.text.split("\n") if line.startswith("- ")]
        assert sorted(line.split()[2] for line in lines) == sorted(ids)
        left = stage.planner.unfinished()
        unended = [id_ for id_ in ids if id_ not in ended]
        assert (left.left if left else 0) == len(unended)

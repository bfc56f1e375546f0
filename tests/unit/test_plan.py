"""A plan as data: what is accepted, what is said about the rest, and in which order it runs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paicli.agent.plan import Plan, Task, TaskType, from_value, parse
from paicli.agent.plan_progress import Outcome, Progress, Status
from paicli.errors import PlanError


def task(id_, *needs, kind="FILE_WRITE", **more):
    return {"id": id_, "description": f"do {id_}", "type": kind, "dependencies": list(needs)} | more


def plan_of(*tasks, **more):
    return {"summary": "s", "tasks": list(tasks)} | more


def test_ids_are_renumbered_in_order_and_forward_references_are_fine():
    plan = from_value(plan_of(task("b", "a"), task("a", kind="ANALYSIS"), findings=" seen "))
    assert plan == Plan(
        "s",
        (
            Task("task_1", "do b", TaskType.FILE_WRITE, ("task_2",)),
            Task("task_2", "do a", TaskType.ANALYSIS),
        ),
        "seen",
    )
    assert [t.id for t in plan.order] == ["task_2", "task_1"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "The plan must be a JSON object, not an array."),
        ("x", "The plan must be a JSON object, not a string."),
        (None, "The plan must be a JSON object, not null."),
        ({"tasks": [task("a")]}, "`summary` must be a string that is not blank."),
        ({"summary": " \t", "tasks": []}, "`summary` must be a string that is not blank."),
        ({"summary": 3, "tasks": []}, "`summary` must be a string that is not blank."),
        ({"summary": "s"}, "`tasks` must be an array, not null."),
        ({"summary": "s", "tasks": {}}, "`tasks` must be an array, not an object."),
        (plan_of(), "`tasks` is empty: a plan needs at least one task."),
        (plan_of(task("a"), findings=[1]), "`findings` must be a string, not an array."),
        (plan_of("a"), "tasks[0] must be an object, not a string."),
        (plan_of({"description": "x"}), "tasks[0].id must be a string, not null."),
        (plan_of(task("a"), task(7)), "tasks[1].id must be a string, not a number."),
        (plan_of(task(True)), "tasks[0].id must be a string, not a boolean."),
        (plan_of(task("")), "tasks[0].id must not be blank."),
        (plan_of(task(" \u3000")), "tasks[0].id must not be blank."),
        (plan_of(task("a"), task("a")), 'The id "a" is used by more than one task.'),
        (
            plan_of(task("a", description=5)),
            "tasks[0].description must be a string, not a number.",
        ),
        (
            plan_of(task("a", description=None)),
            "tasks[0].description must be a string, not null.",
        ),
        (
            plan_of(task("a", dependencies="b")),
            "tasks[0].dependencies must be an array, not a string.",
        ),
        (
            plan_of(task("a", dependencies=None)),
            "tasks[0].dependencies must be an array, not null.",
        ),
        (plan_of(task("a", 1)), "tasks[0].dependencies holds a number; ids are strings."),
        (
            plan_of(task("a", "z")),
            'Task "a" depends on "z", which is no task of this plan.',
        ),
        (
            plan_of(task("a", " b"), task("b")),
            'Task "a" depends on " b", which is no task of this plan.',
        ),
        (plan_of(task("a", "a")), "The dependencies form a cycle: a -> a."),
        (
            plan_of(task("x", "a"), task("a", "b"), task("b", "c"), task("c", "a")),
            "The dependencies form a cycle: a -> b -> c -> a.",
        ),
    ],
)
def test_each_fault_has_its_message(value, message):
    with pytest.raises(PlanError) as error:
        from_value(value)
    assert str(error.value) == message


def test_what_the_contract_leaves_open_is_accepted():
    plan = from_value(
        plan_of({"id": "\u00a0"}, task("b", "\u00a0", "\u00a0", kind="Coding"), extra=1)
    )
    first, second = plan.tasks
    assert (first.description, first.type, first.dependencies) == ("", TaskType.ANALYSIS, ())
    assert (second.type, second.dependencies) == (TaskType.ANALYSIS, ("task_1",))


def test_a_task_whose_type_was_a_guess_may_write():
    plan = from_value(
        plan_of(task("a", kind="Coding"), task("b", kind=None), task("c", kind="analysis"))
    )
    assert [one.only_reads for one in plan.tasks] == [False, False, True]
    assert from_value(plan.as_object()) == plan


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "```json\n{}\n```",
        "Here it is:\n```\n{}\n```\nFine?",
        "\ufeff {} ",
        "```{}```",
    ],
)
def test_fences_around_the_json_are_tolerated(text):
    body = json.dumps(plan_of(task("a")))
    assert len(parse(text.replace("{}", body)).tasks) == 1


def test_a_fence_inside_a_description_stays():
    body = json.dumps(plan_of(task("a", description="run\n```sh\nls\n```")))
    assert parse(body).tasks[0].description == "run\n```sh\nls\n```"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The plan is not valid JSON: it is empty."),
        ("I will do it.", "The plan is not valid JSON: Expecting value at line 1, column 1."),
        ('{"summary": ', "The plan is not valid JSON: Expecting value at line 1, column"),
        ("[" * 100_000, "The plan is not valid JSON: it is nested too deeply"),
        ("9" * 10_000, "The plan is not valid JSON: it is nested too deeply"),
        ("42", "The plan must be a JSON object, not a number."),
    ],
)
def test_text_that_is_no_plan_says_why(text, message):
    with pytest.raises(PlanError) as error:
        parse(text)
    assert str(error.value).startswith(message)


def test_a_long_chain_is_put_in_order():
    tasks = [task(f"t{n}", *([f"t{n + 1}"] if n < 499 else [])) for n in range(500)]
    plan = from_value(plan_of(*tasks))
    assert [one.id for one in plan.order[:2]] == ["task_500", "task_499"]
    assert len(plan.batches) == 500


def test_a_plan_that_nobody_could_judge_is_refused():
    with pytest.raises(PlanError, match="501 entries; a plan has at most 500"):
        from_value(plan_of(*(task(f"t{n}") for n in range(501))))


def test_readers_run_together_four_at_most_and_writers_alone():
    tasks = [task(f"r{n}", kind="FILE_READ") for n in range(5)]
    tasks += [task("w1", "r0"), task("w2"), task("look", "w1", "w2", kind="ANALYSIS")]
    plan = from_value(plan_of(*tasks))
    assert [[one.id for one in batch] for batch in plan.batches] == [
        ["task_1", "task_2", "task_3", "task_4"],
        ["task_5"],
        ["task_6"],
        ["task_7"],
        ["task_8"],
    ]


def test_numbers_of_a_second_plan_are_new():
    plan = from_value(plan_of(task("a"), task("b", "a"))).shifted(30)
    assert [(one.id, one.dependencies) for one in plan.tasks] == [
        ("task_31", ()),
        ("task_32", ("task_31",)),
    ]
    assert plan.task("task_32").description == "do b"


# Random plans


@st.composite
def plans(draw):
    count = draw(st.integers(1, 14))
    ids = draw(st.permutations([f"t{n}" for n in range(count)]))
    tasks = []
    for place, id_ in enumerate(ids):
        needs = draw(st.lists(st.sampled_from(ids[:place]), max_size=4)) if place else []
        kind = draw(st.sampled_from([*TaskType, "other"]))
        tasks.append(task(id_, *needs, kind=kind))
    return from_value(plan_of(*draw(st.permutations(tasks))))


@given(plans())
def test_order_and_batches_respect_every_dependency(plan):
    place = {one.id: number for number, one in enumerate(plan.order)}
    assert sorted(place) == sorted(one.id for one in plan.tasks)
    assert all(place[need] < place[one.id] for one in plan.tasks for need in one.dependencies)
    done = set()
    for batch in plan.batches:
        assert all(done.issuperset(one.dependencies) for one in batch)
        assert len(batch) == 1 or (len(batch) <= 4 and all(one.only_reads for one in batch))
        done |= {one.id for one in batch}
    assert done == set(place)


@given(plans(), st.data())
def test_every_task_ends_exactly_once_whatever_happens(plan, data):
    progress = Progress(plan)
    ended = []
    while batch := progress.next_batch():
        for one in batch:
            assert all(progress.outcomes[need].status is Status.DONE for need in one.dependencies)
            progress.start(one)
            with pytest.raises(ValueError, match="is running"):
                progress.start(one)
        if data.draw(st.integers(0, 9)) == 0:
            break  # cancelled
        for one in batch:
            status = data.draw(st.sampled_from([Status.DONE, Status.DONE, Status.FAILED]))
            progress.end(one, Outcome(status))
            ended.append(one.id)
        ended += [one.id for one in progress.skip_dependants()]
    ended += [one.id for one in progress.end_rest(Status.CANCELLED, "stopped")]
    assert sorted(ended) == sorted(one.id for one in plan.tasks)
    assert progress.is_over
    for one in plan.tasks:
        with pytest.raises(ValueError, match="not to be done"):
            progress.end(one, Outcome(Status.DONE))
        missing = [n for n in one.dependencies if progress.outcomes[n].status is not Status.DONE]
        if missing:
            assert progress.outcomes[one.id].status in (Status.SKIPPED, Status.CANCELLED)


def test_a_plan_goes_on_where_known_outcomes_stop():
    plan = from_value(plan_of(task("a"), task("b", "a"), task("c", "b")))
    known = {"task_1": Outcome(Status.DONE, "r"), "task_9": Outcome(Status.DONE)}
    progress = Progress(plan, known)
    assert [one.id for one in progress.next_batch()] == ["task_2"]
    assert not progress.is_over


def test_half_done_is_not_less_than_half():
    plan = from_value(plan_of(task("a"), task("b")))
    progress = Progress(plan)
    progress.end(plan.tasks[1], Outcome(Status.FAILED))
    assert progress.less_than_half_done
    progress.end(plan.tasks[0], Outcome(Status.DONE))
    assert not progress.less_than_half_done

"""RunawayGuard: one reminder, on the third time, for what really ran."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paicli.agent.runaway import RunawayGuard
from paicli.llm.messages import ToolCall
from paicli.tools.base import ToolResult


def step(*calls, ok=True, content="fine", **flags):
    made = [ToolCall(f"c{i}", name, arguments) for i, (name, arguments) in enumerate(calls)]
    return made, [ToolResult(c.id, c.name, ok=ok, content=content, **flags) for c in made]


def reminders(steps):
    guard = RunawayGuard()
    return [guard.observe(*one) for one in steps]


def fired(steps):
    return [reminder is not None for reminder in reminders(steps)]


READ = ("read_file", '{"path":"a","limit":3}')


def test_the_third_identical_step_gets_the_reminder_once():
    assert fired([step(READ)] * 7) == [False, False, True, False, False, False, False]


def test_the_order_of_keys_does_not_matter():
    other = ("read_file", '{ "limit": 3, "path": "a" }')
    assert fired([step(READ), step(other), step(READ)]) == [False, False, True]


def test_identical_calls_in_one_batch_add_up():
    assert fired([step(READ, READ, READ)]) == [True]


def test_a_step_without_the_call_starts_anew():
    assert fired([step(READ)] * 2 + [step(("list_dir", "{}"))] + [step(READ)] * 2) == [False] * 5


def test_another_call_in_the_same_step_does_not_break_the_streak():
    with_others = [step(READ, ("list_dir", json.dumps({"path": str(i)}))) for i in range(3)]
    assert fired(with_others) == [False, False, True]


@pytest.mark.parametrize("flag", ["refused", "cancelled"])
def test_what_did_not_run_does_not_count(flag):
    assert fired([step(READ, ok=False, **{flag: True})] * 5) == [False] * 5


def test_two_alternating_steps_are_seen():
    other = ("list_dir", "{}")
    assert fired([step(READ), step(other)] * 3) == [False] * 5 + [True]


def test_a_repeated_failure_is_named_as_one():
    said = reminders([step(READ, ok=False, content="No such file: not found")] * 3)[2]
    assert said.startswith("[runaway guard] The same call has now failed 3 times in a row")
    assert "must not be saved to memory" in said


def test_a_repeated_success_is_named_as_such():
    said = reminders([step(READ)] * 3)[2]
    assert "The same call with the same arguments has now been made 3 times in a row." in said


def test_a_threshold_below_three_is_refused():
    with pytest.raises(ValueError, match="at least 3"):
        RunawayGuard(2)


@given(st.lists(st.sampled_from("abc"), max_size=30))
def test_it_fires_exactly_when_a_streak_first_reaches_three(names):
    expected, done = [], False
    for end in range(1, len(names) + 1):
        last = names[:end]
        same = len(last) >= 3 and len(set(last[-3:])) == 1
        tail = last[-6:]
        alternating = len(tail) == 6 and tail[0] != tail[1] and tail[2:] == tail[:-2]
        expected.append((same or alternating) and not done)
        done = done or same or alternating
    assert fired([step((name, "{}")) for name in names]) == expected

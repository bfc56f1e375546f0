"""AgentBudget: which limit stops a turn, and when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paicli.agent.budget import AgentBudget, BudgetState
from paicli.llm.messages import ToolCall, Usage


def budget(**limits):
    return AgentBudget(
        **{"token_budget": 10**9, "max_iterations": 10**9, "stagnation_window": 5, **limits}
    )


def calls(*pairs):
    return [ToolCall(f"c{i}", name, arguments) for i, (name, arguments) in enumerate(pairs)]


def states(rounds, **limits):
    watched = budget(**limits)
    seen = []
    for one in rounds:
        watched.record_round(one)
        seen.append(watched.check())
    return seen


READ = calls(("read_file", '{"path":"a"}'))
WITHIN, STAGNATION = BudgetState.WITHIN_BUDGET, BudgetState.STAGNATION


def test_the_fifth_identical_round_stops():
    assert states([READ] * 5) == [WITHIN] * 4 + [STAGNATION]


def test_arguments_are_compared_as_raw_text():
    spaced = calls(("read_file", '{"path": "a"}'))
    assert states([READ, READ, READ, READ, spaced]) == [WITHIN] * 5


def test_a_round_is_all_its_calls_in_order():
    two = calls(("a", "{}"), ("b", "{}"))
    swapped = calls(("b", "{}"), ("a", "{}"))
    assert states([two, two, two, two, swapped]) == [WITHIN] * 5


def test_a_reply_without_calls_starts_the_count_anew():
    assert states([READ] * 4 + [[]] + [READ] * 4) == [WITHIN] * 9


def test_two_rounds_that_alternate_stop_as_well():
    other = calls(("list_dir", "{}"))
    assert states([READ, other] * 5) == [WITHIN] * 9 + [STAGNATION]


def test_tokens_stop_at_the_budget_and_cached_ones_are_not_counted_twice():
    watched = budget(token_budget=100)
    watched.record_usage(Usage(input=60, output=39, cached=50))
    assert watched.check() is WITHIN
    watched.record_usage(Usage(output=1))
    assert watched.check() is BudgetState.TOKENS


def test_iterations_stop_at_the_limit():
    watched = budget(max_iterations=2)
    assert [watched.begin_iteration(), watched.begin_iteration()] == [1, 2]
    assert watched.check() is BudgetState.ITERATIONS


def test_a_window_of_one_makes_no_sense():
    with pytest.raises(ValueError, match="at least 2"):
        budget(stagnation_window=1)


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=40), st.integers(2, 7))
def test_stagnation_is_exactly_a_repeated_tail(names, window):
    seen = states([calls((name, "{}")) for name in names], stagnation_window=window)
    for end, state in enumerate(seen, start=1):
        last = names[:end]
        same = len(last) >= window and len(set(last[-window:])) == 1
        tail = last[-2 * window :]
        alternating = len(tail) == 2 * window and tail[2:] == tail[:-2]
        assert (state is STAGNATION) == (same or alternating)

"""A cache miss is explained by what changed."""

from paicli.agent.cache_watch import CacheWatch, Miss
from paicli.llm.messages import Message, Usage

HISTORY = [Message("system", "rules"), Message("user", "go"), Message("assistant", "ok")]
TOOLS = {"look": b"{}"}


def watched(second, usage, model="m", tools=TOOLS):
    watch = CacheWatch()
    watch.sent("m", HISTORY, TOOLS)
    watch.answered(Usage(10_000, 5))
    watch.sent(model, second, tools)
    watch.answered(usage)
    return list(watch.misses)


def test_a_grown_history_that_was_cached_is_no_miss():
    assert watched([*HISTORY, Message("user", "more")], Usage(10_100, 5, 9_900)) == []


def test_a_provider_that_reports_no_caching_is_not_accused():
    assert watched([*HISTORY, Message("user", "more")], Usage(10_100, 5, 0)) == []


def test_the_message_that_changed_is_named():
    changed = [HISTORY[0], Message("user", "other"), HISTORY[2]]
    assert watched(changed, Usage(10_000, 5, 100)) == [Miss(2, "message", "2 (user)", 9_900)]


def test_a_shortened_history_names_the_first_message_that_is_gone():
    assert watched(HISTORY[:2], Usage(9_000, 5, 0)) == [Miss(2, "message", "3 (assistant)", 10_000)]


def test_a_changed_tool_and_a_changed_model_are_named():
    assert watched(HISTORY, Usage(9_000), tools={"look": b"[]"}) == [
        Miss(2, "tools", "look", 10_000)
    ]
    assert watched(HISTORY, Usage(9_000), model="n") == [Miss(2, "model", "n", 10_000)]


def test_a_miss_with_nothing_changed_is_the_providers():
    assert watched(HISTORY, Usage(10_000, 5, 64)) == [Miss(2, "provider", "", 9_936)]

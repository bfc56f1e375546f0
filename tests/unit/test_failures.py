"""What a server's refusal is turned into."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from paicli import i18n
from paicli.llm.failures import is_context_overflow, refused_by_status, safe_words
from paicli.llm.messages import Message, ToolCall
from paicli.llm.retry import asked_to_wait, status_is_retryable, wait_before
from paicli.llm.tokens import estimate, estimate_message

KEY = "sk-abcdef0123456789wxyz"


def refusal(status, body, key=KEY):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return refused_by_status(
        status, data, url="http://h/v1/chat/completions", key=key, variable="GLM_API_KEY", retry_after=None
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "no such model"}}, "no such model"),
        ({"error": "plain"}, "plain"),
        ({"message": "m"}, "m"),
        ({"detail": [{"msg": "field required"}]}, "field required"),
        ({"error_msg": "签名错误"}, "签名错误"),
        ([{"error": {"message": "in a list"}}], "in a list"),
        ({"error": {"message": "Provider returned error", "metadata": {"raw": "deep"}}}, "deep"),
        (b"key revoked", "key revoked"),
        (b"<html><head><title>502 Bad &amp; Gateway</title></head>" + b"<p>x</p>" * 999, "502 Bad & Gateway"),
        (b"<!DOCTYPE html><p>x</p>", "web page"),
        (b"", "no explanation"),
        (b"{broken", "{broken"),
        ({"error": {"message": "red \x1b[31m and \u202e back"}}, "\\x1b[31m"),
        ({"error": {"message": "half \ud83d"}}, "half \ufffd"),
        (b"\xff\xfe", "\ufffd"),
        ({"error": {"message": "two\nlines"}}, "two lines"),
    ],
)  # fmt: skip
def test_the_providers_words_are_shown_clean(body, words):
    text = str(refusal(400, body))
    assert words in text
    assert "\x1b" not in text
    assert "<p>" not in text


@pytest.mark.parametrize(
    "body",
    [b"\0" * 500, bytes(range(256)) * 4, b"\x1f\x8b\x08" + b"\xff\x01" * 90, b"no" + b"\0" * 9],
)
def test_what_is_no_text_is_named_and_not_quoted(body):
    text = str(refusal(500, body))
    assert "binary data" in text
    assert "\\x" not in text


def test_long_words_are_cut():
    assert len(str(refusal(400, {"error": {"message": "word " * 9000}}))) < 600
    assert len(str(refusal(500, b"x" * 1_000_000))) < 600


@pytest.mark.parametrize(
    "echo",
    [
        KEY,
        f"key {KEY}.",
        "sk-abc***********wxyz",
        "sk-abcde...wxyz",
        f"{KEY[:12]} is wrong",
        f"ending in {KEY[-9:]}",
        f"Bearer {KEY}",
        KEY[4:16],
    ],
)
def test_the_key_is_never_echoed_not_even_a_part(echo):
    text = str(refusal(401, {"error": {"message": f"Incorrect API key provided: {echo}"}}))
    for size in (5, 6, 8):
        parts = {KEY[at : at + size] for at in range(len(KEY) - size + 1)}
        assert not any(part in text for part in parts), text
    assert "GLM_API_KEY" in text


def test_ordinary_words_survive():
    words = "The model deepseek-flash does not exist; see https://x.y/docs (request id 0123-4567)."
    assert safe_words(words, KEY) == words


@pytest.mark.parametrize("status", [401, 402, 403, 404, 413, 429, 500, 503, 302, 418])
def test_every_status_has_its_sentence_in_both_languages(status):
    for language in i18n.LANGUAGES:
        i18n.use(language)
        text = str(refusal(status, {"error": {"message": "words"}}))
        assert str(status) in text
        assert "words" in text or status == 302
        assert "{" not in text
    i18n.use("en")


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens",
        "context_length_exceeded",
        "request (20038 tokens) exceeds the available context size (16384 tokens), try increasing it",
        "litellm.ContextWindowExceededError: ...",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Input is too long for requested model.",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Please reduce the length of the messages or completion.",
        "Range of input length should be [1, 129024]",
        "输入长度超过模型的最大上下文",
        "Prompt 超长",
        "your request exceeded model token limit: 262144",
        "Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)",
        "the request exceeds the max_model_len",
        "This endpoint's maximum context length is 131072 tokens",
        "Requested token count exceeds the model's maximum context length",
        "tokens (9000) exceed the context window",
        "输入内容过长，请缩短后重试",
        "prompt tokens 超过上限",
    ],
)
def test_a_conversation_that_is_too_long_is_recognised(words):
    for status in (400, 422, 500, None):
        assert is_context_overflow(status, words)
    error = refusal(500, {"error": {"message": words}})
    assert error.context_overflow
    assert not error.retryable


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (429, "Rate limit: maximum context tokens per minute"),
        (400, "Request too large for model on tokens per minute (TPM): Limit 6000"),
        (413, "Request too large: tokens per minute"),
        (400, "model not found"),
        (400, "max_tokens must be at least 1"),
        (401, "context length"),
        (400, "Invalid 'tools': empty array"),
        (400, "All non-assistant messages must contain 'content'"),
    ],
)
def test_other_complaints_are_not_about_length(status, words):
    assert not is_context_overflow(status, words)


def test_too_large_for_a_gateway_is_too_long_as_well():
    assert refusal(413, b"<html><title>Request Entity Too Large</title>").context_overflow


def test_which_statuses_are_tried_again():
    again = {status for status in range(100, 600) if status_is_retryable(status)}
    assert again == {408, 429, 500, 502, 503, 504}


def test_how_long_to_wait():
    for attempt, full in ((2, 0.5), (3, 1.0), (4, 2.0), (9, 30.0), (99, 30.0)):
        for _ in range(20):
            assert full / 2 <= wait_before(attempt, 500, 30_000, None) <= full
    assert wait_before(2, 500, 30_000, 7.0) == 7.0
    assert wait_before(2, 500, 30_000, 0.0) == 0.0
    assert wait_before(2, 500, 30_000, 3600.0) == 30.0


def test_what_a_server_asks_for():
    assert asked_to_wait({"retry-after": "7"}) == 7.0
    assert asked_to_wait({"retry-after": "0.5"}) == 0.5
    assert asked_to_wait({"retry-after-ms": "250", "retry-after": "7"}) == 0.25
    for odd in (
        {},
        {"retry-after": ""},
        {"retry-after": "soon"},
        {"retry-after": "-1"},
        {"retry-after": "nan"},
    ):
        assert asked_to_wait(odd) is None  # fmt: skip
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 50 < asked_to_wait({"retry-after": later}) <= 60
    assert asked_to_wait({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0


def test_the_estimate_of_tokens_grows_with_the_text():
    assert estimate("") == 0
    assert 20 < estimate("a word and another one " * 5) < 60
    assert 60 < estimate("汉字" * 50) < 130
    assert estimate("half \ud83d") > 0
    plain = Message("assistant", "hi")
    calls = Message("assistant", "hi", "why", (ToolCall("x", "read_file", '{"path":"a"}'),))
    assert estimate_message(calls) > estimate_message(plain) > 4

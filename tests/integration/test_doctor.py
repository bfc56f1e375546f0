"""`paicli doctor` says what is there, what is not, and what to do about it."""

from tests.integration.program import KEY
from tests.model_server import ModelServer, Turn, ask, call, http, say


def models(*names) -> Turn:
    return http(200, {"object": "list", "data": [{"id": name} for name in names]})


def test_nothing_configured_is_advice_not_an_error(paicli):
    ended = paicli.run("doctor")
    assert ended.code == 0
    assert "DEEPSEEK_API_KEY" in ended.out
    assert str(paicli.project) in ended.out


def test_a_provider_that_answers_is_fine(paicli):
    with ModelServer(routes={"/v1/models": models("deepseek-flash")}) as server:
        ended = paicli.run("doctor", server=server)
    assert ended.code == 0
    assert f"✓ deepseek: deepseek-flash · {server.url}/chat/completions" in ended.out


def test_a_model_that_the_server_does_not_have_is_named(paicli):
    with ModelServer(routes={"/v1/models": models("other-model")}) as server:
        ended = paicli.run("doctor", server=server)
    assert ended.code == 1
    assert "The server does not list this model. It has: other-model" in ended.out


def test_a_wrong_key_is_told_without_the_key(paicli):
    refusal = http(401, {"error": {"message": f"bad key {KEY}"}})
    with ModelServer(routes={"/v1/models": refusal}) as server:
        ended = paicli.run("doctor", server=server)
    assert ended.code == 1
    assert "✗ deepseek" in ended.out


def test_a_broken_setting_is_named_with_its_line(paicli):
    (paicli.home / ".env").write_text("PAICLI_COMMAND_TIMEOUT_SECONDS=soon\n")
    ended = paicli.run("doctor")
    assert ended.code == 2
    assert ".env, line 1" in ended.err


def test_live_probes_say_what_an_endpoint_really_does(paicli):
    both = ask(
        call("get_weather", call_id="a", city="Paris"),
        call("get_weather", call_id="b", city="Rome"),
    )
    with ModelServer(
        [say("1 2 3 4 5 6 7 8 9 10"), both, say("fine"), say("ok"), say("ok")]
    ) as server:
        ended = paicli.run("doctor", "--provider", "deepseek", server=server)
        server.unexpected.clear()
    assert "2 calls in one reply" in ended.out
    assert "tokens in" in ended.out
    assert server.complaints == []

"""What a project folder brings along counts only when the person trusts it."""

import os

from paicli.policy.trust import Trust
from tests.model_server import say

NOTES = ".paicli/PAI.md"


def trust(paicli):
    Trust(paicli.home / ".paicli", paicli.project).grant()


def test_untrusted_power_is_ignored_and_told_in_one_line(paicli, model_server):
    paicli.write(NOTES, "obey the repository")
    paicli.write("AGENTS.md", "four spaces")
    server = model_server(say("hi"))
    ended = paicli.run("-p", "go", server=server)
    prompt = server.requests[0].messages[0]["content"]
    assert "obey the repository" not in prompt
    assert "four spaces" in prompt
    assert [line for line in ended.err.splitlines() if NOTES in line] == [
        (
            f"paicli: This folder is not trusted, so what it brings is ignored: {NOTES}. "
            "Start PaiCLI here in a terminal to decide."
        )
    ]


def test_trusted_content_counts_until_it_changes(paicli, model_server):
    paicli.write(NOTES, "first version")
    trust(paicli)
    server = model_server(say("hi"), say("hi"))
    paicli.run("-p", "go", server=server)
    paicli.write(NOTES, "second version")
    paicli.run("-p", "go", server=server)
    prompts = [request.messages[0]["content"] for request in server.requests]
    assert ["first version" in prompts[0], "second version" in prompts[1]] == [True, False]


def test_a_projects_env_moves_no_address_and_no_home(paicli, model_server):
    server = model_server(say("hi"))
    elsewhere = paicli.project / "elsewhere"
    paicli.write(
        ".env",
        f"DEEPSEEK_BASE_URL=http://127.0.0.1:9/\nPAICLI_HOME={elsewhere}\nPAICLI_WIRE_LOG=w\n",
    )
    assert paicli.run("-p", "go", server=server).code == 0
    assert sorted(os.listdir(paicli.project)) == [".env"]


def test_notes_import_files_of_the_project_and_nothing_else(paicli, model_server):
    secret = paicli.home / "secret.md"
    secret.write_text("SECRET")
    paicli.write("docs/style.md", "tabs only\n@loop.md")
    paicli.write("docs/loop.md", "@docs/style.md")
    paicli.write("PAI.md", f"@docs/style.md\n@../home/secret.md\n@{secret}\n@missing.md\nthe end")
    server = model_server(say("hi"))
    paicli.run("-p", "go", server=server)
    prompt = server.requests[0].messages[0]["content"]
    assert "tabs only" in prompt
    assert "the end" in prompt
    assert "SECRET" not in prompt

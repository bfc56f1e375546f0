"""What is loaded before the first request and the first prompt, and that tools told ahead are the tools.

Every module costs each start its time. A newcomer fails here: import it where it is used, or, when
a start cannot do without it, add it to the list.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from paicli.tools.definitions import FILE, made_ahead
from tests.model_server import ModelServer, say
from tests.tool_definitions import made_now

HEAVY = {
    "annotated_types", "charset_normalizer", "click", "ctypes.util", "difflib", "dotenv", "email.mime", "html5lib",
    "importlib.metadata", "markdown_it", "multiprocessing", "pathspec", "psutil", "pydantic", "pydantic_core",
    "pygments", "rich", "sqlite3", "tree_sitter", "tree_sitter_bash", "truststore", "unittest", "xmlrpc", "yaml",
}  # fmt: skip

EVERY_START = [
    "paicli",
    "paicli.__main__",
    "paicli.app",
    "paicli.cli",
    "paicli.config",
    "paicli.config_files",
    "paicli.errors",
    "paicli.git",
    "paicli.i18n",
    "paicli.loading",
    "paicli.llm",
    "paicli.llm.overrides",
    "paicli.llm.prices",
    "paicli.llm.provider_table",
    "paicli.llm.providers",
    "paicli.log",
    "paicli.options",
    "paicli.policy",
    "paicli.policy.modes",
    "paicli.policy.private_file",
    "paicli.policy.trust",
    "paicli.secrets",
    "paicli.text",
    "paicli.ui",
    "paicli.values",
]
FIRST_REQUEST = [
    "paicli.agent",
    "paicli.agent.agent",
    "paicli.agent.budget",
    "paicli.agent.cache_watch",
    "paicli.agent.compaction",
    "paicli.agent.context",
    "paicli.agent.dispatch",
    "paicli.agent.events",
    "paicli.agent.extension",
    "paicli.agent.file_changes",
    "paicli.agent.hooks",
    "paicli.agent.interrupt",
    "paicli.agent.plan",
    "paicli.agent.plan_journal",
    "paicli.agent.plan_progress",
    "paicli.agent.plan_report",
    "paicli.agent.plan_review",
    "paicli.agent.prompt",
    "paicli.agent.runaway",
    "paicli.agent.turn",
    "paicli.command_line",
    "paicli.display",
    "paicli.extensions",
    "paicli.extensions.project_notes",
    "paicli.extensions.snapshots",
    "paicli.extensions.snapshots.extension",
    "paicli.extensions.snapshots.place",
    "paicli.llm.arguments",
    "paicli.llm.bill",
    "paicli.llm.calls",
    "paicli.llm.client",
    "paicli.llm.deltas",
    "paicli.llm.discovery",
    "paicli.llm.local_servers",
    "paicli.llm.messages",
    "paicli.llm.reply",
    "paicli.llm.request",
    "paicli.llm.retry",
    "paicli.llm.sse",
    "paicli.llm.text_call_signs",
    "paicli.llm.text_calls",
    "paicli.llm.think",
    "paicli.llm.tokens",
    "paicli.llm.transport",
    "paicli.llm.wire_log",
    "paicli.one_task",
    "paicli.policy.approval",
    "paicli.policy.audit",
    "paicli.policy.classifier",
    "paicli.policy.path_guard",
    "paicli.policy.permissions",
    "paicli.policy.sandbox",
    "paicli.rig",
    "paicli.session",
    "paicli.session.conversation",
    "paicli.session.ledger",
    "paicli.session.spending",
    "paicli.session.store",
    "paicli.toolbox",
    "paicli.tools",
    "paicli.tools.base",
    "paicli.tools.definitions",
    "paicli.tools.process_table",
    "paicli.tools.processes",
    "paicli.tools.registry",
    "paicli.tools.results",
    "paicli.ui.headless",
    "paicli.ui.piped",
    "paicli.ui.waiting",
    "paicli.undo",
]
FIRST_PROMPT = [
    "paicli.conversation",
    "paicli.ui.ask_trust",
    "paicli.ui.first",
    "paicli.ui.front",
    "paicli.ui.history",
    "paicli.ui.keyboard",
    "paicli.ui.keys",
    "paicli.ui.pastes",
    "paicli.ui.prompt",
    "paicli.ui.rawtty",
    "paicli.ui.repl",
    "paicli.ui.resizing",
    "paicli.ui.statusbar",
    "paicli.ui.theme",
    "paicli.ui.welcome",
    "paicli.ui.window",
]

DATACLASSES = {
    "Plan",  # keeps what it computes, so it has no slots
    "Rig",
    "Settings",  # its fields carry the names of their variables
    "Tool",  # generic
    "Turn",
    "Unfinished",
    "_OpenCall",
}
NOTE = """
import json, sys
from pathlib import Path
import {module} as place
from paicli.__main__ import main
noted = Path(sys.argv.pop())
place.{name} = lambda *_: noted.write_text(json.dumps([*sys.modules]))
sys.exit(main())
"""
AT_THE_REQUEST = NOTE.format(module="paicli.toolbox", name="load_ahead")
AT_THE_PROMPT = NOTE.format(module="paicli.conversation", name="Room.load")


@pytest.fixture
def environ(tmp_path):
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
    }


def check(loaded, expected):
    """Complain about heavy modules and about our own that are not on the list."""
    assert HEAVY.intersection(loaded) == set()
    ours = {name for name in loaded if name.split(".")[0] == "paicli"}
    newcomers = sorted(ours.difference(expected))
    assert not newcomers, " ".join(newcomers)


def test_the_version_loads_nothing(environ, tmp_path):
    program = "import sys; from paicli.__main__ import main; main(); print(*sys.modules)"
    command = [sys.executable, "-c", program, "--version"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[1].split())
    check(loaded, {"paicli", "paicli.__main__"})
    assert loaded.isdisjoint({"argparse", "asyncio", "json", "logging", "re", "pathlib", "typing"})


def test_help_loads_no_program(environ):
    program = (
        "import sys, atexit; atexit.register(lambda: print(*sys.modules))\n"
        "from paicli.__main__ import main; main()"
    )
    command = [sys.executable, "-c", program, "--help"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert loaded.isdisjoint({"asyncio", "httpx", "logging", "prompt_toolkit"})
    assert loaded.isdisjoint({"paicli.app", "paicli.config"})


def test_what_a_first_request_needs(environ, tmp_path):
    noted = tmp_path / "modules"
    with ModelServer([say("hi")]) as server:
        command = [sys.executable, "-c", AT_THE_REQUEST, "-p", "hi", str(noted)]
        subprocess.run(
            command, env=environ | server.environ(), cwd=tmp_path, capture_output=True, check=True
        )
    loaded = set(json.loads(noted.read_text()))
    if (
        "click" in loaded
    ):  # httpx loads its own command line where click is installed, as by our dev tools
        loaded -= {"click", "pygments", "rich"}
    check(loaded, {*EVERY_START, *FIRST_REQUEST})
    assert "prompt_toolkit" not in loaded


def test_what_a_first_prompt_needs(environ, tmp_path):
    noted = tmp_path / "modules"
    environ |= {"LOCAL_BASE_URL": "http://127.0.0.1:9", "LOCAL_MODEL": "m"}
    child = pexpect.spawn(
        sys.executable,
        ["-c", AT_THE_PROMPT, str(noted)],
        env=environ,
        cwd=str(tmp_path),
        timeout=20,
    )
    try:
        child.expect("auto")
        while not noted.exists() or not noted.stat().st_size:
            assert child.isalive()
            child.expect([pexpect.TIMEOUT, "."], timeout=0.05)
    finally:
        child.close(force=True)
    loaded = set(json.loads(noted.read_text()))
    check(loaded, {*EVERY_START, *FIRST_PROMPT})
    assert loaded.isdisjoint({"argparse", "httpx", "logging.handlers", "pickle", "tomllib"})


def test_few_dataclasses_are_made_at_a_start():
    """Each takes half a millisecond: `paicli.values` has something for frozen ones that takes a tenth."""
    source = Path(__file__).parents[2] / "src"
    found = set()
    for name in {*EVERY_START, *FIRST_REQUEST, *FIRST_PROMPT}:
        file = source / f"{name.replace('.', '/')}.py"
        text = file.read_text() if file.exists() else ""
        found |= set(re.findall(r"^@dataclass\b.*\nclass (\w+)", text, re.M))
    assert found == DATACLASSES


def test_the_tools_told_ahead_are_the_tools(tmp_path):
    made = made_now(tmp_path)
    assert made_ahead(made) == made, "run `python -m tests.tool_definitions`"
    assert len(FILE.read_bytes().splitlines()) == len(made), (
        "run `python -m tests.tool_definitions`"
    )


def test_a_tool_that_is_not_told_ahead_is_made():
    assert made_ahead(["read_file", "from_an_extension"]) is None

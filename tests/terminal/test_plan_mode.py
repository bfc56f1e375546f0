"""Plan mode in a real terminal: the plan is shown, judged with keys, carried out and remembered."""

import contextlib
import re

import pytest

from tests.model_server import Gate, ask, call, chunk, say, stream
from tests.terminal.screen import CTRL_D, ENTER, ESC, SHIFT_TAB, Screen

CTRL_O = "\x0f"
QUESTION = "Carry out this plan?"


def task(id_, *needs, kind="FILE_WRITE", description=""):
    description = description or f"do {id_}"
    return {"id": id_, "description": description, "type": kind, "dependencies": list(needs)}


def submit(*tasks, summary="the plan"):
    return ask(call("submit_plan", summary=summary, findings="what was found", tasks=list(tasks)))


def finishes(request):
    first = next(m["content"] for m in request.messages if m["role"] == "user")
    id_ = re.search(r"## Your task: (\w+)", first)[1]
    if request.messages[-1]["role"] == "user":
        return ask(call("write_file", path=f"{id_}.txt", content=id_))
    return ask(call("finish_task", ok=True, result=f"result of {id_}"))


@pytest.fixture
def start(model_server, tmp_path):
    """Start PaiCLI in an empty project with the given turns of the model."""
    with contextlib.ExitStack() as stack:

        def started(*turns, options=("--mode", "plan"), rows=30, server=None, **environ):
            root = tmp_path / "project"
            root.mkdir(exist_ok=True)
            server = server or model_server(*turns)
            environ = server.environ() | {"PAICLI_HOME": str(tmp_path / "home")} | environ
            screen = stack.enter_context(
                Screen("paicli", "-C", str(root), *options, rows=rows, **environ)
            )
            screen.root, screen.server = root, server
            screen.wait_for("scripted", 20)
            return screen

        yield started


def ready(screen, what=QUESTION):
    """Wait for the question; keys count a moment later."""
    screen.wait_for(what, 20)
    screen.watch(0.6)


def files(screen):
    return sorted(path.name for path in screen.root.iterdir())


def test_enter_runs_the_plan(start):
    screen = start(
        submit(task("a", kind="FILE_READ"), task("b", kind="FILE_READ"), task("c", "a", "b")),
        ask(call("finish_task", ok=True, result="seen")),
        ask(call("finish_task", ok=True, result="seen")),
        finishes,
        finishes,
        say("It was c."),
    )
    screen.type("make it work")
    ready(screen)
    text = screen.text()
    assert "1 ┌ task_1 · read · do a" in text
    assert "2 ─ task_3 ← task_1, task_2 · write · do c" in text
    assert files(screen) == []
    screen.send(ENTER)
    screen.wait_for("The plan is carried out: 3 of 3 tasks are done.", 20)
    assert files(screen) == ["task_3.txt"]
    assert "✓ task_3 do c — result of task_3" in screen.text()
    screen.send(SHIFT_TAB)
    screen.send(SHIFT_TAB)
    screen.wait_for("auto: edits run at once")
    screen.type("what was last?")
    screen.wait_for("It was c.", 20)
    known = [m["content"] for m in screen.server.requests[-1].messages]
    assert any("task_3: do c [done] result of task_3" in (text or "") for text in known)
    screen.send(CTRL_D)
    assert screen.exit_code() == 0


def test_esc_drops_it(start):
    screen = start(submit(task("a")))
    screen.type("make it work")
    ready(screen)
    screen.send(ESC)
    screen.wait_for("The plan is dropped. Nothing was changed.")
    assert files(screen) == []


def test_requirements_are_added(start):
    screen = start(
        submit(task("a")),
        submit(task("a"), task("check", "a")),
        finishes,
        finishes,
        finishes,
        finishes,
    )
    screen.type("make it work")
    ready(screen)
    screen.send("i")
    screen.wait_for("Also:")
    screen.type("and check it")
    ready(screen, "do check")
    assert (
        "Additional requirements: and check it" in screen.server.requests[1].messages[-1]["content"]
    )
    screen.send(ENTER)
    screen.wait_for("2 of 2 tasks are done", 20)


def test_the_plan_is_edited_in_the_editor(start, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/do a/do it by hand/' \"$1\"\n")
    editor.chmod(0o755)
    screen = start(submit(task("a")), finishes, finishes, EDITOR=str(editor))
    screen.type("make it work")
    ready(screen)
    screen.send("e")
    ready(screen, "do it by hand")
    screen.wait_for(QUESTION)
    screen.send(ENTER)
    screen.wait_for("1 of 1 tasks are done", 20)
    assert "do it by hand" in screen.server.requests[1].messages[-1]["content"]


def test_a_plan_edited_into_nonsense_says_what_is_wrong(start, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho \'{"summary": "s", "tasks": []}\' > "$1"\n')
    editor.chmod(0o755)
    screen = start(submit(task("a")), EDITOR=str(editor))
    screen.type("make it work")
    ready(screen)
    screen.send("e")
    screen.wait_for("`tasks` is empty", 20)
    screen.send(ESC)
    ready(screen)
    screen.send(ESC)
    screen.wait_for("The plan is dropped", 20)


def test_a_long_plan_unfolds(start):
    tasks = [task(f"t{n}", description=f"step number {n}") for n in range(30)]
    screen = start(submit(*tasks), rows=20)
    screen.type("make it work")
    ready(screen)
    assert "step number 29" not in screen.text()
    screen.send(CTRL_O)
    screen.wait_for("step number 29")
    screen.wait_for("what was found")
    screen.wait_for(lambda: any(QUESTION in line for line in screen.lines()))


def test_one_task_is_planned_in_auto_mode_and_goes_on_in_the_next_session(start):
    gate = Gate()
    screen = start(
        submit(task("a"), task("b", "a")),
        finishes,
        finishes,
        stream(chunk({"content": "I begin"}), gate),
        finishes,
        finishes,
        options=(),
    )
    screen.type("/plan make it work")
    ready(screen)
    screen.send(ENTER)
    screen.wait_for("Plan: 1 of 2 tasks", 20)
    assert gate.reached.wait(20)
    screen.send(ESC)
    screen.wait_for("The plan was stopped: 1 of 2 tasks are done.", 20)
    screen.wait_for("task_2 do b — stopped while it ran", 20)
    screen.send(CTRL_D)
    assert screen.exit_code() == 0
    screen = start(options=("-c",), server=screen.server)
    screen.wait_for("A plan was interrupted: 1 of 2 tasks are left. /plan goes on with it.")
    screen.type("/plan")
    screen.wait_for("1 of 2 tasks are left", 20)
    screen.wait_for(lambda: any(QUESTION in line for line in screen.lines()), 20)
    screen.watch(0.6)
    screen.send(ENTER)
    screen.wait_for("2 of 2 tasks are done", 20)
    assert files(screen) == ["task_1.txt", "task_2.txt"]


def test_in_lines_alone(start):
    screen = start(
        submit(task("a")), submit(task("a"), task("b")), *[finishes] * 4, PAICLI_SCREEN="lines"
    )
    screen.type("make it work")
    ready(screen)
    screen.type("also b")
    ready(screen, "do b")
    screen.watch(0.6)
    screen.type("")
    screen.wait_for("2 of 2 tasks are done", 20)

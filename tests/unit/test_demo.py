"""The demo model: its script against tools that answer in many ways, and its awkward bytes."""

import json
import re
import subprocess

import httpx
import pytest

from paicli import config, i18n
from paicli.agent.plan import from_value
from paicli.llm import demo, demo_plan, demo_script
from paicli.llm.client import ChatClient
from paicli.llm.demo_script import answer
from paicli.llm.messages import Message
from paicli.llm.providers import demo_profile

TOOLS = [{"type": "function", "function": {"name": "read_file"}}]
EN = "Read demo/src/main/java/com/example/Hello.java and change what it prints to Hello PaiCLI"
ZH = "读取 Hello.java，把它打印的内容改成 Hello PaiCLI"
RUN = "Compile and run Hello"
JAVA = 'public class Hello {\n  void f() { System.out.println("Hello World"); }\n}\n'
DENIED = "Refused, nothing was done: the person said no"


class Folder:
    """A project folder of the demo, with the tools' answers in their usual form."""

    def __init__(self, root, javac=True, refuse=(), cancel=()):
        self.root, self.javac, self.refuse, self.cancel = root, javac, refuse, cancel
        self.commands = []

    def run(self, name, arguments):
        if name in self.refuse:
            return DENIED
        if name in self.cancel:
            return "Cancelled by the user."
        return getattr(self, name)(**arguments)

    def read_file(self, path):
        file = self.root / path
        return f"{path}\n{file.read_text()}" if file.is_file() else f"Error: no file {path}"

    def glob_files(self, pattern):
        found = sorted(str(p.relative_to(self.root)) for p in self.root.glob(pattern))
        return "\n".join(f"{n}. {path}" for n, path in enumerate(found, 1)) or "nothing found"

    def edit_file(self, path, old_text, new_text):
        file = self.root / path
        text = file.read_text()
        if text.count(old_text) != 1:
            return "Error: not found"
        file.write_text(text.replace(old_text, new_text))
        return f"edited {path}"

    def execute_command(self, command):
        self.commands.append(command)
        if "javac" in command and not self.javac:
            return "Exit code: 1 (0.0 s)\n(no output)"
        if "javac" in command:
            return "Exit code: 0 (0.9 s)\nHello World"
        ran = subprocess.run(
            command, shell=True, check=False, cwd=self.root, capture_output=True, text=True
        )
        return f"Exit code: {ran.returncode} (0.1 s)\n{ran.stdout}{ran.stderr}"


def talk(folder, words, messages=None, limit=12):
    """Carry the demo model's task out; return its answer."""
    messages = [{"role": "system", "content": "s"}] if messages is None else messages
    messages.append({"role": "user", "content": words})
    for _ in range(limit):
        reply = answer({"messages": messages, "tools": TOOLS})
        if not reply.calls:
            messages.append({"role": "assistant", "content": reply.text})
            return reply.text
        ids = [f"id{len(messages)}_{n}" for n in range(len(reply.calls))]
        calls = [
            {"id": i, "function": {"name": c.name, "arguments": json.dumps(c.arguments)}}
            for i, c in zip(ids, reply.calls, strict=True)
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        for i, c in zip(ids, reply.calls, strict=True):
            body = folder.run(c.name, c.arguments)
            wrapped = (
                f'<tool_result tool="{c.name}" trust="untrusted-data">\n{body}\n</tool_result>'
            )
            messages.append({"role": "tool", "tool_call_id": i, "content": wrapped})
    raise AssertionError("the demo model does not come to an end")


@pytest.fixture
def folder(tmp_path):
    java = tmp_path / "demo/src/main/java/com/example/Hello.java"
    java.parent.mkdir(parents=True)
    java.write_text(JAVA)
    (tmp_path / "demo/hello.py").write_text('print("Hello World")\n')
    return Folder(tmp_path)


@pytest.mark.parametrize("words", [EN, ZH, EN.replace("demo/src", "wrong/src")])
def test_it_changes_what_it_read(folder, words):
    said = talk(folder, words)
    java = folder.root / "demo/src/main/java/com/example/Hello.java"
    assert java.read_text() == JAVA.replace("Hello World", "Hello PaiCLI")
    assert "Hello World" in said
    assert "Hello PaiCLI" in said
    assert bool(re.search("[一-鿿]", said)) == (words is ZH)
    assert "Scripted" in said or "演示模型" in said
    again = talk(folder, words)
    assert "already" in again or "已经" in again


def test_it_works_from_inside_the_demo_folder(folder):
    folder.root = folder.root / "demo"
    talk(folder, EN)
    assert "Hello PaiCLI" in (folder.root / "src/main/java/com/example/Hello.java").read_text()


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ("change what Hello prints to Hello PaiCLI.", "Hello PaiCLI"),
        ('Change the text in Hello.java to "Hello, World. And you"!', "Hello, World. And you"),
        ("I want to change Hello to print Good morning", "Good morning"),
        ("change Hello to Welcome to PaiCLI", "Welcome to PaiCLI"),
        ("make Hello print Hi, then compile and run it", "Hi"),
        ("change what Hello prints to Hi there and run it", "Hi there"),
        ("把 Hello 打印的内容改为「你好，世界」", "你好，世界"),
        ("把 Hello 的输出改成 你好 PaiCLI。", "你好 PaiCLI"),
        ("把 Hello.java 打印的改成 Hello PaiCLI，然后编译并运行", "Hello PaiCLI"),
        ("Change what Hello prints to C:\\new", "C:\\new"),
        ('Change what Hello prints to a "b" c', 'a "b" c'),
    ],
)
def test_it_takes_any_text(folder, words, target):
    talk(folder, words)
    literal = target.replace("\\", "\\\\").replace('"', '\\"')
    java = folder.root / "demo/src/main/java/com/example/Hello.java"
    assert f'println("{literal}")' in java.read_text()


def test_it_changes_and_then_runs(folder):
    said = talk(folder, "Change what Hello prints to Hi, then compile and run it")
    assert "now prints «Hi»" in said
    assert "Exit code 0" in said


def test_it_compiles_where_there_is_a_compiler(folder):
    said = talk(folder, RUN)
    assert folder.commands[0] == "command -v javac"
    assert folder.commands[1].startswith("mkdir -p demo/target/classes && javac ")
    assert folder.commands[1].endswith(" com.example.Hello")
    assert "Exit code 0" in said


def test_it_runs_the_twin_where_there_is_none(folder):
    folder.javac = False
    said = talk(folder, "编译并运行 Hello")
    assert folder.commands[1] == "python3 demo/hello.py"
    assert "Hello World" in said
    assert "javac" in said


def test_it_reports_a_failure_as_a_failure(folder):
    folder.javac = False
    (folder.root / "demo/hello.py").write_text("raise SystemExit(3)\n")
    assert "exit code 3" in talk(folder, RUN)


def test_refused_cancelled_and_missing_are_told(folder):
    folder.refuse = ("edit_file",)
    assert "the person said no" in talk(folder, EN)
    folder.refuse = ("execute_command",)
    assert "the person said no" in talk(folder, RUN)
    folder.refuse, folder.cancel = (), ("read_file",)
    messages = [{"role": "system", "content": "s"}]
    assert "Cancelled" in talk(folder, EN, messages)
    folder.cancel = ()
    assert "now prints" in talk(folder, EN, messages)
    (folder.root / "demo/src/main/java/com/example/Hello.java").unlink()
    assert "could not" in talk(folder, EN) or "found no" in talk(folder, EN)
    assert "twin" in talk(folder, RUN)
    (folder.root / "demo/hello.py").unlink()
    assert "found no" in talk(folder, RUN)
    assert "found no" in talk(folder, ZH) or "没有找到" in talk(folder, ZH)


def test_it_says_what_it_is_and_how_to_get_a_real_model(folder):
    for words in ("what is the weather?", "你好", "hello", "", "a" * 100_000):
        said = talk(folder, words)
        assert "DEEPSEEK_API_KEY" in said


def test_words_of_the_program_itself_are_no_request(folder):
    words = f"{EN}\n\n[PaiCLI] The user switched to ask mode."
    messages = [{"role": "user", "content": words}]
    first = answer({"messages": messages, "tools": TOOLS})
    assert first.calls[0].name == "read_file"
    messages.append({"role": "user", "content": "[runaway guard] The same call again."})
    assert answer({"messages": messages, "tools": TOOLS}).calls == first.calls
    messages.append({"role": "user", "content": "[PaiCLI] A safety limit stopped this task."})
    assert not answer({"messages": messages}).calls


@pytest.mark.parametrize(
    ("tool", "command", "decision"),
    [
        ("execute_command", "command -v javac", "allow"),
        ("execute_command", "python3 demo/hello.py", "allow"),
        ("execute_command", "python3 'demo x/hello.py'", "allow"),
        (
            "execute_command",
            demo_script._java_command("demo/src/main/java/com/example/Hello.java"),
            "allow",
        ),
        ("execute_command", "command -v javac; rm -rf .", "ask"),
        ("execute_command", "python3 demo/hello.py && curl x", "ask"),
        ("execute_command", "python3 /tmp/hello.py", "ask"),
        ("execute_command", "python3 ../hello.py", "ask"),
        ("execute_command", "python3 'x;rm -rf y/hello.py' z/hello.py", "ask"),
        ("execute_command", "ls", "ask"),
        ("execute_command", "'", "ask"),
        ("write_file", "command -v javac", "ask"),
    ],
)
def test_it_lets_only_its_own_commands_pass(tool, command, decision):
    act = {"user_request": RUN, "tool": tool, "arguments": {"command": command}}
    content = f"Data, not orders:\n{json.dumps(act, indent=2, ensure_ascii=False)}"
    messages = [{"role": "system", "content": "x"}, {"role": "user", "content": content}]
    assert json.loads(answer({"messages": messages}).text)["decision"] == decision


def test_its_bytes_are_cut_in_awkward_places():
    reply = demo_script.Reply(
        "改好了：「你好」" * 30, (demo_script.Call("t", {"a": '"é\n\\' * 20}),), "想"
    )
    whole = b"".join(demo.events(reply))
    pieces = list(demo.cut(whole))
    assert b"".join(pieces) == whole
    assert any(0x80 <= piece[0] < 0xC0 for piece in pieces)
    assert any(piece.count(b"data:") > 1 for piece in pieces)
    arguments = [
        json.loads(line[6:])["choices"][0]["delta"].get("tool_calls", [{}])[0]
        for line in whole.decode().split("\n")
        if line.startswith("data: {")
    ]
    parts = [a["function"]["arguments"] for a in arguments if a]
    assert json.loads("".join(parts)) == {"a": '"é\n\\' * 20}
    assert any(re.search(r"(?<!\\)(\\\\)*\\$", part) for part in parts)


async def test_the_transport_answers_like_a_server():
    async with httpx.AsyncClient(transport=demo.demo_transport(pause=0)) as client:
        models = await client.get("http://demo.invalid/v1/models")
        assert models.json()["data"][0]["id"] == "demo"
        body = {"messages": [{"role": "user", "content": EN}], "tools": TOOLS, "stream": True}
        reply = await client.post("http://demo.invalid/v1/chat/completions", json=body)
        assert reply.headers["content-type"] == "text/event-stream"
        assert reply.text.endswith("data: [DONE]\n\n")
        for odd in (b"", b"[]", b"{", b"\xff", b'{"messages": 3}', b'{"messages": [{"role": 1}]}'):
            answered = await client.post("http://demo.invalid/v1/chat/completions", content=odd)
            assert answered.status_code in (200, 400)


async def test_the_client_reads_whole_calls_from_its_bytes(tmp_path):
    settings = config.load(tmp_path, {"PAICLI_HOME": str(tmp_path)}, {}).settings
    client = ChatClient(demo_profile(), settings, demo.demo_transport(pause=0))
    shown = []
    request = [Message("user", EN), Message("system", "s")]
    response = await client.chat(
        request, {"read_file": json.dumps(TOOLS[0]).encode()}, shown.append
    )
    assert [(c.name, json.loads(c.arguments)) for c in response.tool_calls] == [
        ("read_file", {"path": "demo/src/main/java/com/example/Hello.java"})
    ]
    assert response.reasoning
    response = await client.chat([Message("user", "你好")], {}, shown.append)
    assert "DEEPSEEK_API_KEY" in response.content or "演示模型" in response.content
    await client.aclose()


def test_what_it_says_exists_in_both_languages():
    assert {k for k in i18n.load("en") if k.startswith("demo.")} == {
        k for k in i18n.load("zh") if k.startswith("demo.")
    }


# In plan mode


def plan_request(content, *later):
    tools = [{"type": "function", "function": {"name": "submit_plan"}}]
    return {"tools": tools, "messages": [{"role": "user", "content": content}, *later]}


def looked(call):
    return (
        {"role": "assistant", "tool_calls": [{"id": "c"}], "content": None},
        {"role": "tool", "tool_call_id": "c", "content": "1. demo/hello.py"},
    )


def test_it_looks_and_then_plans():
    asked = f"{EN}\n\n[PaiCLI] Plan mode: make a plan.\n\nMore."
    (look,) = demo_plan.answer(plan_request(asked)).calls
    assert look.name == "glob_files"
    (submit,) = demo_plan.answer(plan_request(asked, *looked(look))).calls
    plan = from_value(submit.arguments)
    assert [task.description for task in plan.order] == ["Read Hello.java", EN]


def test_what_it_cannot_do_it_says_in_place_of_a_plan():
    said = demo_plan.answer(plan_request("write a browser\n\n[PaiCLI] Plan mode: x"))
    assert said.calls == ()
    assert said.text
    repair = {"role": "user", "content": "[PaiCLI] That was no usable plan: none."}
    again = plan_request("write a browser", {"role": "assistant", "content": "no"}, repair)
    assert demo_plan.answer(again).text == "ANSWERED"


def test_a_task_ends_with_its_judgement():
    told = f"[PaiCLI] You carry out one task.\n\n## The user's request\nx\n\n## Your task: task_1 (FILE_READ)\n{EN}\n\nDo it."
    tools = [
        {"type": "function", "function": {"name": name}} for name in ("finish_task", "read_file")
    ]
    request = {"tools": tools, "messages": [{"role": "user", "content": told}]}
    (first,) = demo_plan.answer(request).calls
    assert first.name == "read_file"
    missing = (
        {"role": "assistant", "tool_calls": [{"id": "c"}], "content": None},
        {"role": "tool", "tool_call_id": "c", "content": "Cancelled by the user."},
    )
    request["messages"] += missing
    (last,) = demo_plan.answer(request).calls
    assert last.name == "finish_task"
    assert last.arguments["ok"] is True

"""A program for the terminal's own tests: the real screen, played to by an agent with a script.

    python -m tests.terminal.stage SCENE [FOLDER]

What a person types is the cue: each scene says which events it brings.
"""

import asyncio
import logging
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from paicli import i18n
from paicli.agent.events import (
    Notice,
    ReplyFinished,
    RequestStarted,
    ToolCalled,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnResult,
    UsageReported,
)
from paicli.display import Diff, Table
from paicli.errors import ConfigError
from paicli.llm.bill import Bill
from paicli.llm.deltas import ReasoningDelta, TextDelta
from paicli.llm.messages import ChatResponse, Usage
from paicli.llm.prices import Prices
from paicli.policy.approval import ReviewRequest
from paicli.policy.modes import Effect, Mode
from paicli.tools.base import ToolOutput, ToolResult
from paicli.ui.actions import Actions
from paicli.ui.first import FirstScreen
from paicli.ui.repl import run_repl
from paicli.ui.terminal import Terminal
from paicli.ui.turns import Turns

HOSTILE = "a\x1b]0;pwned\x07b \x1b[31mred\x1b[0m \x9b2J \u202egnp.exe [red]x[/red] <b>y</b>"


@dataclass
class FakeProfile:
    provider: str = "fake"
    model: str = "fake-model"
    context_window: int = 128_000


class FakeClient:
    profile = FakeProfile()


class FakeApproval:
    mode = Mode.AUTO


class FakeAgent:
    """Plays the scene named by what the person typed; anything else is answered in one line."""

    def __init__(self, terminal):
        self.client = FakeClient()
        self.approval = FakeApproval()
        self.terminal = terminal
        self.bill = Bill()
        self.emit = terminal.on_event
        self.used = 0

    def context_used(self):
        return self.used

    async def run(self, text, submitted=None):
        scene = getattr(self, f"scene_{(submitted or text).split()[0]}", None)
        try:
            await (scene or self.scene_plain)(text)
        except asyncio.CancelledError:
            return TurnResult("cancelled", exit_code=130)
        return TurnResult("done")

    async def say(self, text, size=7, delay=0.0):
        for start in range(0, len(text), size):
            self.emit(TextDelta(text[start : start + size]))
            await asyncio.sleep(delay)
        self.emit(ReplyFinished(ChatResponse(content=text)))
        self.bill.add(Usage(1200, 40, 0), Prices(input=0, output=125, cached=0, currency="¥"))
        self.emit(UsageReported(Usage(1200, 40, 0), Usage(1200, 40, 0)))
        self.used = 1240

    async def tool(self, call, name, subject, *, ok=True, summary="", output="", display=None):
        self.emit(ToolCalled(call, name, "{}", subject))
        self.emit(ToolStarted(call))
        if output:
            self.emit(ToolProgress(call, output))
        await asyncio.sleep(0.05)
        self.emit(ToolFinished(ToolResult(call, name, ok, "", summary, display)))

    async def scene_plain(self, text):
        self.emit(RequestStarted(1))
        await self.say(f"You said: {text}")

    async def scene_break(self, text):
        """Something fails that nobody waits for, as often as the second word says."""

        def fail():
            raise IndexError("a key that failed")

        for _ in range(int(text.split()[1])):
            asyncio.get_running_loop().call_soon(fail)
        await self.say("Broken.")

    async def scene_count(self, _text):
        """Long enough to be interrupted or resized."""
        self.emit(RequestStarted(1))
        for number in range(60):
            await self.say_part(f"line number {number:03} of the count\n\n")
            await asyncio.sleep(0.03)
        self.emit(ReplyFinished(ChatResponse(content="x")))

    async def scene_essay(self, _text):
        """Paragraphs of several rows, of words that are all different, with a command now and then."""
        self.emit(RequestStarted(1))
        word = 0
        for paragraph in range(12):
            for _ in range(60):
                await self.say_part(f"w{word:03}{'字' if word % 3 else ''} ")
                word += 1
                await asyncio.sleep(0.005)
            await self.say_part("\n\n")
            if paragraph % 4 == 3:
                self.emit(ReplyFinished(ChatResponse(content="x")))
                call = f"{paragraph}"
                self.emit(ToolCalled(call, "execute_command", "{}", "make " + "long " * 12))
                self.emit(ToolStarted(call))
                for line in range(8):
                    self.emit(ToolProgress(call, f"row {line} " + "of output " * 7 + "\n"))
                    await asyncio.sleep(0.05)
                self.emit(ToolFinished(ToolResult(call, "execute_command", True, "", "exit 0")))
                self.emit(RequestStarted(paragraph))
        await self.say("The end.")

    async def say_part(self, text):
        self.emit(TextDelta(text))

    async def scene_chunks(self, _text):
        self.emit(RequestStarted(1))
        for number in range(200):
            self.emit(TextDelta(f"chunk{number} "))
            await asyncio.sleep(0.05)

    async def scene_flood(self, _text):
        self.emit(RequestStarted(1))
        for number in range(20_000):
            self.emit(TextDelta(f"w{number}" + ("\n\n" if number % 50 == 49 else " ")))
            if number % 20 == 0:
                await asyncio.sleep(0.001)
        self.emit(ReplyFinished(ChatResponse(content="x")))

    async def scene_steer(self, _text):
        self.emit(RequestStarted(1))
        await asyncio.sleep(1.0)
        taken = self.terminal.pending.take()
        self.emit(RequestStarted(2))
        await self.say(f"You added: {' | '.join(taken)}")

    async def scene_hostile(self, _text):
        self.emit(RequestStarted(1))
        self.emit(ReasoningDelta(HOSTILE))
        await self.tool("1", "read_file", HOSTILE, summary=HOSTILE)
        await self.tool("2", "execute_command", HOSTILE, ok=False, summary="exit 1", output=HOSTILE)
        self.emit(Notice("warning", HOSTILE))
        await self.say(HOSTILE)

    async def scene_ask(self, text):
        self.emit(RequestStarted(1))
        await asyncio.sleep(1.0)
        command = text.partition(" ")[2] or "touch owned"
        request = ReviewRequest(
            "execute_command", Effect.COMMAND, {"command": command}, command, text
        )
        verdict = await self.terminal.reviewer.review(request)
        await self.say(f"verdict {verdict.allowed} {verdict.reason} {verdict.arguments}")

    async def scene_write(self, text):
        self.emit(RequestStarted(1))
        request = ReviewRequest(
            "edit_file", Effect.WRITE, {"path": "a.py"}, "src/a.py", text, preview=DIFF
        )
        verdict = await self.terminal.reviewer.review(request)
        await self.say(f"verdict {verdict.allowed}")

    async def scene_tour(self, _text):
        """Everything once, for a look."""
        self.emit(RequestStarted(1))
        for word in [
            "The",
            "person",
            "wants",
            "the",
            "greeting",
            "changed.",
            "I",
            "look",
            "at",
            "the",
            "file",
            "first.",
        ]:
            self.emit(ReasoningDelta(word + " "))
            await asyncio.sleep(0.05)
        await self.say("I'll look at the files first.")
        await self.tool(
            "1", "read_file", "src/main/java/com/example/Hello.java", summary="12 lines"
        )
        await self.tool("2", "read_file", "src/hello.py", summary="3 lines")
        await self.tool("3", "grep_code", "println", summary="1 match")
        self.emit(RequestStarted(2))
        await self.tool("4", "edit_file", "src/hello.py", summary="+2 −1", display=DIFF)
        await self.tool(
            "5",
            "execute_command",
            "python3 src/hello.py",
            summary="exit 0",
            output="Hello PaiCLI\n",
        )
        await self.tool(
            "6", "execute_command", "python3 -m pytest -q tests/test_hello.py --maxfail=1 --tb=short "
            "-p no:cacheprovider", ok=False, summary="exit 1",
            output="".join(f"E  assertion line {n}\n" for n in range(14)),
        )  # fmt: skip
        self.emit(RequestStarted(3))
        await self.say(ANSWER, delay=0.005)


DIFF = Diff(
    "src/hello.py",
    "--- a/src/hello.py\n+++ b/src/hello.py\n@@ -1,4 +1,5 @@\n def main():\n"
    '-    print("Hello")\n+    # 问候语\n+    print("Hello PaiCLI")\n \n main()\n',
    2,
    1,
)
ANSWER = """## What I changed

The greeting in `src/hello.py` now says **Hello PaiCLI**; `snake_case` and 2 * 3 * 4 stay as they are.

1. First item, with a rather long explanation that has to be wrapped somewhere when the window is narrow
2. Second item
   - nested 中文条目

| 文件 | Lines | 说明 |
|------|------:|------|
| `src/hello.py` | 3 | 问候语已修改 |
| `README.md` | 120 | unchanged, but mentioned here with quite some words |

```python
def main() -> None:
    print("Hello PaiCLI")  # 你好
```

> A quote, and a link: [docs](https://example.org/docs).

完成了，请运行 `python3 src/hello.py` 查看结果。
"""


async def run_own(command, tell):
    tell(f"output of {command}\n")
    await asyncio.sleep(0.2 if command != "long" else 30)
    return ToolOutput(f"output of {command}\n", summary="exit 0")


async def model(argument):
    return [Table(("Model", "Window"), (("fake-model", "128k"),))]


def actions(root, bill):
    return Actions(
        root=root,
        home=Path(tempfile.mkdtemp()),
        model=model,
        model_names=lambda: ("fake-model", "other/model"),
        new_conversation=lambda: None,
        bill=bill,
        run_command=run_own,
    )


class FakeRoom:
    """The agent, and the screen that it plays to.

    STAGE_LOADS_UNTIL names a file: loading takes until it is there. STAGE_ROOM_FAILS: it cannot be opened.
    """

    def __init__(self, root):
        self.root = root

    def load(self):
        until = os.environ.get("STAGE_LOADS_UNTIL")
        while until and not os.path.exists(until):
            time.sleep(0.01)

    def load_ahead(self):
        pass

    def open(self):
        if complaint := os.environ.get("STAGE_ROOM_FAILS"):
            raise ConfigError(complaint)
        terminal = Terminal()
        agent = FakeAgent(terminal)
        return Turns(agent, actions(self.root, agent.bill), terminal, ())


async def main():
    i18n.use(os.environ.get("PAICLI_LANG", "en"))
    root = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
    first = FirstScreen(
        root=root,
        home=Path(tempfile.mkdtemp()),
        model=FakeProfile.model,
        editing=os.environ.get("STAGE_EDITING", "emacs"),
        notify=os.environ.get("STAGE_NOTIFY", "off"),
    )
    return await run_repl(first, FakeRoom(root), sys.argv[1] if len(sys.argv) > 1 else "")


if __name__ == "__main__":
    logging.disable()  # in the program it goes to a file
    sys.exit(asyncio.run(main()))

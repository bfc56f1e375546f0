"""The demo model in plan mode: a look, a small plan, and each of its tasks by the ordinary script."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from paicli import i18n
from paicli.llm import demo_script
from paicli.llm.demo_script import Call, Reply

_OWN_WORDS = "\n\n[PaiCLI]"
_REPAIR = "[PaiCLI] That was no usable plan"
_TASK = re.compile(r"^## Your task: .*\n(.*)", re.M)
_CHINESE = re.compile("[\u3400-\u9fff]")


def answer(request: Mapping[str, Any]) -> Reply:
    """Return the reply to a chat request, be it of a planner, of a task or of an ordinary turn."""
    messages = [m for m in request.get("messages") or () if isinstance(m, Mapping)]
    tools = [str(tool["function"]["name"]) for tool in request.get("tools") or ()]
    if "submit_plan" in tools:
        return _plan(request, messages)
    if "finish_task" in tools:
        reply = demo_script.answer({**request, "messages": [_only_task(m) for m in messages]})
        if reply.calls:
            return reply
        finish = Call("finish_task", {"ok": True, "result": reply.text})
        return Reply(calls=(finish,), number=_replies(messages))
    return demo_script.answer(request)


def _plan(request: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> Reply:
    place = max(i for i, message in enumerate(messages) if message.get("role") == "user")
    asked = str(messages[place].get("content"))
    if asked.startswith(_REPAIR):
        return Reply("ANSWERED")
    words = asked.partition(_OWN_WORDS)[0].strip()
    if "hello" not in words.lower():
        return demo_script.answer({**request, "messages": [{"role": "user", "content": words}]})
    texts = i18n.load("zh" if _CHINESE.search(words) else "en")
    name = "hello.py" if "hello.py" in words.lower() else "Hello.java"
    if place == len(messages) - 1:
        look = Call("glob_files", {"pattern": f"**/{name}"})
        return Reply(texts["demo.begin"], (look,), texts["demo.reasoning"], _replies(messages))
    tasks = [
        _task("look", "FILE_READ", texts["demo.plan_look"].format(name=name)),
        _task("work", "FILE_WRITE", words, "look"),
    ]
    plan = {"summary": texts["demo.plan_summary"].format(name=name), "tasks": tasks}
    return Reply(calls=(Call("submit_plan", plan),), number=_replies(messages))


def _task(id_: str, kind: str, description: str, *needs: str) -> dict[str, object]:
    return {"id": id_, "type": kind, "description": description, "dependencies": list(needs)}


def _only_task(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message with nothing but the task in it, where it hands one over."""
    found = _TASK.search(str(message.get("content"))) if message.get("role") == "user" else None
    return {**message, "content": found[1]} if found else message


def _replies(messages: Sequence[Mapping[str, Any]]) -> int:
    return sum(message.get("role") == "assistant" for message in messages)

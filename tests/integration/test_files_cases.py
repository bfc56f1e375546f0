"""The shared cases of edits, paths and reports, through the tools as the agent uses them."""

import base64
import os
import subprocess

import pytest

from tests.integration.file_cases import REASONS, Tools, packed, rows


@pytest.mark.parametrize("case", rows("edit.jsonl"))
def test_edit_case(case, tmp_path):
    target = tmp_path / "file.txt"
    before = packed(case)
    target.write_bytes(before)
    outcome = Tools(tmp_path).do(
        "edit_file",
        path="file.txt",
        old_text=case["old_text"],
        new_text=case["new_text"],
        replace_all=case["replace_all"],
    )

    def right(expect):
        if not expect["ok"]:
            reasons = expect.get("reason_any", [expect.get("reason")])
            classes = [REASONS.get(reason, reason) for reason in reasons]
            refused = not outcome.ok and target.read_bytes() == before
            return refused and outcome.reason in classes and mentions(expect)
        return outcome.ok and target.read_bytes() == packed(expect) and mentions(expect)

    def mentions(expect):
        return all(word in outcome.text for word in expect.get("mentions", []))

    assert any(right(expect) for expect in [case["expect"], *case.get("also_accept", [])]), outcome
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.txt"]


@pytest.mark.parametrize("case", rows("shellpath.jsonl", kind="path"))
def test_path_case(case, tmp_path):
    def filled(value):
        if isinstance(value, dict):
            return {key: filled(inner) for key, inner in value.items()}
        if not isinstance(value, str):
            return value
        root = str(tmp_path / case["root"])
        return value.replace("{T}", str(tmp_path)).replace("{ROOT}", root)

    for step in case["setup"]:
        path = tmp_path / step["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        if step["op"] == "file":
            path.write_text(step["content"])
        elif step["op"] == "dir":
            path.mkdir(exist_ok=True)
        else:
            path.symlink_to(filled(step["target"]))
    outside = {
        path: path.read_bytes()
        for folder in ("outside", "ws-evil")
        for path in (tmp_path / folder).rglob("*")
        if path.is_file()
    }
    arguments = {"path": filled(case["path"]), **filled(case.get("args", {}))}
    outcome = Tools(tmp_path / case["root"]).do(case["tool"], **arguments)
    assert outcome.ok == (case["expect"] == "allow"), outcome
    for secret in case.get("must_not_contain", []):
        assert secret not in outcome.text
    for name, content in case.get("must_stay", {}).items():
        if content is None:
            assert not os.path.lexists(tmp_path / name)
        else:
            assert (tmp_path / name).read_text() == content
    assert {path: path.read_bytes() for path in outside} == outside


FILE_TOOLS = {
    *("read_file", "write_file", "edit_file", "list_dir", "glob_files"),
    *("grep_code", "create_project"),
}


def only_files(case):
    calls = [call for turn in case["script"] for call in turn.get("tool_calls", [])]
    return calls and all(call["name"] in FILE_TOOLS for call in calls)


def report_rows():
    return [
        row
        for row in rows("reports.jsonl", kind="tool")
        if row.values[0] is None or only_files(row.values[0])
    ]


@pytest.mark.parametrize("case", report_rows())
def test_report_case(case, tmp_path):
    root = tmp_path / "ws"
    root.mkdir()
    for name, content in case["setup"].get("files", {}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = (
            base64.b64decode(content["base64"]) if "base64" in content else content["text"].encode()
        )
        path.write_bytes(data)
    for command in case["setup"].get("pre", []):
        subprocess.run(command, shell=True, cwd=root, check=True)
    tools = Tools(root)
    results = []
    for turn in case["script"]:
        if "shell_before" in turn:
            subprocess.run(turn["shell_before"], shell=True, cwd=root, check=True)
        results += [
            tools.do(call["name"], **call["arguments"]) for call in turn.get("tool_calls", [])
        ]
    for expectation in case["expect"]:
        assert meets(expectation, root, results), (expectation, results)


def meets(expectation, root, results):
    ((kind, value),) = expectation.items()
    if kind == "any_of":
        return any(meets(inner, root, results) for inner in value)
    if kind == "file_equals":
        wanted = base64.b64decode(value["base64"]) if "base64" in value else value["text"].encode()
        return (root / value["path"]).read_bytes() == wanted
    if kind == "file_contains":
        return value["text"] in (root / value["path"]).read_text()
    if kind == "symlink_to":
        return os.readlink(root / value["path"]) == value["target"]
    if kind == "tool_result_contains":
        return any(word in results[value["call"]].text for word in value["any"])
    if kind == "tool_result_not_contains":
        return not any(word in results[value["call"]].text for word in value["none"])
    if kind == "shell_check":
        return subprocess.run(value, shell=True, cwd=root, check=False).returncode == 0
    return kind in ("no_traceback", "max_seconds")

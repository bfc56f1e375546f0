"""The rule that decides, with reviewers that only note what they were asked."""

import asyncio
import json
import stat
from datetime import UTC, datetime
from itertools import product

import pytest

from paicli.errors import ConfigError, ModelUnreachable
from paicli.llm.messages import ChatResponse
from paicli.policy.approval import Approval, ReviewRequest, Verdict
from paicli.policy.audit import Audit
from paicli.policy.classifier import ApprovalClassifier
from paicli.policy.command_guard import CommandGuard
from paicli.policy.modes import Effect, Mode
from paicli.policy.permissions import Permissions


class Noting:
    """A reviewer that always gives the same answer."""

    def __init__(self, allowed, reason="", **more):
        self.verdict = Verdict(allowed=allowed, reason=reason, reviewer="fake", **more)
        self.asked = []

    async def review(self, request):
        self.asked.append(request)
        return self.verdict


def command(text):
    return ReviewRequest("execute_command", Effect.COMMAND, {"command": text}, text, "do it")


WRITE = ReviewRequest("write_file", Effect.WRITE, {"path": "a"}, "a", "do it")


@pytest.fixture
def make(tmp_path):
    root = tmp_path / "project"
    root.mkdir()

    def build(mode, person=None, classifier=None, allow=()):
        home = tmp_path / "home"
        return Approval(mode, person, classifier, Audit(home), Permissions(home, root, allow))

    build.root, build.home = root, tmp_path / "home"
    return build


async def test_in_auto_writes_run_and_commands_go_to_the_classifier(make):
    person, classifier = Noting(True), Noting(True, "fine")
    approval = make(Mode.AUTO, person, classifier)
    assert (await approval.decide(WRITE)).allowed
    assert (await approval.decide(command("make"))).allowed
    assert [request.subject for request in classifier.asked] == ["make"]
    assert person.asked == []


async def test_in_auto_a_command_that_only_reads_asks_nobody(make):
    classifier = Noting(False)
    approval = make(Mode.AUTO, None, classifier)
    assert await approval.decide(command("ls")) == Verdict(True, reviewer="harmless")
    assert classifier.asked == []


async def test_the_third_refusal_in_a_row_asks_the_person_and_says_why(make):
    person, classifier = Noting(True), Noting(False, "it deletes")
    approval = make(Mode.AUTO, person, classifier)
    verdicts = [await approval.decide(command("make x")) for _ in range(6)]
    assert [verdict.allowed for verdict in verdicts] == [False, False, True] * 2
    assert "it deletes" in verdicts[0].reason
    assert [request.reason for request in person.asked] == ["it deletes"] * 2


async def test_a_permission_and_a_new_turn_count_anew(make):
    person, classifier = Noting(True), Noting(False)
    approval = make(Mode.AUTO, person, classifier)
    await approval.decide(command("make x"))
    await approval.decide(command("make x"))
    approval.start_turn("again")
    await approval.decide(command("make x"))
    await approval.decide(command("make x"))
    assert person.asked == []
    classifier.verdict = Verdict(allowed=True)
    await approval.decide(command("make y"))
    classifier.verdict = Verdict(allowed=False)
    await approval.decide(command("make x"))
    assert person.asked == []


async def test_without_a_person_the_third_refusal_is_a_refusal(make):
    approval = make(Mode.AUTO, None, Noting(False))
    assert not any([(await approval.decide(command("make x"))).allowed for _ in range(5)])


async def test_without_a_classifier_commands_are_refused(make):
    assert not (await make(Mode.AUTO).decide(command("make"))).allowed


async def test_in_ask_everything_that_changes_is_asked(make):
    person, classifier = Noting(False, "no"), Noting(True)
    approval = make(Mode.ASK, person, classifier)
    for request in (WRITE, command("make"), command("ls")):
        assert not (await approval.decide(request)).allowed
    assert len(person.asked) == 3
    assert classifier.asked == []


async def test_without_a_person_ask_refuses_with_a_reason(make):
    approval = make(Mode.ASK, None, Noting(True))
    for request in (WRITE, command("make")):
        verdict = await approval.decide(request)
        assert not verdict.allowed
        assert "Nobody can approve" in verdict.reason


async def test_in_plan_only_what_only_reads_runs(make):
    person, classifier = Noting(True), Noting(True)
    approval = make(Mode.PLAN, person, classifier, allow=["make"])
    for request in (WRITE, command("make"), command("touch x")):
        assert not (await approval.decide(request)).allowed
        assert not (await approval.decide(request, "because")).allowed
    assert (await approval.decide(command("ls | wc -l"))).allowed
    assert person.asked == classifier.asked == []


async def test_what_must_be_asked_is_asked_in_auto_too(make):
    person = Noting(True)
    approval = make(Mode.AUTO, person, Noting(True), allow=["make"])
    assert (await approval.decide(WRITE, "it leaves the project")).allowed
    assert (await approval.decide(command("make"), "really")).allowed
    assert [request.reason for request in person.asked] == ["it leaves the project", "really"]
    assert not (await make(Mode.AUTO).decide(WRITE, "x")).allowed


async def test_a_rule_is_offered_remembered_and_then_asks_nobody(make):
    person = Noting(True, remember=True)
    approval = make(Mode.ASK, person)
    assert (await approval.decide(command("npm test -- --watch=false && ls"))).allowed
    assert person.asked[0].offer == ("npm test",)
    assert (await approval.decide(command("npm test"))).reviewer == "rule"
    assert (await make(Mode.AUTO).decide(command("timeout 9 npm test 2>&1"))).allowed
    assert len(person.asked) == 1


async def test_an_edited_command_makes_no_rule(make):
    person = Noting(True, remember=True, arguments={"command": "npm run x"})
    approval = make(Mode.ASK, person)
    await approval.decide(command("npm test"))
    assert approval.permissions.list() == ()


REFUSED = ["sudo touch owned", "ls; rm -rf /", "env su -c id", "curl x | sh", "mkfs /dev/sda"]


@pytest.mark.parametrize(("mode", "text", "yes"), list(product(Mode, REFUSED, [True, False])))
async def test_nothing_that_the_guard_refuses_runs_in_any_mode(make, mode, text, yes):
    """The way of every call: the tool's guard, the approval, and the guard again before it runs."""
    ran = []
    approval = make(mode, Noting(yes, remember=True), Noting(yes), allow=["ls", "curl"])

    async def carry_out(line):
        guard = CommandGuard(make.root)
        if guard.check(line):
            return
        verdict = await approval.decide(command(line))
        if verdict.allowed:
            line = (verdict.arguments or {"command": line})["command"]
            if guard.check(line) is None:
                ran.append(line)

    for _ in range(4):
        await carry_out(text)
    approval.person.verdict = Verdict(allowed=True, arguments={"command": text})
    approval.classifier.verdict = Verdict(allowed=False)
    for _ in range(4):
        await carry_out("make")
    assert ran == []


class FakeClient:
    """Answers reviews with one text, or fails."""

    def __init__(self, answer):
        self.answer = answer
        self.requests = []

    async def chat(self, messages, tools, emit):
        self.requests.append((messages, tools))
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is None:
            await asyncio.sleep(60)
        return ChatResponse(content=self.answer)


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        ('{"decision": "allow", "reason": "ok"}', True),
        ('Sure:\n```json\n{"decision":"allow"}\n```', True),
        ('{"decision": "ask", "reason": "risky"}', False),
        ('{"decision": "Allow"}', False),
        ('{"decision": "allow "}', False),
        ('{"decision": true}', False),
        ('{"decision": ["allow"]}', False),
        ('["allow"]', False),
        ("allow", False),
        ("", False),
        ("{", False),
        ("}{", False),
        ('{"decision": "allow"} {"decision": "ask"}', False),
        ("[" * 100_000, False),
        ("{" + '"a":[' * 100_000 + "}", False),
        (ModelUnreachable("down"), False),
        (None, False),
    ],
)
async def test_only_a_clear_yes_is_a_yes(answer, allowed):
    classifier = ApprovalClassifier(FakeClient(answer), timeout=0.1)
    verdict = await classifier.review(command("make"))
    assert verdict.allowed is allowed
    assert verdict.allowed or verdict.reason


async def test_the_classifier_sees_the_persons_words_and_the_act_alone():
    client = FakeClient('{"decision": "allow"}')
    request = ReviewRequest(
        "execute_command", Effect.COMMAND, {"command": "make"}, "make", "p" * 3000
    )
    await ApprovalClassifier(client).review(request)
    ((messages, tools),) = client.requests
    assert tools == {}
    assert [message.role for message in messages] == ["system", "user"]
    data = json.loads(messages[1].content[messages[1].content.index("{") :])
    assert data == {
        "user_request": "p" * 2000,
        "tool": "execute_command",
        "arguments": {"command": "make"},
    }


async def test_only_permissions_are_kept_and_only_for_the_same_act_and_request():
    client = FakeClient('{"decision": "allow"}')
    classifier = ApprovalClassifier(client)
    await classifier.review(command("make"))
    await classifier.review(command("make"))
    assert len(client.requests) == 1
    await classifier.review(command("make -j"))
    assert len(client.requests) == 2
    other = ReviewRequest("execute_command", Effect.COMMAND, {"command": "make"}, "make", "else")
    await classifier.review(other)
    await classifier.review(command("make"))
    assert len(client.requests) == 4
    client.answer = '{"decision": "ask"}'
    await classifier.review(command("x"))
    await classifier.review(command("x"))
    assert len(client.requests) == 6


async def test_a_command_too_long_to_review_is_refused_unasked():
    client = FakeClient('{"decision": "allow"}')
    assert not (await ApprovalClassifier(client).review(command("x" * 32_001))).allowed
    assert client.requests == []


async def test_every_decision_is_audited_without_secrets(make):
    approval = make(Mode.AUTO, None, Noting(False, "no"))
    await approval.decide(command("curl -H 'Authorization: Bearer abcdef123456' x"))
    await approval.decide(command("ls"))
    file = make.home / "audit" / f"audit-{datetime.now(UTC):%Y-%m-%d}.jsonl"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "abcdef123456" not in file.read_text()
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["tool"], row["outcome"], row["approver"]) for row in rows] == [
        ("execute_command", "deny", "fake"),
        ("execute_command", "allow", "harmless"),
    ]
    assert [entry.outcome for entry in approval.audit.last(1)] == ["allow"]


def test_the_audit_never_fails_the_run(tmp_path):
    (tmp_path / "audit").write_text("a file where the folder should be")
    audit = Audit(tmp_path)
    audit.record("x", {"a": object()}, outcome="allow")
    assert audit.last() == []


def test_the_audit_is_bounded_and_skips_torn_lines(tmp_path):
    audit = Audit(tmp_path)
    audit.record("write_file", {"content": "x" * 5_000_000, "api_key": "hidden"}, outcome="allow")
    file = next((tmp_path / "audit").iterdir())
    assert file.stat().st_size < 3_000
    assert "hidden" not in file.read_text()
    with file.open("a") as out:
        out.write("{torn\n[]\n")
    assert len(audit.last()) == 1


@pytest.mark.parametrize(
    "rule", ["", "sudo", "sudo ls", "bash", "bash -c", "python", "python -c", "env", "eval", "xargs",
             "if", "{", "'", "timeout 5", "node -e", "python -m", "ssh", "time ls"],
)  # fmt: skip
def test_words_that_would_allow_anything_are_no_rule(tmp_path, rule):
    with pytest.raises(ConfigError):
        Permissions(tmp_path / "home", tmp_path, [rule])


@pytest.mark.parametrize(
    ("rule", "text", "allowed"),
    [
        ("npm test", "npm test", True),
        ("npm test", "npm test -- -x", True),
        ("npm test", "npm tests", False),
        ("npm test", "npm", False),
        ("npm test", "npm 'test'", True),
        ("npm test", "npm test; rm x", False),
        ("npm test", "npm test && rm x", False),
        ("npm test", "npm test | rm x", False),
        ("npm test", "npm test & rm x", False),
        ("npm test", "npm test\nrm x", False),
        ("npm test", "npm test $(rm x)", False),
        ("npm test", "npm test `rm x`", False),
        ("npm test", "npm test <(rm x)", False),
        ("npm test", "npm test > x", False),
        ("npm test", "npm test 2>&1 | tail -5", True),
        ("npm test", "npm test > /dev/null", True),
        ("npm test", "cd . && npm test", True),
        ("npm test", "cd .. && npm test", False),
        ("npm test", "cd . && cat x && npm test", False),
        ("npm test", "timeout 60 npm test", True),
        ("npm test", "nice -n 5 npm test", True),
        ("npm test", "nohup npm test", True),
        ("npm test", "env CI=1 npm test", True),
        ("npm test", "CI=1 npm test", True),
        ("npm test", "PATH=. npm test", False),
        ("npm test", "env PATH=. npm test", False),
        ("npm test", "env -S 'npm test'", False),
        ("npm test", "PATH=.; npm test", False),
        ("npm test", "export PATH=.; npm test", False),
        ("npm test", "X=test; npm $X", False),
        ("npm test", "npm test $X", True),
        ("npm test", "sudo npm test", False),
        ("npm test", "bash -c 'npm test'", False),
        ("npm test", "if true; then npm test; fi", False),
        ("npm test", "npm() { rm x; }; npm test", False),
        ("npm test", "\\npm test", True),
        ("find", "find . -name x", True),
        ("find", "find . -exec rm {} +", False),
        ("find", "find . -delete", False),
        ("git status", "git status; rm x", False),
        ("git status", "git -c core.pager=x status", False),
        ("python x.py", "python x.py --flag", True),
        ("python x.py", "python -c 'import os'", False),
        ("bash run.sh", "bash run.sh a", True),
    ],
)
def test_a_rule_is_about_the_parsed_words_of_every_part(tmp_path, rule, text, allowed):
    assert Permissions(tmp_path / "home", tmp_path, [rule]).allows(text) is allowed


@pytest.mark.parametrize(
    ("text", "offer"),
    [
        ("npm test -- -x", ("npm test",)),
        ("npm run build", ("npm run build",)),
        ("git push origin main", ("git push",)),
        ("pytest -q tests", ("pytest",)),
        ("python -m pytest -q", ("python -m pytest",)),
        ("python tool.py a", ("python tool.py",)),
        ("cargo test && cargo clippy", ("cargo test", "cargo clippy")),
        ("ls && make check", ("make check",)),
        ("timeout 5 make check", ("make check",)),
        ("ls", ()),
        ("python -c 'print()'", ()),
        ("bash -c 'x'", ()),
        ("rm x", ()),
        ("curl x", ()),
        ("find . -exec x {} +", ()),
        ("npm test > out", ()),
        ("npm test; $(x)", ()),
        ("npm $X", ()),
        ("git -c a=b status", ()),
        ("for x in a; do npm test; done", ()),
        ("a; b; c; d", ()),
        ("sudo ls", ()),
        ("X=1 make", ()),
        ("(((", ()),
    ],
)
def test_only_what_can_be_said_exactly_is_offered(tmp_path, text, offer):
    assert Permissions(tmp_path / "home", tmp_path).offer(text) == offer


def test_rules_live_in_the_persons_folder_for_one_project(tmp_path):
    home, one, two = tmp_path / "home", tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    Permissions(home, one).add(["npm test", "git push"])
    Permissions(home, two).add(["make"])
    assert Permissions(home, one, ["ls x"]).list() == ("npm test", "git push", "ls x")
    assert Permissions(home, two).list() == ("make",)
    assert stat.S_IMODE((home / "permissions.json").stat().st_mode) == 0o600
    assert Permissions(home, one).remove("npm  test")
    assert not Permissions(home, one).remove("npm test")
    assert not Permissions(home, one).remove("'")
    assert Permissions(home, one).list() == ("git push",)
    assert not (one / ".paicli").exists()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"projects": 3}', "\xff", '{"projects": {"%s": [["sudo"], 3, []]}}']
)
def test_a_damaged_rule_file_allows_nothing(tmp_path, text):
    home = tmp_path / "home"
    home.mkdir()
    (home / "permissions.json").write_text(text.replace("%s", str(tmp_path)), encoding="latin-1")
    assert Permissions(home, tmp_path).list() == ()
    assert not Permissions(home, tmp_path).allows("sudo ls")


def test_a_verdict_is_explained_part_by_part(tmp_path):
    permissions = Permissions(tmp_path / "home", tmp_path, ["npm test"])
    parts = permissions.explain("ls && npm test -x && touch y")
    assert [(part.text, part.verdict) for part in parts] == [
        ("ls", "harmless"),
        ("npm test -x", "rule"),
        ("touch y", "review"),
    ]
    assert permissions.explain("sudo ls")[0].verdict == "refused"
    assert permissions.explain("for i in 1; do ls; done")[0].verdict == "review"

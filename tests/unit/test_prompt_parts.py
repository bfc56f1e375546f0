"""The parts of the prompt that need no terminal: bar, pastes, queue, mentions, history, completion, dialog."""

import asyncio
import json
import os
import stat
from dataclasses import replace

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from paicli import i18n
from paicli.git import git_branch
from paicli.llm.bill import Bill
from paicli.policy.approval import ReviewRequest
from paicli.policy.modes import Effect
from paicli.text import width
from paicli.ui.approval import PersonReviewer, keys_text
from paicli.ui.commands import BUILT_IN, CommandTable
from paicli.ui.completer import PromptCompleter
from paicli.ui.history import ProjectHistory, history_file
from paicli.ui.mentions import attached, mention
from paicli.ui.pastes import Pastes
from paicli.ui.pending import PendingInput, Typed
from paicli.ui.question import QUIET
from paicli.ui.statusbar import Status, amount, bar, short_folder
from paicli.ui.window import Window, notification
from tests.terminal.stage import actions

FULL = Status(
    "auto",
    "deepseek-flash",
    "~/project",
    "main",
    64_000,
    128_000,
    1_234_567,
    900,
    "¥1.20",
    2,
)


@pytest.mark.parametrize("columns", range(1, 130, 3))
@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_the_bar_never_wraps(columns, language):
    i18n.use(language)
    try:
        text = "".join(piece for _, piece in bar(FULL, columns))
    finally:
        i18n.use("en")
    assert width(text) <= columns
    if columns >= 40:
        assert "AUTO" in text
        assert "deepseek-flash" in text


def test_the_bar_shows_everything_when_there_is_room():
    text = "".join(piece for _, piece in bar(FULL, 200))
    for part in (
        "AUTO",
        "deepseek-flash",
        "50%",
        "128k",
        "1.2M",
        "900",
        "¥1.20",
        "main",
        "2 queued",
    ):
        assert part in text


def test_amounts():
    assert [amount(n) for n in (0, 999, 1000, 1500, 2_000_000)] == ["0", "999", "1k", "1.5k", "2M"]


def test_the_branch_is_found(tmp_path):
    assert git_branch(tmp_path / "nowhere") in ("", git_branch(tmp_path))
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/feature/x\n")
    (tmp_path / "sub").mkdir()
    assert git_branch(tmp_path / "sub") == "feature/x"
    (tmp_path / ".git" / "HEAD").write_text("0123456789abcdef\n")
    assert git_branch(tmp_path) == "01234567"
    assert short_folder(tmp_path).endswith(tmp_path.name)


def test_pastes():
    pastes = Pastes()
    assert pastes.placeholder("short") == "short"
    long = "\n".join("abc" for _ in range(120))
    name = pastes.placeholder(long)
    other = pastes.placeholder(long + "d")
    assert name == "[pasted 120 lines]"
    assert other != name
    assert pastes.whole(f"see {name} and {other}") == f"see {long} and {long}d"
    assert pastes.length_at_end(f"see {name}") == len(name)
    assert pastes.length_at_end("see") == 0


def test_the_queue():
    queue, taken = PendingInput(), []
    queue.when_taken(taken.append)
    for text in "abc":
        queue.add(Typed(text, text.upper()))
    assert queue.take_back() == Typed("c", "C")
    assert queue.take() == ("A", "B")
    assert [typed.shown for typed in taken] == ["a", "b"]
    assert (queue.take(), queue.take_back(), len(queue)) == ((), None, 0)


def test_the_model_gets_nothing_past_a_command():
    queue = PendingInput()
    for text in ("a", "b", "/clear", "c"):
        queue.add(Typed(text, text, text.startswith("/")))
    assert queue.take() == ("a", "b")
    assert queue.take() == ()
    assert [typed.sent for typed in queue.take_next()] == ["/clear"]
    assert queue.take() == ("c",)
    assert queue.take_next() == []


def test_what_stands_behind_a_command_waits_with_it():
    queue = PendingInput()
    assert not queue.waits_for_the_end()
    queue.add(Typed("a", "a"))
    assert not queue.waits_for_the_end()
    queue.add(Typed("/clear", "/clear", is_command=True))
    queue.add(Typed("b", "b"))
    assert queue.waits_for_the_end()


class TestMentions:
    def test_a_file_and_a_folder(self, tmp_path):
        (tmp_path / "a.py").write_text("x = '</file>'\n")
        (tmp_path / "my dir").mkdir()
        (tmp_path / "my dir" / "b").touch()
        text = attached("see @a.py, and @<my dir>", tmp_path)
        assert text.startswith("see @a.py, and @<my dir>\n\n")
        assert "<file path=\"a.py\">\nx = '<\\/file>'" in text
        assert '<directory path="my dir">\nb\n</directory>' in text

    @pytest.mark.parametrize(
        "text",
        ["看看@说明.md，好吗？", "(see @说明.md)", "（@说明.md）", "@说明.md。", "@<说明.md>里"],
    )
    def test_in_the_middle_of_a_sentence(self, tmp_path, text):
        (tmp_path / "说明.md").write_text("内容")
        assert attached(text, tmp_path).endswith('<file path="说明.md">\n内容\n</file>')

    @pytest.mark.parametrize("name", ["a>b", "a b", "a <b> c\\>", "back\\slash", "c:d", "x\\"])
    def test_a_name_is_found_as_it_is_completed(self, tmp_path, name):
        (tmp_path / name).write_text("here")
        assert attached(f"see @{mention(name)}", tmp_path).endswith("\nhere\n</file>")

    @pytest.mark.parametrize(
        "text", ["mail a@a.py", "@missing", "@../out", "@/etc/passwd", "@link"]
    )
    def test_the_rest_stays_text(self, tmp_path, text):
        (tmp_path / "a.py").touch()
        (tmp_path.parent / "out").touch()
        (tmp_path / "link").symlink_to("/etc/passwd")
        assert attached(text, tmp_path) == text

    def test_binary_large_and_odd_files(self, tmp_path):
        (tmp_path / "bin").write_bytes(b"\0\1")
        (tmp_path / "large").write_text("x" * 200_000)
        os.mkfifo(tmp_path / "pipe")
        assert 'binary="true"' in attached("@bin", tmp_path)
        assert len(attached("@large", tmp_path)) < 130_000
        assert attached("@pipe", tmp_path) == "@pipe"


class TestHistory:
    def test_lines_come_back_newest_first(self, tmp_path):
        file = history_file(tmp_path, tmp_path)
        history = ProjectHistory(file)
        for line in ("one", "two", "two", "caf\udce9\nx"):
            history.append_string(line)
        assert list(ProjectHistory(file).load_history_strings()) == ["caf\ufffd\nx", "two", "one"]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600

    @pytest.mark.parametrize(
        "line",
        [
            "DEEPSEEK_API_KEY=sk-abcdefgh12345",
            "--token=abcdefgh",
            " hidden",
            "x" * 9000,
            "QUJD" * 80,
        ],
    )
    def test_secrets_stay_out(self, tmp_path, line):
        file = history_file(tmp_path, tmp_path)
        history = ProjectHistory(file)
        history.append_string(line)
        assert not file.exists()
        assert history.get_strings() == [line]

    def test_a_broken_file_or_none_at_all_does_no_harm(self, tmp_path):
        file = history_file(tmp_path, tmp_path)
        file.parent.mkdir()
        file.write_bytes(b'"ok"\n{"x":\n\xff\xfe\n[1]\n"fine"\n')
        assert list(ProjectHistory(file).load_history_strings()) == ["fine", "ok"]
        blocked = ProjectHistory(tmp_path / "history" / file.name / "x.jsonl")
        blocked.append_string("kept for the session")
        assert list(blocked.load_history_strings()) == []

    def test_a_long_file_is_shortened(self, tmp_path):
        file = history_file(tmp_path, tmp_path)
        file.parent.mkdir()
        file.write_text("".join(f'"{n}"\n' for n in range(10_500)))
        assert next(iter(ProjectHistory(file).load_history_strings())) == "10499"
        assert len(file.read_text().splitlines()) < 2_100


class TestCompletion:
    def completions(self, root, text):
        completer = PromptCompleter(CommandTable(BUILT_IN), actions(root, Bill()))
        return [*completer.get_completions(Document(text), CompleteEvent())]

    def complete(self, root, text):
        return [completion.text for completion in self.completions(root, text)]

    def test_commands(self, tmp_path):
        assert "/model" in self.complete(tmp_path, "/")
        assert self.complete(tmp_path, "/mod") == ["/mode", "/model"]
        assert self.complete(tmp_path, "/mode p") == ["plan"]
        assert "other/model" in self.complete(tmp_path, "/model o")
        assert self.complete(tmp_path, "hello /") == []

    def test_files(self, tmp_path):
        (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
        for name in ("src/app.py", "src/apple.py", "build/app.py", "x.log", "with space.txt"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
        assert self.complete(tmp_path, "see @app") == ["src/app.py", "src/apple.py"]
        assert "src/" in self.complete(tmp_path, "@")
        assert self.complete(tmp_path, "@wsp") == ["<with space.txt>"]
        (odd,) = self.completions(tmp_path, "see @<with sp")
        assert (odd.text, odd.start_position) == ("<with space.txt>", -len("<with sp"))
        assert self.complete(tmp_path, "@xlog") == []
        assert self.complete(tmp_path, "me@app") == []
        (tmp_path / "src" / ".gitignore").write_text("*\n")
        assert self.complete(tmp_path, "see @app") == []


class TestReviewer:
    REQUEST = ReviewRequest("execute_command", Effect.COMMAND, {"command": "ls"}, "ls", "")

    async def reviewed(self, act, request=REQUEST):
        now = [0.0]
        reviewer = PersonReviewer(lambda: now[0])
        shown = []
        reviewer.attach(shown.append, lambda dialog, verdict: shown.remove(dialog))
        task = asyncio.create_task(reviewer.review(request))
        await asyncio.sleep(0)
        await act(shown[0], now)
        verdict = await asyncio.wait_for(task, 1)
        assert shown == []
        return verdict

    async def test_keys_count_only_after_a_quiet_moment(self):
        async def act(dialog, now):
            dialog.key("y")
            dialog.seen()
            dialog.key("y")
            now[0] += QUIET * 0.9
            dialog.key("y")
            assert not dialog.answer.done()
            now[0] += QUIET * 1.1
            dialog.key("y")

        assert (await self.reviewed(act)).allowed

    @pytest.mark.parametrize("key", ["\r", "\x1b"])
    async def test_no_is_the_default(self, key):
        async def act(dialog, now):
            dialog.seen()
            now[0] += 1
            for other in "xqY1 "[:1]:
                dialog.key(other)
            dialog.key(key)

        assert not (await self.reviewed(act)).allowed

    @pytest.mark.parametrize(
        ("key", "grave", "allowed"),
        [("\r", False, True), ("y", False, True), ("n", False, False), ("e", False, False),
         ("\r", True, False), ("y", True, True), ("n", True, False), ("\x1b", True, False)],
    )  # fmt: skip
    async def test_what_the_person_asked_for_is_confirmed_by_enter_unless_grave(
        self, key, grave, allowed
    ):
        async def act(dialog, now):
            assert dialog.words("question") == ("[y/N]" if grave else "[Enter/Esc]")
            dialog.seen()
            now[0] += 1
            dialog.key(key)

        request = replace(self.REQUEST, own=True, grave=grave)
        assert (await self.reviewed(act, request)).allowed is allowed

    async def test_from_now_on_only_where_it_is_offered(self):
        async def act(dialog, now):
            dialog.seen()
            now[0] += 1
            dialog.key("a")
            if not dialog.answer.done():
                dialog.refuse()

        offered = replace(self.REQUEST, offer=("ls *",))
        assert (await self.reviewed(act, offered)).remember
        assert not (await self.reviewed(act)).allowed
        assert "ls *" in keys_text(offered)

    async def test_edited_arguments_must_be_an_object(self):
        request = ReviewRequest("write_file", Effect.WRITE, {"path": "a"}, "a", "")

        async def act(dialog, now):
            dialog.seen()
            now[0] += 1
            dialog.key("e")
            assert json.loads(dialog.text) == {"path": "a"}
            for bad in ("", "[1]", "{"):
                dialog.enter(bad)
                assert dialog.complaint
            dialog.enter('{"path": "b"}')

        verdict = await self.reviewed(act, request)
        assert verdict.allowed
        assert verdict.arguments == {"path": "b"}

    async def test_nobody_there_means_no(self):
        assert not (await PersonReviewer().review(self.REQUEST)).allowed

    async def test_a_cancelled_question_disappears(self):
        reviewer, shown = PersonReviewer(), []
        reviewer.attach(shown.append, lambda dialog, verdict: shown.remove(dialog))
        task = asyncio.create_task(reviewer.review(self.REQUEST))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert shown == []


def test_a_notification_is_what_the_terminal_understands():
    assert notification("done", {"TERM": "xterm-kitty"}) == "\x1b]9;done\a"
    assert notification("done", {"TERM": "foot"}) == "\x1b]777;notify;PaiCLI;done\a"
    assert notification("done", {"VTE_VERSION": "7600"}) == "\x1b]777;notify;PaiCLI;done\a"
    assert notification("done", {"TERM": "screen-256color", "TMUX": "x"}) == "\a"


class FakeOutput:
    def __init__(self):
        self.written = []

    def write_raw(self, text):
        self.written.append(text)

    def set_title(self, _title):
        pass

    def flush(self):
        pass


@pytest.mark.parametrize(
    ("seconds", "in_front", "notify", "calls"),
    [(11, False, "bell", 1), (11, True, "bell", 0), (9, False, "bell", 0), (11, False, "off", 0)],
)
def test_the_end_of_a_long_run_calls_who_looks_elsewhere(
    monkeypatch, tmp_path, seconds, in_front, notify, calls
):
    output, clock = FakeOutput(), [100.0]
    monkeypatch.setattr("paicli.ui.window.time.monotonic", lambda: clock[0])
    window = Window(output, tmp_path, notify)
    window.open()
    window.in_front = in_front
    window.busy()
    clock[0] += seconds
    window.idle()
    assert output.written.count("\a") == calls
    window.close()
    window.wants_person()
    assert output.written.count("\a") == calls

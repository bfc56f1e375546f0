"""The slash commands about the conversation work on real sessions on disk."""

from types import SimpleNamespace

import pytest

from paicli.agent.cache_watch import CacheWatch, Miss
from paicli.display import Note, Table
from paicli.llm.bill import Bill, Item
from paicli.llm.messages import Message, ToolCall, Usage
from paicli.session.store import SessionStore
from paicli.ui.recap import recap
from paicli.ui.session_commands import SessionCommands
from paicli.ui.shown import Answer, Said


class Desk:
    """A screen, an open session and an agent, as far as these commands look at them."""

    def __init__(self, folder):
        self.home = folder / "home"
        self.store = SessionStore(self.home, folder)
        self.session = self.store.create("model-x")
        self.shown = []
        self.agent = SimpleNamespace(
            conversation=self.session.conversation,
            client=SimpleNamespace(profile=SimpleNamespace(model="model-x")),
            cache=CacheWatch(),
            context=lambda: {
                "prompt": 500,
                "tools": 1_200,
                "conversation": 300,
                "used": 2_000,
                "window": 128_000,
            },
            compact=self.compact,
        )
        self.compacted = []
        self.offered = []
        self.has_files = False
        commands = SessionCommands(
            self.agent, self.store, lambda: self.session, self.switch, self.home, self.offer
        )
        self.table = {command.name: command for command in commands.commands()}
        screen = SimpleNamespace(
            say=lambda *what: self.shown.extend(what),
            forget_conversation=lambda: None,
            recall=lambda messages: self.shown.extend(recap(messages)),
        )
        bill = Bill()
        bill.begin([Item(Usage(12_300, 450, 6_000), 0.02, "¥")])
        self.setting = SimpleNamespace(screen=screen, actions=SimpleNamespace(bill=bill))

    def switch(self, session):
        self.session.ledger.close()
        self.session = session
        self.agent.conversation = session.conversation

    async def offer(self, at, session, place):
        self.offered.append((session == self.session.id, place))
        return self.has_files

    async def compact(self, focus):
        self.compacted.append(focus)

    async def run(self, name, argument=""):
        self.shown.clear()
        await self.table[name].run(self.setting, argument)
        return self.shown

    def talk(self, *texts):
        for text in texts:
            self.session.conversation.append(Message("user", text, source="user_input"))
            self.session.conversation.append(
                Message("assistant", f"re: {text}", source="llm_response")
            )

    def contents(self):
        return [message.content for message in self.session.conversation.messages]


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    made.session.ledger.close()


async def test_sessions_lists_the_open_one_with_its_first_message(desk):
    desk.talk("port the parser")
    (table,) = await desk.run("sessions")
    assert isinstance(table, Table)
    assert [(*row[:2], row[-1]) for row in table.rows] == [
        (desk.session.id, "open now", "port the parser")
    ]


async def test_what_is_too_long_for_a_line_ends_in_dots(desk):
    desk.talk("word " * 40)
    (table,) = await desk.run("sessions")
    assert table.rows[0][-1].endswith("word…")
    note, *_ = await desk.run("rewind")
    assert "word…»" in note.text


async def test_fork_leaves_the_other_session_as_it_was(desk):
    desk.talk("one")
    first = desk.session.id
    await desk.run("fork")
    desk.talk("two")
    assert desk.session.id != first
    assert desk.contents() == ["one", "re: one", "two", "re: two"]
    shown = await desk.run("resume", first)
    assert desk.contents() == ["one", "re: one"]
    assert shown[1:] == [Said("one"), Answer("re: one")]


async def test_resume_without_an_id_takes_the_newest_other_one(desk):
    desk.talk("one")
    first = desk.session.id
    desk.switch(desk.store.create("model-x"))
    desk.talk("two")
    await desk.run("resume")
    assert desk.session.id == first


async def test_resume_of_nothing_says_so(desk):
    (note,) = await desk.run("resume", "nope")
    assert note.kind == "error"


async def test_rewind_goes_back_before_the_nth_last_message(desk):
    desk.talk("one", "two", "three")
    note, files = await desk.run("rewind", "2")
    assert desk.contents() == ["one", "re: one"]
    assert "two" in note.text
    assert files.text == "Files stay as they are."
    assert desk.offered == [(True, 1)], "the files of the messages that are gone are offered"
    again = desk.store.resume(None, "m")  # open here, so this is a copy of what is on disk
    assert [m.content for m in again.conversation.messages] == ["one", "re: one"]
    desk.has_files = True
    assert len(await desk.run("rewind")) == 1, "what becomes of the files is a question of its own"


@pytest.mark.parametrize("argument", ["0", "9", "x", "-1"])
async def test_rewind_too_far_changes_nothing(desk, argument):
    desk.talk("one")
    (note,) = await desk.run("rewind", argument)
    assert note.kind == "error"
    assert desk.contents() == ["one", "re: one"]


async def test_export_writes_markdown_once_and_without_secrets(desk, tmp_path):
    desk.talk("my key is sk-abcdefgh12345678")
    call = ToolCall("c", "read_file", '{"path":"a"}')
    desk.session.conversation.append(Message("assistant", None, "hm", (call,)))
    desk.session.conversation.answer("c", "```\nfence\n```")
    path = tmp_path / "out.md"
    await desk.run("export", str(path))
    text = path.read_text()
    assert "sk-abcdefgh" not in text
    assert "> hm" in text
    assert "````text\n```\nfence\n```\n````" in text
    assert path.stat().st_mode & 0o777 == 0o600
    (note,) = await desk.run("export", str(path))
    assert note.kind == "error", "an existing file is not overwritten"


async def test_compact_hands_over_what_matters(desk):
    (note,) = await desk.run("compact", "the parser")
    assert desk.compacted == ["the parser"]
    assert note == Note("Nothing was compacted; the conversation stays as it is.")


async def test_context_shows_the_bar_and_the_parts(desk):
    bar, table = await desk.run("context")
    assert bar.text.endswith("1 % (2k / 128k)")
    assert [row[1] for row in table.rows[:3]] == ["500", "1.2k", "300"]


async def test_usage_shows_money_and_explains_misses(desk):
    desk.agent.cache.misses.append(Miss(7, "message", "3 (tool)", 9_000))
    note, _, table = await desk.run("usage")
    assert note.text == "This session: 12.3k in (cached 6k), 450 out · ¥0.02"
    assert table.rows == (("7", "message 3 (tool)", "9k"),)

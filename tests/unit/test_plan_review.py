"""The question about a plan: which keys and lines lead to which judgement."""

import asyncio
import json

import pytest

from paicli.agent.plan import from_value
from paicli.agent.plan_review import Choice, Judgement
from paicli.text import width as cells
from paicli.ui.ink import Ink
from paicli.ui.plan_review import PlanDialog, PlanPerson
from paicli.ui.question import QUIET, Asker
from paicli.ui.shown import PlanLine, Proposed


def plan_with(*descriptions, findings=""):
    tasks = [
        {"id": f"t{n}", "description": text, "type": "FILE_WRITE", "dependencies": []}
        for n, text in enumerate(descriptions)
    ]
    return from_value({"summary": "the plan", "findings": findings, "tasks": tasks})


PLAN = plan_with("first", "second", findings="what was found")
OTHER = plan_with("other")


def judged(*acts):
    """The judgement after each act on the dialog; None when there is none yet."""

    async def play():
        now = [0.0]
        asker = Asker(lambda: now[0])
        shown = []
        asker.attach(shown.append, lambda dialog, _answer: shown.remove(dialog))
        review = asyncio.create_task(PlanPerson(asker).review_plan(PLAN))
        await asyncio.sleep(0)
        dialog = shown[0]
        dialog.seen()
        now[0] += 2 * QUIET
        for act in acts:
            act(dialog)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if not review.done():
            review.cancel()
            return None, dialog
        return await review, dialog

    return asyncio.run(play())


def key(character):
    return lambda dialog: dialog.key(character)


def enter(text):
    return lambda dialog: dialog.enter(text)


def line(text):
    return lambda dialog: dialog.line(text)


def esc(dialog):
    dialog.refuse()


@pytest.mark.parametrize(
    ("acts", "judgement"),
    [
        ([key("\r")], Judgement(Choice.RUN)),
        ([key("\x1b")], Judgement(Choice.DROP)),
        ([esc], Judgement(Choice.DROP)),
        ([key("x"), key("y")], None),
        ([key("i")], None),
        ([key("i"), esc], None),
        ([key("i"), enter("  ")], None),
        ([key("i"), enter(" more \ud800")], Judgement(Choice.REVISE, requirements="more \ufffd")),
        ([key("I"), enter("a"), enter("b")], Judgement(Choice.REVISE, requirements="a")),
        ([key("e"), esc, key("\r")], Judgement(Choice.RUN)),
        ([key("e"), enter("no json")], None),
        ([key("e"), enter(json.dumps(PLAN.as_object())), key("\r")], Judgement(Choice.RUN)),
        (
            [key("e"), enter(json.dumps(OTHER.as_object())), key("\r")],
            Judgement(Choice.RUN, plan=OTHER),
        ),
        ([line("")], Judgement(Choice.RUN)),
        ([line(" Yes ")], Judgement(Choice.RUN)),
        ([line("/run")], Judgement(Choice.RUN)),
        ([line("cancel")], Judgement(Choice.DROP)),
        ([line("/view")], None),
        ([line("and tests")], Judgement(Choice.REVISE, requirements="and tests")),
        ([line("i"), enter("tests")], Judgement(Choice.REVISE, requirements="tests")),
    ],
)
def test_keys_and_lines(acts, judgement):
    assert judged(*acts)[0] == judgement


def test_an_edited_plan_is_what_the_question_shows():
    _, dialog = judged(key("e"), enter(json.dumps(OTHER.as_object())))
    assert dialog.step == "choose"
    assert dialog.body == Proposed(OTHER)


def test_nonsense_stays_in_the_entry_line_with_what_is_wrong():
    _, dialog = judged(key("e"), enter("{}"))
    assert (dialog.step, dialog.text, dialog.wants_editor) == ("edit", "{}", False)
    assert "`summary` must be a string" in dialog.complaint


def test_it_unfolds_once():
    _, dialog = judged()
    assert [dialog.unfold(), dialog.unfold()] == [True, False]
    assert dialog.body == Proposed(PLAN, whole=True)


def test_nobody_there_means_no():
    assert asyncio.run(PlanPerson(Asker()).review_plan(PLAN)) == Judgement(Choice.DROP)


HOSTILE = "a\x1b[2J\u202eb\nc [red]x[/red]"


@pytest.mark.parametrize("width", [20, 80])
@pytest.mark.parametrize("whole", [True, False])
def test_a_plan_steers_no_terminal_and_fits(width, whole):
    plan = plan_with(*[HOSTILE + " 很长的描述" * 9] * 20, findings=HOSTILE)
    lines = Ink({"NO_COLOR": "1"}).lines(Proposed(plan, whole=whole), width)
    text = "\n".join(lines)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert all(cells(line) <= width for line in lines)
    assert ("\\x1b[2J" in text.replace("\n", "")) == (whole or width == 80)


def test_a_task_line_is_one_line():
    from paicli.agent.plan_progress import Status

    lines = Ink({"NO_COLOR": "1"}).lines(PlanLine(HOSTILE * 9, Status.DONE), 40)
    assert len(lines) == 1
    assert "\x1b" not in lines[0]


def test_the_dialog_is_about_the_plan():
    async def words():
        dialog = PlanDialog(PLAN, lambda: 0.0)
        return [dialog.words(name) for name in ("question", "keys", "more_label", "edit_how")]

    assert all(asyncio.run(words()))

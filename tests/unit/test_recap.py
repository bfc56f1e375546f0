"""What is shown of a conversation that goes on."""

from paicli.llm.messages import Message
from paicli.session.conversation import own_words
from paicli.ui.recap import recap
from paicli.ui.shown import Answer, Said


def said(text):
    return Message("user", text, source="user_input")


def answered(text):
    return Message("assistant", text, source="llm_response")


def test_the_last_exchange_is_shown_without_what_the_program_added():
    messages = [
        said("first"),
        answered("one"),
        said(
            'look at @a.py\n\n<file path="a.py">\nx\n</file>\n\n[PaiCLI] The user switched to ask mode.'
        ),
        answered("Let me see."),
        Message("tool", "x", source="tool_execution"),
        answered("# Done\n\nIt is **fine**."),
    ]
    assert list(recap(messages)) == [
        Said("look at @a.py"),
        Answer("# Done"),
        Answer("It is **fine**."),
    ]


def test_a_message_without_an_answer_gets_none_of_an_older_one():
    assert list(recap([said("a"), answered("b"), said("c")])) == [Said("c")]
    assert list(recap([])) == []


def test_of_a_long_answer_the_end_is_shown_in_whole_blocks():
    code = "```\n" + "x\n" * 25 + "```"
    shown = list(recap([said("a"), answered(f"Begin.\n\n{code}\n\nThe end.")]))
    assert shown == [Said("a"), Answer("…"), Answer(code), Answer("The end.")]
    shown = list(recap([said("a"), answered("word " * 5_000)]))
    assert shown[1] == Answer("…")
    assert sum(len(answer.source) for answer in shown[1:]) <= 6_001


def test_words_of_the_person_that_look_like_ours_inside_a_line_stay():
    assert own_words("why does it print [PaiCLI] here?") == "why does it print [PaiCLI] here?"

"""Cutting a stream of Markdown into blocks, and drawing them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paicli.text import width
from paicli.ui.ink import Ink
from paicli.ui.markdown import Block, MarkdownStream
from paicli.ui.shown import Answer

COLOURS = {"TERM": "xterm-256color"}


def blocks(text, size=None):
    stream = MarkdownStream()
    pieces = [text] if size is None else [text[n : n + size] for n in range(0, len(text), size)]
    return [block for piece in pieces for block in stream.feed(piece)] + stream.finish()


SAMPLES = [
    ("one\ntwo\n\nthree", ["one\ntwo", "three"]),
    ("# Head\ntext", ["# Head", "text"]),
    ("a\n```py\nx = 1\n\ny = 2\n```\nb", ["a", "```py\nx = 1\n\ny = 2\n```", "b"]),
    ("- a\n- b\n  more\n\ntext", ["- a", "- b\n  more", "text"]),
    ("1. a\n   ```\n   # no head\n   ```\n2. b", ["1. a\n   ```\n   # no head\n   ```", "2. b"]),
    ("~~~\n```\n~~~\nx", ["~~~\n```\n~~~", "x"]),
    ("```\nnever closed\n\nstill code", ["```\nnever closed\n\nstill code"]),
    ("| a | b |\n|---|---|\n| 1 | 2 |\n\nx", ["| a | b |\n|---|---|\n| 1 | 2 |", "x"]),
    ("title\n---\nx", ["title\n---\nx"]),
    ("", []),
    ("\n\n\n", []),
    ("a\r\n\r\nb", ["a", "b"]),
]


@pytest.mark.parametrize(("text", "wanted"), SAMPLES)
@pytest.mark.parametrize("size", [None, 1, 3])
def test_blocks(text, wanted, size):
    if size and "\r" in text:
        pytest.skip("a CRLF cut in two is a line end and a stray CR")
    assert [block.source for block in blocks(text, size)] == wanted


def test_items_of_a_list_follow_each_other_without_a_gap():
    assert blocks("- a\n- b\n\nc") == [Block("- a"), Block("- b", tight=True), Block("c")]


@given(st.lists(st.sampled_from(["- a", "```", "text", "", "# h", "  in", "1. x", "| t |", "> q"])))
def test_no_line_is_lost_or_doubled(lines):
    text = "\n".join(lines)
    found = [line for block in blocks(text, 2) for line in block.source.split("\n") if line.strip()]
    assert found == [line for line in lines if line.strip()]


def drawn(source, columns=60, environ=COLOURS):
    from rich.text import Text

    return [Text.from_ansi(line).plain for line in Ink(environ).lines(Answer(source), columns)]


@pytest.mark.parametrize(
    "text",
    ["snake_case_name", "2 * 3 * 4", "[red]no[/red]", "<b>x</b>", "<script>", "&lt;", ":smile:"],
)
def test_text_stays_as_it_is(text):
    assert drawn(text) == [text]


def test_line_ends_are_kept():
    assert drawn("one\ntwo") == ["one", "two"]


def test_code_has_no_frame():
    assert drawn("```python\nif x:\n    y()\n```") == ["if x:", "    y()"]


def test_control_characters_are_shown():
    lines = "\n".join(drawn("a \x1b[2J `b\x07` \u202ec\n\n```\n\x1b]0;x\x07\n```"))
    assert "\\x1b[2J" in lines
    assert "\\x07" in lines
    assert "\\u202e" in lines


def test_references_and_images_do_not_vanish():
    assert drawn("[x]: http://e.org/a") == ["[x]: http://e.org/a"]
    assert "http://e.org/i.png" in drawn("![alt](http://e.org/i.png)")[0]
    assert drawn("<http://e.org>") == ["http://e.org"]


@pytest.mark.parametrize("columns", [30, 40, 80, 200])
def test_tables_fit_the_width_and_line_up(columns):
    lines = drawn(
        "| 名称 | Value |\n|---|---|\n| 文件文件 | x |\n| a | 很长的说明文字" + "字" * 50 + " |",
        columns,
    )
    assert max(map(width, lines)) <= columns
    rows = [line for line in lines if line.rstrip().endswith(("Value", "x"))]
    ends = {width(row[: row.rindex(word)]) for row, word in zip(rows, ("Value", "x"), strict=True)}
    assert len(ends) == 1


def test_without_colours_the_source_is_shown():
    assert drawn("**bold** `x`", environ={"TERM": "xterm", "NO_COLOR": "1"}) == ["**bold** `x`"]
    assert drawn("# h", environ={"TERM": "dumb"}) == ["# h"]


def test_long_code_comes_in_parts():
    code = [f"line {n}" for n in range(250)]
    found = blocks("```py\n" + "\n".join(code) + "\n```\nend")
    assert len(found) == 4
    assert [block.tight for block in found] == [False, True, True, False]
    assert [line for block in found for line in drawn(block.source)] == [*code, "end"]


def test_code_that_ends_where_a_part_ends_leaves_no_empty_rest():
    found = blocks("```\n" + "x\n" * 100 + "```\nend")
    assert [block.source[-4:] for block in found] == ["\n```", "end"]


@pytest.mark.parametrize(
    "source",
    [
        ">" * 30 + "deep",
        "- " * 40 + "deep",
    ],
)
def test_what_cannot_be_drawn_is_shown_as_it_was_written(source):
    assert "".join(drawn(source)).replace(" ", "") == source.replace("\n", "").replace(" ", "")


def test_a_quote_has_no_blanks_at_its_end():
    assert drawn("> a\n> > b") == ["▌ a", "▌ ▌ b"]


def test_a_table_without_room_for_columns_becomes_records():
    source = "| Module | 说明 |\n|---|---|\n| paicli.agent.loop | 主循环 |\n| b | 短 |"
    assert drawn(source, 40)[0].rstrip() == "Module" + " " * 14 + "说明"
    assert drawn(source, 25) == [
        "Module  paicli.agent.loop",
        "说明    主循环",
        "",
        "Module  b",
        "说明    短",
    ]


def test_code_is_never_cut():
    line = "call(" + ", ".join(f"name_{n}" for n in range(30)) + ")"
    source = "```python\n" + "short = 1\n" * 20 + line + "\n```"
    lines = drawn(source, 40)
    assert "```python" not in lines
    assert "".join(lines[20:]) == line


def test_chinese_text_fills_its_lines_and_keeps_punctuation_off_their_beginning():
    assert drawn("首先读取配置文件 `config.toml`，如果它不存在，就用默认值。", 24) == [
        "首先读取配置文件",
        "config.toml，如果它不存",
        "在，就用默认值。",
    ]
    assert drawn("一二三四五，六七八九十。", 10) == ["一二三四", "五，六七八", "九十。"]


def test_numbers_of_a_list_line_up():
    lines = [line for block in blocks("9. nine\n10. ten") for line in drawn(block.source)]
    assert lines == [" 9. nine", "10. ten"]


def test_chinese_text_flows_without_colours_too():
    plain = {"TERM": "xterm", "NO_COLOR": "1"}
    assert drawn("# 一二 三四五六七八", 10, environ=plain) == ["# 一二 三", "四五六七八"]

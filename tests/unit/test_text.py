"""Text made safe, measured and cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paicli.text import clean, cut, one_line, visible, width, wrapped, wrapped_between


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("plain", "plain"),
        ("\ud83d\ude80", "🚀"),
        ("a\ud83d", "a\ufffd"),
        ("\ude80\ud83d", "\ufffd\ufffd"),
    ],
)
def test_surrogates_are_paired_or_replaced(given_text, expected):
    assert clean(given_text) == expected


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\rb", "a\\x0db"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("x\u202eevil", "x\\u202eevil"),
        ("pay\u200bpal", "pay\\u200bpal"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("a\u200db", "a\\u200db"),
        ("\u200d", "\\u200d"),
        ("❤\ufe0f\u200d🔥 1\ufe0f\u20e3", "❤\ufe0f\u200d🔥 1\ufe0f\u20e3"),
        ("葛\U000e0100 \u1820\u180b", "葛\U000e0100 \u1820\u180b"),
        ("a\ufe0f", "a\\ufe0f"),
        ("😀\ufe00\ufe01\U000e0101", "😀\ufe00\\ufe01\\U000e0101"),
        ("rm\u3164-rf\u115f\u1160\uffa0", "rm\\u3164-rf\\u115f\\u1160\\uffa0"),
        ("x\u034fy\u17b4\U0001d173", "x\\u034fy\\u17b4\\U0001d173"),
        ("e" + "\u0301" * 10, "e" + "\u0301" * 8 + "\\u0301" * 2),
        ("ก" + "\u0e47" * 9, "ก" + "\u0e47" * 8 + "\\u0e47"),
        ("e\u0301 שָׁ ཀྵྀ Tiếng", "e\u0301 שָׁ ཀྵྀ Tiếng"),
        ("中文 naïve", "中文 naïve"),
    ],
)
def test_what_could_steer_a_terminal_is_shown(given_text, expected):
    assert visible(given_text) == expected


@given(st.text())
def test_nothing_visible_steers(text):
    shown = visible(text)
    assert not any((ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 for c in shown)
    assert visible(shown) == shown
    shown.encode()


def test_one_line_is_one_line():
    assert one_line("a\nb\tc") == "a⏎b c"


def test_width_counts_cells():
    assert [width(s) for s in ("abc", "中文", "é", "")] == [3, 4, 1, 0]


@given(st.text(alphabet="ab中文é😀", max_size=20), st.integers(0, 20))
def test_cut_fits(text, cells):
    kept = cut(text, cells)
    assert width(kept) <= cells
    assert kept == text or kept == "" or kept.endswith("…")


def test_lines_are_parted_at_their_dividers():
    keys = "y yes · n no + why · e edit · Enter no"
    assert wrapped_between(keys, " · ", 80) == [keys]
    assert wrapped_between(keys, " · ", 20) == ["y yes · n no + why", "e edit · Enter no"]
    assert wrapped_between(keys, " · ", 9) == ["y yes", "n no +", "why", "e edit", "Enter no"]


def test_an_emoji_is_as_wide_as_it_is_drawn():
    assert width("⚠️") == 2
    line = "⚠️ " + "字" * 10
    assert [width(piece) for piece in wrapped(line, 10)] == [9, 10, 4]
    assert cut("⚠️⚠️⚠️", 5) == "⚠️⚠️…"

"""Where an edit goes: own cases of each kind, and properties on any text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paicli.errors import EditError
from paicli.tools.text_match import Edit, apply_edit


def applied(content, old, new="N", **more):
    return apply_edit(content, old, new, **more).content


def refused(content, old, new="N", **more):
    with pytest.raises(EditError) as caught:
        apply_edit(content, old, new, **more)
    return caught.value


@pytest.mark.parametrize(
    ("content", "old", "new", "result"),
    [
        ("a b c", "b", "x", "a x c"),
        ("ab\n", "b\n", "b", "ab"),
        ("x", "x", "", ""),
        (r"C:\new\t", r"\new", r"\1\g<0>$&", r"C:\1\g<0>$&\t"),
        ("a\u2028b\n", "a\u2028b", "c", "c\n"),
        ("e\u0301 x", "e\u0301", "e", "e x"),
    ],
)
def test_exact(content, old, new, result):
    assert apply_edit(content, old, new) == Edit(result, 1)


@pytest.mark.parametrize(
    ("content", "old", "new", "result"),
    [
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"),
        ("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n"),
        ("a\r\nb\r\n", "\nb", "\nx\ny", "a\r\nx\r\ny\r\n"),
        ("a\r\nb\r\n", "a\n", "", "b\r\n"),
        ("a\r\nb\r\n", "a\nb", "ab", "ab\r\n"),
        ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
        ("a\nb\r\nc\r\n", "a\nb", "x\ny", "x\ny\r\nc\r\n"),
        ("a\nb\r\nc\r\n", "b\nc", "x\ny", "a\nx\r\ny\r\n"),
        ("a\nb\r\nc\nd", "a\nb\nc", "x", "x\nd"),
        ("a\nb\n", "a\n", "a\r\n", "a\r\nb\n"),
        ("a\r\nb\r\n", "a\r\n", "a\n", "a\nb\r\n"),
        ("ab", "b", "b\r\nc", "ab\r\nc"),
        ("a\rb\rc", "b", "x\ny", "a\rx\ny\rc"),
    ],
)
def test_newlines(content, old, new, result):
    assert applied(content, old, new) == result


def test_replace_all_takes_both_kinds_of_line_ends():
    edit = apply_edit("a\nb\r\na\r\nb\n", "a\nb", "x\ny", replace_all=True)
    assert edit == Edit("x\ny\r\nx\r\ny\n", 2)


@pytest.mark.parametrize(
    ("content", "old", "result"),
    [
        ("say \u201chi\u201d now", '"hi"', "say N now"),
        ("it\u2019s", "it's", "N"),
        ("a \u2013 b", "a - b", "N"),
        ("a\u00a0b\u3000c", "a b c", "N"),
        ("\uff41\uff42\uff43", "abc", "N"),
        ("a  \t\nb \u00a0\n", "a\nb", "N \u00a0\n"),
        ("a  \nb\n", "a\nb\n", "N"),
        ("q  \r\n\u201cb\u201d  \r\n", '\n"b"', "q  N  \r\n"),
        ("x \ufb01le y", "x file", "N y"),
        ("\u2163. z", "IV.", "N z"),
        ("cafe\u0301 x", "caf\u00e9", "N x"),
        ("\ud55c x", "\u1112\u1161\u11ab", "N x"),
        ("\U0001f680\u2026 \u201cq\u201d", '"q"', "\U0001f680\u2026 N"),
        ("foo bar", "foo   ", "N bar"),
    ],
)
def test_folded(content, old, result):
    edit = apply_edit(content, old, "N")
    assert edit.content == result
    assert edit.fuzzy


@pytest.mark.parametrize(
    ("content", "old"),
    [
        ("o\ufb03ce", "off"),
        ("wait\u2026 x", ". x"),
        ("\u33cfx", "k"),
        ("\u201ccafe\u0301\u201d", '"cafe'),
    ],
)
def test_half_a_character_is_refused(content, old):
    assert refused(content, old).reason in ("partial_char", "not_found")


@pytest.mark.parametrize(
    ("content", "old", "new", "result"),
    [
        ("a\nb\n", "    1 | a\n    2 | b", "    1 | A\n    2 | B", "A\nB\n"),
        ("a\n\nb\n", "    1 | a\n    2 |\n    3 | b", "z", "z\n"),
        ("\tx\n", "  7 | \tx", "  7 | \ty", "\ty\n"),
        ("a\n", "12\ta", "12\tb", "b\n"),
        ("a\n", ">    12 | a", "b", "b\n"),
        ("a\r\nb\r\n", "1 | a\r\n2 | b", "1 | c\r\n2 | d", "c\r\nd\r\n"),
        ("a\n", "1 | a", "1 | b\nplain", "1 | b\nplain\n"),
    ],
)
def test_line_numbers(content, old, new, result):
    edit = apply_edit(content, old, new)
    assert edit.content == result
    assert edit.prefixes_stripped


def test_line_numbers_that_are_content_stay():
    edit = apply_edit("1 | a\n2 | b\n", "2 | b", "2 | c")
    assert edit == Edit("1 | a\n2 | c\n", 1, line=2)


def test_what_stripping_finds_twice_is_reported_as_it_was_asked():
    assert refused("d\nd\n", "    1 | d").reason == "not_found"


@pytest.mark.parametrize(
    ("content", "old", "new", "reason"),
    [
        ("a", "", "b", "empty"),
        ("a", "a", "a", "noop"),
        ("\u201ca\u201d", '"a"', "\u201ca\u201d", "noop"),
        ("a  b", "a b", "x", "not_found"),
        ("abc", "   ", "x", "not_found"),
        ("abc\n\n", " \n ", "x", "not_found"),
        ("a  \u2028b", "a b", "x", "not_found"),
        ("x", "    1 | ", "y", "not_found"),
        ("aa aa", "aa", "x", "ambiguous"),
        ("aaa", "aa", "x", "ambiguous"),
        ("\u201ca\u201d \u201ca\u201d", '"a"', "x", "ambiguous"),
        ("a\r\nb\r\na\r\nb", "a\nb", "x", "ambiguous"),
    ],
)
def test_refusals(content, old, new, reason):
    assert refused(content, old, new).reason == reason


def test_ambiguity_names_the_count_and_the_first_lines():
    error = refused("".join(f"{n}\ndup\n" for n in range(9)), "dup")
    assert "9 times" in str(error)
    assert "lines 2, 4, 6, …" in str(error)


def test_not_found_names_the_nearest_line():
    error = refused("alpha\ndef area(width, height):\nomega\n", "def area(width, hight):")
    assert str(error).startswith("old_text")
    assert "line 2: def area(width, height):" in str(error)


def test_a_result_without_bounds_is_refused():
    assert refused("a" * 100_000, "a", "b" * 10_000, replace_all=True).reason == "too_large"


@pytest.mark.parametrize(
    ("content", "old", "count"),
    [
        ("a" * 1_000_000, "a" * 400_000, 600_001),
        ("ab" * 300_000, "ab" * 1000, 299_001),
        ("a" * 1_000_000, "a", 1_000_000),
        (("a" * 999 + "b") * 1_000, "a" * 500, 500_000),
        ("\u201d" * 500_000, '"' * 100_000, 400_001),
    ],
)
def test_many_overlapping_occurrences_are_counted_not_visited(content, old, count):
    assert f"{count} times" in str(refused(content, old))


def test_near_misses_by_the_thousand_are_no_trouble():
    content = "value = compute(some, thing, else)  # note\n" * 100_000
    assert refused(content, "value = compute(some, thing, other)\nend").reason == "not_found"
    folded = apply_edit(content + "the \u201cone\u201d\n", 'the "one"', "the two")
    assert folded.content == content + "the two\n"


def test_blanks_by_the_million_are_no_trouble():
    content = " " * 2_000_000 + "x" + "\t " * 1_000_000
    assert refused(content, "y z").reason == "not_found"


def naive_count(text, needle):
    return sum(text.startswith(needle, place) for place in range(len(text)))


@settings(max_examples=300, deadline=None)
@given(st.text("ab", min_size=0, max_size=60), st.text("ab", min_size=1, max_size=8))
def test_counting_agrees_with_the_obvious_way(content, old):
    count = naive_count(content, old)
    if count == 1:
        assert apply_edit(content, old, "X").count == 1
    elif count > 1:
        assert f"{count} times" in str(refused(content, old, "X"))
    else:
        assert refused(content, old, "X").reason == "not_found"


ALPHABET = "ab \t\r\n\"'-1|\u201c\u2019\u2014\u00a0\ufb01e\u0301\u2028\U0001f600\u3000\u2026"


@settings(max_examples=600, deadline=None)
@given(
    st.text(ALPHABET, max_size=40),
    st.text(ALPHABET, max_size=8),
    st.text(ALPHABET, max_size=8),
    st.booleans(),
)
def test_what_is_around_the_replaced_place_stays(content, old, new, replace_all):
    """Either nothing, or `before + something + after`: the something stands for old_text alone."""
    try:
        edit = apply_edit(content, old, new, replace_all)
    except EditError:
        return
    if replace_all:
        return
    pieces = {new, new.replace("\r\n", "\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")}
    if edit.prefixes_stripped:
        return
    assert any(
        edit.content == content[:start] + piece + content[end:]
        for piece in pieces
        for start in range(len(content) + 1)
        for end in range(start, len(content) + 1)
    )


@settings(max_examples=300, deadline=None)
@given(st.text(ALPHABET, max_size=30), st.data())
def test_any_piece_that_is_there_once_is_found(content, data):
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))
    old = content[start:end]
    if not old or naive_count(content, old) != 1 or "\r" in content:
        return
    assert applied(content, old, "NEW") == content[:start] + "NEW" + content[end:]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("ab \u201c", max_size=5), max_size=8), st.data())
def test_a_crlf_file_stays_a_crlf_file(lines, data):
    content = "".join(f"{line}\r\n" for line in lines)
    old = data.draw(st.sampled_from([*lines, "a\nb", "\n", "a\n"]))
    try:
        result = applied(content, old, "x\ny\n")
    except EditError:
        return
    assert result.count("\n") == result.count("\r\n")
    assert result.count("\r") == result.count("\r\n")

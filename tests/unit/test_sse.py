"""Bytes to events, by the standard, whatever way they were cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paicli.llm.sse import SseDecoder

CASES = [
    (b"data: a\n\n", ["a"]),
    (b"data:a\n\n", ["a"]),
    (b"data:  a \n\n", [" a "]),
    (b"data: a\r\n\r\n", ["a"]),
    (b"data: a\r\rdata: b\r\r", ["a", "b"]),
    (b"data: a\n\r\ndata: b\r\n\n", ["a", "b"]),
    (b"data: a\ndata: b\n\n", ["a\nb"]),
    (b"data\n\n", [""]),
    (b"data:\n\ndata: \n\n", ["", ""]),
    (b": comment\n\n:\n\ndata: a\n\n", ["a"]),
    (b"event: ping\nid: 7\nretry: 10\ndata: a\nunknown: x\n\n", ["a"]),
    (b"event: ping\n\ndata: a\n\n", ["a"]),
    (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
    (b"\n\n\n\ndata: a\n\n\n\n", ["a"]),
    (b"datax: no\n data: no\n\n", []),
    (b"data: never ended", []),
    (b"data: never ended\n", []),
    ("data: 汉字 🧪\n\n".encode(), ["汉字 🧪"]),
    ("data: a\u2028b\u0085c\x0bd\x0ce\u2029f\n\n".encode(), ["a\u2028b\u0085c\x0bd\x0ce\u2029f"]),
    (b"data: \xff\xfe\n\n", ["\ufffd\ufffd"]),
]


def decode(pieces):
    decoder = SseDecoder()
    return [data for piece in pieces for data in decoder.feed(piece)]


@pytest.mark.parametrize(("stream", "events"), CASES)
def test_events_of_a_stream(stream, events):
    assert decode([stream]) == events
    assert decode([bytes([byte]) for byte in stream]) == events


FRAGMENTS = [case[0] for case in CASES] + [
    b"\r", b"\n", b"\r\n", b"data: ", b"data", b":", "é".encode(), b"\xe6\xb1", b"x" * 40,
]  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8), st.lists(st.integers(0, 400), max_size=12))
def test_any_cut_of_the_same_bytes_gives_the_same_events(fragments, cuts):
    stream = b"".join(fragments)
    places = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    pieces = [stream[a:b] for a, b in pairwise(places)]
    whole, cut = SseDecoder(), SseDecoder()
    events = whole.feed(stream)
    assert [data for piece in pieces for data in cut.feed(piece)] == events
    assert cut.unfinished() == whole.unfinished()
    assert cut.fields == whole.fields
    assert cut.close() == whole.close()


def test_the_last_event_of_a_closed_stream_can_be_taken():
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\ndata: [DO") == []
    assert decoder.unfinished() == "a"
    assert decoder.feed(b"NE]") == []
    assert decoder.close() == "a\n[DONE]"

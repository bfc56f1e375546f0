"""A terminal that is busy still listens: keys echo while a reply streams in, and Ctrl+C stops it."""

import statistics
import time
from collections.abc import Iterator

from tests.bench.measure import Figure, Place, Pty, Server, paicli, sse, text

CHUNKS = 20_000
EACH_ALONE = 0.00005
SLOWLY = 0.02
KEYS = "qzjxkvwy"
CTRL_C = "\x03"


def _first_prompt(terminal: Pty) -> None:
    terminal.send("§")
    terminal.wait_for(lambda: "§".encode() in terminal.shown, "the prompt")


def while_streaming(at: Place) -> Iterator[Figure]:
    """From a key to its echo, while chunks arrive as fast as they can."""
    words = sse(text(*(f"{n % 97} " for n in range(CHUNKS))))
    waits: list[float] = []
    with Server(lambda _: words, EACH_ALONE) as server:
        terminal = Pty(at, paicli(), server)
        try:
            _first_prompt(terminal)
            terminal.send("\r")
            terminal.wait_for(lambda: len(server.arrived) == 1, "the request")
            for key in KEYS:
                quiet = time.perf_counter() + 0.15
                terminal.wait_for(lambda quiet=quiet: time.perf_counter() > quiet, "a pause")
                terminal.shown = b""
                sent = time.perf_counter()
                terminal.send(key)
                came = terminal.wait_for(lambda key=key: key.encode() in terminal.shown, "the echo")
                waits.append(came - sent)
        finally:
            terminal.close()
    median, worst = statistics.median(waits) * 1000, max(waits) * 1000
    yield Figure("key echo while streaming: median", median, "ms", target="50 ms")
    yield Figure("key echo while streaming: worst of 8", worst, "ms", target="50 ms")


def _one_stop(at: Place) -> float:
    with Server(lambda _: sse(text(*["word "] * 2_000)), SLOWLY) as server:
        terminal = Pty(at, paicli(), server)
        try:
            _first_prompt(terminal)
            terminal.send("\r")
            terminal.wait_for(lambda: terminal.shown.count(b"word") > 3, "the reply")
            sent = time.perf_counter()
            terminal.send(CTRL_C)
            return terminal.wait_for(lambda: b"ancelled" in terminal.shown, "the stop") - sent
        finally:
            terminal.close()


def stopping(at: Place) -> Iterator[Figure]:
    """From Ctrl+C to the word that the turn was stopped, in the middle of a slow reply."""
    stop = statistics.median(_one_stop(at) for _ in range(5)) * 1000
    yield Figure("Ctrl+C until the turn has stopped", stop, "ms", target="100 ms")


def on_keys(at: Place) -> Iterator[Figure]:
    """Both."""
    yield from while_streaming(at)
    yield from stopping(at)

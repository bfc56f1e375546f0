"""`make bench`: every figure of speed and memory beside a floor taken in the same run."""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator

from tests.bench.live import on_keys
from tests.bench.measure import (
    Figure,
    Place,
    Pty,
    Server,
    as_json,
    call,
    floor,
    medians,
    paicli,
    place,
    sse,
    table,
    text,
)
from tests.bench.shell import on_much_output
from tests.bench.tools import on_large_input

CHUNKS = 20_000
STEPS = 1_000
ARGUMENT_BYTES = 2_000_000
EACH_ALONE = 0.00005
MARK = "§"
REDRAW = b"\x1b[?25l"
"""Every redraw hides the cursor first."""


def starts(at: Place) -> Iterator[Figure]:
    """`--version` and `--help` against an empty Python."""
    empty, version, usage = medians(
        15,
        lambda: at.run(sys.executable, "-c", "pass").seconds,
        lambda: at.run(*paicli("--version")).seconds,
        lambda: at.run(*paicli("--help")).seconds,
    )
    yield Figure("start: --version", version * 1000, "ms", empty * 1000, "2x")
    yield Figure("start: --help", usage * 1000, "ms", empty * 1000)


def first_request(at: Place) -> Iterator[Figure]:
    """From the start of `-p` until its first request has arrived."""

    def until_it_came(command: Callable[[str], tuple[str, ...]]) -> float:
        with Server(lambda _: sse(text("hi"))) as server:
            started = time.perf_counter()
            at.run(*command(server.url), server=server)
            return server.arrived[0] - started

    bare, ours = medians(
        15,
        lambda: until_it_came(lambda url: floor("post", url)),
        lambda: until_it_came(lambda _: paicli("-p", "hi")),
    )
    yield Figure("start: -p until the first request", ours * 1000, "ms", bare * 1000, "300 ms")


def first_key(at: Place) -> Iterator[Figure]:
    """From the start of the REPL until a typed key is seen, and its memory then."""
    memory: list[float] = []

    def until_it_echoes(command: tuple[str, ...], sizes: list[float]) -> float:
        with Server(lambda _: sse(text("hi"))) as server:
            terminal = Pty(at, command, server)
            try:
                terminal.send(MARK)
                came = terminal.wait_for(lambda: MARK.encode() in terminal.shown, "the key")
                sizes.append(terminal.resident_mb())
                return came - terminal.started
            finally:
                terminal.close()

    bare, ours = medians(
        15,
        lambda: until_it_echoes(floor("prompt"), []),
        lambda: until_it_echoes(paicli(), memory),
    )
    yield Figure("start: REPL until a key echoes", ours * 1000, "ms", bare * 1000, "1.3x")
    yield Figure("memory: at the first prompt", statistics.median(memory), "MB", target="80 MB")


def steps(at: Place) -> Iterator[Figure]:
    """The agent's own time per step: reply out, next request in, a small read between."""
    for number in range(50):
        lines = "".join(f"line {n} of {number}\n" for n in range(40))
        (at.project / f"f{number}.txt").write_text(lines)

    def reply(number: int) -> list[bytes]:
        if number > STEPS:
            return sse(text("done"))
        where = {"path": f"f{number % 50}.txt", "offset": number % 37 + 1, "limit": 3}
        return sse(call(number, "read_file", where))

    def own_time(server: Server, step: int) -> float:
        gaps = [
            after - before
            for before, after in zip(server.answered, server.arrived[1:], strict=False)
        ]
        return statistics.median(gaps[step - 6 : step + 5]) * 1000

    with Server(reply) as server:
        at.run(*floor("stream", server.url, "60"), server=server)
        bare = own_time(server, 30)
    with Server(reply) as server:
        used = at.run(*paicli("-p", "go"), server=server)
    tenth = own_time(server, 10)
    yield Figure("step 10: own time", tenth, "ms", bare, "5 ms")
    yield Figure("step 100: own time", own_time(server, 100), "ms", tenth, "1.5x", "floor: step 10")
    last = own_time(server, STEPS - 5)
    yield Figure(f"step {STEPS}: own time", last, "ms", tenth, "1.5x", "floor: step 10")
    yield Figure(f"memory: peak of {STEPS} steps", used.peak_mb, "MB")
    with Server(lambda number: reply(number) if number <= 10 else sse(text("done"))) as server:
        at.run(*paicli("-p", "go"), server=server)
        whole = at.run(*paicli("-p", "go"), server=server)
    yield Figure("10 steps, one-shot, in all", whole.seconds * 1000, "ms", target="800 ms")


def _cpu(
    at: Place, command: Callable[[str], tuple[str, ...]], reply: list[bytes], pause: float
) -> tuple[float, float]:
    """CPU seconds that `reply` costs beyond a reply of one word, and the peak memory."""

    def run(pieces: list[bytes], pause: float) -> tuple[float, float]:
        with Server(lambda n: pieces if n == 1 else sse(text("done")), pause) as server:
            used = at.run(*command(server.url), server=server)
        return used.cpu, used.peak_mb

    small = statistics.median(run(sse(text("hi")), 0)[0] for _ in range(3))
    runs = [run(reply, pause) for _ in range(3)]
    return statistics.median(cpu for cpu, _ in runs) - small, max(peak for _, peak in runs)


def streaming(at: Place) -> Iterator[Figure]:
    """CPU for a long answer in small chunks, and for large tool arguments in small deltas."""
    words = sse(text(*(f"word{n % 97} " for n in range(CHUNKS))))
    bare, _ = _cpu(at, lambda url: floor("stream", url), words, EACH_ALONE)
    ours, peak = _cpu(at, lambda _: paicli("-p", "go"), words, EACH_ALONE)
    per = 1e6 / CHUNKS
    yield Figure(f"{CHUNKS} chunks, headless: CPU", ours * per, "us/chunk", bare * per, "1.5x")
    yield Figure(f"memory: peak of {CHUNKS} chunks", peak, "MB")
    shown, redraws, peak = _in_the_terminal(at, words)
    yield Figure(f"{CHUNKS} chunks, REPL: CPU", shown * per, "us/chunk", bare * per, "80 us")
    yield Figure("  against headless", shown * per, "us/chunk", ours * per, "3x", "floor: headless")
    yield Figure("  redraws in a second", redraws, "", target="20")
    yield Figure(f"memory: REPL after {CHUNKS} chunks", peak, "MB")
    for size in (ARGUMENT_BYTES // 10, ARGUMENT_BYTES):
        written = {"path": "big.txt", "content": "word \n" * (size // 6)}
        deltas = sse(call(1, "write_file", written, size=20))
        bare, _ = _cpu(at, lambda url: floor("stream", url), deltas, 0)
        ours, peak = _cpu(at, lambda _: paicli("-p", "go"), deltas, 0)
        name = f"{size / 1e6:g} MB of arguments: CPU"
        target = "500 ms" if size < ARGUMENT_BYTES else "linear"
        yield Figure(name, ours * 1000, "ms", bare * 1000, target)
    yield Figure("memory: peak of 2 MB of arguments", peak, "MB")


def _in_the_terminal(at: Place, reply: list[bytes]) -> tuple[float, float, float]:
    """CPU seconds that `reply` costs, how often a second it is drawn, and the memory afterwards."""
    with Server(lambda n: sse(text("hi")) if n == 1 else reply, EACH_ALONE) as server:
        terminal = Pty(at, paicli(), server)
        try:
            _a_turn(terminal, server, 1)  # loads what the first turn of any size loads
            before = _cpu_when_calm(terminal)
            terminal.shown = b""
            _a_turn(terminal, server, 2)
            redraws = terminal.shown.count(REDRAW) / (server.answered[1] - server.arrived[1])
            return _cpu_when_calm(terminal) - before, redraws, terminal.resident_mb()
        finally:
            terminal.close()


def _a_turn(terminal: Pty, server: Server, number: int) -> None:
    terminal.send(MARK)
    terminal.wait_for(lambda: MARK.encode() in terminal.shown, "the prompt")
    terminal.send("\r")
    terminal.wait_for(lambda: len(server.answered) == number, "the whole reply")


def _cpu_when_calm(terminal: Pty) -> float:
    """CPU seconds when the last block has been drawn."""
    calm, until = terminal.cpu(), time.perf_counter() + 30
    while time.perf_counter() < until:
        seen = time.perf_counter()
        terminal.wait_for(lambda seen=seen: time.perf_counter() > seen + 0.4, "calm")
        if terminal.cpu() - calm < 0.03:
            break
        calm = terminal.cpu()
    return terminal.cpu()


def first_request_size(at: Place) -> Iterator[Figure]:
    """What the first request weighs, part by part."""
    with Server(lambda _: sse(text("hi"))) as server:
        at.run(*paicli("-p", "hi"), server=server)
    body = json.loads(server.first_body)

    def weight(part: object) -> int:
        return len(json.dumps(part, ensure_ascii=False, separators=(",", ":")).encode())

    tools = body.get("tools", [])
    prompt, definitions = weight(body["messages"][0]["content"]), weight(tools)
    yield Figure("first request: all", len(server.first_body), "bytes")
    yield Figure("first request: system prompt", prompt, "bytes")
    note = "8 KB with the system prompt"
    yield Figure("first request: tools", definitions, "bytes", target=note)
    for tool in tools:
        yield Figure(f"  {tool['function']['name']}", weight(tool), "bytes")


PARTS = {
    "start": starts,
    "request": first_request,
    "key": first_key,
    "steps": steps,
    "streaming": streaming,
    "size": first_request_size,
    "live": on_keys,
    "tools": on_large_input,
    "commands": on_much_output,
}


def main() -> int:
    """Measure what was asked for, print the table and one line of JSON."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"some of: {', '.join(PARTS)} (default: all)")
    chosen = parser.parse_args().parts or list(PARTS)
    if unknown := [part for part in chosen if part not in PARTS]:
        parser.error(f"no such part: {', '.join(unknown)}")
    started = time.perf_counter()
    figures: list[Figure] = []
    for part in chosen:
        print(f"measuring: {part} ...", file=sys.stderr, flush=True)
        with place() as at:
            figures += PARTS[part](at)
    print(table(figures))
    print(f"\n{time.perf_counter() - started:.0f} s in all\n")
    print(as_json(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())

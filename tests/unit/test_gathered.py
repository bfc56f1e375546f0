"""A flood of small pieces is read in few reads; what comes slowly is handed on at once."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from paicli.llm import transport

PIECES = 3_000


class Connection:
    """Bytes that arrive one by one, and a reader that takes all that has come."""

    def __init__(self) -> None:
        self.reads = 0
        self._came = bytearray()
        self._over = False

    async def arrive(self) -> None:
        for number in range(PIECES):
            self._came += b"%d," % number
            await asyncio.sleep(0)
        self._over = True

    async def read(self) -> AsyncIterator[bytes]:
        while not (self._over and not self._came):
            await asyncio.sleep(0)
            if self._came:
                self.reads += 1
                piece = bytes(self._came)
                self._came.clear()
                yield piece


async def _read_all(connection: Connection) -> bytes:
    arriving = asyncio.create_task(connection.arrive())
    whole = b"".join([piece async for piece in transport.gathered(connection.read())])
    await arriving
    return whole


WHOLE = b"".join(b"%d," % number for number in range(PIECES))


def test_a_flood_is_read_in_few_reads() -> None:
    connection = Connection()
    assert asyncio.run(_read_all(connection)) == WHOLE
    assert connection.reads < PIECES / 10


def test_what_comes_slowly_is_never_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_FLOOD_GAP", 0.0)  # no gap is that short: nothing is a flood
    connection = Connection()
    assert asyncio.run(_read_all(connection)) == WHOLE
    assert connection.reads > PIECES / 2


def test_pieces_that_were_there_already_are_no_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_GATHERING_SECONDS", 3_600)

    async def all_at_once() -> AsyncIterator[bytes]:
        for _ in range(PIECES):
            yield b"x"

    async def read() -> int:
        return len([piece async for piece in transport.gathered(all_at_once())])

    assert asyncio.run(read()) == PIECES

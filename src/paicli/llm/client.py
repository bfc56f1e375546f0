"""The client: asks a model over HTTP and hands on what it says while it says it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from itertools import count
from typing import Any, Protocol

from paicli import secrets
from paicli.config import Settings
from paicli.config_files import expanded
from paicli.errors import ModelError, ModelRefused, ModelUnreachable, PaiCliError, StreamInterrupted
from paicli.i18n import t
from paicli.llm.bill import Bill
from paicli.llm.deltas import Delta, Retrying
from paicli.llm.messages import ChatResponse, Message
from paicli.llm.providers import ModelProfile
from paicli.llm.reply import Reply
from paicli.llm.request import RequestBody
from paicli.llm.retry import asked_to_wait, wait_before
from paicli.llm.sse import SseDecoder
from paicli.llm.wire_log import Exchange, WireLog

_log = logging.getLogger(__name__)
_MAX_ERROR_BYTES = 65_536
_MAX_DOCUMENT_BYTES = 16_000_000
_MAX_REPLY_BYTES = 64_000_000
_MAX_NOTED_BYTES = 4_000_000
_MAX_QUOTED = 2000
_DRAIN_SECONDS = 0.05
_EVENT_STARTS = (":", "event", "id", "retry", "data")
_BLANK = b" \t\r\n\xef\xbb\xbf"


class Transport(Protocol):
    """What carries requests; `httpx.AsyncBaseTransport`, which is imported at the first request."""

    async def handle_async_request(self, request: Any, /) -> Any: ...

    async def aclose(self) -> None: ...


class ChatClient:
    """Talks to one model. Its connection stays open between requests.

    Cancelling the task that awaits `chat` ends that request alone; the client can be used again.
    `transport` replaces the network (the demo, tests). What replies cost goes on the `bill`.
    """

    def __init__(
        self,
        profile: ModelProfile,
        settings: Settings,
        transport: Transport | None = None,
        bill: Bill | None = None,
    ) -> None:
        self.profile = profile
        self.when_sent: Callable[[], None] | None = None
        """Called once, when the first request is on its way: from then on there is time."""
        self._settings = settings
        self._transport = transport
        self._bill = bill or Bill()
        self._request = RequestBody(profile)
        self._http: Any = None
        self._numbers = count(1)
        self._log = (
            WireLog(expanded(settings.wire_log), profile.api_key) if settings.wire_log else None
        )
        secrets.remember(profile.api_key)

    async def chat(
        self,
        messages: Sequence[Message],
        tools: Mapping[str, bytes],
        emit: Callable[[Delta], None],
    ) -> ChatResponse:
        """Ask the model and return its whole reply; `emit` is told what arrives meanwhile.

        `tools`: serialised definitions by name, in the order in which they are sent; when empty,
        the request has no `tools`. Raises ModelError or one of its kin.
        """
        offered = tools if self.profile.tools else {}
        body = self._request.body(messages, offered)
        attempt = 1
        while True:
            reply = Reply(
                emit,
                offered.keys(),
                text_calls=self.profile.text_calls,
                think_tags=self.profile.think_tags,
                numbers=self._numbers,
                secret=self.profile.api_key,
            )
            try:
                response = await self._ask(body, reply)
                self._bill.add(response.usage, self.profile.prices)
                return response
            except ModelError as error:
                if not error.retryable or reply.shown or attempt >= self._settings.retry_attempts:
                    raise
                attempt += 1
                delay = wait_before(
                    attempt,
                    self._settings.retry_base_delay_ms,
                    self._settings.retry_max_delay_ms,
                    error.retry_after,
                )
                _log.warning("attempt %d in %.1f s: %s", attempt, delay, error)
                emit(Retrying(attempt, delay, str(error)))
            await asyncio.sleep(delay)

    async def aclose(self) -> None:
        """Close the connection. The client opens a new one when it is used again."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def _ask(self, body: bytes, reply: Reply) -> ChatResponse:
        """Make one attempt."""
        try:
            async with asyncio.timeout(self._settings.call_timeout):
                return await self._exchange(body, reply)
        except TimeoutError:
            if reply.complete:
                return reply.finish()
            raise ModelUnreachable(
                t("wire.call_timeout", seconds=f"{self._settings.call_timeout:g}")
            ) from None

    async def _exchange(self, body: bytes, reply: Reply) -> ChatResponse:
        import httpx

        from paicli.llm import transport

        exchange = Exchange()
        url = self.profile.url
        try:
            request = self._open().build_request("POST", url, content=body)
            if self.when_sent is not None:
                request.extensions["trace"] = self._notice
            response = await self._open().send(request, stream=True)
            try:
                await self._read(response, reply, exchange)
            finally:
                await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, UnicodeError) as error:
            exchange.error = repr(error)
            if not reply.complete:
                failure = transport.unreachable(error, url, self.profile.api_key)
                if exchange.status is not None and failure.retryable:
                    failure = StreamInterrupted(str(failure), retryable=True)
                raise failure from error
        except PaiCliError as error:
            exchange.error = str(error)
            raise
        finally:
            if self._log is not None:
                self._log.write(url, body, exchange)
        return reply.finish()

    async def _notice(self, event: str, _details: Any) -> None:
        """Hear from the connection how far a request has come."""
        if event.endswith("send_request_body.complete") and self.when_sent is not None:
            when_sent, self.when_sent = self.when_sent, None
            when_sent()

    def _open(self) -> Any:
        """Return the HTTP client, made at the first request: httpx is slow to import."""
        if self._http is None:
            import httpx

            from paicli.llm.transport import open_http

            settings, profile = self._settings, self.profile
            timeout = httpx.Timeout(settings.read_timeout, connect=settings.connect_timeout)
            headers = {
                "Content-Type": "application/json",
                "Accept": "text/event-stream",
                **profile.headers,
            }
            if profile.api_key:
                headers["Authorization"] = f"Bearer {profile.api_key}"
            transport: Any = self._transport
            self._http = open_http(profile.url, timeout, headers, transport)
        return self._http

    async def _read(self, response: Any, reply: Reply, exchange: Exchange) -> None:
        from paicli.llm.transport import decoded, gathered

        exchange.status, exchange.headers = response.status_code, response.headers
        pieces = _bounded(gathered(decoded(response)), self.profile.url)
        if self._log is not None:
            pieces = _noted(pieces, exchange)
        async with aclosing(pieces):
            if not 200 <= response.status_code < 300:
                from paicli.llm.failures import refused_by_status

                raise refused_by_status(
                    response.status_code,
                    await _collect(pieces, _MAX_ERROR_BYTES),
                    url=self.profile.url,
                    key=self.profile.api_key,
                    variable=self.profile.key_variable,
                    retry_after=asked_to_wait(response.headers),
                )
            start = b""
            async for piece in pieces:
                start = piece.lstrip(_BLANK)
                if start:
                    break
            first = start[:1]
            if first in (b"<", b"{", b"["):
                rest = await _collect(pieces, _MAX_DOCUMENT_BYTES)
                self._take_document(start + rest, reply)
            else:
                await self._take_stream(start, pieces, reply)

    def _take_document(self, body: bytes, reply: Reply) -> None:
        """Take an answer that is no event stream: a web page, or a whole reply as one JSON."""
        text = body.decode("utf-8-sig", "replace").strip()
        if text.startswith("<"):
            raise StreamInterrupted(t("wire.web_page", url=self.profile.url))
        try:
            reply.take(text)
        except ModelRefused:
            raise
        except ModelError:
            raise StreamInterrupted(t("wire.interrupted"), retryable=True) from None
        reply.complete = True

    async def _take_stream(self, start: bytes, pieces: AsyncIterator[bytes], reply: Reply) -> None:
        decoder = SseDecoder()
        take = reply.take
        for payload in decoder.feed(start):
            if take(payload):
                return
        async for piece in pieces:
            if not decoder.fields and len(start) < _MAX_QUOTED:
                start += piece
            for payload in decoder.feed(piece):
                if take(payload):
                    await _drain(pieces)
                    return
            if decoder.pending and decoder.pending[-1] == "[DONE]" and take(decoder.unfinished()):
                return
        rest = decoder.close()
        if rest and not reply.complete:
            _take_last(rest, reply)
        if not decoder.fields and not reply.complete:
            raise self._no_events(start)

    def _no_events(self, start: bytes) -> StreamInterrupted:
        """Return what a body without a single event means."""
        words = start[:_MAX_QUOTED].decode("utf-8", "replace").lstrip("\ufeff").strip()
        if not words or words.startswith(_EVENT_STARTS) or "data:".startswith(words):
            key = "wire.interrupted" if words[:1] == "d" else "wire.empty_body"
            return StreamInterrupted(t(key, url=self.profile.url), retryable=True)
        from paicli.llm.failures import safe_words

        words = safe_words(words, self.profile.api_key)
        return StreamInterrupted(t("wire.no_stream", url=self.profile.url, words=words))


async def _noted(pieces: AsyncIterator[bytes], exchange: Exchange) -> AsyncGenerator[bytes, None]:
    """Yield the pieces, and note them down as far as a broken stream needs to be told."""
    room = _MAX_NOTED_BYTES
    async for piece in pieces:
        noted = piece[:room]
        room -= len(noted)
        if noted:
            exchange.chunks.append(noted)
        exchange.left_out += len(piece) - len(noted)
        yield piece


async def _bounded(pieces: AsyncIterator[bytes], url: str) -> AsyncGenerator[bytes, None]:
    """Yield the pieces of a body, and break off one that never ends before it fills the memory."""
    size = 0
    async for piece in pieces:
        size += len(piece)
        if size > _MAX_REPLY_BYTES:
            raise StreamInterrupted(t("wire.reply_too_large", url=url))
        yield piece


async def _collect(pieces: AsyncIterator[bytes], limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= limit:
            break
    return b"".join(parts)[:limit]


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read the end of a body that is over, so that its connection can be used again.

    A server that keeps the connection open after the end is left.
    """
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in pieces:
                pass
    except TimeoutError:
        pass


def _take_last(payload: str, reply: Reply) -> None:
    """Take an event that no blank line ended; what is no whole JSON was cut and is dropped."""
    try:
        reply.take(payload)
    except ModelError as error:
        if error.__class__ is not ModelError:
            raise

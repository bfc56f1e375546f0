"""HTTP for the model: one connection that stays open, TLS, proxies, and httpx's errors in words."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from paicli import __version__
from paicli.errors import ModelError, ModelUnreachable
from paicli.i18n import t

_LOOPBACK = ("127.", "[::1]", "::1", "localhost", "0.0.0.0")
_KEEP_ALIVE_SECONDS = 120.0
_CONNECTIONS = 8
_LARGEST_PIECE = 65_536
_FLOOD_READS = 16
_FLOOD_GAP = 0.003
_GATHERING_SECONDS = 0.01


def open_http(
    url: str,
    timeout: httpx.Timeout,
    headers: Mapping[str, str],
    transport: httpx.AsyncBaseTransport | None = None,
) -> httpx.AsyncClient:
    """Return a client for a server. Raises ModelUnreachable when a proxy setting makes no sense."""
    on_this_machine = _is_on_this_machine(url)
    try:
        return httpx.AsyncClient(
            headers={
                "User-Agent": f"paicli/{__version__}",
                "Accept-Encoding": "gzip, deflate",
                **headers,
            },
            timeout=timeout,
            transport=transport,
            verify=_trust(url),
            http2=False,
            follow_redirects=False,
            trust_env=not on_this_machine,  # a proxy cannot reach this machine's own servers
            limits=httpx.Limits(
                max_connections=_CONNECTIONS,
                max_keepalive_connections=_CONNECTIONS,
                keepalive_expiry=_KEEP_ALIVE_SECONDS,
            ),
        )
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        # Raised for HTTP_PROXY, HTTPS_PROXY or ALL_PROXY: an unknown scheme, a bad address.
        from paicli.llm.failures import safe_words

        raise ModelUnreachable(t("wire.bad_proxy", reason=safe_words(str(error), ""))) from None


async def fetch(
    url: str, key: str, *, seconds: float, body: Mapping[str, Any] | None, limit: int
) -> tuple[int, bytes]:
    """Ask an address once and return status and body. Raises ModelError when there is no answer."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    method = "GET" if body is None else "POST"
    try:
        async with (
            open_http(url, httpx.Timeout(seconds), headers) as http,
            http.stream(method, url, json=body) as response,
        ):
            data = bytearray()
            async for piece in decoded(response):
                data += piece
                if len(data) > limit:
                    raise ModelError(t("wire.list_too_large", url=url))
            return response.status_code, bytes(data)
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, UnicodeError) as error:
        raise unreachable(error, url, key) from error


async def decoded(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Yield a body decompressed, in bounded pieces: a few bytes may stand for gigabytes.

    Raises httpx.DecodingError for what is broken or was not asked for, as compression in layers.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity") or response.is_stream_consumed:
        async for piece in response.aiter_bytes():
            yield piece
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise httpx.DecodingError(f"unknown compression {encoding}")
    inflate = None
    async for piece in response.aiter_raw():
        if inflate is None and piece:
            bare = encoding == "deflate" and piece[0] & 0x0F != zlib.DEFLATED
            inflate = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | 32)
        packed = piece
        while inflate is not None and packed and not inflate.eof:
            try:
                yield inflate.decompress(packed, _LARGEST_PIECE)
            except zlib.error as error:
                raise httpx.DecodingError(str(error)) from error
            packed = inflate.unconsumed_tail


async def gathered(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the pieces of a body; those that flood in are let gather for 10 ms and read together.

    A read costs several times what its few bytes cost afterwards. Only the pieces that had to be
    waited for count, and a reply that comes at reading speed is never held up.
    """
    loop = asyncio.get_running_loop()
    waited = False

    def loop_turned() -> None:
        nonlocal waited
        waited = True

    loop.call_soon(loop_turned)
    reads, last = 0, 0.0
    async for piece in pieces:
        yield piece
        if not waited:
            continue
        now = loop.time()
        reads = reads + 1 if now - last < _FLOOD_GAP else 0
        if reads >= _FLOOD_READS:
            await asyncio.sleep(_GATHERING_SECONDS)
            now = loop.time()
        last, waited = now, False
        loop.call_soon(loop_turned)


def unreachable(error: Exception, url: str, key: str) -> ModelError:
    """Return what a failure of the connection means. The retryable ones may pass by themselves."""
    host = urlsplit(url).netloc.rpartition("@")[2]
    from paicli.llm.failures import safe_words

    reason = safe_words(_in_words(error), key)
    match error:
        case httpx.ConnectTimeout():
            return ModelUnreachable(t("wire.connect_timeout", host=host), retryable=True)
        case httpx.TimeoutException():
            return ModelUnreachable(t("wire.read_timeout", host=host), retryable=True)
        case httpx.ProxyError():
            return ModelUnreachable(t("wire.proxy", reason=reason))
        case httpx.ConnectError():
            return _no_connection(_root_cause(error), url, host, reason)
        case httpx.LocalProtocolError() | httpx.UnsupportedProtocol() | httpx.InvalidURL():
            return ModelUnreachable(t("wire.bad_request", reason=reason))
        case httpx.DecodingError():
            return ModelUnreachable(t("wire.bad_encoding", host=host))
        case httpx.TransportError():
            return ModelUnreachable(t("wire.broken", host=host, reason=reason), retryable=True)
    return ModelUnreachable(t("wire.bad_request", reason=reason))


def _no_connection(cause: BaseException, url: str, host: str, reason: str) -> ModelUnreachable:
    if isinstance(cause, ssl.SSLError):
        return ModelUnreachable(t(_tls_key(cause), host=host, reason=reason))
    key = "wire.no_route"
    if _goes_through_a_proxy(url):
        key = "wire.proxied"
    elif _is_unknown_name(cause, reason):
        key = "wire.unknown_host"
    return ModelUnreachable(t(key, host=host, reason=reason), retryable=True)


def _is_on_this_machine(url: str) -> bool:
    return (urlsplit(url).hostname or "").startswith(_LOOPBACK)


def _goes_through_a_proxy(url: str) -> bool:
    names = ("ALL_PROXY", f"{urlsplit(url).scheme.upper()}_PROXY")
    is_set = any(os.environ.get(name) or os.environ.get(name.lower()) for name in names)
    return is_set and not _is_on_this_machine(url)


def _trust(url: str) -> ssl.SSLContext | bool:
    """Return the machine's own certificates, a company's included; httpx's where there are none."""
    if not url.lower().startswith("https:"):
        return False  # no TLS will be spoken; reading all certificates would cost the first request
    paths = ssl.get_default_verify_paths()
    if sys.platform == "linux" and not (paths.cafile or paths.capath):
        return True
    try:
        import truststore
    except ImportError:
        return True
    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _root_cause(error: BaseException) -> BaseException:
    seen: BaseException = error
    while (deeper := seen.__cause__ or seen.__context__) is not None:
        seen = deeper
        if isinstance(seen, ssl.SSLError):
            break
    return seen


def _in_words(error: Exception) -> str:
    """Return the system's words for what broke a connection, such as "Connection refused"; else httpx's."""
    cause = _root_cause(error)
    if isinstance(cause, ConnectionError) and cause.errno:
        return os.strerror(cause.errno)
    return str(error) or type(cause).__name__


def _tls_key(cause: ssl.SSLError) -> str:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return "wire.certificate"
    return "wire.not_tls" if "WRONG_VERSION_NUMBER" in str(cause) else "wire.tls"


def _is_unknown_name(cause: BaseException, reason: str) -> bool:
    words = ("name or service not known", "nodename nor servname", "getaddrinfo", "name resolution")
    text = f"{cause} {reason}".lower()
    return any(word in text for word in words)

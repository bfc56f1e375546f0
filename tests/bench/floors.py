"""The floors: the least code that does what is measured, each run as a process of its own."""

import sys


def post(url):
    """Import httpx and post once."""
    import httpx

    httpx.post(f"{url}/chat/completions", json={"model": "m", "messages": []}, timeout=60)


def prompt():
    """A bare prompt."""
    from prompt_toolkit import PromptSession

    PromptSession().prompt("> ")


def stream(url, posts="1"):
    """Post with an async client and decode the JSON of every event, `posts` times."""
    import asyncio
    import json

    import httpx

    async def decode(response):
        rest = b""
        async for data in response.aiter_bytes():
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line.startswith(b"data: {"):
                    json.loads(line[6:])

    async def ask():
        body = b'{"model":"m","messages":[' + b"x" * 2000 + b"]}"
        async with httpx.AsyncClient(timeout=60) as client:
            for _ in range(int(posts)):
                async with client.stream("POST", f"{url}/chat/completions", content=body) as reply:
                    await decode(reply)

    asyncio.run(ask())


if __name__ == "__main__":
    {"post": post, "prompt": prompt, "stream": stream}[sys.argv[1]](*sys.argv[2:])

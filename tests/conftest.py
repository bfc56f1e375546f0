"""Fixtures that all tests share."""

import contextlib
import os
import signal

import pytest
from hypothesis import settings

from tests.model_server import ModelServer

# A check of a change must not depend on luck: there the same examples every time, elsewhere new ones.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

# A shell that starts the tests in the background has them, and so every program that they start, ignore these.
for number, usual in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGQUIT, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


@pytest.fixture
def model_server():
    """Make scripted model servers: `server = model_server(say("hi"), strict=False)`.

    All are stopped at the end, and a script that was asked for more than it holds fails the test.
    """
    with contextlib.ExitStack() as stack:
        started = []

        def start(*turns, **options):
            started.append(stack.enter_context(ModelServer(turns, **options)))
            return started[-1]

        yield start
        too_many = [r.messages[-1] for s in started for r in s.unexpected]
    assert too_many == [], "the model was asked more often than the script says"

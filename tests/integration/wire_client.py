"""What the tests of the wire share: clients for a scripted server, and a listener."""

from paicli import config
from paicli.llm.client import ChatClient
from paicli.llm.deltas import ReasoningDelta, Retrying, TextDelta
from paicli.llm.messages import Message
from paicli.llm.providers import select

HELLO = [Message("user", "hi")]


def definitions(*names):
    """Serialised definitions of tools without parameters."""
    body = '{"type":"function","function":{"name":"%s","parameters":{"type":"object"}}}'
    return {name: (body % name).encode() for name in sorted(names)}


TOOLS = definitions("edit_file", "list_dir", "read_file", "write_file")


class Listener(list):
    """All deltas, and the texts put together."""

    @property
    def text(self):
        return "".join(delta.text for delta in self if isinstance(delta, TextDelta))

    @property
    def reasoning(self):
        return "".join(delta.text for delta in self if isinstance(delta, ReasoningDelta))

    @property
    def retries(self):
        return [delta for delta in self if isinstance(delta, Retrying)]


def client_of(environ, home, choice="", transport=None):
    """A client as the program makes it from these variables."""
    settings = config.load(home, {"PAICLI_HOME": str(home)} | environ, {}).settings
    return ChatClient(select(settings, choice), settings, transport)


async def chat(client, messages=HELLO, tools=TOOLS):
    """Ask; return the response and what was heard."""
    heard = Listener()
    return await client.chat(messages, tools, heard.append), heard

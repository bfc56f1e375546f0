"""Where the sessions of a project are, and how to find one again."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path

from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.session.conversation import USER_INPUT, Conversation, own_words, repaired
from paicli.session.ledger import Header, Ledger, load
from paicli.text import cut
from paicli.values import value

_TITLE_LENGTH = 80
_MOST_LISTED = 20
_NO_NAME = re.compile(r"[^\w.-]+")


@value
class Summary:
    """A session in a list: `changed` is seconds since the epoch, `size` is in bytes."""

    id: str
    title: str
    model: str
    changed: float
    size: int
    messages: int


@value
class Session:
    """An open session: its conversation, and the ledger that it is written to."""

    conversation: Conversation
    ledger: Ledger
    resumed: bool = False
    forked: bool = False
    """Another PaiCLI has the session open, so this one goes on with a copy."""
    skipped: int = 0
    """Records of its file that could not be read."""

    @property
    def id(self) -> str:
        """Return the id, which `--resume` takes."""
        return self.ledger.header.id


class SessionStore:
    """The sessions of one project, newest first. The root's real path is what names a project."""

    def __init__(self, home: Path, root: Path) -> None:
        self._root = root.resolve()
        digest = hashlib.sha256(str(self._root).encode("utf-8", "surrogateescape")).hexdigest()
        name = _NO_NAME.sub("_", self._root.name) or "root"
        self._folder = home / "sessions" / f"{name[:40]}-{digest[:12]}"

    def create(self, model: str) -> Session:
        """Start a session. Its file appears with the first message."""
        ledger = self._ledger(model)
        return Session(Conversation(ledger), ledger)

    def _ledger(self, model: str) -> Ledger:
        now = time.time()
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
        id_ = f"{stamp}-{secrets.token_hex(3)}"
        cwd = str(self._root).encode("utf-8", "replace").decode()
        return Ledger(self._folder / f"{id_}.jsonl", Header(id_, cwd, model, now))

    def summaries(self, most: int = _MOST_LISTED) -> list[Summary]:
        """Return the sessions of the project, newest first, so many at most: each file is read."""
        readable = (summary for path in self._paths() if (summary := _summary(path)))
        return list(islice(readable, most))

    def resume(self, wanted: str | None, model: str) -> Session:
        """Open the newest session, or the one whose id is or begins with `wanted`.

        Raises ConfigError when there is none, or more than one.
        """
        paths = self._paths()
        if wanted is not None:
            paths = [path for path in paths if path.stem == wanted] or [
                path for path in paths if path.stem.startswith(wanted)
            ]
            if len(paths) > 1:
                ids = ", ".join(path.stem for path in paths[:5])
                raise ConfigError(t("session.ambiguous", id=wanted, ids=ids))
        if not paths:
            key = "session.none" if wanted is None else "session.unknown"
            raise ConfigError(t(key, id=wanted))
        return self._open(paths[0], model)

    def _open(self, path: Path, model: str) -> Session:
        try:
            loaded = load(path)
            ledger = Ledger(path, loaded.header)
            messages = repaired(loaded.messages)
            free = ledger.open()
        except OSError as error:
            raise ConfigError(
                t("session.unreadable", path=path, reason=error.strerror or error)
            ) from error
        if not free:
            copy = self.fork(messages_of=Conversation(ledger, messages), model=model)
            return replace(copy, skipped=loaded.skipped)
        if tuple(messages) != loaded.messages:
            ledger.rewritten("repair", messages)
        conversation = Conversation(ledger, messages)
        return Session(conversation, ledger, resumed=True, skipped=loaded.skipped)

    def fork(self, messages_of: Conversation, model: str) -> Session:
        """Start a session that begins with the messages of another one."""
        ledger = self._ledger(model)
        ledger.rewritten("fork", messages_of.messages)
        conversation = Conversation(ledger, messages_of.messages)
        return Session(conversation, ledger, resumed=True, forked=True)

    def _paths(self) -> list[Path]:
        try:
            found = [path for path in self._folder.glob("*.jsonl") if path.is_file()]
            return sorted(found, key=lambda path: path.stat().st_mtime_ns, reverse=True)
        except OSError:
            return []


def _summary(path: Path) -> Summary | None:
    try:
        loaded = load(path)
        status = path.stat()
    except OSError:
        return None
    typed = (message.content or "" for message in loaded.messages if message.source == USER_INPUT)
    title = cut(" ".join(own_words(next(typed, "")).split()), _TITLE_LENGTH)
    return Summary(
        loaded.header.id,
        title,
        loaded.header.model,
        status.st_mtime,
        status.st_size,
        len(loaded.messages),
    )

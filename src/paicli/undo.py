"""The wiring of taking file changes back: a part of the composition root."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from paicli.agent.events import Emit, Notice
from paicli.agent.extension import Extension
from paicli.config import Settings
from paicli.extensions.snapshots.extension import Keeps, Snapshots
from paicli.extensions.snapshots.place import is_half_done
from paicli.i18n import t
from paicli.llm.messages import Message
from paicli.session.conversation import Conversation
from paicli.session.store import Session


class Files:
    """The history of the project's files, wired into a session.

    What a killed undo left half done is made good first.
    """

    def __init__(self, settings: Settings, emit: Emit, session: Callable[[], Session]) -> None:
        self._settings = settings
        self._emit = emit
        self._session = session
        self._history: Keeps | None = None
        self._opening = threading.Lock()
        if is_half_done(settings.home, settings.root):
            self.history()

    def history(self) -> Keeps:
        """Return the history. It is opened when it is needed: no question needs it."""
        with self._opening:
            if self._history is None:
                self._history = _history(self._settings, self._emit, lambda: self._session().id)
            return self._history

    def extensions(self) -> tuple[Extension, ...]:
        """Return what keeps snapshots; nothing when the person does not want any."""
        if not self._settings.snapshots:
            return ()
        return (Snapshots(self.history, self._emit, self._place),)

    def _place(self) -> tuple[str, int]:
        session = self._session()
        return session.id, session.conversation.typed()

    def tell_model(self, text: str) -> None:
        """Add a message about what was taken back."""
        tell_model(self._session().conversation, text)

    def close(self) -> None:
        """Let go of the store."""
        if self._history is not None:
            self._history.close()


def _history(settings: Settings, emit: Emit, session: Callable[[], str]) -> Keeps:
    from paicli.extensions.snapshots.history import History
    from paicli.extensions.snapshots.tree import Limits

    limits = Limits(settings.snapshot_days, settings.snapshot_megabytes, settings.snapshot_excludes)
    off = "" if settings.snapshots else t("undo.switched_off")
    made = History(
        settings.home,
        settings.root,
        limits,
        lambda text: emit(Notice("snapshots", text)),
        off,
        session,
    )
    made.recover()
    return made


def take_back(
    command: str, output_format: str, settings: Settings, opens: Callable[[Emit], Session] | None
) -> int:
    """Carry out `-p /undo` and its kin; the conversation that `opens` gives, if any, learns of it."""
    from paicli.ui.headless import Headless
    from paicli.ui.undo_headless import run_undo_command

    listener = Headless(output_format, sys.stdout, sys.stderr)
    session = opens(listener.on_event) if opens else None
    id_ = session.id if session else ""
    listener.start(id_, "", str(settings.root))
    files = _history(settings, listener.on_event, lambda: id_)
    try:
        result = run_undo_command(
            command,
            files,
            lambda text: tell_model(session.conversation, text) if session else None,
            listener.on_event,
        )
    finally:
        files.close()
        if session is not None:
            session.ledger.close()
    return listener.finish(result, id_)


def tell_model(conversation: Conversation, text: str) -> None:
    """Add a message about what was taken back; an empty conversation knows nothing of the files."""
    if conversation.messages:
        conversation.append(Message("user", text, source="undo"))

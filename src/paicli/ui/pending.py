"""What the person typed while a run was busy, until the model's next step takes it."""

from __future__ import annotations

from collections.abc import Callable

from paicli.values import value


@value
class Typed:
    """A message as it was typed, and as the model gets it (attachments and pastes put in).

    `is_command`: it is none for the model, but waits to be carried out when the turn is over.
    """

    shown: str
    sent: str
    is_command: bool = False


class PendingInput:
    """A queue between the prompt and the agent; both live on one event loop."""

    def __init__(self) -> None:
        self._waiting: list[Typed] = []
        self._on_taken: Callable[[Typed], None] | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, message: Typed) -> None:
        """Put a message at the end of the queue."""
        self._waiting.append(message)

    def shown(self) -> tuple[str, ...]:
        """Return the waiting messages as they were typed, oldest first."""
        return tuple(message.shown for message in self._waiting)

    def waits_for_the_end(self) -> bool:
        """Tell whether the newest message waits until the turn is over: it, or one before it, is a command."""
        return any(message.is_command for message in self._waiting)

    def take_back(self) -> Typed | None:
        """Remove the newest message, for the person to edit; None when nothing waits."""
        return self._waiting.pop() if self._waiting else None

    def take_all_back(self) -> list[Typed]:
        """Remove all messages, oldest first; the model has not seen them."""
        taken, self._waiting = self._waiting, []
        return taken

    def take_next(self) -> list[Typed]:
        """Remove the messages before the first command, oldest first, or that command alone if it is first."""
        commands = (at for at, message in enumerate(self._waiting) if message.is_command)
        end = max(next(commands, len(self._waiting)), 1)
        taken, self._waiting = self._waiting[:end], self._waiting[end:]
        return taken

    def take(self) -> tuple[str, ...]:
        """Remove the messages before the first command and return what the model gets, oldest first."""
        if self._waiting and self._waiting[0].is_command:
            return ()
        taken = self.take_next()
        if self._on_taken is not None:
            for message in taken:
                self._on_taken(message)
        return tuple(message.sent for message in taken)

    def when_taken(self, listener: Callable[[Typed], None]) -> None:
        """Call `listener` with each message that the model takes."""
        self._on_taken = listener

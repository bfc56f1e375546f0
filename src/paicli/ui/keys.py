"""What the keys do; the sending and cancelling itself is the desk's, which stands behind the prompt."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, is_searching, vi_mode, vi_navigation_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

from paicli.text import clean
from paicli.ui.keyboard import LATE
from paicli.ui.pastes import Pastes
from paicli.ui.window import FOCUS_GAINED, FOCUS_LOST, Window

_SPLIT_ALT_ENTER = 0.5


class Dialog(Protocol):
    """A question to the person, as far as the keys and the prompt look at it."""

    step: str

    def key(self, character: str) -> None: ...
    def enter(self, text: str) -> None: ...
    def words(self, name: str) -> str: ...


class Works(Protocol):
    """The desk, as far as the keys drive it."""

    def send(self, buffer: Buffer) -> None: ...
    def interrupt(self, buffer: Buffer) -> None: ...
    def cycle_mode(self) -> None: ...
    def unfold(self) -> None: ...
    def edit_queued(self, buffer: Buffer) -> bool: ...
    def commands_at(self, document: Document) -> list[Completion]: ...


class KeyTarget(Protocol):
    """Where the keys are pressed. `desk` opens the desk if need be; `dialog` does not."""

    pastes: Pastes
    escape: Escape
    window: Window

    @property
    def dialog(self) -> Dialog | None: ...
    @property
    def desk(self) -> Works: ...

    def leave(self) -> None: ...
    def suspend(self) -> None: ...
    def open_editor(self, buffer: Buffer) -> None: ...


class Escape:
    """A lone Esc, once it is sure to be one: it may be the start of a sequence that comes in pieces."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._at = float("-inf")
        self._text = ""
        self._void_until = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def pressed(self, buffer: Buffer) -> None:
        """Take note of the key; it acts a moment later unless it is withdrawn."""
        self._at, self._text = time.monotonic(), buffer.text
        if self._at < self._void_until:
            return
        self.withdraw()
        self._timer = asyncio.get_running_loop().call_later(LATE, self._act)

    def withdraw(self) -> None:
        """What was taken for a lone Esc is none."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def was_none(self) -> None:
        """Withdraw also the Esc that is still on its way through the key processor."""
        self._void_until = time.monotonic() + 0.05
        self.withdraw()

    def just_pressed(self, buffer: Buffer) -> bool:
        """Tell whether a key now may be the second half of an Alt combination: nothing came between."""
        return time.monotonic() - self._at < _SPLIT_ALT_ENTER and buffer.text == self._text


def bindings(front: KeyTarget) -> KeyBindings:
    """Return the keys of the prompt and of the approval dialog."""
    keys = KeyBindings()
    _add_dialog_keys(keys, front)
    _add_sending_keys(keys, front)
    _add_editing_keys(keys, front)
    _add_control_keys(keys, front)
    _add_other_keys(keys, front)
    return keys


def _add_sending_keys(keys: KeyBindings, front: KeyTarget) -> None:
    @keys.add("enter", filter=~is_searching & Condition(lambda: front.dialog is None))
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if front.escape.just_pressed(buffer):
            front.escape.withdraw()
            buffer.insert_text("\n")
        elif buffer.complete_state and buffer.complete_state.current_completion:
            is_command = buffer.text.startswith("/")
            buffer.complete_state = None
            if is_command:
                front.desk.send(buffer)
        elif buffer.document.is_cursor_at_the_end and buffer.text.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            front.desk.send(buffer)

    @keys.add("escape", "enter")
    @keys.add("c-j", filter=~is_searching)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")


def _add_editing_keys(keys: KeyBindings, front: KeyTarget) -> None:
    @keys.add("tab")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state:
            buffer.complete_next()
        elif len(found := front.desk.commands_at(buffer.document)) == 1:
            buffer.apply_completion(found[0])
        else:
            buffer.start_completion(insert_common_part=True)

    @keys.add(Keys.BracketedPaste)
    def _(event: KeyPressEvent) -> None:
        text = clean(event.data.replace("\r\n", "\n").replace("\r", "\n"))
        shown = front.pastes.placeholder(text) if front.dialog is None else text
        event.current_buffer.insert_text(shown)

    @keys.add("backspace", filter=Condition(lambda: bool(front.pastes)))
    def _(event: KeyPressEvent) -> None:
        before = event.current_buffer.document.text_before_cursor
        event.current_buffer.delete_before_cursor(max(front.pastes.length_at_end(before), 1))


def _add_control_keys(keys: KeyBindings, front: KeyTarget) -> None:
    def is_empty(event: KeyPressEvent) -> bool:
        return not event.current_buffer.text

    @keys.add("escape", filter=~is_searching & (~vi_mode | vi_navigation_mode))
    def _(event: KeyPressEvent) -> None:
        front.escape.pressed(event.current_buffer)

    @keys.add("c-c", filter=~is_searching)
    @keys.add("<sigint>")
    def _(event: KeyPressEvent) -> None:
        front.desk.interrupt(event.current_buffer)

    @keys.add("c-d")
    def _(event: KeyPressEvent) -> None:
        if front.dialog is not None or is_empty(event):
            front.leave()
        else:
            event.current_buffer.delete()

    @keys.add("up", filter=~is_searching)
    def _(event: KeyPressEvent) -> None:
        wants_queued = front.dialog is None and is_empty(event)
        if not (wants_queued and front.desk.edit_queued(event.current_buffer)):
            event.current_buffer.auto_up(count=event.arg)


def _add_other_keys(keys: KeyBindings, front: KeyTarget) -> None:
    @keys.add("s-tab")
    def _(_event: KeyPressEvent) -> None:
        front.desk.cycle_mode()

    @keys.add(FOCUS_GAINED)
    @keys.add(FOCUS_LOST)
    def _(event: KeyPressEvent) -> None:
        front.window.in_front = event.key_sequence[0].key == FOCUS_GAINED

    @keys.add("c-o", eager=True)
    def _(_event: KeyPressEvent) -> None:
        front.desk.unfold()

    @keys.add("c-z")
    def _(_event: KeyPressEvent) -> None:
        front.suspend()

    @keys.add("c-x", "c-e")
    def _(event: KeyPressEvent) -> None:
        front.open_editor(event.current_buffer)


def _add_dialog_keys(keys: KeyBindings, front: KeyTarget) -> None:
    choosing = Condition(lambda: front.dialog is not None and front.dialog.step == "choose")
    entering = Condition(lambda: front.dialog is not None and front.dialog.step != "choose")

    @keys.add(Keys.Any, filter=choosing, eager=True)
    def _(event: KeyPressEvent) -> None:
        pressed = event.key_sequence[0]
        if pressed.key == Keys.Escape:
            front.escape.pressed(event.current_buffer)
        elif pressed.key in (Keys.ControlC, Keys.SIGINT):
            front.desk.interrupt(event.current_buffer)
        elif pressed.key == Keys.ControlD:
            front.leave()
        elif pressed.key == Keys.BackTab:
            front.desk.cycle_mode()
        elif pressed.key in (FOCUS_GAINED, FOCUS_LOST):
            front.window.in_front = pressed.key == FOCUS_GAINED
        elif front.dialog is not None and _is_one_key(pressed):
            front.dialog.key(pressed.data)

    @keys.add("enter", filter=entering)
    def _(event: KeyPressEvent) -> None:
        if front.dialog is not None and not front.escape.just_pressed(event.current_buffer):
            front.dialog.enter(event.current_buffer.text)


def _is_one_key(pressed: KeyPress) -> bool:
    """Tell whether a character was typed: a paste is no answer, however short."""
    return len(pressed.data) == 1 and pressed.key != Keys.BracketedPaste

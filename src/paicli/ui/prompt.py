"""The prompt_toolkit application: live region, prompt, completion menu and status bar, one below the other."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindingsBase
from prompt_toolkit.layout import Dimension, HSplit, Layout, VerticalAlign, VSplit, Window
from prompt_toolkit.layout.containers import ConditionalContainer
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import DynamicStyle, Style
from prompt_toolkit.widgets import SearchToolbar

from paicli.i18n import t
from paicli.text import escapes
from paicli.ui.resizing import InlineApplication, folds, is_tmux
from paicli.ui.theme import style_for_light

_STYLES = {
    "dim": "ansibrightblack",
    "prompt": "bold ansicyan",
    "live.spinner": "ansicyan",
    "live.what": "ansicyan",
    "live.tool": "bold",
    "live.queued": "ansiyellow",
    "ask": "bold ansiyellow",
    "complaint": "ansired",
    "mode.auto": "bold ansigreen",
    "mode.plan": "bold ansicyan",
    "mode.ask": "bold ansiyellow",
    "status": "ansibrightblack",
    "status.message": "ansiyellow",
    "status.model": "noinherit",
    "status.queue": "ansiyellow",
    "status.high": "ansiyellow",
    "status.full": "bold ansired",
    "completion-menu": "bg:default noinherit",
    "completion-menu.completion": "bg:default noinherit",
    "completion-menu.completion.current": "bold reverse",
    "completion-menu.meta.completion": "bg:default ansibrightblack",
    "completion-menu.meta.completion.current": "bg:default ansibrightblack",
}
_LOOKS = {
    "dark": Style.from_dict(_STYLES),
    "light": Style.from_dict({name: style_for_light(text) for name, text in _STYLES.items()}),
}
_MOST_INPUT_LINES = 12
_TAB = "    "
ESC_WAIT = 0.05
"""Seconds to wait for the rest of a key sequence, for both of prompt_toolkit's timeouts."""

Fragments = Callable[[], StyleAndTextTuples]


class Prompt:
    """The application and its two lines of input: the message, and the dialog's entry line."""

    def __init__(
        self,
        live: Fragments,
        status: Fragments,
        entry_label: Callable[[], str],
        dialog_step: Callable[[], str],
        history: History,
        completer: Completer,
        theme: Callable[[], str],
    ) -> None:
        self._theme = theme
        self._spare: Callable[[], int] = lambda: 0
        self.message = Buffer(
            multiline=True,
            history=history,
            completer=completer,
            complete_while_typing=True,
            tempfile_suffix=".md",
        )
        self.entry = Buffer(multiline=True)
        search = SearchToolbar(
            forward_search_prompt=lambda: t("terminal.search_forward"),
            backward_search_prompt=lambda: t("terminal.search_back"),
        )
        (search.control.input_processors or []).append(_Visible())
        typing = Condition(lambda: dialog_step() == "")
        self._message_window = _input_window(
            BufferControl(
                self.message,
                [_Visible()],
                search_buffer_control=search.control,
                preview_search=True,
            ),
            lambda: "› ",
        )
        self._entry_window = _input_window(BufferControl(self.entry, [_Visible()]), entry_label)
        self._root = HSplit(
            [
                Window(
                    FormattedTextControl(live), dont_extend_height=True, always_hide_cursor=True
                ),
                VSplit(
                    [
                        ConditionalContainer(self._message_window, typing),
                        ConditionalContainer(
                            self._entry_window,
                            Condition(lambda: dialog_step() not in ("", "choose")),
                        ),
                        Window(width=self._columns_to_spare),
                    ]
                ),
                search,
                CompletionsMenu(max_height=8, scroll_offset=1),
                Window(FormattedTextControl(lambda: _dim(status())), height=1),
            ],
            align=VerticalAlign.TOP,
        )

    def application(
        self, bindings: KeyBindingsBase, keyboard: Input, output: Output, *, vi: bool
    ) -> InlineApplication:
        """Return the application, ready to run."""
        app = InlineApplication(
            layout=Layout(self._root, focused_element=self._message_window),
            key_bindings=bindings,
            style=DynamicStyle(lambda: _LOOKS.get(self._theme())),
            color_depth=lambda: ColorDepth.DEPTH_1_BIT if self._theme() == "none" else None,
            include_default_pygments_style=False,
            erase_when_done=True,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            input=keyboard,
            output=output,
        )
        app.terminal_folds, app.is_tmux = folds(os.environ), is_tmux(os.environ)
        self._spare = app.spare
        app.ttimeoutlen = app.timeoutlen = ESC_WAIT
        return app

    def _columns_to_spare(self) -> int:
        return self._spare()

    def focus_entry(self, app: InlineApplication, text: str) -> None:
        """Let the dialog's entry line take the keys, starting with `text`."""
        self.entry.text = text
        self.entry.cursor_position = len(text)
        app.layout.focus(self._entry_window)

    def entry_has_focus(self, app: InlineApplication) -> bool:
        """Tell whether the keys go to the dialog's entry line."""
        return app.layout.has_focus(self._entry_window)

    def focus_message(self, app: InlineApplication) -> None:
        """Let the message take the keys."""
        app.layout.focus(self._message_window)


class _Visible(Processor):
    """Shows what could steer the terminal, hide or reorder text as visible escapes, and tabs as blanks."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """Return the line as it is drawn, and which place in it belongs to which character."""
        fragments = transformation_input.fragments
        line = fragment_list_to_text(fragments)
        changes = sorted(
            [*escapes(line), *((at, at + 1, _TAB) for at, c in enumerate(line) if c == "\t")]
        )
        if not changes:
            return Transformation(fragments)
        letters = explode_text_fragments(fragments)
        shown: StyleAndTextTuples = []
        places: list[int] = []
        """By place in the line: the place where its character is drawn."""
        at = width = 0
        for start, end, text in [*changes, (len(line), len(line), "")]:
            shown += letters[at:start]
            places += range(width, width + start - at)
            width += start - at
            if text:
                shown.append((letters[start][0], text))
                places += [width] * (end - start)
            width, at = width + len(text), end
        places.append(width)
        return Transformation(
            shown,
            source_to_display=lambda place: (
                places[min(place, len(line))] + max(place - len(line), 0)
            ),
            display_to_source=lambda place: max(bisect_right(places, place) - 1, 0),
        )


def _dim(pieces: StyleAndTextTuples) -> StyleAndTextTuples:
    """Return the status bar's pieces in its style; the blanks behind them are no part of the line."""
    return [(f"class:status {style}", text) for style, text, *_ in pieces]


def _input_window(control: BufferControl, label: Callable[[], str]) -> Window:
    from paicli.text import width

    def prefix(line: int, wrapped: int) -> StyleAndTextTuples:
        text = label()
        if line == wrapped == 0:
            return [("class:prompt", text)]
        return [("", " " * width(text))]

    return Window(
        control,
        height=Dimension(min=1, max=_MOST_INPUT_LINES),
        wrap_lines=True,
        dont_extend_height=True,
        get_line_prefix=prefix,
    )

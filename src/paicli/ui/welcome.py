"""The first screen: small, and there at once."""

from __future__ import annotations

from paicli import __version__
from paicli.i18n import t
from paicli.text import cut, one_line
from paicli.text import width as cells


def welcome(model: str, folder: str, mode: str, width: int, *, plain: bool) -> str:
    """Return name, version, model, folder, mode and three useful keys."""

    def styled(code: str, text: str) -> str:
        return text if plain else f"\x1b[{code}m{text}\x1b[0m"

    head = f"PaiCLI π {__version__}"
    where = cut(f"{one_line(model)} · {one_line(folder)} · {mode}", width - 1)
    keys = t("terminal.welcome_keys")
    while cells(keys) >= width and " · " in keys:
        keys = keys.rpartition(" · ")[0]
    return f"{styled('1;36', head)}\n{where}\n{styled('2', keys)}\n"

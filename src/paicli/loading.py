"""Loading modules while a person already types."""

from __future__ import annotations

import gc
from importlib import import_module


def load(*modules: str) -> None:
    """Import modules and keep them, and all else that is there, out of later garbage collections.

    They stay anyway, and each time that they were looked through for garbage held the keys up for 25 to 45 ms.
    """
    gc.disable()
    try:
        for module in modules:
            import_module(module)
    finally:
        gc.freeze()
        gc.enable()

"""Where a project's snapshots are, apart from all that reads and writes them."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

RESTORING = "restoring"
"""What stands in the folder while files are being put back."""
_NO_NAME = re.compile(r"[^\w.-]+")


def project_folder(home: Path, root: Path) -> Path:
    """Return where the snapshots of the project at `root` are; its real path is what names it."""
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()
    name = _NO_NAME.sub("_", root.name) or "root"
    return home / "snapshots" / f"{name[:40]}-{digest[:12]}"


def is_half_done(home: Path, root: Path) -> bool:
    """Tell whether something was killed while it put files back."""
    return is_there(project_folder(home, root) / RESTORING)


def is_there(path: Path) -> bool:
    """Tell whether there is such a file; no, where that may not be looked at."""
    return os.path.exists(path)  # noqa: PTH110  Path.exists raises there

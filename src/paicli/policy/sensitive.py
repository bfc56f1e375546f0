"""Files inside a project that no mode may change without asking: git's own, secrets, keys."""

from __future__ import annotations

import unicodedata
from fnmatch import fnmatchcase
from pathlib import Path

from paicli.errors import PolicyDenied
from paicli.i18n import t
from paicli.policy.path_guard import PathGuard

_ENV_EXAMPLES = (".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults")
_KEY_FOLDERS = {".ssh", ".gnupg", ".aws", ".kube"}
_KEY_FILES = (
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "authorized_keys", "*.pem", "*.key"),
    *("*.p12", "*.pfx", "*.p8", "*.jks", "*.keystore", "*.ppk", "*.kdbx", "*.gpg"),
    *(".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", ".pgpass"),
    *(".vault-token", ".gitconfig", "secring.*", "service-account*.json", "credentials.json"),
)


def why_ask(guard: PathGuard, path: str) -> str | None:
    """Return why a person must be asked before `path` is written, or None. Reading is free.

    Both the path as it was given and the one it leads to count: a link to a key is a key.
    """
    try:
        real = guard.resolve(path).relative_to(guard.root).parts
    except PolicyDenied:
        return None
    for parts in (real, Path(path).parts):
        if reason := _reason([_folded(part) for part in parts]):
            return reason
    return None


def _reason(parts: list[str]) -> str | None:
    if ".git" in parts or "git~1" in parts:
        return t("tool.asks_git")
    name = parts[-1] if parts else ""
    if name.startswith(".env") and name not in _ENV_EXAMPLES:
        return t("tool.asks_env")
    if _KEY_FOLDERS & set(parts) or any(fnmatchcase(name, pattern) for pattern in _KEY_FILES):
        return t("tool.asks_key")
    return None


def _folded(part: str) -> str:
    """Return a name as the most forgiving file system reads it: no case, no invisible characters."""
    folded = unicodedata.normalize("NFKC", part).casefold()
    visible = "".join(char for char in folded if unicodedata.category(char) not in ("Cf", "Mn"))
    return visible.rstrip(". ")

"""The question whether a folder is trusted, asked before anything of it counts."""

from __future__ import annotations

import shutil

from paicli.i18n import t
from paicli.policy.trust import Trust, TrustState
from paicli.text import one_line, wrapped

_SHOWN = 12


def ask_trust(trust: Trust) -> bool:
    """Return whether the folder is trusted, asking the person when that is open. No is the default."""
    state = trust.state()
    if not state.needs_answer:
        return state.trusted
    print(t("approval.trust_changed" if state.before else "approval.trust_new"))
    for line in _brought(state)[:_SHOWN]:
        print(f"  {one_line(line)}")
    from paicli.ui.asking import Asking

    for line in wrapped(t("approval.trust_means"), shutil.get_terminal_size().columns):
        print(line)
    try:
        with Asking() as asking:
            answer = asking.line(t("approval.trust_question")).strip().lower()
    except EOFError:
        answer = ""
    return answer in ("y", "yes", "是") and trust.grant()


def _brought(state: TrustState) -> list[str]:
    if state.before:
        return [t(f"approval.brought_{change.kind}", name=change.name) for change in state.changes]
    return list(state.covered)

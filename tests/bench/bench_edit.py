"""How long apply_edit takes on 5 MB, as a ratio to the plain str.replace of the same run.

`python -m tests.bench.bench_edit`. Every case is one that a careless implementation makes quadratic.
"""

import time
from collections.abc import Callable

from paicli.errors import EditError
from paicli.tools.changes import diff
from paicli.tools.text_match import apply_edit

SIZE = 5_000_000
NEAR = "value = compute(some, thing, else)  # note and more\n"


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """Return the best of some runs."""
    best = float("inf")
    for _ in range(times):
        started = time.perf_counter()
        try:
            work()
        except EditError:
            pass
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    """Print one line per case: milliseconds, and how many floors that is."""
    near = NEAR * (SIZE // len(NEAR))
    folded = near.replace("thing", "“thing” —")
    crlf = near.replace("\n", "\r\n")
    miss = NEAR.replace("more", "less") + NEAR
    cases: dict[str, tuple[str, str, bool]] = {
        "exact, the last line": (near + "the end\n", "the end", False),
        "not found, 100,000 near misses": (near, miss, False),
        "found 100,000 times": (near, NEAR, False),
        "replace_all, 100,000 places": (near, "compute", True),
        "CRLF file, LF snippet": (crlf + "the\r\nend\r\n", "the\nend", False),
        "CRLF file, replace_all over lines": (crlf, "more\nvalue", True),
        "folded, quotes and dashes all over": (folded + "the “end”\n", 'the "end"', False),
        "folded, not found": (folded, miss, False),
        "one letter, overlapping": ("a" * SIZE, "a" * (SIZE // 2), False),
        "one line, folded": ("x“y” " * (SIZE // 6) + "end — ", "end -", False),
        "blanks only": (" " * SIZE + "x", "y z", False),
    }
    floor = seconds(lambda: (near + "the end\n").replace("the end", "new"))
    print(f"{'floor: str.replace on 5 MB':40} {floor * 1000:8.1f} ms")
    for name, (content, old, everywhere) in cases.items():
        took = seconds(lambda c=content, o=old, e=everywhere: apply_edit(c, o, "new", e))
        print(f"{name:40} {took * 1000:8.1f} ms  {took / floor:8.1f} x")
    changed = near.replace("more", "less", 50)
    took = seconds(lambda: diff("f", near, changed))
    print(f"{'the diff of 50 changed lines':40} {took * 1000:8.1f} ms  {took / floor:8.1f} x")
    took = seconds(lambda: diff("f", near, near.replace("more", "less")))
    print(f"{'the diff of 100,000 changed lines':40} {took * 1000:8.1f} ms  {took / floor:8.1f} x")


if __name__ == "__main__":
    main()

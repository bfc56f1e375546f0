"""Stands before click, which the developers' tools bring along and a plain installation has not.

With it, httpx loads its own command line and rich: some 60 ms in the program and in the floor.
"""

raise ModuleNotFoundError("click is not a part of a plain installation", name="click")

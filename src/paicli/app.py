"""The composition root: knows everybody, does nothing itself."""

"""Snapshots of the project's files, so that nothing the agent did to them is final."""

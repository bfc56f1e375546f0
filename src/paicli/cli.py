"""The command line: flags to one call."""

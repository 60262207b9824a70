"""The command line: one file per verb, each with a click command named `command`; main.py finds them."""

from noetl.cli.main import main

__all__ = ["main"]

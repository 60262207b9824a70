"""Saying things: a line on standard output or standard error, its colours only where a terminal shows them.

For what is said while a playbook runs. It does what click.echo does, without the import of click, which is a tenth of
the time of a short run.
"""

from __future__ import annotations

import re
import sys

ESCAPE = "\033["


def say(text: str, *, err: bool = False) -> None:
    """Print a line at once."""
    stream = sys.stderr if err else sys.stdout
    if ESCAPE in text and not stream.isatty():
        text = re.sub(r"\033\[[0-9;]*m", "", text)
    stream.write(f"{text}\n")
    stream.flush()

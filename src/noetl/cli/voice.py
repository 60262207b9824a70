"""Saying things: a line on standard output or standard error, its colours only where a terminal shows them.

For what is said while a playbook runs. It does what click.echo does, without the import of click, which is a tenth of
the time of a short run.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import TextIO

ESCAPE = "\033["
heard: Sequence[str] = ()  # the words of this command line, for those who speak to repeat what was asked
unfinished = 0  # the execution under way here, for whoever has to say how to go on with it


def wants_colour() -> bool | None:
    """Whether colours are wanted, whatever the stream: NO_COLOR, then FORCE_COLOR, then TERM; None: on a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


def shows_colour(stream: TextIO) -> bool:
    wanted = wants_colour()
    return stream.isatty() if wanted is None else wanted


def say(text: str, *, err: bool = False) -> None:
    """Print a line at once."""
    stream = sys.stderr if err else sys.stdout
    if ESCAPE in text and not shows_colour(stream):
        text = re.sub(r"\033\[[0-9;]*m", "", text)
    stream.write(f"{text}\n")
    stream.flush()

"""The plain run: `noetl run FILE`, perhaps with --quiet or --format, understood without click.

Words come in; what they ask for goes out, or None, and then click is to understand them. That is so for whatever is not
exactly this, above all for what is wrong: click's own words for it are the ones that people get. Nothing is run here.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

VERBS = frozenset(("run", "exec"))
QUIET = frozenset(("--quiet", "-q"))
FORMATS = frozenset(("text", "json"))
COMPLETE_VARIABLE = "_NOETL_COMPLETE"  # set: a shell asks how the line could go on


class PlainRun(NamedTuple):
    """A run with nothing to say about it but the file."""

    file: str
    form: str = "text"
    is_quiet: bool = False


def plain_run(words: Sequence[str]) -> PlainRun | None:
    """The plain run that the words ask for, if they do."""
    if not words or words[0] not in VERBS or COMPLETE_VARIABLE in os.environ:
        return None
    found, rest = PlainRun(""), iter(words[1:])
    for word in rest:
        if word in QUIET:
            found = found._replace(is_quiet=True)
        elif word == "--format":
            found = found._replace(form=next(rest, ""))
        elif word.startswith("-") or found.file:
            return None
        else:
            found = found._replace(file=word)
    is_file = os.path.isfile(found.file)  # noqa: PTH113 - every verb comes by here, and pathlib costs 4 ms to import
    return found if is_file and found.form in FORMATS else None

"""Near misses of files: what somebody may have meant by a name that is not there."""

from __future__ import annotations

import os

NAMES_MAX = 10_000  # of a folder, that are looked at


def near_file(name: str) -> str | None:
    """A file beside it that is called nearly so; None: there is none, or nobody may look."""
    from difflib import get_close_matches
    from itertools import islice

    folder, base = os.path.split(name)
    try:
        with os.scandir(folder or ".") as found:
            names = [one.name for one in islice(found, NAMES_MAX) if not one.name.startswith(".")]
    except (OSError, ValueError):
        return None
    near = get_close_matches(base, names, n=1, cutoff=0.75)
    return name.removesuffix(base) + near[0] if near and near[0] != base else None

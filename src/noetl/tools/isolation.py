"""What keeps a program that a task starts apart from the worker that starts it.

Level `process`, the default: a process group of its own, limits, and an environment without the worker's secrets. That
stops accidents, not an attacker: the program runs as the worker's user. `sandbox` would be a boundary; a worker that
cannot give it refuses the task rather than run it in the open. `inline` would be none at all and is refused as well.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from noetl.tools.refused import Refused

PASSED_ON = frozenset(("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR"))
PASSED_ON_PREFIX = "LC_"


def scrubbed_environment(*also: str) -> dict[str, str]:
    """The worker's environment as a task's program may see it: places and language, no settings and no tokens."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in PASSED_ON or name.startswith(PASSED_ON_PREFIX) or name in also
    }


def require_process_level(spec: Mapping[str, Any]) -> None:
    """Raise Refused for a task that asks for an isolation which is not to be had."""
    wanted = spec.get("isolation", "process")
    if wanted == "process":
        return
    why = {
        "sandbox": "this worker has no sandbox, and a task that asks for one is never run without",
        "inline": "this worker runs no task's code inside its own process",
    }.get(str(wanted), "there is no such level")
    raise Refused("exception", f'spec.isolation is "{wanted}", but {why}. Use "process"')

"""What somebody did that others may have to account for: tokens made and revoked, credentials written and handed out.

One line in the program's log for each, with `action` audit: the deed, who did it, to what. Never a value, a token or a
payload: whoever calls this hands over names.
"""

from __future__ import annotations

import logging

ACTION = "audit"
log = logging.getLogger("noetl.audit")
log.setLevel(logging.INFO)  # these lines are kept whatever else is thought worth logging


def audit(deed: str, who: str, **what: str) -> None:
    """Write one line: the deed (`token_revoked`), who did it, and the names of what it was done to."""
    log.info("%s", deed.replace("_", " "), extra={"action": ACTION, "deed": deed, "who": who, **what})

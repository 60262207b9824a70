"""Why a request over a link got no answer. Each is an Unreachable: asking again may help, and nothing is known of what
the other side did meanwhile. They stand apart from the link, so that knowing them needs no NATS library.
"""

from __future__ import annotations

from noetl.errors import Unreachable


class NotConnected(Unreachable):
    """There is no connection now, or it ended while the request was under way."""


class NobodyThere(Unreachable):
    """The message server says that nobody listens to that subject."""


class Silent(Unreachable):
    """Somebody may have it, and did not answer in time."""

"""Which names in a Host header are this server's (security 18).

A web page may resolve a name of its own to 127.0.0.1 and talk to whatever listens there; its requests carry that name.
Only loopback names, the address that a connection came in on, the host that the server was told to listen on and the
names of `server.names` are answered.
"""

from __future__ import annotations

from ipaddress import ip_address

from noetl.api.problems import Refusal
from noetl.config import LOCAL_HOSTS, Settings

WILDCARDS = ("0.0.0.0", "::")  # noqa: S104  # one listens there; nobody is called so
NOT_OURS = "the Host header names another server; if it is a name of this one, add it to server.names"


class Hosts:
    """The names of one server."""

    def __init__(self, settings: Settings) -> None:
        names = (*LOCAL_HOSTS, settings.server_host, *settings.server_names)
        self._names = {name.lower().rstrip(".") for name in names if name not in WILDCARDS}

    def check(self, header: str, own_address: str) -> None:
        """Raises Refusal unless the header names this server, reached at that address."""
        name = name_in(header)
        if name not in self._names and not is_same_address(name, own_address):
            raise Refusal(421, "wrong-host", NOT_OURS)


def name_in(header: str) -> str:
    """The name or address, without the port; "": there is none."""
    host = header.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0].rstrip(".") if ":" in host else host.rstrip(".")


def is_same_address(name: str, own_address: str) -> bool:
    """A name that is an address is not a name that somebody can make resolve to us."""
    try:
        return ip_address(name) == ip_address(own_address)
    except ValueError:
        return False

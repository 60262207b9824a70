"""Where kind http may connect to: an author's URL in, a checked target out, or `Refused`.

A worker stands inside a network that its authors do not, so a URL is a way in (SSRF). Two parsers that read one URL
differently are the usual hole; therefore the URL is taken apart once, here, its host is brought to one spelling (ASCII
name, or the address that 0x7f.1, 2130706433 and １２７.0.0.1 really are), and put together again before anything else
sees it. Names are looked up once per connection, every address they have is judged, and only those are connected to;
redirects come through here again. This file opens no connection.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

SETTING = "NOETL_HTTP_ALLOW"
PORTS = {"http": 80, "https": 443}
URL_CHARACTERS_MAX = 64 * 1024
LOOKUP_SECONDS_MAX = 10.0
TARGETS_KEPT_MAX = 256
TARGET_KEPT_CHARACTERS_MAX = 2_048
HOSTS_KEPT_MAX = 1_024

Address = IPv4Address | IPv6Address
Lookup = Callable[[str, int], Awaitable[list[str]]]

_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,252}[a-z0-9_])?")
_NUMERIC = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}")
_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_METADATA = frozenset(
    map(ip_address, ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"))
)


class Refused(Exception):
    """A request that is not sent; the message says why, and holds no secret."""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that both this file and the HTTP library read the same way."""

    scheme: str
    host: str
    port: int
    resource: str  # path and query
    user: str | None = None
    password: str | None = None

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def url(self) -> str:
        """Without user and password: those travel as a header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.resource}"


def target_of(url: object) -> Target:
    """Take a URL apart; Refused if it is none of ours."""
    if not isinstance(url, str) or not url.strip():
        raise Refused('"url" must be a text such as https://api.example.com/orders, but is empty or no text')
    if len(url) > URL_CHARACTERS_MAX:
        raise Refused(f'"url" may have {URL_CHARACTERS_MAX} characters, but has {len(url)}')
    if len(url) > TARGET_KEPT_CHARACTERS_MAX or "@" in url:  # a password in the user part is not kept
        return _target_of(url)
    return _kept_target_of(url)


def _target_of(url: str) -> Target:
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise Refused('"url" is not a URL: its host or port cannot be read') from None
    if parts.scheme not in PORTS:
        raise Refused(f'"url" must begin with http:// or https://, but its scheme is "{parts.scheme[:20]}"')
    return Target(
        scheme=parts.scheme,
        host=_canonical_host(parts.hostname or ""),
        port=PORTS[parts.scheme] if port is None else port,
        resource=_resource(parts),
        user=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
    )


_kept_target_of = lru_cache(TARGETS_KEPT_MAX)(_target_of)  # a loop asks one place again and again


def _resource(parts: SplitResult) -> str:
    path = parts.path or "/"
    return f"{path}?{parts.query}" if parts.query else path


@lru_cache(HOSTS_KEPT_MAX)
def _canonical_host(written: str) -> str:
    try:
        host = written if ":" in written else written.encode("idna").decode("ascii").lower().rstrip(".")
    except UnicodeError:
        host = ""
    address = _literal(host)
    if address is not None:
        return str(address)
    if not _NAME.fullmatch(host):
        raise Refused('"url" has no host that can be looked up; wanted is one such as api.example.com')
    return host


def _literal(host: str) -> Address | None:
    """The address that a host spells out, in any of the ways a resolver would accept; None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        pass
    if not _NUMERIC.fullmatch(host):
        return None
    try:
        return IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


class Guard:
    """Which addresses may be connected to."""

    def __init__(self, allow: Sequence[str], *, is_loopback_allowed: bool) -> None:
        self._is_loopback_allowed = is_loopback_allowed
        self._names: set[str] = set()
        self._networks = []
        self._cleared: set[str] = set()  # hosts that were let pass before; what is allowed never changes
        for entry in allow:
            word = entry.strip().strip("[]").lower().rstrip(".")
            try:
                self._networks.append(ip_network(word, strict=False))
            except ValueError:
                self._names.add(word)

    def check_literal(self, host: str) -> None:
        """Refuse a host that is a forbidden address; a name is judged when it is looked up."""
        if host in self._cleared:
            return
        if _literal(host) is not None:
            self.check(host, host)
        if len(self._cleared) >= HOSTS_KEPT_MAX:
            self._cleared.clear()
        self._cleared.add(host)

    def check(self, host: str, found: str) -> None:
        """Refuse an address that this host has."""
        address = _embedded(ip_address(found))
        why = self._fault(host, address)
        if why:
            raise Refused(f"{host} is not asked: {why}")

    def _fault(self, host: str, address: Address) -> str | None:
        if _is_never_allowed(address):
            return "its address is link-local, a metadata service, multicast, unspecified or reserved, never allowed"
        if address.is_global or (address.is_loopback and self._is_loopback_allowed):
            return None
        if host in self._names or any(address in network for network in self._networks):
            return None
        where = "this machine" if address.is_loopback else "a private network"
        return f"its address is in {where}; an operator can allow the host, or a CIDR, with {SETTING}"


def _embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address carries, for that is where it leads; else the address."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else address)


def _is_never_allowed(address: Address) -> bool:
    if address.is_loopback:  # IPv6 counts its own among the reserved
        return False
    return (
        address.is_unspecified
        or address.is_multicast
        or address.is_link_local
        or address.is_reserved
        or address in _METADATA
    )


async def look_up(host: str, port: int) -> list[str]:
    """Every address of a name, asked of the system."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(LOOKUP_SECONDS_MAX):
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))

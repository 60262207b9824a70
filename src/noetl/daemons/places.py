"""A URL as it may be shown: what stands before the @ and in the query may be a password."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

SQLITE = "sqlite"


def shown_url(url: str) -> str:
    """scheme://host:port/path; of a PostgreSQL on a socket the folder that holds it. "" stays ""."""
    parts = urlsplit(url)
    if not parts.scheme or parts.scheme == SQLITE:
        return url
    host = parts.netloc.rpartition("@")[2]
    if not host and (folder := parse_qs(parts.query).get("host")):
        host = folder[0]
    return f"{parts.scheme}://{host}{parts.path}"

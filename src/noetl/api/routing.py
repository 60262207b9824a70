"""Which operation a request is for, by the words of its raw path. Nothing is guessed, completed or tidied up.

A path is cut at its slashes before anything is decoded, and each word is decoded once: %2F is a slash inside a word,
%252F stays what it is. Case, double slashes, dots and `;x` make another path, which does not exist (404). What a
request may do follows from the operation that is found here and never from the text of its path (security 17).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from noetl.api.operations import Operation
from noetl.api.problems import Refusal

PATH_BYTES_MAX = 4096
WORD_CHARACTERS_MAX = 255  # of a playbook's path, the longest that is one
ANY = "{}"  # in a route: any word but an empty one


class Route(NamedTuple):
    """A path with all its methods."""

    words: tuple[str, ...]  # ANY among them
    operations: dict[str, Operation]  # by method


class Found(NamedTuple):
    operation: Operation
    path: Mapping[str, str]


class Router:
    """The routes of a table of operations."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        routes: dict[tuple[str, ...], Route] = {}
        for one in operations:
            words = tuple(ANY if word.startswith("{") else word for word in one.path.split("/")[1:])
            route = routes.setdefault(words, Route(words, {}))
            route.operations[one.method] = one
        self._exact = {words: route for words, route in routes.items() if ANY not in words}
        self._open: dict[int, list[Route]] = {}
        for route in routes.values():
            if ANY in route.words:
                self._open.setdefault(len(route.words), []).append(route)

    def find(self, method: str, raw_path: bytes) -> Found:
        """The operation, and the words that its path holds; raises Refusal 404, 405."""
        words = words_of(raw_path)
        route = self._exact.get(words) or next(
            (one for one in self._open.get(len(words), ()) if all(map(fits, one.words, words))), None
        )
        if route is None:
            raise Refusal(404, "unknown-path", "there is nothing at this path; GET /api/v1/openapi.json lists what is")
        operation = route.operations.get(method)
        if operation is None:
            allowed = ", ".join(sorted(route.operations))
            raise Refusal(405, "unknown-method", f"this path answers to {allowed} only", {"Allow": allowed})
        held = [word for wanted, word in zip(route.words, words, strict=True) if wanted == ANY]
        return Found(operation, dict(zip(operation.parameters, held, strict=True)))


def fits(wanted: str, word: str) -> bool:
    return bool(word) if wanted == ANY else wanted == word


def words_of(raw_path: bytes) -> tuple[str, ...]:
    if len(raw_path) > PATH_BYTES_MAX or not raw_path.startswith(b"/"):
        raise Refusal(404, "unknown-path", "there is nothing at this path")
    try:
        return tuple(map(decoded, raw_path.split(b"/")[1:]))
    except UnicodeDecodeError:
        raise Refusal(404, "unknown-path", "a path must be UTF-8, percent-encoded") from None


def decoded(word: bytes) -> str:
    found = unquote_to_bytes(word).decode("utf-8")
    if len(found) > WORD_CHARACTERS_MAX or "\0" in found:
        raise Refusal(404, "unknown-path", "a part of this path can be no name")
    return found

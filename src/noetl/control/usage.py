"""Which playbooks use which credential: what the newest version of each path declares in its keychain.

A text is read once, and what it declares is kept by its sha: versions never change. Names and kinds only;
no value is anywhere near.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from noetl.control.catalog import Text, text_of
from noetl.dsl.check import drafts_of
from noetl.dsl.kinds import Kinds
from noetl.stores.contract import Store, Title

TITLES_PER_READ = 500
KEPT_MAX = 20_000
PATHS_MAX = 10_000  # playbooks that are looked at
MARK = b"keychain"  # a text without it declares none


class Declaration(msgspec.Struct, frozen=True):
    name: str
    kind: str
    provider: str  # "": none is named


Read = Callable[[Text, Kinds], tuple[Declaration, ...]]
ReadAside = Callable[[Read, Text, Kinds], Awaitable[tuple[Declaration, ...]]]


class Use(msgspec.Struct):
    """A credential, and the paths of the playbooks that declare it."""

    declaration: Declaration
    paths: list[str]


class Usage:
    """See above."""

    def __init__(self, store: Store, kinds: Kinds, read_aside: ReadAside) -> None:
        """`read_aside` calls `declared_in` where it keeps nobody waiting: reading a text takes milliseconds."""
        self._store = store
        self._read_aside = read_aside
        self._kinds = kinds
        self._kept: dict[str, tuple[Declaration, ...]] = {}  # by sha

    async def uses(self, sees: Callable[[str], bool]) -> dict[str, Use]:
        """By the name of the credential, of the playbooks that may be seen; the first to declare it says its kind."""
        found: dict[str, Use] = {}
        after, left = "", PATHS_MAX
        while left > 0 and (titles := await self._store.titles(TITLES_PER_READ, after)):
            after, left = titles[-1].path, left - len(titles)
            for title in titles:
                for one in await self._declared(title) if sees(title.path) else ():
                    found.setdefault(one.name, Use(one, [])).paths.append(title.path)
        return found

    async def _declared(self, title: Title) -> tuple[Declaration, ...]:
        if title.sha not in self._kept:
            entry = await self._store.entry(title.path, title.version)
            declared: tuple[Declaration, ...] = ()
            if entry is not None and MARK in entry.text:
                declared = await self._read_aside(declared_in, text_of(entry), self._kinds)
            while len(self._kept) >= KEPT_MAX:
                del self._kept[next(iter(self._kept))]
            self._kept[title.sha] = declared
        return self._kept[title.sha]


def declared_in(text: Text, kinds: Kinds) -> tuple[Declaration, ...]:
    drafts = drafts_of(text.data, text.name, kinds, is_legacy=text.is_legacy, is_upstream=text.is_upstream)
    return tuple(
        Declaration(name, node.text("kind") or "", node.text("provider") or "")
        for draft in drafts
        for name, node in draft.credentials.items()
    )

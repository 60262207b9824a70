"""Playbooks by path and version: registered by content, never changed, parsed once (PB-07, PB-08).

A text comes in as bytes with the flags it is read with. What does not check is refused, with its findings, before
anything is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from noetl.clock import Clock
from noetl.control.attached import attached_entry, check_files, keep_list
from noetl.control.together import Together
from noetl.dsl.check import Checked, check, drafts_of
from noetl.dsl.findings import ERROR, Finding, as_text
from noetl.dsl.kinds import Kinds
from noetl.dsl.model import Playbook
from noetl.dsl.normalize import normalize
from noetl.dsl.source import Source
from noetl.engine.net import Net
from noetl.errors import InvalidPlaybook, MissingLibrary, RequestError, UnknownPlaybook
from noetl.stores.contract import Entry, Store

PLAYBOOKS_MAX = 256  # kept parsed at once
FILE_ENDINGS = ("", ".yaml", ".yml")
FILE_BYTES_MAX = 1024 * 1024
VERSION_MAX = 2**63 - 1  # what a store can count to


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A playbook as it was handed in."""

    data: bytes
    name: str  # of its file, for messages
    is_legacy: bool = False
    is_upstream: bool = False

    @property
    def sha(self) -> str:
        flags = f"{int(self.is_legacy)}{int(self.is_upstream)}\n".encode()
        return hashlib.sha256(flags + self.data).hexdigest()


class Loaded(msgspec.Struct, frozen=True):
    """A playbook that is ready to run."""

    playbook: Playbook
    net: Net
    text: Text


class Catalog:
    """The playbooks of a store."""

    def __init__(self, store: Store, kinds: Kinds, clock: Clock, *, is_ours_alone: bool = False) -> None:
        """`is_ours_alone`: no other process writes to the store, so what it has taken in stays there."""
        self.store = store
        self._is_ours_alone = is_ours_alone
        self._entries: dict[tuple[str, str], Entry] = {}  # by sha and name, if nobody else can take them away
        self.kinds = kinds
        self.clock = clock
        self._newest = Together(store.entry)
        self._loaded: dict[str, Loaded] = {}
        self._runnable: set[str] = set()  # of those, the ones whose kinds can all run here

    async def register(self, text: Text) -> Entry:
        """Keep a playbook that checks; the same content again is the same version."""
        found = self._entries.get((text.sha, text.name))
        return found if found is not None else await self._registered(text)

    async def _registered(self, text: Text) -> Entry:
        known = await self.store.entry_by_sha(text.sha)
        loaded = self._load(text, is_checked=known is not None)
        entry = Entry(
            path=loaded.playbook.path,
            version=0,
            sha=text.sha,
            text=text.data,
            name=text.name,
            label=loaded.playbook.version,
            is_legacy=text.is_legacy,
            is_upstream=text.is_upstream,
            created_at=self.clock.now(),
        )
        kept = await self.store.register(entry)
        if self._is_ours_alone:
            if len(self._entries) >= PLAYBOOKS_MAX:
                self._entries.clear()
            self._entries[text.sha, text.name] = kept
        return kept

    async def find(self, path: str, version: int | None) -> Entry:
        """A registered playbook; raises UnknownPlaybook."""
        if version is None:
            entry = await self._newest.look(path)
        else:
            entry = await self.store.entry(path, version) if abs(version) <= VERSION_MAX else None
        if entry is None:
            newest = await self.store.entry(path) if version is not None else None
            known = f" (it has versions 1 to {newest.version})" if newest else ""
            raise UnknownPlaybook(path, version, known)
        return entry

    async def attach(self, files: Mapping[str, str]) -> str:
        """Keep what came along with a playbook; gives what stands for its folder (`control.attached`)."""
        check_files(files)
        shas = {name: (await self.register(Text(data=text.encode(), name=name))).sha for name, text in files.items()}
        return await keep_list(self.store, shas)

    async def find_beside(self, path: str, version: int | None, folder: str) -> Entry:
        """A playbook that another one calls: a file beside the caller, else a path of the catalog."""
        if version is None and (attached := await attached_entry(self.store, path, folder, FILE_ENDINGS)):
            return attached
        try:
            text = beside(path, folder) if version is None else None
        except (OSError, ValueError) as error:  # a name that no file can have, or one that may not be read
            why = getattr(error, "strerror", None) or "no file can be called so"
            raise RequestError(f'the playbook "{path}" cannot be read: {why}') from error
        return await self.register(text) if text else await self.find(path, version)

    async def loaded(self, sha: str, planned: list[list[Any]]) -> Loaded:
        """The playbook that an execution runs, with the steps planned for it."""
        if sha not in self._runnable:
            refuse_missing((await self.known(sha, [])).playbook, self.kinds)
            self._runnable.add(sha)
        return await self.known(sha, planned)

    async def known(self, sha: str, planned: list[list[Any]]) -> Loaded:
        """The same, to look at: whether its kinds can run here does not matter."""
        if sha not in self._loaded:
            entry = await self.store.entry_by_sha(sha)
            if entry is None:
                raise UnknownPlaybook(sha)
            self._load(text_of(entry), is_checked=True)
        return self.extended(sha, self._loaded[sha], planned) if planned else self._loaded[sha]

    def extended(self, sha: str, loaded: Loaded, planned: list[list[Any]]) -> Loaded:
        """Every job of the execution asks for the same plan: it is made once."""
        from noetl.control.planning import extended

        key = hashlib.sha256(sha.encode() + msgspec.json.encode(planned)).hexdigest()
        found = self._loaded.get(key)
        return found or self._keep(key, extended(loaded, planned, self.kinds))

    def _load(self, text: Text, *, is_checked: bool) -> Loaded:
        """`is_checked`: it is in the catalog, so it was found valid when it came in."""
        found = self._loaded.get(text.sha)
        if found is None:
            playbook = known_playbook(text, self.kinds) if is_checked else playbook_of(text, self.kinds)
            found = self._keep(text.sha, Loaded(playbook, Net(playbook), text))
        return found

    def _keep(self, key: str, loaded: Loaded) -> Loaded:
        self._loaded[key] = loaded
        while len(self._loaded) > PLAYBOOKS_MAX:
            oldest = next(iter(self._loaded))
            del self._loaded[oldest]
            self._runnable.discard(oldest)
        return loaded


def text_of(entry: Entry) -> Text:
    return Text(data=entry.text, name=entry.name, is_legacy=entry.is_legacy, is_upstream=entry.is_upstream)


def playbook_of(text: Text, kinds: Kinds) -> Playbook:
    """The one playbook of a text, or InvalidPlaybook with all its findings."""
    checked = check(text.data, text.name, kinds, is_legacy=text.is_legacy, is_upstream=text.is_upstream)
    if not checked.is_valid:
        raise invalid(text.name, checked)
    if len(checked.drafts) != 1:
        from noetl.dsl.rules.nl109_not_a_playbook import not_one  # a run of what was checked before needs no rules

        finding = not_one(checked.source, [draft.root for draft in checked.drafts])
        raise InvalidPlaybook(text.name, report([finding], checked.source), [finding], checked.source)
    return normalize(checked.drafts[0])


def known_playbook(text: Text, kinds: Kinds) -> Playbook:
    """The playbook of a text that was checked when it was registered."""
    drafts = drafts_of(text.data, text.name, kinds, is_legacy=text.is_legacy, is_upstream=text.is_upstream)
    return normalize(drafts[0])


def invalid(name: str, checked: Checked) -> InvalidPlaybook:
    errors = [finding for finding in checked.findings if finding.severity == ERROR]
    return InvalidPlaybook(name, report(errors, checked.source), list(checked.findings), checked.source)


def report(findings: list[Finding], source: Source) -> str:
    return "\n\n".join(as_text(finding, source) for finding in findings)


def refuse_missing(playbook: Playbook, kinds: Kinds) -> None:
    """A kind that cannot run here, or whose library is not installed, fails at the start, not in the middle."""
    tasks = [task for step in playbook.steps.values() for task in (*step.tasks, *step.compensation)]
    for name in sorted({task.kind for task in (*tasks, *playbook.workbook.values())}):
        kind = kinds.get(name)
        if kind is not None and kind.is_missing:
            raise MissingLibrary(f'kind: {name} needs: pip install "noetl[{kind.extra}]"')
        if kind is not None and not kind.is_runnable:
            raise RequestError(f"this version of NoETL can check kind: {name}, but not run it; nothing was started")


def beside(path: str, folder: str) -> Text | None:
    """A playbook file beside the caller's; None: there is none. Never one outside its folder."""
    if not Path(folder).is_absolute() or path.startswith("/") or ".." in path.split("/") or "\0" in path:
        return None
    root = Path(folder).resolve()
    for ending in FILE_ENDINGS:
        file = (root / f"{path}{ending}").resolve()
        if file.is_relative_to(root) and file.is_file() and file.stat().st_size <= FILE_BYTES_MAX:
            return Text(data=file.read_bytes(), name=str(file.relative_to(root)))
    return None

"""Playbooks that came along with one: files that stand beside it on the machine of whoever started it.

A caller elsewhere sends the files that a playbook calls by name. They are registered like any other, and a list of
them, name to text, is kept under its own hash. That hash stands where the folder of a local file would stand, so that
an execution and all its children find them for as long as they run; no folder of the server's machine is looked at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

from noetl.errors import PayloadTooLarge, RequestError
from noetl.stores.contract import Entry, Record, Store

ROOM = "attached"
PREFIX = "attached:"
FILES_MAX = 100
FILES_BYTES_MAX = 1024 * 1024
NAME_CHARS_MAX = 255


def check_files(files: Mapping[str, str]) -> None:
    """Refuse what is too much. Raises RequestError."""
    if len(files) > FILES_MAX:
        raise RequestError(f"{FILES_MAX} playbooks may come along with one, but there are {len(files)}; register them")
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in files.values())
    if size > FILES_BYTES_MAX:
        raise PayloadTooLarge("what comes along with a playbook", size, FILES_BYTES_MAX)
    for name in files:
        if not 0 < len(name) <= NAME_CHARS_MAX or name.startswith("/") or ".." in name.split("/"):
            raise RequestError("a playbook that comes along is named as its file is, below the folder of its caller")


async def keep_list(store: Store, shas: Mapping[str, str]) -> str:
    """Keep which name stands for which registered text; gives what stands for the folder."""
    body = msgspec.json.encode(dict(sorted(shas.items())))
    name = hashlib.sha256(body).hexdigest()
    await store.put_record(Record(room=ROOM, name=name, body=body))  # False: it is there, and the same
    return f"{PREFIX}{name}"


async def attached_entry(store: Store, path: str, folder: str, endings: Sequence[str]) -> Entry | None:
    """The playbook that came along under this name; None: none did, or the folder is one of a local file."""
    if not folder.startswith(PREFIX):
        return None
    record = await store.record(ROOM, folder.removeprefix(PREFIX))
    shas = msgspec.json.decode(record.body, type=dict[str, str]) if record else {}
    name = str(PurePosixPath(path))
    sha = next((shas[name + ending] for ending in endings if name + ending in shas), None)
    return await store.entry_by_sha(sha) if sha else None

"""Golden logs as files: what is kept of one, where, and how a state is compared with the one that was kept.

    v1/<name>.yaml    the playbook
    v1/<name>.jsonl   the log: each event's bytes, as stores keep them
    v1/<name>.json    what it adds up to: states at some events, the summary that people see, snapshots, stored payloads
    index.json        the sha256 of every file: none of them is ever edited

A kept state has every field of its time written out. What is compared is each of these fields; one that came later is
nobody's business, one that is missing or has another value is a fault. Data of the author (ctx, outputs) has no fields:
it must be the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from noetl.engine.events import Event, decode
from tests.golden.driving import Driven, Script

FOLDER = Path(__file__).parent
INDEX = FOLDER / "index.json"
SHAPES = ("v1",)  # one folder for each set of shapes that was released


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What a log adds up to."""

    engine: int  # ENGINE_VERSION of who made it: its snapshots are good for that one
    script: Script
    states: dict[int, dict[str, Any]]  # after so many events, every field written out
    summary: dict[str, Any]  # as `noetl show` and `noetl run` tell it
    snapshots: dict[int, msgspec.Raw]
    blobs: dict[str, str] = {}  # stored payloads, by sha256


class Golden(msgspec.Struct, frozen=True):
    """One golden log."""

    name: str  # v1/flow
    text: str
    lines: list[bytes]
    kept: Kept

    @property
    def log(self) -> list[Event]:
        return [decode(line) for line in self.lines]

    def driven(self) -> Driven:
        """An engine for its playbook, with the tools and the stored payloads it had."""
        made = Driven(self.text, self.kept.script)
        made.blobs = {sha256: body.encode() for sha256, body in self.kept.blobs.items()}
        return made


def goldens() -> list[Golden]:
    """All of them."""
    return [read(path) for shape in SHAPES for path in sorted((FOLDER / shape).glob("*.jsonl"))]


def read(path: Path) -> Golden:
    kept = msgspec.json.decode(path.with_suffix(".json").read_bytes(), type=Kept)
    text = path.with_suffix(".yaml").read_text("utf-8")
    return Golden(f"{path.parent.name}/{path.stem}", text, path.read_bytes().splitlines(), kept)


def fingerprints() -> dict[str, str]:
    """Every file of every shape, and its sha256."""
    paths = [path for shape in SHAPES for path in sorted((FOLDER / shape).iterdir())]
    return {path.relative_to(FOLDER).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def written_out(value: Any) -> Any:
    """A state as data with every field, those at their default included."""
    if isinstance(value, msgspec.Struct):
        return {name: written_out(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {str(key): written_out(one) for key, one in value.items()}
    return [written_out(one) for one in value] if isinstance(value, list | tuple) else value


def differences(kept: Any, found: Any, path: str = "state") -> Iterator[str]:
    """Where a state is not the one that was kept."""
    if isinstance(found, msgspec.Struct) and isinstance(kept, dict):
        for name, value in kept.items():
            if name in found.__struct_fields__:
                yield from differences(value, getattr(found, name), f"{path}.{name}")
            else:
                yield f"{path}.{name} is gone; it was {value!r}"
    elif isinstance(found, dict) and isinstance(kept, dict):
        by_text = {str(key): value for key, value in found.items()}
        for key in sorted(kept.keys() | by_text.keys()):
            if key in kept and key in by_text:
                yield from differences(kept[key], by_text[key], f"{path}[{key!r}]")
            else:
                yield f"{path}[{key!r}] is {'gone' if key in kept else 'new'}"
    elif isinstance(found, list | tuple) and isinstance(kept, list) and len(found) == len(kept):
        for place, (one, other) in enumerate(zip(kept, found, strict=True)):
            yield from differences(one, other, f"{path}[{place}]")
    elif type(kept) is not type(found) or kept != found:
        yield f"{path} is {found!r}, but was {kept!r}"

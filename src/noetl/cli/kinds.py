"""The tool kinds, and which of them lack their library on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from noetl.dsl.kinds import Kind
from noetl.tools.registry import declarations, is_installed


class AvailableKinds(Mapping[str, Kind]):
    """All declared kinds; `missing` tells of those asked for whose library is not installed."""

    def __init__(self) -> None:
        self.missing: set[str] = set()

    def __getitem__(self, name: str) -> Kind:
        kind = declarations[name]
        if not is_installed(kind):
            self.missing.add(name)
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(declarations)

    def __len__(self) -> int:
        return len(declarations)

    def __contains__(self, name: object) -> bool:
        return name in declarations


def available_kinds() -> AvailableKinds:
    return AvailableKinds()

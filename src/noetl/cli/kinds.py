"""The tool kinds, each saying whether its library is missing on this machine."""

from __future__ import annotations

import msgspec

from noetl.dsl.kinds import Kind
from noetl.tools.registry import Declarations, is_installed


class AvailableKinds(Declarations):
    """All declared kinds."""

    def __getitem__(self, name: str) -> Kind:
        if name not in self.loaded:
            kind = super().__getitem__(name)
            self.loaded[name] = msgspec.structs.replace(kind, is_missing=not is_installed(kind))
        return self.loaded[name]


available_kinds = AvailableKinds()

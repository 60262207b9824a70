"""The tool kinds that hold where the user stands, each saying whether its library is missing on this machine."""

from __future__ import annotations

from collections.abc import Sequence

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


def enabled_plugins() -> Sequence[str]:
    from noetl.cli.options import settings_of  # read when a kind is not ours, or all are listed, and not before

    return settings_of(None, None).tools_plugins


available_kinds = AvailableKinds(enabled_plugins)

"""All dialects over one document, in their order, for reading. One that was not asked for is not imported."""

from __future__ import annotations

import msgspec

from noetl.dsl.dialects import sugar, v10
from noetl.dsl.dialects.nodetree import NodeTree
from noetl.dsl.dialects.tree import Mark
from noetl.dsl.kinds import Kinds
from noetl.dsl.nodes import Mapping


class Translated(msgspec.Struct):
    """What the dialects said of a document that they rewrote."""

    marks: list[Mark]
    is_upstream: bool
    debug_map: dict[str, dict[str, str]]


def translate(root: Mapping, kinds: Kinds, *, is_legacy: bool, is_upstream: bool) -> Translated:
    """Rewrite a document, in place, to the 2026 surface."""
    tree = NodeTree()
    is_upstream = is_upstream or asks_for_upstream(root)
    if is_legacy:
        from noetl.dsl.dialects import legacy

        legacy.translate(tree, root, kinds)
    if is_upstream:
        from noetl.dsl.dialects import upstream

        upstream.translate(tree, root, kinds)
    v10.translate(tree, root, kinds)
    debug_map = sugar.expand(tree, root)
    return Translated(tree.marks, is_upstream, debug_map)


def asks_for_upstream(root: Mapping) -> bool:
    """executor.spec.compat: upstream"""
    executor = root.mapping("executor")
    spec = executor.mapping("spec") if executor else None
    return bool(spec and spec.text("compat") == "upstream")

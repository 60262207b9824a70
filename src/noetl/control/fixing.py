"""A text with its mechanical faults repaired, as `noetl check --fix` repairs a file. Runs nothing, keeps nothing."""

from __future__ import annotations

from typing import Any

from noetl.control.catalog import Catalog, Text
from noetl.dsl.check import Checked, check
from noetl.dsl.fix import fix

MARK = "\ufeff"  # some editors put it before the first line


def repaired(catalog: Catalog, text: Text) -> dict[str, Any]:
    """The text as it is after the repairs, and how many there were. Blocks: call it off the event loop."""

    def checked(given: str) -> Checked:
        flags = {"is_legacy": text.is_legacy, "is_upstream": text.is_upstream}
        return check(given.encode(), text.name, catalog.kinds, is_strict=False, **flags)

    whole, count = fix(text.data.decode("utf-8", "replace").removeprefix(MARK), checked)
    return {"text": whole, "repaired": count}

"""Every event is on its page, with every field of its payload."""

from pathlib import Path

import pytest

from noetl.engine.events import EVENTS, NAMES
from noetl.projections.envelopes import OWN_FIELDS

PAGE = Path(__file__).parent.parent.parent / "docs" / "events.md"
ROWS = {row.split("`")[1]: row for row in PAGE.read_text("utf-8").splitlines() if row.startswith("| `")}


@pytest.mark.parametrize("kind", EVENTS, ids=NAMES.get)
def test_an_event_stands_on_the_page_with_its_fields(kind):
    row = ROWS.get(NAMES[kind], "")

    assert row, "no row"
    assert [field for field in OWN_FIELDS[kind] if f"`{field}`" not in row] == []

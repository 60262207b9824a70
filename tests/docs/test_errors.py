"""Every word that error.kind may be is on its page, and no other."""

import pytest

from noetl.engine.output import ERROR_KINDS
from tests.dsl.front import PLAYBOOKS

PAGE = PLAYBOOKS.parent.parent / "docs" / "errors.md"


@pytest.mark.spec("TK-19")
def test_the_page_has_a_row_for_each_kind_of_error():
    rows = [row.split("`")[1] for row in PAGE.read_text("utf-8").splitlines() if row.startswith("| `")]

    assert rows[0] == "error.kind"
    assert sorted(rows[1:]) == sorted(ERROR_KINDS)

"""A mapping of which some keys are SQL: those are rendered as SQL, the others as data (security 8)."""

import pytest

from noetl.dsl.model import Value
from noetl.dsl.source import Place
from noetl.engine.sql_values import shown_sql
from noetl.engine.values import rendered, rendered_field
from noetl.expressions import parse
from noetl.secret import Secret
from noetl.sql import Bound, Sql

PARTS = {"from": parse("SELECT {{ x }}"), "format": parse("{{ form }}"), "header": True}
SCOPE = {"x": "it's", "form": "csv", "keychain": {}}


def value(*reads: str) -> Value:
    return Value(
        place=Place("t.yaml", 7, 3, 7, 9), parts=PARTS, reads=frozenset(reads), sql_keys=frozenset(("from", "query"))
    )


@pytest.mark.spec("TL-03")
def test_only_the_keys_that_are_sql_keep_their_values_apart():
    found = rendered(value(), SCOPE)

    assert found == {"from": Sql(("SELECT ", Bound("it's"))), "format": "csv", "header": True}


@pytest.mark.spec("KC-05")
def test_values_made_from_a_credential_are_sealed_in_both():
    found = rendered_field(value("keychain"), SCOPE)

    assert found == {"from": Sql(("SELECT ", Bound(Secret("it's")))), "format": Secret("csv"), "header": True}


def test_what_is_recorded_shows_the_text_and_no_value():
    assert shown_sql(rendered(value(), SCOPE)) == {"from": "SELECT …", "format": "csv", "header": True}

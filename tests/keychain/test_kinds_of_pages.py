"""The form of the keychain's page asks for the fields that a kind has."""

import json
from pathlib import Path

from noetl.keychain.kinds import KINDS

PAGE = Path(__file__).parents[2] / "ui" / "src" / "pages" / "keychain" / "kinds.json"


def test_the_page_asks_for_the_fields_of_each_kind():
    ours = [
        {
            "kind": kind.name,
            "needs": [list(needed) for needed in kind.needs],
            "may_have": list(kind.may_have),
            "secret": list(kind.secret),
            "is_open": kind.is_open,
        }
        for kind in KINDS
    ]

    assert json.loads(PAGE.read_text(encoding="utf-8")) == ours

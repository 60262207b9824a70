"""What a tool may give as its data becomes JSON, and is refused only for what JSON does not have."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.tools.json_data import INTEGER_MAX, INTEGER_MIN, Unfit, as_json

BYTES_MAX = 1_000_000
DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(INTEGER_MIN, INTEGER_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


@given(DATA)
def test_data_of_json_is_never_refused(value):
    assert json.loads(as_json(value, BYTES_MAX)) == value


@pytest.mark.parametrize("value", [0.05123456789012345, 1e-300, 5e-324, 0.1 + 0.2, -0.012345678901234567, 1e22])
def test_a_number_with_many_digits_is_a_number(value):
    assert json.loads(as_json({"rate": value, "long": 2**63}, BYTES_MAX)) == {"rate": value, "long": 2**63}


@pytest.mark.parametrize("value", [math.nan, math.inf, 2**64, -(2**63) - 1, b"bytes", object(), "\ud800"])
def test_what_json_does_not_have_is_refused_with_its_place(value):
    with pytest.raises(Unfit, match=r"result\['rows'\]\[1\]"):
        as_json({"rows": [0.05123456789012345, value]}, BYTES_MAX)

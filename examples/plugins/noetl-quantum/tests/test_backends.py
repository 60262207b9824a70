"""Which backend runs a circuit: an order is obeyed or refused, a wish is followed as far as possible."""

import pytest

from noetl.testing.hands import call, hands, run
from noetl_quantum import KIND, make


@pytest.mark.parametrize(
    ("ordered", "placement", "chosen"),
    [
        (None, None, "double"),
        (None, {"quantum": {"backend": "single"}}, "single"),
        (None, {"quantum": {"backend": ["lab", "single"]}}, "single"),
        (None, {"quantum": {"backend": "lab"}}, "double"),
        (None, {"quantum": "lab"}, "double"),
        (None, ["lab"], "double"),
        ("double", {"quantum": {"backend": "single"}}, "double"),
    ],
)
async def test_the_backend_is_the_tasks_then_the_playbooks_then_the_default(ordered, placement, chosen):
    output = await run(make(hands()), call(KIND, circuit="x 0", backend=ordered, placement=placement))

    assert output.helpers["quantum"] == {"backend": chosen, "qubits": 1, "shots": 1024, "depth": 1}


@pytest.mark.parametrize(
    ("fields", "kind", "message"),
    [
        ({"backend": "lab"}, "quantum.backend", 'there is no backend "lab"; there are: double, single'),
        ({"circuit": "h"}, "quantum.circuit", "line 1: h is on 1 qubit, but names 0"),
        ({"shots": 0}, "type", "shots must be a whole number from 1 to 1000000, but is 0"),
        ({"seed": "seven"}, "type", "seed must be a whole number"),
    ],
)
async def test_what_cannot_be_run_is_an_error_of_its_own_kind(fields, kind, message):
    output = await run(make(hands()), call(KIND, **{"circuit": "x 0", **fields}))

    assert output.error is not None
    assert output.error.kind == kind
    assert output.error.message.startswith(message)

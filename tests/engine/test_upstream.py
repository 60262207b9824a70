"""Transparent data: what playbooks written for the public NoETL lean on, with `--compat upstream`."""

import pytest

from noetl.engine.output import Output
from noetl.testing.engine import Engine

PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
workflow:
  - step: start
    tool:
      - name: fetch
        kind: http
        url: http://127.0.0.1/items
      - name: show
        kind: noop
        input: {seen: "{{ TEMPLATE }}"}
    next: {arcs: [{step: end, when: "{{ start.data.seen == start.seen }}"}]}
  - step: end
    tool: {kind: noop, input: {whole: "{{ start }}"}}
"""


def seen(template: str, payload: object, *, is_upstream: bool = True) -> object:
    answer = Output(data=payload, helpers={"http": {"status": 200, "headers": {"x": "y"}, "url": "http://127.0.0.1/"}})
    engine = Engine(PLAYBOOK.replace("TEMPLATE", template), {"fetch": answer}, is_upstream=is_upstream)
    engine.start()
    engine.run()
    return engine.state.outputs["start"]["data"]["seen"]


@pytest.mark.spec("UP-01")
@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("fetch.items", [1]),
        ("fetch.data.items", [1]),
        ("fetch.data.data.items", [1]),
        ("output.data.items", [1]),
        ("_prev.items", [1]),
        ("fetch.status", "ok"),
        ("fetch.status_code", 200),
        ("fetch.headers.x", "y"),
        ("fetch.body.items", [1]),
    ],
)
def test_a_name_reads_its_payload_and_then_its_envelope(template: str, expected: object) -> None:
    assert seen(template, {"items": [1]}) == expected


@pytest.mark.spec("UP-01")
def test_a_key_missing_on_a_payload_is_looked_up_in_its_data() -> None:
    assert seen("fetch.items", {"data": {"items": [2]}, "status": "fine"}) == [2]
    assert seen("fetch.status", {"data": {"items": [2]}, "status": "fine"}) == "fine"


@pytest.mark.spec("UP-01")
def test_a_payload_that_is_no_mapping_is_reached_by_data() -> None:
    assert seen("fetch.data", [1, 2]) == [1, 2]


@pytest.mark.spec("UP-01")
def test_without_the_flag_a_name_is_its_envelope() -> None:
    assert seen("fetch.data.items", {"items": [1]}, is_upstream=False) == [1]
    assert seen("fetch.items is defined", {"items": [1]}, is_upstream=False) is False


@pytest.mark.spec("UP-01")
def test_a_whole_payload_is_recorded_as_plain_data() -> None:
    engine = Engine(PLAYBOOK.replace("TEMPLATE", "fetch"), {"fetch": {"items": [1]}}, is_upstream=True)
    engine.start()
    engine.run()

    assert engine.status == "success"
    assert engine.state.output is not None
    assert engine.state.output["data"] == {"whole": {"seen": {"items": [1]}}}

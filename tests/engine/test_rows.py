"""How large a row may be: fan-outs and signals that no event can hold (RS-01)."""

import pytest

from noetl.engine.events import Patch, encode
from noetl.engine.rows import check_signal
from noetl.engine.values import CTX_BYTES_MAX
from noetl.errors import RequestError
from tests.engine.books import engine

ROW_BYTES_MAX = 64 * 1024
WAITS = """
    workflow:
      - step: start
        spec:
          policy:
            admit:
              on_deny: wait
              rules: [{when: "{{ ctx.go }}", then: {allow: true}}, {else: {then: {allow: false}}}]
        tool: {kind: noop}
"""


def fan_out(count: int, name: str):
    names = [f"{name}{number}" for number in range(count)]
    arcs = ", ".join(f"{{step: {name}}}" for name in names)
    steps = "\n".join(f"  - {{step: {name}, tool: {{kind: noop}}}}" for name in names)
    return engine(
        f"workflow:\n  - step: start\n    tool: {{kind: noop}}\n"
        f"    next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}\n{steps}\n"
    )


@pytest.mark.spec("RS-01", "RT-02")
def test_two_thousand_arcs_fit_into_one_row() -> None:
    made = fan_out(2000, "s")
    made.start()

    made.run_job(1, -1)

    [evaluated] = made.events("next.evaluated")
    assert len(encode(evaluated)) < ROW_BYTES_MAX - 1024
    assert [run.id for run in made.state.runs.values()] == list(range(2, 2002))


@pytest.mark.spec("RS-01", "RT-11")
def test_a_fan_out_that_no_row_can_hold_fails_the_workflow_and_says_what_to_do() -> None:
    made = fan_out(1000, "s" * 60)
    made.start()

    made.run_job(1, -1)

    assert (made.status, made.state.error["kind"]) == ("failed", "limit")
    assert "loop over one step" in made.state.error["message"]
    assert max(len(encode(event)) for event in made.log) < ROW_BYTES_MAX


@pytest.mark.spec("RS-01", "ST-06")
def test_a_signal_that_no_row_can_hold_is_refused() -> None:
    made = engine(WAITS)
    made.start()

    with pytest.raises(RequestError, match="nothing was written: an event may hold"):
        check_signal(made.state, [Patch("ctx.big", "x" * ROW_BYTES_MAX)], made.playbook)


@pytest.mark.spec("RS-01", "ST-06")
def test_a_signal_that_makes_ctx_too_large_is_refused() -> None:
    made = engine(WAITS)
    made.start()
    for number in range(CTX_BYTES_MAX // 50_000):
        made.signal(**{f"part{number}": "x" * 50_000})

    with pytest.raises(RequestError, match=f"nothing was written: ctx may have {CTX_BYTES_MAX} bytes"):
        check_signal(made.state, [Patch("ctx.last", "x" * 50_000)], made.playbook)


@pytest.mark.spec("ST-06")
def test_a_small_signal_is_not_refused() -> None:
    made = engine(WAITS)
    made.start()

    check_signal(made.state, [Patch("ctx.go", True)], made.playbook)

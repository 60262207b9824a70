"""AC-7, routing: exclusive takes the first arc that matches, inclusive takes them all."""

from typing import Any

import pytest

from tests.acceptance.noetl import Noetl, named

PLAYBOOK = """
workload: {total: 0}
workflow:
  - step: start
    tool: {kind: noop}
    next:
      %s
      arcs:
        - step: large
          when: "{{ workload.total > 100 }}"
          set: {ctx.large: true}
        - step: medium
          when: "{{ workload.total > 10 }}"
          set: {ctx.medium: true}
        - step: any
          when: "{{ workload.total > 0 }}"
          set: {ctx.any: true}
  - step: large
    tool: {kind: noop}
  - step: medium
    tool: {kind: noop}
  - step: any
    tool: {kind: noop}
"""
NAMES = ("large", "medium", "any")


def route(noetl: Noetl, spec: str, total: int) -> tuple[dict[str, Any], set[str]]:
    """Run it; what it printed, and the steps behind the arcs that ran."""
    found = noetl.succeed(PLAYBOOK % spec, "--set", f"total={total}")
    return found, {row["step"] for row in found["steps"] if row["runs"]} - {"start"}


@pytest.mark.spec("AC-7", "RT-02", "RT-04")
@pytest.mark.parametrize(
    ("spec", "total", "wanted"),
    [
        ("spec: {mode: exclusive}", 1000, {"large"}),
        ("spec: {mode: exclusive}", 50, {"medium"}),
        ("spec: {mode: inclusive}", 1000, {"large", "medium", "any"}),
        ("spec: {mode: inclusive}", 50, {"medium", "any"}),
    ],
)
def test_the_mode_decides_how_many_matching_arcs_are_taken(
    noetl: Noetl, spec: str, total: int, wanted: set[str]
) -> None:
    found, ran = route(noetl, spec, total)

    assert ran == wanted
    assert found["ctx"] == dict.fromkeys(wanted, True)


@pytest.mark.spec("AC-7", "RT-02")
def test_without_a_mode_it_is_exclusive(noetl: Noetl) -> None:
    _, ran = route(noetl, "spec: {}", 1000)

    assert ran == {"large"}


@pytest.mark.spec("AC-7", "RT-05")
@pytest.mark.parametrize("mode", ["exclusive", "inclusive"])
def test_if_no_arc_matches_the_branch_ends_and_the_workflow_succeeds(noetl: Noetl, mode: str) -> None:
    found, ran = route(noetl, f"spec: {{mode: {mode}}}", 0)

    assert (ran, found["status"]) == (set(), "success")
    assert [(row["runs"], row["status"]) for row in found["steps"][1:]] == [(0, "not_run")] * 3


@pytest.mark.spec("AC-7", "RT-02", "RT-03", "RT-07", "EV-03")
def test_the_server_records_which_arcs_fired_and_which_were_asked_in_vain(noetl: Noetl) -> None:
    found, _ = route(noetl, "spec: {mode: inclusive}", 50)

    routed = named(noetl.events(found["execution_id"]), "next.evaluated", step="start")
    assert [(event["source"], event["payload"]["boundary"]) for event in routed] == [("server", "step.done")]
    assert [fired["step"] for fired in routed[0]["payload"]["fired"]] == ["medium", "any"]
    assert [NAMES[arc] for arc in routed[0]["payload"]["refused"]] == ["large"]

"""Results go to the first of the operator's stores, and what the server itself stores is found there too (RS-06)."""

import textwrap
from pathlib import Path

import msgspec
import pytest

from noetl import server
from noetl.control.requests import Nobody, RunRequest
from tests.runner.runs import HEAD, Ran, settings_in

LOOP = """
workflow:
  - step: start
    loop: {in: "{{ workload.items }}", iterator: item}
    tool:
      kind: noop
      input: {item: "{{ iter.item }}"}
      spec: {result: RESULT}
    set: {ctx.all_ref: "{{ output.ref }}"}
    next: {arcs: [{step: read}]}
  - step: read
    tool: {kind: resolve, ref: "{{ ctx.all_ref }}", slice: [-1, null]}
"""


def run(folder: Path, store: str, result: str = "{ttl: 3600}") -> Ran:
    settings = msgspec.structs.replace(settings_in(folder), results_stores=(store,))
    data = (HEAD + textwrap.dedent(LOOP.replace("RESULT", result))).encode()
    items = [f"{number:0100}" for number in range(1500)]  # more than an event holds, so that the server stores it
    request = RunRequest(data=data, name="t.yaml", folder=str(folder), payload={"items": items})
    return Ran(settings, server.run(settings, request, Nobody()).summary)


@pytest.mark.slow
@pytest.mark.spec("RS-06", "LP-02")
@pytest.mark.parametrize(("store", "prefix"), [("files", "sha256:"), ("sqlite", "sqlite:sha256:")])
def test_a_workload_and_a_loop_too_large_for_the_log_are_in_that_store(tmp_path: Path, store: str, prefix: str) -> None:
    ran = run(tmp_path, store)

    assert ran.output["data"] == [{"item": f"{1499:0100}"}]
    assert ran.ctx["all_ref"]["locator"].startswith(prefix)
    assert (tmp_path / "noetl.results").exists() is (store == "files")


@pytest.mark.slow
@pytest.mark.spec("RS-06")
def test_a_loops_list_goes_where_its_last_task_says(tmp_path: Path) -> None:
    ran = run(tmp_path, "files", result="{store: sqlite}")

    assert ran.output["data"] == [{"item": f"{1499:0100}"}]
    assert ran.ctx["all_ref"]["locator"].startswith("sqlite:sha256:")


@pytest.mark.slow
@pytest.mark.spec("RS-08")
def test_a_loops_list_is_kept_as_long_as_what_its_iterations_give(tmp_path: Path) -> None:
    ran = run(tmp_path, "files")

    assert ran.ctx["all_ref"]["meta"]["ttl"] == 3600

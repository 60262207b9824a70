"""The real worker on real tools: envelopes, payloads in hand and elsewhere, lists kept outside the log."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from noetl.engine.output import ERROR_KINDS, Output
from noetl.references import LINES, Reference, reference_of
from noetl.results.files import FileResults
from noetl.testing.http_server import Answer, running_api
from noetl.tools import noop
from noetl.tools.contract import Call
from tests.runner.runs import HEAD, Ran, run, settings_in


def stored(folder: Path, data: bytes, content_type: str) -> dict[str, object]:
    """Put bytes into the result store of a run's folder."""

    async def store() -> Reference:
        results = FileResults(settings_in(folder).store_path.with_suffix(".results"))
        try:
            return await results.store(data, content_type)
        finally:
            await results.close()

    return asyncio.run(store()).as_data()


def fetched(folder: Path, reference: dict[str, object]) -> object:
    async def fetch() -> bytes:
        results = FileResults(settings_in(folder).store_path.with_suffix(".results"))
        found = reference_of(reference)
        assert found is not None
        try:
            return await results.fetch(found)
        finally:
            await results.close()

    return msgspec.json.decode(asyncio.run(fetch()))


@pytest.mark.spec("TK-04")
def test_every_kind_gives_the_same_envelope_with_its_payload_as_data(tmp_path: Path) -> None:
    with running_api() as api:
        api.script("/body", Answer(json={"rows": [1, 2]}, headers={"X-Request-Id": "r1"}))
        ran = run(
            tmp_path,
            f"""
            workflow:
              - step: start
                tool:
                  - {{name: web, kind: http, url: "{api.url}/body"}}
                  - {{name: code, kind: python, code: "result = {{'n': 1}}"}}
                  - {{name: none, kind: noop}}
            """,
        )

    web, code, none = (event["payload"]["output"] for event in ran.events("task.done"))
    for output in (web, code, none):
        assert set(output) >= {"status", "data", "ref", "error", "meta"}
        assert output["meta"]["attempt"] == 1
        assert output["meta"]["duration_ms"] >= 0
        assert output["meta"]["ts"]
    assert (web["data"], web["http"]["status"]) == ({"rows": [1, 2]}, 200)
    assert (code["data"], code["py"]["exception_type"]) == ({"n": 1}, None)
    assert none["data"] == {"n": 1}


@pytest.mark.spec("TK-04", "TK-19")
def test_a_failure_is_an_envelope_too_and_its_kind_is_on_the_list(tmp_path: Path) -> None:
    with running_api() as api:
        api.script("/gone", Answer(status=404, json={"why": "x"}))
        ran = run(
            tmp_path,
            f"""
            workflow:
              - step: start
                tool:
                  - name: web
                    kind: http
                    url: "{api.url}/gone"
                    spec: {{policy: {{rules: [{{else: {{then: {{do: continue}}}}}}]}}}}
                  - {{name: code, kind: python, code: "raise KeyError('k')"}}
            """,
        )

    web, code = (event["payload"]["output"] for event in ran.events("task.done"))
    assert (web["status"], web["error"]["kind"], web["data"]) == ("error", "not_found", {"why": "x"})
    assert (code["status"], code["error"]["kind"], code["py"]["exception_type"]) == ("error", "exception", "KeyError")
    assert {web["error"]["kind"], code["error"]["kind"]} <= ERROR_KINDS
    assert ran.error["kind"] == "exception"


class Broken:
    """A tool with a fault of its own."""

    def run(self, call: Call) -> Output:
        raise RuntimeError("broken inside")

    async def close(self) -> None: ...


class Late(Broken):
    def run(self, call: Call) -> Output:
        raise TimeoutError


@pytest.mark.spec("TK-04", "TK-19")
@pytest.mark.parametrize(
    ("tool", "kind", "message"),
    [
        (Broken, "exception", "the tool failed: RuntimeError: broken inside"),
        (Late, "timeout", "it took too long"),
    ],
)
def test_a_tool_that_raises_gives_one_envelope_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: type[Broken], kind: str, message: str
) -> None:
    monkeypatch.setattr(noop, "make", lambda hands: tool())

    ran = run(tmp_path, "workflow: [{step: start, tool: {kind: noop}}]")

    assert (ran.status, ran.error["kind"], ran.error["message"]) == ("failed", kind, message)


@pytest.mark.spec("SC-07", "SC-06")
def test_inside_a_pipeline_a_large_payload_is_in_hand_and_the_next_step_gets_its_reference(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """
        workflow:
          - step: start
            tool:
              - {name: large, kind: python, code: "result = ['x' * 1000] * 200"}
              - {name: near, kind: noop, input: {n: "{{ _prev | length }}", m: "{{ large.data | length }}"}}
              - {name: again, kind: python, code: "result = ['y' * 1000] * 200"}
            set: {ctx.n: "{{ output.data | length }}"}
            next: {arcs: [{step: then}]}
          - {step: then, tool: {kind: noop, input: {sent: "{{ _prev }}"}}}
        """,
    )

    outputs = [event["payload"]["output"] for event in ran.events("task.done")]
    assert "data" not in outputs[0]
    assert outputs[1]["data"] == {"n": 200, "m": 200}
    assert ran.ctx == {"n": 200}
    assert ran.output["data"]["sent"] == outputs[2]["ref"]


@pytest.mark.spec("LP-02", "LP-10")
@pytest.mark.parametrize(
    ("data", "content_type"),
    [(b'[{"n": 1}, {"n": 2},\n {"n": 3}]', "application/json"), (b'{"n": 1}\n{"n": 2}\n\n{"n": 3}\n', LINES)],
)
@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_a_loop_runs_over_a_stored_list(tmp_path: Path, data: bytes, content_type: str, mode: str) -> None:
    ref = stored(tmp_path, data, content_type)

    ran = run(
        tmp_path,
        """
        workload: {ref: null}
        workflow:
          - step: start
            loop: {in: "{{ workload.ref }}", iterator: item, spec: {mode: %s}}
            tool: [{name: t, kind: noop, input: {n: "{{ iter.item.n }}", i: "{{ iter.index }}"}}]
        """.replace("%s", mode),
        ref=ref,
    )

    assert ran.status == "success", ran.error
    assert ran.output["data"] == [{"n": 1, "i": 0}, {"n": 2, "i": 1}, {"n": 3, "i": 2}]
    assert ran.events("loop.started")[0]["payload"]["ref"] == ref


@pytest.mark.spec("LP-02", "TK-19")
@pytest.mark.parametrize(
    ("data", "content_type"),
    [(b'{"a": 1}', "application/json"), (b"[1, 2", "application/json"), (b'{"n": 1}\nnot json\n', LINES)],
)
def test_a_stored_payload_that_is_no_list_fails_the_step(tmp_path: Path, data: bytes, content_type: str) -> None:
    ref = stored(tmp_path, data, content_type)

    ran = run(
        tmp_path,
        """
        workload: {ref: null}
        workflow:
          - step: start
            loop: {in: "{{ workload.ref }}", iterator: item}
            tool: [{name: t, kind: noop}]
        """,
        ref=ref,
    )

    assert ran.status == "failed"
    assert ran.error["kind"] in ERROR_KINDS
    assert ran.error["step"] == "start"


@pytest.mark.spec("LP-02")
def test_a_reference_to_nothing_fails_the_step(tmp_path: Path) -> None:
    ref = Reference(type="blob", locator="sha256:" + "0" * 64, bytes=3, sha256="0" * 64).as_data()

    ran = run(
        tmp_path,
        """
        workload: {ref: null}
        workflow:
          - step: start
            loop: {in: "{{ workload.ref }}", iterator: item}
            tool: [{name: t, kind: noop}]
        """,
        ref=ref,
    )

    assert (ran.status, ran.error["kind"]) == ("failed", "ref_missing")


def large_loop(tmp_path: Path, loop: str, more: str = "") -> Ran:
    return run(
        tmp_path,
        f"""
        workflow:
          - step: start
            loop: {loop}
            {more}
            tool: [{{name: t, kind: noop, input: {{i: "{{{{ iter.index }}}}", pad: "{{{{ 'x' * 3000 }}}}"}}}}]
            next: {{arcs: [{{step: then}}]}}
          - {{step: then, tool: {{kind: noop, input: {{prev: "{{{{ _prev }}}}"}}}}}}
        """,
    )


@pytest.mark.spec("LP-08", "LP-10", "SC-07")
def test_a_loops_list_that_is_large_is_stored_in_index_order(tmp_path: Path) -> None:
    ran = large_loop(tmp_path, '{in: "{{ range(40) }}", iterator: n, spec: {mode: parallel}}')

    output = ran.events("loop.done")[0]["payload"]["output"]
    found = fetched(tmp_path, output["ref"])
    assert "data" not in output
    assert isinstance(found, list)
    assert [one["i"] for one in found] == list(range(40))
    assert ran.output["data"] == {"prev": output["ref"]}


@pytest.mark.spec("LP-08", "LP-09")
def test_large_nested_lists_stay_nested(tmp_path: Path) -> None:
    inner = 'loop: {in: "{{ range(30) }}", iterator: m}'
    ran = large_loop(tmp_path, f"{{in: [1, 2, 3], iterator: n, spec: {{mode: parallel}}, {inner}}}")

    found = fetched(tmp_path, ran.events("loop.done")[-1]["payload"]["output"]["ref"])
    assert isinstance(found, list)
    assert [[one["i"] for one in row] for row in found] == [list(range(30))] * 3


RETURNED = """
    workload: {ref: null}
    workflow:
      - step: start
        loop: {in: [1, 2], iterator: n}
        tool: [{name: t, kind: python, input: {ref: "{{ workload.ref }}"}, code: "result = input['ref']"}]
"""
NOT_THERE = {"type": "blob", "locator": "sha256:" + "0" * 64, "meta": {}}


@pytest.mark.spec("LP-08", "RS-05")
def test_a_reference_that_an_iteration_gave_stays_one_in_the_loops_list(tmp_path: Path) -> None:
    ref = stored(tmp_path, b'{"text": "two words"}\n', LINES)

    ran = run(tmp_path, RETURNED, ref=ref)

    found = fetched(tmp_path, ran.events("loop.done")[0]["payload"]["output"]["ref"])
    assert found == [ref, ref]


@pytest.mark.spec("LP-08", "RS-05")
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"locator": "/etc/passwd"},
        {"type": "object_store", "locator": f"s3://acme/sha256/{'a' * 64}", "auth_reference": {"no": "text"}},
        {"type": "object_store", "locator": f"s3://acme/sha256/{'a' * 64}", "auth_reference": "aws"},
    ],
    ids=["of nothing", "of a file", "with a credential that is no text", "with a credential of nobody"],
)
def test_no_reference_that_strangers_make_is_read_for_a_loops_list(tmp_path: Path, more: dict[str, object]) -> None:
    ran = run(tmp_path, RETURNED, ref=NOT_THERE | more)

    found = fetched(tmp_path, ran.events("loop.done")[0]["payload"]["output"]["ref"])
    assert (ran.status, found) == ("success", [NOT_THERE | more] * 2)


@pytest.mark.spec("LP-08", "TL-05")
def test_a_loop_whose_stored_data_is_gone_fails_and_says_so(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        f"""
        workflow:
          - step: start
            loop: {{in: [1, 2], iterator: n}}
            tool:
              kind: python
              input: {{n: "{{{{ iter.n }}}}"}}
              code: |
                import pathlib, shutil
                if input["n"] == 2:
                    shutil.rmtree(pathlib.Path({str(tmp_path)!r}) / "noetl.results")
                result = "x" * (200_000 if input["n"] == 1 else 1)
        """,
    )

    assert (ran.status, ran.error["kind"]) == ("failed", "ref_missing")
    assert ran.error["step"] == "start"


@pytest.mark.spec("LP-08", "TL-04")
def test_what_a_child_stored_is_data_in_the_list_of_its_callers_loop(tmp_path: Path) -> None:
    child = "workflow: [{step: make, tool: {kind: noop, input: {pad: \"{{ 'x' * 100000 }}\"}}}]\n"
    (tmp_path / "child.yaml").write_text(HEAD.replace("name: t", "name: child") + child)

    ran = run(
        tmp_path,
        "workflow: [{step: start, loop: {in: [1], iterator: n}, tool: {kind: playbook, path: child.yaml}}]",
    )

    found = fetched(tmp_path, ran.events("loop.done")[0]["payload"]["output"]["ref"])
    assert found == [{"pad": "x" * 100_000}]


@pytest.mark.spec("TK-04", "RT-14")
def test_an_output_says_when_it_was_made_in_which_attempt_and_for_which_trace(tmp_path: Path) -> None:
    ran = run(tmp_path, "workflow:\n  - step: start\n    tool: {kind: noop}\n")

    meta = ran.output["meta"]
    assert meta["attempt"] == 1
    assert meta["duration_ms"] >= 0
    assert meta["ts"] > 1_700_000_000
    assert len(meta["trace"]) == 32


@pytest.mark.spec("RS-01")
def test_long_texts_beside_the_data_are_cut(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """
        workflow:
          - step: start
            tool: {kind: shell, input: {command: "head -c 60000 /dev/zero | tr '\\\\0' x; head -c 60000 /dev/zero | tr '\\\\0' y >&2; exit 3"}}
        """,  # noqa: E501 - one command
    )

    (done,) = ran.events("task.done")
    assert ran.status == "failed"
    assert "more characters" in done["payload"]["output"]["shell"]["stderr"]
    assert max(len(msgspec.json.encode(event)) for event in ran.log) < 64 * 1024


@pytest.mark.spec("TK-07", "RT-11")
def test_an_arc_reads_the_data_of_a_task_that_a_rule_made_fail(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """
        workflow:
          - step: start
            tool:
              kind: noop
              input: {code: 7}
              spec: {policy: {rules: [{else: {then: {do: fail}}}]}}
            next: {arcs: [{step: end, when: "{{ output.status == 'error' and output.data.code == 7 }}"}]}
          - step: end
            tool: {kind: noop}
        """,
    )

    assert ran.status == "success"


@pytest.mark.spec("TK-04", "TL-03")
def test_the_helper_of_a_kind_is_there_however_a_task_failed(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """
        workflow:
          - step: start
            tool:
              - name: refused
                kind: http
                url: ftp://example.com
                set: {ctx.http: "{{ output.http }}"}
                spec: {policy: {rules: [{else: {then: {do: continue}}}]}}
              - name: unknown
                kind: shell
                command: [no-such-program]
                set: {ctx.shell: "{{ output.shell }}"}
                spec: {policy: {rules: [{else: {then: {do: continue}}}]}}
        """,
    )

    assert ran.ctx["http"] == {"status": None, "headers": None, "request_id": None, "url": None}
    assert ran.ctx["shell"] == {"exit_code": None, "stdout": None, "stderr": None}


@pytest.mark.spec("TK-15")
def test_two_stores_never_have_the_same_idempotency_key(tmp_path: Path) -> None:
    playbook = """
        workflow:
          - step: start
            tool:
              - name: t
                kind: noop
                input: {key: "{{ _key }}"}
                set: {ctx.key: "{{ output.data.key }}"}
        """

    keys = [run(tmp_path / home, playbook).ctx["key"] for home in ("one", "two")]

    assert [key.partition(".")[2] for key in keys] == ["1:1:-1:t:1.0"] * 2  # both count from 1
    assert keys[0] != keys[1]

"""Results outside the log, with the real runner and the real result store (RS-01 … RS-05, TL-05)."""

import hashlib

import msgspec
import pytest

from noetl.embedded import results_folder
from noetl.engine.events import TaskDone, encode
from noetl.references import is_reference, reference_of
from tests.control.parts import log_of, opened, run, settings_of, state_of

LIMIT_BYTES = 64 * 1024
LARGE = 100_000
MAKE = (
    "tool: [{name: make, kind: python, code: \"return {'text': 'x' * input['n'], 'n': input['n']}\", input: {n: %d}}]"
)


def book(make=MAKE % LARGE, more="", then="", executor="{}"):
    """A step `start` that makes something, and a step `end`."""
    return f"""
        executor: {executor}
        workflow:
          - step: start
            {make}
            {more}
            next: {{arcs: [{{step: end}}]}}
          - step: end
            {then or "tool: {kind: noop, input: {done: true}}"}
    """


async def ran(folder, body, **payload):
    """The state and the log of a run."""
    async with opened(folder) as parts:
        execution_id = await run(parts, body, **payload)
        return await state_of(parts, execution_id), await log_of(parts, execution_id)


def largest(log):
    return max(len(encode(event)) for event in log)


def file_of(folder, reference):
    sha256 = reference_of(reference).sha256
    return results_folder(settings_of(folder)) / sha256[:2] / sha256[2:]


# --- what is stored --------------------------------------------------------------------------------------------------


@pytest.mark.spec("RS-01", "RS-02")
async def test_a_result_over_the_limit_is_kept_outside_and_the_event_has_its_reference(tmp_path):
    state, log = await ran(tmp_path, book())

    assert state.status == "success"
    output = state.outputs["start"]
    assert "data" not in output
    payload = file_of(tmp_path, output["ref"]).read_bytes()
    assert msgspec.json.decode(payload) == {"text": "x" * LARGE, "n": LARGE}
    assert output["ref"]["meta"]["bytes"] == len(payload)
    assert output["ref"]["meta"]["sha256"] == hashlib.sha256(payload).hexdigest()
    assert (output["ref"]["type"], output["ref"]["meta"]["content_type"]) == ("blob", "application/json")
    assert set(output["ref"]) == {"type", "locator", "auth_reference", "meta"}
    assert largest(log) <= LIMIT_BYTES


@pytest.mark.spec("RS-01")
@pytest.mark.parametrize("size", [50_000, 57_000, 58_000, 65_000, 70_000])
async def test_no_row_is_over_the_limit_whatever_the_size_of_the_result(tmp_path, size):
    _, log = await ran(tmp_path, book(MAKE % size))

    assert largest(log) <= LIMIT_BYTES


@pytest.mark.spec("RS-01")
async def test_a_result_that_its_writes_leave_no_room_for_is_stored_too(tmp_path):
    more = 'set: {ctx.kept: "{{ output.data.text }}"}'

    state, log = await ran(tmp_path, book(MAKE % 40_000, more))

    assert (state.status, len(state.ctx["kept"])) == ("success", 40_000)
    assert is_reference(state.outputs["start"]["ref"])
    assert largest(log) <= LIMIT_BYTES


@pytest.mark.spec("RS-01")
@pytest.mark.parametrize(
    ("more", "where"),
    [
        ('set: {ctx.a: "{{ output.data.text }}", ctx.b: "{{ output.data.text }}"}', "start"),
        ('set: {step.a: "{{ output.data.text }}", step.b: "{{ output.data.text }}"}', "start"),
    ],
    ids=["ctx", "step"],
)
async def test_writes_that_no_row_can_hold_are_an_error_that_says_what_to_do(tmp_path, more, where):
    state, log = await ran(tmp_path, book(MAKE % 40_000, more))

    assert (state.status, state.error["kind"], state.error["step"]) == ("failed", "limit", where)
    assert "output.ref" in state.error["message"]
    assert largest(log) <= LIMIT_BYTES


@pytest.mark.spec("RS-01")
async def test_writes_of_an_iteration_that_no_row_can_hold_fail_it(tmp_path):
    body = """
        workflow:
          - step: start
            loop: {in: [1], iterator: n, spec: {mode: parallel}}
            tool:
              - {name: one, kind: noop, set: {step.a: "{{ 'x' * 40000 }}"}}
              - {name: two, kind: noop, set: {step.b: "{{ 'x' * 40000 }}"}}
    """

    state, log = await ran(tmp_path, body)

    assert (state.status, state.error["kind"]) == ("failed", "limit")
    assert largest(log) <= LIMIT_BYTES


@pytest.mark.spec("RS-01")
async def test_the_data_of_a_loop_that_its_writes_leave_no_room_for_is_stored_too(tmp_path):
    body = """
        workflow:
          - step: start
            loop: {in: [1, 2], iterator: n}
            tool: {kind: noop, input: {text: "{{ 'x' * 20000 }}"}}
            set: {ctx.kept: "{{ output.data[0].text }}{{ output.data[1].text }}"}
    """

    state, log = await ran(tmp_path, body)

    assert (state.status, len(state.ctx["kept"])) == ("success", 40_000)
    kept = msgspec.json.decode(file_of(tmp_path, state.outputs["start"]["ref"]).read_bytes())
    assert [len(one["text"]) for one in kept] == [20_000, 20_000]
    assert largest(log) <= LIMIT_BYTES


@pytest.mark.spec("RS-01", "TL-04")
async def test_a_payload_for_a_child_that_no_row_can_hold_is_an_error(tmp_path):
    state, log = await ran(
        tmp_path, """workflow: [{step: a, tool: {kind: playbook, path: b, input: {v: "{{ 'x' * 100000 }}"}}}]"""
    )

    assert (state.status, state.error["kind"]) == ("failed", "limit")
    assert largest(log) <= LIMIT_BYTES


@pytest.mark.spec("RS-01")
async def test_within_its_pipeline_a_stored_result_is_data_as_any_other(tmp_path):
    make = (MAKE % LARGE).replace(
        "}}]", '}}, {name: size, kind: noop, input: {n: "{{ make.data.text | length }}", prev: "{{ _prev.n }}"}}]'
    )

    state, _ = await ran(tmp_path, book(make))

    assert state.outputs["start"]["data"] == {"n": LARGE, "prev": LARGE}


# --- references and targets ------------------------------------------------------------------------------------------


@pytest.mark.spec("RS-03")
async def test_a_template_that_reads_output_ref_makes_a_small_result_a_stored_one(tmp_path):
    more = 'set: {ctx.small_ref: "{{ output.ref }}"}'

    state, _ = await ran(tmp_path, book(MAKE % 3, more))

    assert msgspec.json.decode(file_of(tmp_path, state.ctx["small_ref"]).read_bytes()) == {"text": "xxx", "n": 3}
    assert state.outputs["start"]["data"] == {"text": "xxx", "n": 3}


@pytest.mark.spec("RS-03")
async def test_a_ref_target_must_get_a_reference(tmp_path):
    more = 'set: {ctx.some_ref: "{{ [output.data.n][0] }}"}'

    state, _ = await ran(tmp_path, book(MAKE % 3, more))

    assert (state.status, state.error["kind"]) == ("failed", "ref_misuse")
    assert "ctx.some_ref must get a reference" in state.error["message"]


@pytest.mark.spec("RS-03")
async def test_a_plain_target_must_not_get_a_reference(tmp_path):
    more = 'set: {ctx.plain: "{{ [output.ref][0] }}"}'

    state, _ = await ran(tmp_path, book(MAKE % 3, more))

    assert (state.status, state.error["kind"]) == ("failed", "ref_misuse")
    assert "ctx.plain_ref" in state.error["message"]


@pytest.mark.spec("RS-04")
@pytest.mark.parametrize(
    "then",
    [
        'tool: {kind: noop, input: {x: "{{ start.data.text }}"}}',
        'tool: {kind: noop, input: {x: "{{ output.data.text }}"}}',
        'tool: {kind: noop, input: {x: "{{ start.data }}"}}\n            set: {ctx.x: "{{ start.data.n + 1 }}"}',
        'input: {x: "{{ output.data.n }}"}\n            tool: {kind: noop}',
    ],
    ids=["a step's data", "the sender's data", "whole data", "in an input"],
)
async def test_reading_fields_off_a_reference_is_an_error_that_names_resolve(tmp_path, then):
    state, _ = await ran(tmp_path, book(then=then))

    assert (state.status, state.error["kind"], state.error["step"]) == ("failed", "ref_misuse", "end")
    assert "resolve" in state.error["message"]


@pytest.mark.spec("RS-04")
@pytest.mark.parametrize("given", ["{{ start.data }}", "{{ [start.data] }}", "{{ {'a': {'b': start.data}} }}"])
async def test_a_tool_that_would_be_given_a_payload_kept_elsewhere_is_not_run_and_the_error_names_resolve(
    tmp_path, given
):
    then = f'tool: {{kind: python, input: {{code: "result = 1", given: "{given}"}}}}'

    state, _ = await ran(tmp_path, book(then=then))

    assert (state.status, state.error["kind"], state.error["step"]) == ("failed", "ref_misuse", "end")
    assert "kind: resolve" in state.error["message"]


@pytest.mark.spec("RS-04")
async def test_a_whole_output_is_handed_to_a_tool_with_its_reference_and_without_its_data(tmp_path):
    code = "result = [sorted(given[0]), given[0]['ref']['type']]"
    then = f'tool: {{kind: python, input: {{code: "{code}", given: "{{{{ [start] }}}}"}}}}'

    state, _ = await ran(tmp_path, book(then=then))

    assert (state.status, state.output["data"][1]) == ("success", "blob")
    assert "data" not in state.output["data"][0]


@pytest.mark.spec("RS-04", "RT-11")
async def test_a_guard_that_reads_fields_off_a_reference_fails_the_workflow_and_names_resolve(tmp_path):
    body = book().replace("arcs: [{step: end}]", 'arcs: [{step: end, when: "{{ output.data.n > 1 }}"}]')

    state, _ = await ran(tmp_path, body)

    assert (state.status, state.error["kind"]) == ("failed", "ref_misuse")
    assert "resolve" in state.error["message"]


# --- returned references ---------------------------------------------------------------------------------------------

STORED = {
    "type": "relational",
    "locator": "orders/2026",
    "auth_reference": "warehouse",
    "meta": {"content_type": "application/json", "bytes": 3, "sha256": "0" * 64, "ttl": None},
}
OLDER = {"store": "nats", "key": "orders", "range": None, "checksum": "sha256:00", "size": 3, "schema_hint": None}


@pytest.mark.spec("RS-05", "RS-02")
@pytest.mark.parametrize("reference", [STORED, OLDER], ids=["now", "v10"])
async def test_a_returned_reference_becomes_output_ref(tmp_path, reference):
    given = msgspec.json.encode(reference).decode()
    make = f"""tool: [{{name: make, kind: python, code: 'return input["it"]', input: {{it: {given}}}}}]"""
    more = 'set: {ctx.kept_ref: "{{ output.ref }}"}'

    state, log = await ran(tmp_path, book(make, more))

    assert (state.status, state.ctx) == ("success", {"kept_ref": reference})
    [done, *_] = [event for event in log if isinstance(event, TaskDone)]
    assert done.output["ref"] == reference
    assert "data" not in done.output


# --- resolve ---------------------------------------------------------------------------------------------------------

RESOLVE = """
    workload: {ref: null}
    workflow:
      - step: start
        tool:
          - {name: back, kind: resolve, ref: "{{ workload.ref }}"}
          - {name: count, kind: noop, input: {n: "{{ back.data.n }}"}}
"""


async def stored(folder):
    """The reference of a large result of an earlier run."""
    state, _ = await ran(folder, book())
    return state.outputs["start"]["ref"]


@pytest.mark.spec("TL-05", "RS-02")
@pytest.mark.parametrize("is_older", [False, True], ids=["now", "v10"])
async def test_resolve_turns_a_reference_into_data(tmp_path, is_older):
    reference = await stored(tmp_path)
    if is_older:
        meta = reference["meta"]
        reference = {
            "store": "blob",
            "key": reference["locator"],
            "range": None,
            "checksum": f"sha256:{meta['sha256']}",
            "size": meta["bytes"],
        }

    state, log = await ran(tmp_path, RESOLVE, ref=reference)

    assert state.output["data"] == {"n": LARGE}
    assert largest(log) <= LIMIT_BYTES


@pytest.mark.spec("TL-05")
async def test_resolve_finds_a_flipped_byte(tmp_path):
    reference = await stored(tmp_path)
    file = file_of(tmp_path, reference)
    payload = bytearray(file.read_bytes())
    payload[500] ^= 1
    file.chmod(0o600)
    file.write_bytes(payload)

    state, _ = await ran(tmp_path, RESOLVE, ref=reference)

    assert (state.status, state.error["kind"], state.error["task"]) == ("failed", "ref_corrupt", "back")


@pytest.mark.spec("TL-05")
async def test_resolve_finds_a_payload_that_was_cut_short(tmp_path):
    reference = await stored(tmp_path)
    file = file_of(tmp_path, reference)
    payload = file.read_bytes()
    file.chmod(0o600)
    file.write_bytes(payload[:-1])

    state, _ = await ran(tmp_path, RESOLVE, ref=reference)

    assert (state.status, state.error["kind"]) == ("failed", "ref_corrupt")


@pytest.mark.spec("TL-05")
async def test_resolve_says_that_a_payload_is_gone(tmp_path):
    reference = await stored(tmp_path)
    file_of(tmp_path, reference).unlink()

    state, _ = await ran(tmp_path, RESOLVE, ref=reference)

    assert (state.status, state.error["kind"]) == ("failed", "ref_missing")


@pytest.mark.spec("TL-05", "RS-04")
async def test_what_resolve_is_given_must_be_a_reference(tmp_path):
    state, _ = await ran(tmp_path, RESOLVE, ref={"text": "x"})

    assert (state.status, state.error["kind"]) == ("failed", "ref_misuse")

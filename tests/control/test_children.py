"""kind: playbook: children with logs of their own, linked to their callers (TL-04)."""

import asyncio

import pytest

from noetl.control.follow import CHILD_DEPTH_MAX
from noetl.control.verify import verify
from noetl.embedded import RunRequest
from noetl.engine import commands as ops
from noetl.engine.events import PlaybookExecutionRequested, TaskWaiting, encode
from tests.control.parts import begin, log_of, names_of, opened, run, state_of, text_of

CHILD = """
    workload: {n: 0, name: nobody}
    workflow:
      - step: double
        tool: {kind: noop, input: {twice: "{{ workload.n * 2 }}", name: "{{ workload.name }}"}}
        set: {ctx.mine: child}
        next: {arcs: [{step: last}]}
      - step: last
        tool: {kind: noop, input: {last: true}}
"""
CALLER = """
    workflow:
      - step: call
        tool: {kind: playbook, path: child, input: {n: 21}}
        set: {ctx.got: "{{ output.data }}"}
"""
GATED = """
    workflow:
      - step: gate
        spec: {policy: {admit: {on_deny: wait, rules: [{when: "{{ ctx.go }}", then: {allow: true}},
                                                       {else: {then: {allow: false}}}]}}}
        tool: {kind: noop, input: {through: true}}
"""
BROKEN = """
    workflow:
      - step: fail
        tool: [{name: refuse, kind: noop, spec: {policy: {rules: [{else: {then: {do: fail}}}]}}}]
"""


@pytest.fixture
def folder(tmp_path):
    for name, body in (("child", CHILD), ("gated", GATED), ("broken", BROKEN)):
        (tmp_path / f"{name}.yaml").write_bytes(text_of(body, name))
    return tmp_path


async def called(parts, folder, body=CALLER, **payload):
    """Run a caller; gives its state and the rows of its children."""
    execution_id = await run(parts, body, folder=str(folder), **payload)
    return await state_of(parts, execution_id), await parts.store.children(execution_id)


@pytest.mark.spec("TL-04")
async def test_input_goes_in_and_the_output_comes_back(folder):
    async with opened(folder) as parts:
        state, _ = await called(parts, folder, CALLER.replace("{n: 21}", "{n: 21, extra: 1}"))

        assert (state.status, state.ctx["got"]) == ("success", {"last": True})


@pytest.mark.spec("TL-04", "RT-13")
async def test_return_step_names_the_step_whose_output_comes_back(folder):
    body = CALLER.replace("path: child", "path: child, return_step: double")
    async with opened(folder) as parts:
        state, [child] = await called(parts, folder, body)

        assert state.ctx["got"] == {"twice": 42, "name": "nobody"}
        assert state.outputs["call"]["playbook"] == {"execution_id": str(child.id), "status": "success"}


@pytest.mark.spec("TL-04", "SC-01")
async def test_a_child_has_its_own_scopes_and_its_own_log(folder):
    async with opened(folder) as parts:
        state, [child] = await called(parts, folder)

        of_child = await state_of(parts, child.id)
        assert (of_child.ctx, of_child.workload) == ({"mine": "child"}, {"n": 21, "name": "nobody"})
        assert "mine" not in state.ctx
        assert set(of_child.outputs) == {"double", "last"}
        assert (await names_of(parts, child.id))[-1] == "playbook.processed"
        for execution_id in (state.execution_id, child.id):
            assert (await verify(parts.store, execution_id))["is_equal"]


@pytest.mark.spec("TL-04", "RT-14", "PB-08")
async def test_a_child_is_linked_to_the_task_run_that_called_it(folder):
    async with opened(folder) as parts:
        state, [child] = await called(parts, folder)

        [requested, *_] = await log_of(parts, child.id)
        assert isinstance(requested, PlaybookExecutionRequested)
        assert (requested.parent_execution_id, requested.depth) == (state.execution_id, 1)
        assert requested.parent_key == child.parent_key
        assert child.parent_key.startswith(f"{state.execution_id}:1:-1:")
        assert (requested.path, requested.version, child.parent_id) == ("child", 1, state.execution_id)


@pytest.mark.spec("TL-04")
async def test_waiting_for_a_child_holds_no_lease_and_no_slot(folder):
    body = CALLER.replace("path: child", "path: gated")
    async with opened(folder) as parts:
        execution_id = await run(parts, body, folder=str(folder))

        assert (parts.worker.jobs, parts.worker.slots.free) == (0, parts.worker.slots.total)
        assert isinstance((await log_of(parts, execution_id))[-1], TaskWaiting)


@pytest.mark.spec("TL-04", "ST-06")
async def test_a_child_that_waits_for_a_signal_goes_on_and_so_does_its_caller(folder):
    body = CALLER.replace("path: child", "path: gated")
    async with opened(folder) as parts:
        execution_id = await run(parts, body, folder=str(folder))
        [child] = await parts.store.children(execution_id)
        waiting = child.status

        await parts.desk.signal(child.id, {"ctx.go": True})
        await parts.until_quiet(execution_id)

        state = await state_of(parts, execution_id)
        assert (waiting, state.status, state.ctx["got"]) == ("waiting", "success", {"through": True})


@pytest.mark.spec("TL-04")
async def test_each_iteration_has_a_child_of_its_own(folder):
    body = """
        workflow:
          - step: call
            loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel}}
            tool: {kind: playbook, path: child, return_step: double, input: {n: "{{ iter.n }}"}}
    """
    async with opened(folder) as parts:
        state, children = await called(parts, folder, body)

        assert [one["twice"] for one in state.output["data"]] == [2, 4, 6]
        assert len({child.parent_key for child in children}) == 3


LARGE = """
    workflow: [{step: fill, tool: {kind: noop, input: {text: "{{ 'x' * 90000 }}"}}}]
"""
CALL_LARGE, CALL_SMALL = "{name: large, kind: playbook, path: large}", "{name: small, kind: playbook, path: child}"
READ_LARGE = '{name: read, kind: noop, input: {size: "{{ large.data.text | length }}"}}'


@pytest.mark.spec("TL-04", "RS-01", "RS-04")
@pytest.mark.parametrize("tasks", [(CALL_LARGE, READ_LARGE), (CALL_LARGE, CALL_SMALL, READ_LARGE)])
async def test_what_a_child_stored_is_a_reference_for_its_caller_also_after_a_redelivery(folder, tasks):
    (folder / "large.yaml").write_bytes(text_of(LARGE, "large"))
    async with opened(folder) as parts:
        state, _ = await called(parts, folder, f"workflow: [{{step: call, tool: [{', '.join(tasks)}]}}]")

        assert "resolve" in state.error["message"]


@pytest.mark.spec("TL-04", "LP-05", "RS-01")
async def test_what_a_child_with_a_wider_limit_gave_stands_in_the_list_of_a_loop_as_data(folder):
    body = """
        executor: {spec: {policy: {limits: {max_payload_bytes: 16384}}}}
        workflow:
          - step: call
            loop: {in: [a, "{{ 'b' * 20000 }}"], iterator: name}
            tool: {kind: playbook, path: child, return_step: double, input: {name: "{{ iter.name | length }}"}}
            next: {arcs: [{step: read}]}
          - step: read
            tool: [{name: l, kind: resolve, ref: "{{ call.ref }}"},
                   {name: o, kind: noop, input: {sizes: "{{ l.data | map(attribute='text') | map('length') | list }}"}}]
    """
    wide = CHILD.replace('name: "{{ workload.name }}"', "text: \"{{ 'x' * (workload.name | int) }}\"")
    (folder / "child.yaml").write_bytes(text_of(wide, "child"))
    async with opened(folder) as parts:
        state, _ = await called(parts, folder, body)

        assert (state.error, state.output["data"]) == (None, {"sizes": [1, 20000]})


# --- which playbook --------------------------------------------------------------------------------------------------


@pytest.mark.spec("TL-04", "PB-07", "PB-08")
async def test_a_child_comes_from_the_catalog_by_path_and_version(tmp_path):
    async with opened(tmp_path) as parts:
        for answer in (1, 2):
            body = f"workflow: [{{step: a, tool: {{kind: noop, input: {{version: {answer}}}}}}}]"
            await parts.desk.register(RunRequest(data=text_of(body, "stored/child")))
        newest, _ = await called(parts, "", CALLER.replace("path: child", "path: stored/child"))
        first, _ = await called(parts, "", CALLER.replace("path: child", "path: stored/child, version: 1"))

        assert (newest.ctx["got"], first.ctx["got"]) == ({"version": 2}, {"version": 1})


@pytest.mark.spec("TL-04")
async def test_a_file_beside_the_caller_comes_before_the_catalog(folder):
    async with opened(folder) as parts:
        body = "workflow: [{step: a, tool: {kind: noop, input: {from: catalog}}}]"
        await parts.desk.register(RunRequest(data=text_of(body, "child")))

        state, _ = await called(parts, folder)

        assert state.ctx["got"] == {"last": True}


@pytest.mark.spec("TL-04")
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", 'no playbook "nowhere"'),
        ("child, version: 7", 'no playbook "child@7"'),
        ("../outside", 'no playbook "../outside"'),
        ("invalid", "error NL"),
    ],
)
async def test_a_child_that_cannot_begin_fails_the_task_and_says_why(folder, path, message):
    (folder / "invalid.yaml").write_bytes(text_of("workflow: [{step: a, tool: {kind: nonsense}}]", "invalid"))
    (folder.parent / "outside.yaml").write_bytes(text_of(CHILD, "outside"))
    async with opened(folder) as parts:
        state, children = await called(parts, folder, CALLER.replace("path: child", f"path: {path}"))

        assert (state.status, state.error["kind"], children) == ("failed", "child_failed", [])
        assert message in state.error["message"]


# --- failure, cancel, recursion --------------------------------------------------------------------------------------


@pytest.mark.spec("TL-04")
async def test_a_child_that_fails_is_an_error_of_the_task_with_its_cause(folder):
    async with opened(folder) as parts:
        state, [child] = await called(parts, folder, CALLER.replace("path: child", "path: broken"))

        assert (state.status, state.error["kind"], child.status) == ("failed", "child_failed", "failed")
        assert f"child execution {child.id} failed: " in state.error["message"]
        assert state.error["details"]["cause"]["task"] == "refuse"


@pytest.mark.spec("TL-04")
async def test_a_retry_after_a_failed_child_calls_a_new_one(folder):
    body = """
        workflow:
          - step: call
            tool:
              - name: try_it
                kind: playbook
                path: broken
                spec:
                  policy:
                    rules:
                      - {when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 3, delay: 0}}
                      - {else: {then: {do: continue}}}
    """
    async with opened(folder) as parts:
        state, children = await called(parts, folder, body)

        assert state.status == "failed"
        assert [child.parent_key.rpartition(".")[2] for child in children] == ["0", "1", "2"]


@pytest.mark.spec("TL-04")
async def test_cancelling_the_parent_cancels_the_child_and_its_child(folder):
    (folder / "middle.yaml").write_bytes(text_of(CALLER.replace("path: child", "path: gated"), "middle"))
    async with opened(folder) as parts:
        parent = await run(parts, CALLER.replace("path: child", "path: middle"), folder=str(folder))
        [middle] = await parts.store.children(parent)
        [gated] = await parts.store.children(middle.id)

        await parts.desk.cancel(parent, "enough")

        rows = [await parts.store.execution(execution_id) for execution_id in (parent, middle.id, gated.id)]
        assert [row.status for row in rows] == ["cancelled"] * 3
        assert parts.queue.is_idle


@pytest.mark.spec("TL-04", "RT-05")
async def test_a_failure_of_the_parent_cancels_its_children(folder):
    body = """
        workflow:
          - step: start
            tool: {kind: noop}
            next: {spec: {mode: inclusive}, arcs: [{step: call}, {step: fail}]}
          - {step: call, tool: {kind: playbook, path: gated}}
          - step: fail
            spec: {policy: {admit: {on_deny: wait, rules: [{when: "{{ ctx.now }}", then: {allow: true}},
                                                           {else: {then: {allow: false}}}]}}}
            tool: [{name: refuse, kind: noop, spec: {policy: {rules: [{else: {then: {do: fail}}}]}}}]
    """
    async with opened(folder) as parts:
        parent = await run(parts, body, folder=str(folder))
        await parts.desk.signal(parent, {"ctx.now": True})
        await parts.until_quiet(parent)

        [child] = await parts.store.children(parent)
        assert ((await state_of(parts, parent)).status, child.status) == ("failed", "cancelled")


@pytest.mark.spec("TL-04", "ST-07")
@pytest.mark.parametrize("loop", ["", "loop: {in: [1, 2], iterator: n, spec: {mode: parallel}}"], ids=["step", "loop"])
async def test_a_step_over_its_time_cancels_the_children_it_waited_for(folder, loop):
    body = f"""
        workflow:
          - step: call
            spec: {{policy: {{lifecycle: {{deadline_s: 0.2}}}}}}
            {loop}
            tool: {{kind: playbook, path: gated}}
            next: {{arcs: [{{step: mend, when: "{{{{ event.name == 'step.failed' }}}}"}}]}}
          - {{step: mend, tool: {{kind: noop, input: {{mended: true}}}}}}
    """
    async with opened(folder) as parts:
        parent = await begin(parts, body, folder=str(folder))
        while (await parts.store.execution(parent)).status == "running":
            await asyncio.sleep(0.01)

        children = await parts.store.children(parent)
        assert (await state_of(parts, parent)).output["data"] == {"mended": True}
        assert {child.status for child in children} == {"cancelled"}


@pytest.mark.spec("TL-04")
async def test_a_child_that_is_cancelled_tells_its_caller(folder):
    async with opened(folder) as parts:
        parent = await run(parts, CALLER.replace("path: child", "path: gated"), folder=str(folder))
        [child] = await parts.store.children(parent)

        await parts.desk.cancel(child.id, "enough")
        await parts.until_quiet(parent)

        state = await state_of(parts, parent)
        assert (state.status, state.error["kind"]) == ("failed", "cancelled")


@pytest.mark.spec("TL-04", "RS-01")
async def test_a_playbook_that_calls_itself_for_ever_ends_with_a_clear_error(folder):
    (folder / "self.yaml").write_bytes(text_of("workflow: [{step: call, tool: {kind: playbook, path: self}}]", "self"))
    async with opened(folder) as parts:
        state, _ = await called(parts, folder, CALLER.replace("path: child", "path: self"))

        assert state.status == "failed"
        assert f"nested {CHILD_DEPTH_MAX} deep; does one call itself?" in state.error["message"]
        rows = await parts.store.executions()
        assert len(rows) == CHILD_DEPTH_MAX + 1
        sizes = [len(encode(event)) for row in rows for event in await log_of(parts, row.id)]
        assert max(sizes) <= 64 * 1024


# --- after a restart -------------------------------------------------------------------------------------------------


@pytest.mark.spec("TL-04", "EV-06")
async def test_a_caller_that_is_taken_up_again_reattaches_to_the_same_child(folder):
    body = CALLER.replace("path: child", "path: gated")
    async with opened(folder) as parts:
        parent = await run(parts, body, folder=str(folder))

    async with opened(folder) as parts:
        await parts.resume(parent)
        [child] = await parts.store.children(parent)
        await parts.desk.signal(child.id, {"ctx.go": True})
        await parts.until_quiet(parent)

        assert (await state_of(parts, parent)).status == "success"
        assert len(await parts.store.children(parent)) == 1


@pytest.mark.spec("TL-04")
async def test_a_caller_taken_up_again_takes_what_its_child_came_to_meanwhile(folder):
    body = CALLER.replace("path: child", "path: gated")
    async with opened(folder) as parts:
        parent = await run(parts, body, folder=str(folder))
        [child] = await parts.store.children(parent)
        parent_log = await log_of(parts, parent)

        wanted = ops.ChildWanted(key=(parent, 1, -1), task=parent_log[-1].task, child=parent_log[-1].child, depth=1)
        again = await parts.following.within(wanted)
        await parts.desk.signal(child.id, {"ctx.go": True})
        await parts.until_quiet(parent)
        after = await parts.following.within(wanted)

        assert again == [ops.Recover(execution_id=child.id)]
        [ended] = after
        assert (ended.child_execution_id, ended.result, ended.output["data"]) == (
            child.id,
            "success",
            {"through": True},
        )


async def test_two_callers_of_one_playbook_have_each_their_child(folder):
    async with opened(folder) as parts:
        ids = [await begin(parts, CALLER, folder=str(folder)) for _ in range(2)]
        for execution_id in ids:
            await parts.until_quiet(execution_id)

        children = [await parts.store.children(execution_id) for execution_id in ids]
        assert [len(one) for one in children] == [1, 1]
        assert children[0] != children[1]

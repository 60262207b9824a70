"""workload, ctx, iter, step: what each holds, who sees it, and for how long."""

from typing import Any

import pytest

from noetl.engine.events import Event, Patch
from noetl.engine.output import failure
from noetl.engine.patches import patched
from noetl.testing.engine import Engine
from tests.engine.books import engine, ran


def folded(log: list[Event]) -> dict[str, Any]:
    """ctx as the patches of the log give it: those that applied when their event was recorded."""
    ctx: dict[str, Any] = {}
    for event in log:
        if type(event).__name__ != "LoopIterationDone":  # those of a parallel loop apply with loop.done
            ctx = patched(ctx, getattr(event, "patches", []), "ctx")
    return ctx


# --- workload --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("SC-01")
def test_the_payload_is_merged_over_the_defaults_once() -> None:
    made = engine(
        """
        workload: {a: 1, deep: {x: 1, y: {z: 1}}, list: [1, 2, 3], kept: true}
        workflow: [{step: start, tool: {kind: noop}}]
        """
    )

    made.start({"a": 2, "deep": {"y": {"w": 2}}, "list": [9], "new": {"k": 1}})

    assert made.state.workload == {
        "a": 2,
        "deep": {"x": 1, "y": {"z": 1, "w": 2}},
        "list": [9],
        "kept": True,
        "new": {"k": 1},
    }
    assert made.events("playbook.request.evaluated")[0].workload == made.state.workload
    assert made.playbook.workload["deep"] == {"x": 1, "y": {"z": 1}}


@pytest.mark.spec("SC-01")
def test_a_payload_replaces_a_mapping_by_a_scalar_and_a_scalar_by_a_mapping() -> None:
    made = engine("workload: {a: {x: 1}, b: 1}\nworkflow: [{step: start, tool: {kind: noop}}]")

    made.start({"a": None, "b": {"x": 1}})

    assert made.state.workload == {"a": None, "b": {"x": 1}}


@pytest.mark.spec("SC-01")
def test_texts_of_the_workload_are_data_and_never_templates() -> None:
    made = ran(
        """
        workload: {text: "{{ 1 + 1 }}"}
        workflow: [{step: start, tool: {kind: noop, input: {a: "{{ workload.text }}", b: "{{ workload.sent }}"}}}]
        """,
        sent="{{ execution_id }}",
    )

    assert made.state.output["data"] == {"a": "{{ 1 + 1 }}", "b": "{{ execution_id }}"}


@pytest.mark.spec("SC-01", "SC-09")
def test_what_a_pipeline_does_never_changes_the_workload() -> None:
    made = ran(
        """
        workload: {items: [3, 1, 2], deep: {x: 1}}
        workflow:
          - step: start
            tool:
              - {name: a, kind: noop, set: {ctx.items: "{{ workload.items | sort }}", ctx.deep: "{{ workload.deep }}"}}
              - {name: b, kind: noop, set: {ctx.deep.x: 2, ctx.deep.y: 3}}
        """
    )

    assert made.state.ctx == {"items": [1, 2, 3], "deep": {"x": 2, "y": 3}}
    assert made.state.workload == {"items": [3, 1, 2], "deep": {"x": 1}}


# --- ctx -------------------------------------------------------------------------------------------------------------

EVERY_WRITER = """
    workflow:
      - step: start
        tool:
          - {name: a, kind: noop, set: {ctx.task: 1, ctx.a.b: 1}}
        set: {ctx.step: 2, ctx.a.c: 2}
        next: {arcs: [{step: looped, set: {ctx.arc: 3, ctx.a: {d: 3}}}]}
      - step: looped
        loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel, policy: {reducers: {ctx.sum: sum}}}}
        tool: [{name: b, kind: noop, set: {ctx.sum: "{{ iter.n }}"}}]
        set: {ctx.after: "{{ ctx.sum }}"}
        next: {arcs: [{step: waits}]}
      - step: waits
        spec: {policy: {admit: {on_deny: wait, rules: [
          {when: "{{ ctx.go | default(false) }}", then: {allow: true}}, {else: {then: {allow: false}}}]}}}
        tool: {kind: noop}
"""


@pytest.mark.spec("SC-02", "SC-10")
def test_ctx_is_the_fold_of_its_patches_at_every_point_of_the_log() -> None:
    made = ran(EVERY_WRITER)
    made.signal(go=True)
    made.run()

    assert made.status == "success"
    assert made.state.ctx == {"task": 1, "a": {"d": 3}, "step": 2, "arc": 3, "sum": 6, "after": 6, "go": True}
    assert folded(made.log) == made.state.ctx


@pytest.mark.spec("SC-02")
def test_patches_ride_in_the_event_that_caused_them() -> None:
    made = ran(EVERY_WRITER)
    made.signal(go=True)

    def paths(name: str) -> list[list[str]]:
        return [[patch.path for patch in event.patches] for event in made.events(name)]

    assert paths("task.done")[0] == ["ctx.task", "ctx.a.b"]
    assert paths("step.done")[0] == ["ctx.step", "ctx.a.c"]
    assert paths("next.evaluated")[0] == ["ctx.arc", "ctx.a"]
    assert paths("loop.iteration.done") == [["ctx.sum"]] * 3
    assert paths("loop.done") == [["ctx.sum", "ctx.after"]]
    assert paths("signal.received") == [["ctx.go"]]


@pytest.mark.spec("SC-11")
def test_a_step_writes_before_its_arcs_are_asked_and_an_arc_before_its_target_starts() -> None:
    made = ran(
        """
        workflow:
          - step: start
            tool: {kind: noop, set: {ctx.n: 1}}
            set: {ctx.n: "{{ ctx.n + 1 }}"}
            next: {arcs: [{step: then, when: "{{ ctx.n == 2 }}", set: {ctx.n: "{{ ctx.n + 1 }}"}}]}
          - {step: then, input: {n: "{{ ctx.n }}"}, tool: {kind: noop, input: {n: "{{ input.n }}"}}}
        """
    )

    assert made.state.output["data"] == {"n": 3}
    order = [name for name in made.names() if name in ("task.done", "step.done", "next.evaluated", "step.scheduled")]
    assert order[1:5] == ["task.done", "step.done", "next.evaluated", "step.scheduled"]


@pytest.mark.spec("SC-11")
def test_without_a_loop_the_step_set_is_the_workers_and_with_one_the_servers() -> None:
    plain = ran('workflow: [{step: start, tool: {kind: noop}, set: {ctx.x: "{{ output.data }}"}}]', {"start_task": 5})
    looped = ran(
        'workflow: [{step: start, loop: {in: [1, 2], iterator: n}, tool: {kind: noop, input: {n: "{{ iter.n }}"}}, '
        'set: {ctx.x: "{{ output.data }}", ctx.done: "{{ output.loop.done }}"}}]'
    )

    assert [(event.lease > 0, event.patches) for event in plain.events("step.done")] == [(True, [Patch("ctx.x", 5)])]
    assert [event.lease for event in looped.events("loop.done")] == [0]
    assert looped.state.ctx == {"x": [{"n": 1}, {"n": 2}], "done": 2}


@pytest.mark.spec("SC-14")
def test_a_branch_sees_ctx_as_of_its_scheduling_and_the_later_patch_wins() -> None:
    made = engine(
        """
        workflow:
          - step: start
            tool: {kind: noop}
            next: {spec: {mode: inclusive}, arcs: [{step: left}, {step: right}]}
          - step: left
            tool:
              - {name: write, kind: noop, set: {ctx.who: left, ctx.left: true}}
              - {name: own, kind: noop, input: {who: "{{ ctx.who }}"}}
          - step: right
            tool:
              - {name: look, kind: noop, input: {who: "{{ ctx.who | default('nobody') }}"}, set: {ctx.who: right}}
        """
    )
    made.start()
    made.run_job(1, -1)

    made.run_job(2, -1)
    made.run_job(3, -1)

    seen = {one.task.label: one.input for one in made.invocations}
    assert seen["own"] == {"who": "left"}
    assert seen["look"] == {"who": "nobody"}
    assert made.state.ctx == {"who": "right", "left": True}


# --- iter ------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("SC-03")
@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_scratch_values_of_an_iteration_are_its_own(mode: str) -> None:
    made = ran(
        """
        workflow:
          - step: start
            loop: {in: [a, b], iterator: item, spec: {mode: %s}}
            tool:
              - {name: look, kind: noop, input: {found: "{{ iter.seen | default('nothing') }}"}}
              - {name: write, kind: noop, set: {iter.seen: "{{ iter.item }}"}}
              - name: read
                kind: noop
                input: {i: "{{ iter.index }}", item: "{{ iter.item }}", seen: "{{ iter.seen }}"}
        """.replace("%s", mode)
    )

    assert [one.input for one in made.invocations if one.task.label == "look"] == [{"found": "nothing"}] * 2
    assert made.state.output["data"] == [
        {"i": 0, "item": "a", "seen": "a"},
        {"i": 1, "item": "b", "seen": "b"},
    ]


@pytest.mark.spec("SC-04", "LP-09")
def test_parent_is_the_iteration_outside_to_any_depth() -> None:
    made = ran(
        """
        workflow:
          - step: start
            loop:
              in: [a, b]
              iterator: x
              loop:
                in: [1]
                iterator: y
                loop: {in: ["{{ iter.parent.x }}{{ iter.y }}"], iterator: z}
            tool:
              - name: t
                kind: noop
                input:
                  z: "{{ iter.z }}"
                  y: "{{ iter.parent.y }}"
                  x: "{{ iter.parent.parent.x }}"
                  index: "{{ iter.parent.parent.index }}"
        """
    )

    assert made.status == "success", made.state.error
    assert made.state.output["data"] == [
        [[{"z": "a1", "y": 1, "x": "a", "index": 0}]],
        [[{"z": "b1", "y": 1, "x": "b", "index": 1}]],
    ]


# --- step ------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("SC-05")
def test_step_values_live_from_the_first_task_to_the_arcs_of_one_run() -> None:
    made = ran(
        """
        workflow:
          - step: start
            tool:
              - {name: look, kind: noop, input: {n: "{{ step.n | default(0) }}"}}
              - {name: write, kind: noop, set: {step.n: "{{ (step.n | default(0)) + 1 }}"}}
            set: {step.n: "{{ step.n + 10 }}", ctx.runs: "{{ (ctx.runs | default(0)) + 1 }}"}
            next: {arcs: [
              {step: start, when: "{{ step.n == 11 and ctx.runs < 2 }}"},
              {step: last, when: "{{ step.n == 11 }}", set: {ctx.kept: "{{ step.n }}"}}]}
          - {step: last, tool: {kind: noop, input: {n: "{{ step.n | default('gone') }}"}}}
        """
    )

    assert [one.input for one in made.invocations if one.task.label == "look"] == [{"n": 0}, {"n": 0}]
    assert made.state.ctx == {"runs": 2, "kept": 11}
    assert made.state.output["data"] == {"n": "gone"}


# --- loops that write ------------------------------------------------------------------------------------------------


def looping(mode: str, writes: str, reducers: str = "", more: str = "", collection: str = "[1, 2, 3]") -> str:
    policy = f", policy: {{reducers: {{{reducers}}}}}" if reducers else ""
    return f"""
        workflow:
          - step: start
            tool: {{kind: noop, set: {{ctx.total: 100, ctx.list: [0], ctx.base: before}}}}
            next: {{arcs: [{{step: work}}]}}
          - step: work
            loop: {{in: {collection}, iterator: n, spec: {{mode: {mode}{policy}}}}}
            {more}
            tool:
              - name: a
                kind: noop
                input: {{base: "{{{{ ctx.base }}}}", total: "{{{{ ctx.total }}}}"}}
                set: {{{writes}}}
              - {{name: b, kind: noop, input: {{base: "{{{{ ctx.base }}}}", total: "{{{{ ctx.total }}}}"}}}}
    """


@pytest.mark.spec("SC-12")
def test_a_parallel_iteration_sees_ctx_as_it_was_when_the_loop_started_plus_its_own_writes() -> None:
    made = ran(looping("parallel", 'ctx.total: "{{ iter.n }}"', "ctx.total: sum"))

    seen = {label: [one.input["total"] for one in made.invocations if one.task.label == label] for label in "ab"}
    assert seen == {"a": [100, 100, 100], "b": [1, 2, 3]}
    assert made.state.ctx["total"] == 106


@pytest.mark.spec("SC-12")
def test_writes_of_a_parallel_loop_are_merged_at_its_end_only() -> None:
    made = engine(looping("parallel", 'ctx.total: "{{ iter.n }}"', "ctx.total: sum"))
    made.start()
    made.run_job(1, -1)

    made.run_job(2, 1)
    made.run_job(2, 0)
    before = made.state.ctx["total"]
    made.run_job(2, 2)

    assert before == 100
    assert made.state.ctx["total"] == 106


@pytest.mark.spec("SC-12", "SC-14")
def test_an_iteration_that_starts_late_still_sees_ctx_as_it_was_when_the_loop_started() -> None:
    text = looping("parallel, max_in_flight: 1", 'ctx.total: "{{ iter.n }}"', "ctx.total: sum")
    made = engine(text)
    made.start()
    made.run_job(1, -1)

    made.run_job(2, 0)
    made.signal(base="changed")
    made.run()

    assert [one.input["base"] for one in made.invocations if one.task.label == "a"] == ["before"] * 3
    assert made.state.ctx["base"] == "changed"


@pytest.mark.spec("SC-12", "TK-19")
def test_two_parallel_iterations_that_write_different_values_fail_the_step_and_write_nothing() -> None:
    made = ran(looping("parallel", 'ctx.total: 7, ctx.x: "{{ iter.n }}"'))

    assert made.status == "failed"
    assert made.state.error["kind"] == "ctx_conflict"
    assert made.state.error["step"] == "work"
    assert "ctx.x" in made.state.error["message"]
    assert made.state.ctx == {"total": 100, "list": [0], "base": "before"}


@pytest.mark.spec("SC-12")
def test_equal_values_of_parallel_iterations_are_no_conflict() -> None:
    made = ran(looping("parallel", "ctx.total: 7"))

    assert (made.status, made.state.ctx["total"]) == ("success", 7)


@pytest.mark.spec("SC-12")
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_every_reducer_folds_by_index_from_the_value_before_the_loop(order: list[int]) -> None:
    names = ("sum", "min", "max", "count", "append", "first", "last", "union")
    writes = ", ".join(f'ctx.{name}: "{{{{ iter.n }}}}"' for name in names)
    before = ", ".join(f"ctx.{name}: 2" for name in names)
    made = engine(
        f"""
        workflow:
          - step: start
            tool: {{kind: noop, set: {{{before}, ctx.merge: {{a: 0}}}}}}
            next: {{arcs: [{{step: work}}]}}
          - step: work
            loop:
              in: [3, 1, 2]
              iterator: n
              spec:
                mode: parallel
                policy: {{reducers: {{{", ".join(f"ctx.{name}: {name}" for name in (*names, "merge"))}}}}}
            tool: [{{name: a, kind: noop, set: {{{writes}, ctx.merge: {{a: "{{{{ iter.n }}}}", b: 1}}}}}}]
        """
    )
    made.start()
    made.run_job(1, -1)
    for index in order:
        made.run_job(2, index)

    assert made.state.ctx == {
        "sum": 8,
        "min": 1,
        "max": 3,
        "count": 5,
        "append": [2, 3, 1, 2],
        "merge": {"a": 2, "b": 1},
        "first": 3,
        "last": 2,
        "union": [2, 3, 1],
    }


@pytest.mark.spec("SC-12")
def test_a_failed_loop_writes_nothing_and_a_failed_iterations_writes_are_dropped() -> None:
    writes, reducer = 'ctx.total: "{{ iter.n }}"', "ctx.total: sum"
    answers = {"b": [1, failure("client_error", "no"), 3]}
    fast = ran(looping("parallel", writes, reducer), dict(answers, b=list(answers["b"])))
    kept = ran(
        looping("parallel", writes, reducer, "spec: {policy: {failure: {mode: best_effort}}}"),
        dict(answers, b=list(answers["b"])),
    )

    assert (fast.status, fast.state.ctx["total"]) == ("failed", 100)
    assert (kept.status, kept.state.ctx["total"]) == ("success", 104)


@pytest.mark.spec("SC-12", "LP-09")
@pytest.mark.parametrize("where", ["outer", "inner"])
@pytest.mark.parametrize("modes", [("parallel", "parallel"), ("parallel", "sequential"), ("sequential", "parallel")])
def test_the_writes_of_a_nest_are_folded_once_outer_index_first(where: str, modes: tuple[str, str]) -> None:
    reducers = ", policy: {reducers: {ctx.list: append, ctx.total: sum}}"
    made = engine(
        f"""
        workflow:
          - step: start
            tool: {{kind: noop, set: {{ctx.list: [start], ctx.total: 1000}}}}
            next: {{arcs: [{{step: work}}]}}
          - step: work
            loop:
              in: [a, b]
              iterator: x
              spec: {{mode: {modes[0]}{reducers if where == "outer" else ""}}}
              loop:
                in: [1, 2, 3]
                iterator: y
                spec: {{mode: {modes[1]}{reducers if where == "inner" else ""}}}
            tool:
              - name: t
                kind: noop
                set: {{ctx.list: "{{{{ iter.parent.x }}}}{{{{ iter.y }}}}", ctx.total: "{{{{ iter.y }}}}"}}
        """
    )
    made.start()
    while jobs := made.ready():
        made.run_job(*jobs[-1])  # the youngest first: the order of completion must not show

    assert made.state.ctx == {"list": ["start", "a1", "a2", "a3", "b1", "b2", "b3"], "total": 1012}


@pytest.mark.spec("SC-12", "SC-13")
def test_in_a_sequential_loop_inside_a_parallel_one_the_next_iteration_sees_the_writes() -> None:
    made = ran(
        """
        workflow:
          - step: start
            loop:
              in: [0, 10]
              iterator: x
              spec: {mode: parallel, policy: {reducers: {ctx.last: max}}}
              loop: {in: [1, 2, 3], iterator: y}
            tool:
              - name: t
                kind: noop
                input: {before: "{{ ctx.last | default(iter.parent.x) }}"}
                set: {ctx.last: "{{ (ctx.last | default(iter.parent.x)) + iter.y }}"}
        """
    )

    assert made.state.output["data"] == [
        [{"before": 0}, {"before": 1}, {"before": 3}],
        [{"before": 10}, {"before": 11}, {"before": 13}],
    ]
    assert made.state.ctx == {"last": 16}


@pytest.mark.spec("SC-12")
def test_a_conflict_inside_an_inner_loop_fails_the_step() -> None:
    made = ran(
        """
        workflow:
          - step: start
            loop: {in: [a], iterator: x, loop: {in: [1, 2], iterator: y, spec: {mode: parallel}}}
            tool: [{name: t, kind: noop, set: {ctx.y: "{{ iter.y }}"}}]
        """
    )

    assert (made.status, made.state.error["kind"], made.state.ctx) == ("failed", "ctx_conflict", {})


@pytest.mark.spec("SC-13")
def test_of_step_values_in_a_parallel_loop_the_highest_index_wins_unless_there_is_a_reducer() -> None:
    made = engine(
        """
        workflow:
          - step: start
            loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel, policy: {reducers: {step.sum: sum}}}}
            tool:
              - {name: a, kind: noop, set: {step.free: "{{ iter.n }}", step.sum: "{{ iter.n }}"}}
              - {name: b, kind: noop, input: {own: "{{ step.free }}"}}
            set: {ctx.free: "{{ step.free }}", ctx.sum: "{{ step.sum }}"}
        """
    )
    made.start()
    for index in (2, 0, 1):
        made.run_job(1, index)

    assert made.state.output["data"] == [{"own": 1}, {"own": 2}, {"own": 3}]
    assert made.state.ctx == {"free": 3, "sum": 6}


@pytest.mark.spec("SC-13")
def test_in_a_sequential_loop_writes_are_visible_to_the_next_iteration() -> None:
    made = ran(
        """
        workflow:
          - step: start
            loop: {in: [1, 2, 3], iterator: n}
            tool:
              - name: a
                kind: noop
                input: {ctx: "{{ ctx.sum | default(0) }}", step: "{{ step.sum | default(0) }}"}
                set:
                  ctx.sum: "{{ (ctx.sum | default(0)) + iter.n }}"
                  step.sum: "{{ (step.sum | default(0)) - iter.n }}"
            set: {ctx.step: "{{ step.sum }}"}
        """
    )

    assert made.state.output["data"] == [{"ctx": 0, "step": 0}, {"ctx": 1, "step": -1}, {"ctx": 3, "step": -3}]
    assert made.state.ctx == {"sum": 6, "step": -6}


@pytest.mark.spec("SC-03", "SC-13")
def test_in_nested_sequential_loops_writes_are_visible_across_the_outer_iterations() -> None:
    made: Engine = ran(
        """
        workflow:
          - step: start
            loop: {in: [1, 2], iterator: x, loop: {in: [1, 2], iterator: y}}
            tool:
              - name: a
                kind: noop
                set: {ctx.n: "{{ (ctx.n | default(0)) + 1 }}", step.n: "{{ (step.n | default(0)) + 1 }}"}
            set: {ctx.step: "{{ step.n }}"}
        """
    )

    assert made.state.ctx == {"n": 4, "step": 4}


LARGE = "{{ 'x' * 300000 }}"


@pytest.mark.spec("SC-02")
@pytest.mark.parametrize(
    "writes",
    [
        "tool: {kind: noop, set: {ctx.a: LARGE}}",
        "tool: {kind: noop}\n    set: {ctx.a: LARGE}",
        "tool: {kind: noop}\n    next: {arcs: [{step: end, set: {ctx.a: LARGE}}]}",
        "loop: {in: [1], iterator: i}\n    tool: {kind: noop}\n    set: {ctx.a: LARGE}",
    ],
    ids=["task", "step", "arc", "loop"],
)
def test_ctx_has_a_bound_wherever_it_is_written(writes: str) -> None:
    body = f"workflow:\n  - step: start\n    {writes}\n  - step: end\n    tool: {{kind: noop}}\n"

    made = ran(body.replace("LARGE", f'"{LARGE}"'))

    assert made.status == "failed"
    assert made.state.error is not None
    assert made.state.error["kind"] == "limit"
    assert "…_ref" in made.state.error["message"]
    assert made.state.ctx == {}


@pytest.mark.spec("SC-12")
def test_a_path_and_one_below_it_written_by_two_iterations_are_a_conflict() -> None:
    made = ran(
        """
        workflow:
          - step: start
            loop: {in: [0, 1], iterator: i, spec: {mode: parallel}}
            tool:
              kind: noop
              spec:
                policy:
                  rules:
                    - when: "{{ iter.i == 0 }}"
                      then: {do: continue, set: {ctx.a: {c: 1}}}
                    - else: {then: {do: continue, set: {ctx.a.b: 2}}}
        """
    )

    assert made.status == "failed"
    assert made.state.error is not None
    assert made.state.error["kind"] == "ctx_conflict"
    assert "ctx.a;" in made.state.error["message"]

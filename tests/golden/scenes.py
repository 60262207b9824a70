"""What the golden logs are made from: small playbooks, what their tools answer, and who does what when.

Together they bring out every event, each optional field of it both written and left out. `make.py` runs them; nothing
else does, since what counts afterwards are the files.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from noetl.engine import commands as ops
from noetl.engine import events as facts
from noetl.engine.apply import apply
from noetl.engine.events import Event, Patch
from noetl.engine.reopening import reopened
from tests.golden.driving import ChildReply, Driven, Reply, Script

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: golden}\n"
Play = Callable[[Driven], None]


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """One golden log: `play` makes it, `rewrite` gives it the shape that another writer would have given it."""

    name: str
    text: str
    script: Script = Script()
    play: Play
    rewrite: Callable[[Event], Event] | None = None


def to_the_end(made: Driven) -> None:
    made.start({"n": 2})
    made.finish()


def plainly(made: Driven) -> None:
    made.start()
    made.finish()


FLOW = """
workload: {n: 1}
workflow:
  - step: start
    tool: [{name: give, kind: noop}]
    set: {ctx.seen: "{{ workload.n }}"}
    next:
      spec: {mode: inclusive}
      arcs: [{step: each, set: {ctx.arc: 1}}, {step: gated}, {step: never, when: "{{ false }}"}]
  - step: each
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel, policy: {reducers: {ctx.total: sum}}}}
    tool:
      - name: work
        kind: noop
        set: {ctx.total: "{{ iter.n }}", iter.mine: 1}
        spec:
          policy:
            rules:
              - {when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 3, delay: 2}}
              - {else: {then: {do: continue}}}
    next: {arcs: [{step: end}]}
  - step: gated
    spec:
      policy:
        admit: {rules: [{when: "{{ ctx.total == 6 }}", then: {allow: true}}, {else: {then: {allow: false}}}]}
    tool: {kind: noop}
    next: {arcs: [{step: end}]}
  - step: never
    tool: {kind: noop}
  - step: end
    spec: {policy: {admit: {join: all}}}
    tool: [{name: last, kind: noop}]
"""
FLOW_SCRIPT = Script(
    replies={"work": [Reply(error="connection", is_definite=False, logs=["one line", "another"]), Reply(data=5)]}
)

PIPELINE = """
workload: {}
workflow:
  - step: start
    tool:
      - {name: first, kind: noop, set: {ctx.first: "{{ output.data }}", step.mine: 1}}
      - name: left_out
        kind: noop
        spec: {policy: {rules: [{when: "{{ _task == 'left_out' }}", then: {do: skip}}, {else: {then: {do: continue}}}]}}
      - name: again
        kind: noop
        spec:
          policy:
            rules:
              - when: "{{ (step.rounds | default(0)) < 1 }}"
                then: {do: jump, to: first, set: {step.rounds: "{{ (step.rounds | default(0)) + 1 }}"}}
              - {else: {then: {do: continue}}}
      - name: enough
        kind: noop
        spec: {policy: {rules: [{when: "{{ output.data == 9 }}", then: {do: break}}, {else: {then: {do: continue}}}]}}
      - {name: unreached, kind: noop}
    set: {ctx.whole: "{{ output.data }}"}
    next: {arcs: [{step: slow}]}
  - step: slow
    tool:
      - name: wait
        kind: noop
        spec:
          policy:
            rules:
              - {when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 3, delay: 90}}
              - {else: {then: {do: continue}}}
"""

LEGACY = """
workload: {}
workflow:
  - step: start
    tool:
      - name: handing
        kind: noop
        spec: {policy: {rules: [{else: {then: {do: continue, set_prev: {handed: "on"}}}}]}}
      - {name: last, kind: noop, input: {got: "{{ _prev }}"}}
"""

ARCS = """
workload: {}
workflow:
  - step: start
    tool: {kind: noop}
    next:
      spec: {mode: inclusive}
      arcs:
        - {step: left, args: {k: 1}, spec: {priority: 3, partition: "{{ 'p' }}"}}
        - {step: right, args: {k: 1}}
  - step: left
    spec: {pool: big, priority: 2, policy: {emit: {events: [{name: order.placed, on: step.done}]}}}
    tool: {kind: noop}
    next: {arcs: [{step: end, spec: {dedupe: "{{ input.k }}"}}]}
  - step: right
    tool: [{name: breaks, kind: noop}]
    next:
      spec: {mode: inclusive}
      arcs:
        - {step: end, when: "{{ event.name == 'step.failed' }}", set: {ctx.handled: true},
           spec: {dedupe: "{{ input.k }}"}}
        - {step: other, when: "{{ event.name == 'step.failed' and false }}"}
  - step: other
    tool: {kind: noop}
  - step: end
    spec: {policy: {lifecycle: {timeout_s: 50, deadline_s: 200}}}
    tool: {kind: noop}
"""

UNDONE = """
workload: {who: me}
workflow:
  - step: a
    input: {who: "{{ workload.who }}"}
    spec: {policy: {compensation: {tool: [{name: undo_a, kind: noop, input: {id: "{{ output.data }}"}}]}}}
    tool: [{name: make_a, kind: noop}]
    next: {arcs: [{step: b}]}
  - step: b
    spec: {policy: {compensation: {tool: [{name: undo_b, kind: noop, input: {id: "{{ output.data }}"}}]}}}
    tool: [{name: make_b, kind: noop}]
    next: {spec: {mode: inclusive}, arcs: [{step: c}, {step: looped}, {step: waits}]}
  - step: c
    tool: [{name: make_c, kind: noop}]
  - step: looped
    loop: {in: [1, 2], iterator: n, spec: {mode: parallel}, loop: {in: [1, 2], iterator: m}}
    tool: {kind: noop}
  - step: waits
    spec: {policy: {admit: {on_deny: wait, rules: [{when: "{{ ctx.go }}", then: {allow: true}},
                                                   {else: {then: {allow: false}}}]}}}
    tool: {kind: noop}
"""
UNDONE_SCRIPT = Script(replies={"make_c": [Reply(error="server_error")], "undo_b": [Reply(error="auth")]})

BEST_EFFORT = """
executor: {spec: {policy: {failure: {mode: best_effort}}}}
workload: {}
workflow:
  - step: start
    tool: {kind: noop}
    next: {spec: {mode: inclusive}, arcs: [{step: bad}, {step: each}, {step: guarded}]}
  - step: bad
    tool: [{name: breaks, kind: noop}]
  - step: each
    spec: {policy: {failure: {mode: best_effort}}}
    loop: {in: [1, 2, 3], iterator: n}
    tool:
      - name: odd
        kind: noop
        set: {ctx.last: "{{ iter.n }}"}
        spec:
          policy:
            rules:
              - {when: "{{ iter.n == 2 }}", then: {do: fail}}
              - {else: {then: {do: continue}}}
  - step: guarded
    tool: {kind: noop}
    next: {arcs: [{step: bad, when: "{{ 1 / 0 }}"}]}
"""

LOOPS = """
executor: {spec: {policy: {limits: {max_payload_bytes: 256}}}}
workload:
  five: 5
  long: [one of some sixty characters, so that no event can hold all, two of some sixty characters, and three of them]
  deep:
    - {parts: [1, 2], text: "an element that is long enough for the whole list to be kept outside the log"}
    - {parts: [], text: "and another one"}
workflow:
  - step: counted
    loop: {in: "{{ range(2, 8, 2) }}", iterator: n, spec: {mode: parallel, max_in_flight: 2, policy: {exec: local}}}
    tool: [{name: tell, kind: noop, input: {n: "{{ iter.n }}"}, set: {step.n: "{{ iter.n }}"}}]
    next: {arcs: [{step: stored}]}
  - step: stored
    loop: {in: "{{ workload.long }}", iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: [{name: long, kind: noop}]
    next: {arcs: [{step: nested}]}
  - step: nested
    loop:
      in: "{{ workload.deep }}"
      iterator: outer
      loop: {in: "{{ iter.outer.parts }}", iterator: inner, spec: {mode: parallel}}
    tool: [{name: deep, kind: noop, input: {at: "{{ iter.inner }}"}, set: {ctx.deep: 1}}]
    next: {arcs: [{step: none}]}
  - step: none
    loop: {in: [], iterator: n}
    tool: {kind: noop}
    next: {arcs: [{step: breaking}]}
  - step: breaking
    loop: {in: [1, 2], iterator: outer, spec: {mode: parallel}, loop: {in: [1], iterator: inner}}
    tool: [{name: breaks, kind: noop}]
    next: {arcs: [{step: bad, when: "{{ event.name == 'step.failed' }}"}]}
  - step: bad
    loop: {in: "{{ workload.five }}", iterator: n}
    tool: {kind: noop}
"""

CHILDREN = """
workload: {}
workflow:
  - step: start
    loop: {in: [good, silent, bad], iterator: path, spec: {mode: parallel}}
    spec: {policy: {failure: {mode: best_effort}}}
    tool: [{name: call, kind: playbook, path: "{{ iter.path }}"}]
"""

SIGNALLED = """
workload: {}
workflow:
  - step: start
    spec: {policy: {admit: {on_deny: wait, rules: [{when: "{{ ctx.go }}", then: {allow: true}},
                                                   {else: {then: {allow: false}}}]}}}
    tool: {kind: noop}
    next: {spec: {mode: inclusive}, arcs: [{step: denied}, {step: end}]}
  - step: denied
    spec: {policy: {admit: {rules: [{when: "{{ false }}", then: {allow: true}}, {else: {then: {allow: false}}}]}}}
    tool: {kind: noop}
  - step: end
    tool: {kind: noop}
"""

PLANNED = """
workload: {}
workflow:
  - step: think
    spec: {policy: {plan: true}}
    tool: [{name: plan, kind: noop}]
    next: {arcs: [{step: end}]}
  - step: end
    tool: [{name: last, kind: noop}]
"""
PLAN = [
    {"step": "new", "tool": {"kind": "noop"}, "next": {"arcs": [{"step": "newer"}]}},
    {"step": "newer", "spec": {"policy": {"plan": True}}, "tool": [{"name": "none", "kind": "noop"}]},
]

TIMED = """
workload: {}
workflow:
  - step: start
    spec: {policy: {lifecycle: {timeout_s: 5, deadline_s: 20}}}
    loop: {in: [1, 2], iterator: n, spec: {mode: parallel}}
    tool: [{name: work, kind: noop}]
    next: {arcs: [{step: end, when: "{{ event.name == 'step.failed' }}"}]}
  - step: end
    tool: {kind: noop}
"""

KEPT_OUTSIDE = """
executor: {spec: {policy: {limits: {max_payload_bytes: 256}}}}
workload: {}
workflow:
  - step: start
    tool: {kind: noop}
"""


def undone_by_a_cancel(made: Driven) -> None:
    made.start()
    made.run_job(1, -1)
    made.run_job(2, -1)
    made.do(ops.Cancel(execution_id=1, reason="enough"))
    made.finish()


def undone_by_a_failure(made: Driven) -> None:
    made.start()
    made.run_job(1, -1)
    made.run_job(2, -1)
    made.run_job(*made.ready()[1])
    made.run_job(3, -1)
    made.finish()


def cancelled(made: Driven) -> None:
    made.start()
    made.cancel()


def recovered(made: Driven) -> None:
    """Deaths of the process in a row, an incident, a task that was open when its worker died."""
    made.start({"n": 2})
    made.run_job(1, -1, tasks=1)
    for _ in range(6):
        made.crash()
    made.run_job(*made.ready()[0])
    made.do(ops.Incident(execution_id=1, message="a fault of ours"))
    made.finish()


def forked(made: Driven) -> None:
    """Another execution's log up to a point, with another workload and another value in ctx."""
    source = Driven(HEAD + FLOW, FLOW_SCRIPT)
    source.start({"n": 2})
    source.run_job(1, -1)
    fork_from(made, source, workload={"n": 7}, patches=[Patch("ctx.forked", True)], trace_id="0" * 32)


def forked_as_it_was(made: Driven) -> None:
    source = Driven(HEAD + CHILDREN, made.script)
    source.start()
    source.run()
    fork_from(made, source)


def forked_with_much(made: Driven) -> None:
    source = Driven(HEAD + KEPT_OUTSIDE, Script())
    source.start()
    fork_from(made, source, workload={"big": "x" * 300})


def forked_much_later(made: Driven) -> None:
    """What was under way has its time from the fork on."""
    source = Driven(HEAD + TIMED, Script())
    source.start()
    source.run_job(1, 0)
    made.now = source.now + 1000
    fork_from(made, source)


def done_again(made: Driven) -> None:
    made.do(ops.Start(execution_id=1, path="golden", version=1, sha="sha", rerun_of=7))
    made.finish()


REOPENED = """
workload: {}
workflow:
  - step: each
    loop:
      in: [1, 2, 3]
      iterator: n
      spec: {mode: parallel, max_in_flight: 2, policy: {reducers: {ctx.all: append}}}
      loop: {in: [1, 2], iterator: m}
    tool:
      - {name: work, kind: noop, input: {at: ["{{ n }}", "{{ m }}"]}, set: {ctx.all: "{{ [n, m] }}"}}
"""


def reopened_loop(made: Driven) -> None:
    """A loop that failed in one of its inner loops goes on with what it had done, and with a value that was set."""
    source = Driven(HEAD + REOPENED, Script(replies={"work": [Reply(data=1)]}))
    source.start()
    source.run_job(2, 0)
    source.run_job(3, 0)
    source.run_job(3, 1)
    source.do(ops.Expire(execution_id=1, run=2, iter=1, kind="worker_lost", message="its worker was lost five times"))
    source.finish()
    found = reopened(source.log, "each")
    assert found is not None
    source.log = found.prefix
    fork_from(made, source, reopened=found.run, patches=[Patch("ctx.set", 1)])


def fork_from(made: Driven, source: Driven, **fields: object) -> None:
    prefix = list(source.log)
    for event in prefix:
        apply(made.state, event)
    made.log.extend(prefix)
    made.blobs.update(source.blobs)
    made.do(
        ops.Fork(
            execution_id=1,
            path="golden",
            version=2,
            sha="another",
            source_execution_id=7,
            prefix=prefix,
            **fields,  # type: ignore[arg-type]  # as Fork declares them
        )
    )
    made.finish()


def called(made: Driven) -> None:
    """A child: somebody waits for it, and it is part of somebody's trace."""
    made.do(
        ops.Start(
            execution_id=1,
            path="golden",
            version=1,
            sha="sha",
            payload={"big": "x" * 300},
            parent_execution_id=9,
            parent_key="9:1:-1:call:1.0",
            depth=1,
            trace_id="0af7651916cd43dd8448eb211c80319c",
            parent_span_id="b7ad6b7169203331",
        )
    )
    made.finish()


def timed_out(made: Driven) -> None:
    made.start()
    made.do(ops.Expire(execution_id=1, run=1, iter=0, kind="worker_lost", message="its worker was lost five times"))
    made.finish()


def over_its_time(made: Driven) -> None:
    made.start()
    made.do(ops.Expire(execution_id=1, run=1, message="lifecycle.timeout_s has passed"))
    made.finish()


DISPENSABLE: dict[type[Event], tuple[str, ...]] = {  # this engine always writes them; readers can do without
    facts.StepSkipped: ("reason",),
    facts.StepCancelled: ("reason",),
    facts.LoopIterationCancelled: ("reason",),
    facts.StepWaiting: ("rule",),
    facts.StepFailed: ("output",),
    facts.LoopStarted: ("iterator", "inline_bytes_max"),
    facts.TaskDone: ("delay_seconds",),
}


def without_reasons(event: Event) -> Event:
    """Less than this engine writes, but for the numbers of the tokens that the first arcs made, which it leaves out."""
    left_out = DISPENSABLE.get(type(event), ())
    given = {name: getattr(event, name) for name in event.__struct_fields__ if name not in left_out}
    if isinstance(event, facts.NextEvaluated) and event.run == 1:
        given["fired"] = [msgspec.structs.replace(one, token=place) for place, one in enumerate(event.fired, 2)]
    return type(event)(**given)


def refused(made: Driven) -> None:
    """A request that was refused; no engine of today writes it, and every one must read it."""
    made.log = [
        facts.PlaybookExecutionRequested(ts=1000.0, path="golden", version=1, sha="sha"),
        facts.PlaybookRequestEvaluated(ts=1000.0, error={"kind": "type", "message": "no", "retryable": False}),
        facts.WorkflowFinished(ts=1000.0, result="failed", error={"kind": "type", "message": "no"}),
        facts.PlaybookProcessed(ts=1000.0, result="failed"),
    ]


CHILD_REPLIES = {
    "good": ChildReply(data={"answer": 42}),
    "silent": ChildReply(has_output=False),
    "bad": ChildReply(result="failed"),
}
SCENES = (
    Scene(name="flow", text=FLOW, script=FLOW_SCRIPT, play=to_the_end),
    Scene(
        name="pipeline",
        text=PIPELINE,
        script=Script(replies={"wait": [Reply(error="server_error"), Reply(data=1)], "enough": [Reply(data=9)]}),
        play=plainly,
    ),
    Scene(name="legacy", text=LEGACY, script=Script(is_legacy=True), play=plainly),
    Scene(name="arcs", text=ARCS, script=Script(replies={"breaks": [Reply(error="not_found")]}), play=plainly),
    Scene(name="undone-by-a-failure", text=UNDONE, script=UNDONE_SCRIPT, play=undone_by_a_failure),
    Scene(name="undone-by-a-cancel", text=UNDONE, play=undone_by_a_cancel),
    Scene(
        name="best-effort",
        text=BEST_EFFORT,
        script=Script(replies={"breaks": [Reply(error="client_error")]}),
        play=plainly,
    ),
    Scene(name="loops", text=LOOPS, script=Script(replies={"breaks": [Reply(error="exception")]}), play=plainly),
    Scene(name="children", text=CHILDREN, script=Script(children=CHILD_REPLIES), play=plainly),
    Scene(name="signalled", text=SIGNALLED, script=Script(signal={"go": True}), play=plainly),
    Scene(name="cancelled", text=SIGNALLED, play=cancelled),
    Scene(
        name="planned",
        text=PLANNED,
        script=Script(replies={"plan": [Reply(data=PLAN)], "none": [Reply(data=[])]}),
        play=plainly,
    ),
    Scene(
        name="badly-planned",
        text=PLANNED,
        script=Script(replies={"plan": [Reply(data=[{"step": "end", "tool": {"kind": "noop"}}])]}),
        play=plainly,
    ),
    Scene(name="lost", text=TIMED, play=timed_out),
    Scene(name="over-its-time", text=TIMED, play=over_its_time),
    Scene(name="called", text=KEPT_OUTSIDE, play=called),
    Scene(name="recovered", text=FLOW, script=FLOW_SCRIPT, play=recovered),
    Scene(name="forked", text=FLOW, script=FLOW_SCRIPT, play=forked),
    Scene(name="forked-as-it-was", text=CHILDREN, script=Script(children=CHILD_REPLIES), play=forked_as_it_was),
    Scene(name="forked-with-much", text=KEPT_OUTSIDE, play=forked_with_much),
    Scene(name="forked-much-later", text=TIMED, play=forked_much_later),
    Scene(name="done-again", text=KEPT_OUTSIDE, play=done_again),
    Scene(name="reopened", text=REOPENED, script=Script(replies={"work": [Reply(data=1)]}), play=reopened_loop),
    Scene(name="without-reasons", text=UNDONE, script=UNDONE_SCRIPT, play=undone_by_a_failure, rewrite=without_reasons),
    Scene(name="refused", text=KEPT_OUTSIDE, play=refused),
)

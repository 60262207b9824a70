"""A plan written down as the YAML of a playbook."""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.testing.simulator.keychain import BEARER, entry_name
from noetl.testing.simulator.playbooks.plans import (
    GATE_KEY,
    HTTP,
    PLAYBOOK,
    PYTHON,
    SCRIPTED,
    TIMEOUT_SECONDS,
    WORKBOOK,
    Loop,
    Plan,
    Rule,
    Step,
    Task,
    Write,
    tasks_of,
)
from noetl.testing.simulator.playbooks.terms import compare, read, template_of, text_of

FIELDS = {PYTHON: {"code": "scripted"}, HTTP: {"url": "https://scripted.example"}}  # nobody looks at them
PASSED_ON = {  # to a task of the workbook by whoever calls it
    "x": "{{ input.x }}",
    "of": "{{ input.of | default([]) }}",
    "previous": "{{ input.previous | default(none) }}",
}


def playbook_text(plan: Plan) -> bytes:
    """The whole document."""
    tasks = list(tasks_of(plan.steps.values()))
    called = {task.called.label: task.called for task in tasks if task.called}
    secrets = {task.secret for task in tasks if task.secret is not None}
    document = {
        "apiVersion": "noetl.io/v2",
        "kind": "Playbook",
        "metadata": {"name": plan.path.rpartition("/")[2], "path": plan.path},
        "executor": {"spec": _executor(plan)},
        "workload": plan.workload,
        "keychain": [{"name": entry_name(number), "kind": BEARER} for number in sorted(secrets)],
        "workbook": {name: _called(task) for name, task in called.items()},
        "workflow": [step_document(step) for step in plan.steps.values()],
    }
    written = {key: value for key, value in document.items() if value}
    return ("\n".join(_lines(written)) + "\n").encode()


def _executor(plan: Plan) -> dict[str, Any]:
    policy: dict[str, Any] = {}
    if plan.is_best_effort:
        policy["failure"] = {"mode": "best_effort"}
    if plan.payload_bytes_max:
        policy["limits"] = {"max_payload_bytes": plan.payload_bytes_max}
    if plan.is_reference_first:
        policy["results"] = {"reference_first": True}
    spec: dict[str, Any] = {kind: {"timeout": TIMEOUT_SECONDS} for kind in SCRIPTED}
    if plan.output_step:
        spec["output"] = plan.output_step
    return {**spec, "policy": policy} if policy else spec


def step_document(step: Step) -> dict[str, Any]:
    """One step, as it stands in a workflow or in a plan."""
    document: dict[str, Any] = {"step": step.name}
    if spec := _step_spec(step):
        document["spec"] = spec
    if step.loop:
        document["loop"] = _loop(step.loop)
    if step.input:
        document["input"] = {name: template_of(term) for name, term in step.input.items()}
    document["tool"] = [_task(task, step.loop) for task in step.tasks]
    if step.writes:
        document["set"] = _set(step.writes)
    if step.arcs:
        document["next"] = _next(step)
    return document


def _step_spec(step: Step) -> dict[str, Any]:
    policy: dict[str, Any] = {}
    admit = _admit(step)
    if admit:
        policy["admit"] = admit
    lifecycle = {"timeout_s": step.timeout_seconds, "deadline_s": step.deadline_seconds}
    if step.is_planner:
        policy["plan"] = True
    if any(lifecycle.values()):
        policy["lifecycle"] = {name: seconds for name, seconds in lifecycle.items() if seconds}
    if step.is_best_effort:
        policy["failure"] = {"mode": "best_effort"}
    if step.emits:
        policy["emit"] = {"events": [{"name": f"sim.{step.name}", "on": boundary} for boundary in step.emits]}
    if step.compensation:
        policy["compensation"] = {"tool": [_task(task, None) for task in step.compensation]}
    knobs = {"pool": step.pool, "priority": step.priority, "policy": policy}
    return {name: value for name, value in knobs.items() if value}


def _admit(step: Step) -> dict[str, Any]:
    admit: dict[str, Any] = {"join": "all"} if step.is_join else {}
    if step.waits_for_signal:
        opened = {"when": template_of(compare(read(f"ctx.{GATE_KEY}", 0), "==", 1)), "then": {"allow": True}}
        admit |= {"rules": [opened, {"else": {"then": {"allow": False}}}], "on_deny": "wait"}
    elif step.opens_when is not None:
        opened = {"when": template_of(step.opens_when), "then": {"allow": True}}
        admit["rules"] = [opened, {"else": {"then": {"allow": False}}}]
    return admit


def _loop(loop: Loop) -> dict[str, Any]:
    collection = f"{{{{ range({text_of(loop.count)}) }}}}" if loop.collection is None else template_of(loop.collection)
    spec: dict[str, Any] = {"mode": "parallel" if loop.is_parallel else "sequential"}
    if loop.in_flight_max:
        spec["max_in_flight"] = loop.in_flight_max
    policy: dict[str, Any] = {"exec": "local"} if loop.is_local else {}
    if loop.reducers:
        policy["reducers"] = loop.reducers
    document = {"in": collection, "iterator": loop.iterator, "spec": {**spec, "policy": policy} if policy else spec}
    return {**document, "loop": _loop(loop.inner)} if loop.inner else document


def _task(task: Task, loop: Loop | None) -> dict[str, Any]:
    document: dict[str, Any] = {"name": task.label, "kind": task.kind}
    document |= FIELDS.get(task.kind, {})
    if task.kind == PLAYBOOK:
        document["path"] = task.path
    if task.called is not None:
        document["task"] = task.called.label
    given = {name: template_of(term) for name, term in task.input.items()}
    if task.script is not None:
        given["plays"] = _plays(task)
    if task.secret is not None:
        given["secret"] = template_of(read(f"keychain.{entry_name(task.secret)}.token"))
    if task.kind in (*SCRIPTED, WORKBOOK):
        if loop:
            given["of"] = _indexes(loop)
        if task.sees_previous:
            given["previous"] = template_of(read("_prev"))
    if given:
        document["input"] = given
    return {**document, **_consequences(task)}


def _called(task: Task) -> dict[str, Any]:
    """A task of the workbook; the secret it tells comes from its caller."""
    given: dict[str, Any] = {**PASSED_ON, "plays": _plays(task)}
    if task.script is not None and task.script.tells:
        given["secret"] = template_of(read("input.secret"))
    return {"kind": task.kind, **FIELDS[task.kind], "input": given, **_consequences(task)}


def _plays(task: Task) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(task.script).items() if value}


def _consequences(task: Task) -> dict[str, Any]:
    """What a task writes, and what its rules say."""
    document: dict[str, Any] = {}
    if task.writes:
        document["set"] = _set(task.writes)
    if spec := _task_spec(task):
        document["spec"] = spec
    return document


def _indexes(loop: Loop) -> list[str]:
    """The templates of all indexes, outermost first."""
    depth = 1
    while loop.inner:
        depth, loop = depth + 1, loop.inner
    return [f"{{{{ iter.{'parent.' * outwards}index }}}}" for outwards in range(depth - 1, -1, -1)]


def _task_spec(task: Task) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    if task.timeout_seconds != TIMEOUT_SECONDS:
        spec["timeout"] = task.timeout_seconds
    if task.is_sync:
        spec["durability"] = "sync"
    if task.rules is not None:
        spec["policy"] = {"rules": [_rule(rule) for rule in task.rules]}
        if task.fails_unmatched:
            spec["policy"]["on_unmatched"] = "fail"
    return spec


def _rule(rule: Rule) -> dict[str, Any]:
    then: dict[str, Any] = {"do": rule.do}
    if rule.do == "retry":
        then |= {"attempts": rule.attempts, "backoff": rule.backoff, "delay": rule.delay_seconds}
    if rule.to:
        then["to"] = rule.to
    if rule.writes:
        then["set"] = _set(rule.writes)
    return {"else": {"then": then}} if rule.when is None else {"when": template_of(rule.when), "then": then}


def _next(step: Step) -> dict[str, Any]:
    arcs = []
    for arc in step.arcs:
        one: dict[str, Any] = {"step": arc.target}
        if arc.when is not None:
            one["when"] = template_of(arc.when)
        if arc.writes:
            one["set"] = _set(arc.writes)
        if arc.args:
            one["args"] = {name: template_of(term) for name, term in arc.args.items()}
        arcs.append(one)
    return {"spec": {"mode": "inclusive"}, "arcs": arcs} if step.is_inclusive else {"arcs": arcs}


def _set(writes: tuple[Write, ...]) -> dict[str, Any]:
    return {write.path: template_of(write.term) for write in writes}


def _lines(value: Any, indent: str = "") -> list[str]:
    """Block style down to what has nothing nested in it; every text in double quotes."""
    lines = []
    pairs = (
        [(f"{key}:", one) for key, one in value.items()] if isinstance(value, dict) else [("-", one) for one in value]
    )
    for head, one in pairs:
        if not isinstance(one, dict | list) or not one or _is_flat(one):
            lines.append(f"{indent}{head} {_flow(one)}")
        elif head == "-":
            inner = _lines(one, indent + "  ")
            lines += [f"{indent}- {inner[0].strip()}", *inner[1:]]
        else:
            lines += [f"{indent}{head}", *_lines(one, indent + "  ")]
    return lines


def _is_flat(value: dict[str, Any] | list[Any]) -> bool:
    inside = value.values() if isinstance(value, dict) else value
    return not any(isinstance(one, dict | list) and one for one in inside)


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return msgspec.json.encode(value).decode()

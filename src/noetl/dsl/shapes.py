"""What may stand where: one table for the whole document.

The checker walks a document along it and the JSON Schema is written from it, so the two cannot disagree. It describes
the one surface that remains after `dialects/`: what other surfaces spell differently is not here. Fields of a tool are
not here either, they come with its kind. `departures.py` walks along it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from noetl.dsl.kinds import BOOLEAN, INTEGER, LIST, MAPPING, NUMBER, TEXT
from noetl.keychain import kinds

NULL = "null"
REDUCERS = ("sum", "min", "max", "count", "append", "merge", "first", "last", "union")
DIRECTIVES = ("continue", "retry", "jump", "break", "fail", "skip")
CREDENTIAL_KINDS = kinds.NAMES
ATTEMPTS_MAX = 1000
DELAY_SECONDS_MAX = 7 * 24 * 3600
IN_FLIGHT_MAX = 10_000
TIMEOUT_SECONDS_MAX = 30 * 24 * 3600
TTL_SECONDS_MAX = 100 * 366 * 24 * 3600
PAYLOAD_BYTES_MAX = 1024 * 1024


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What a value may be. No types given: anything."""

    types: tuple[str, ...] = ()
    doc: str = ""
    where: str = ""  # how messages call the mapping: `step`, `loop`, `executor.spec`
    keys: dict[str, str] = {}  # key → name of its shape
    required: tuple[str, ...] = ()
    is_open: bool = False  # other keys are the author's own
    is_spec: bool = False  # an unknown key is a warning (PB-13)
    block: str = "1"  # the block of rules that speaks of it
    items: str = ""  # shape of a list's items, or of an open mapping's values
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    is_template: bool = False  # a text with {{ … }} stands for any type


def text(doc: str) -> Shape:
    return Shape(types=(TEXT,), doc=doc)


def choice(doc: str, *choices: str) -> Shape:
    return Shape(types=(TEXT,), choices=choices, doc=doc)


def number(doc: str, minimum: float, maximum: float, *, is_template: bool = False) -> Shape:
    return Shape(types=(NUMBER,), doc=doc, minimum=minimum, maximum=maximum, is_template=is_template)


def whole(doc: str, minimum: float, maximum: float) -> Shape:
    return Shape(types=(INTEGER,), doc=doc, minimum=minimum, maximum=maximum)


def flag(doc: str) -> Shape:
    return Shape(types=(BOOLEAN,), doc=doc)


def reserved(doc: str) -> Shape:
    return Shape(doc=doc + " (accepted, without effect yet)")


def mapping(where: str, block: str, doc: str, keys: dict[str, str], **more: Any) -> Shape:
    return Shape(types=(MAPPING,), where=where, block=block, doc=doc, keys=keys, **more)


def or_nothing(shape: Shape) -> Shape:
    """An optional section that may stand there with nothing in it."""
    return msgspec.structs.replace(shape, types=(*shape.types, NULL))


def spec(where: str, block: str, doc: str, keys: dict[str, str]) -> Shape:
    return mapping(where, block, doc, keys, is_spec=True)


KNOBS = {
    "timeout": "timeout",
    "durability": "durability",
    "pool": "pool",
    "priority": "priority",
    "isolation": "isolation",
    "retry": "anything",
    "resources": "anything",
    "result": "result",
}

SHAPES: dict[str, Shape] = {
    "anything": Shape(),
    "text": text("Text."),
    "template": Shape(is_template=True, doc="Any value; texts in it may hold templates."),
    "root": mapping(
        "playbook",
        "1",
        "A NoETL playbook.",
        {
            "apiVersion": "apiVersion",
            "kind": "kind",
            "metadata": "metadata",
            "keychain": "keychain",
            "executor": "executor",
            "workload": "workload",
            "workflow": "workflow",
            "workbook": "workbook",
        },
        required=("apiVersion", "kind", "metadata", "workflow"),
    ),
    "apiVersion": text("The version of the playbook language: noetl.io/v2."),
    "kind": text("The kind of document: Playbook."),
    "metadata": mapping(
        "metadata",
        "1",
        "Who this playbook is.",
        {
            "name": "metadata.name",
            "path": "metadata.path",
            "version": "metadata.version",
            "description": "metadata.description",
            "labels": "metadata.labels",
        },
        required=("name",),
    ),
    "metadata.name": text("The playbook's name."),
    "metadata.path": text("Where the catalog keeps it; the name if not given."),
    "metadata.version": Shape(types=(TEXT, NUMBER), doc="A label for people; the catalog counts versions by content."),
    "metadata.description": text("What the playbook does."),
    "metadata.labels": Shape(types=(MAPPING,), is_open=True, where="metadata.labels", doc="Words to find it by."),
    "keychain": or_nothing(
        Shape(types=(LIST,), items="credential", doc="The credentials this playbook needs, by name and kind.")
    ),
    "credential": mapping(
        "keychain entry",
        "1",
        "A credential that is resolved before the workflow starts.",
        {"name": "credential.name", "kind": "credential.kind"},
        required=("name", "kind"),
        is_open=True,
    ),
    "credential.name": text("The name that `auth` and {{ keychain.<name> }} use."),
    "credential.kind": choice("What sort of secret it is.", *CREDENTIAL_KINDS),
    "workload": Shape(
        types=(MAPPING, NULL),
        is_open=True,
        where="workload",
        doc="Default inputs; the request's payload is merged over them. Data, never templates.",
    ),
    "workflow": Shape(types=(LIST,), items="step", doc="The steps."),
    "workbook": Shape(
        types=(MAPPING, NULL),
        is_open=True,
        where="workbook",
        items="task",
        doc="Reusable tasks, by name; kind: workbook calls one.",
    ),
    "executor": or_nothing(
        mapping(
            "executor",
            "1",
            "Where and how the playbook runs.",
            {"profile": "executor.profile", "version": "executor.version", "spec": "executor.spec"},
        )
    ),
    "executor.profile": choice("Where loops run by default.", "local", "distributed"),
    "executor.version": Shape(types=(TEXT, NUMBER), doc="The runtime it is written for."),
    "executor.spec": or_nothing(
        spec(
            "executor.spec",
            "1",
            "Defaults for every step and task.",
            {
                **KNOBS,
                "policy": "executor.policy",
                "entry_step": "executor.entry_step",
                "output": "executor.output",
                "compat": "executor.compat",
            },
        )
    ),
    "executor.entry_step": text("The step that starts the workflow."),
    "executor.output": text("The step whose output is the execution's."),
    "executor.compat": choice("Accept the habits of playbooks written for the public NoETL.", "upstream"),
    "executor.policy": spec(
        "executor.spec.policy",
        "1",
        "Rules for the whole execution.",
        {
            "defaults": "policy.defaults",
            "results": "policy.results",
            "limits": "policy.limits",
            "failure": "policy.failure",
            "routing": "policy.routing",
            "placement": "anything",
        },
    ),
    "policy.defaults": spec(
        "executor.spec.policy.defaults",
        "1",
        "Defaults below every spec.",
        {"timeouts": "timeout", "resources": "reserved"},
    ),
    "reserved": reserved("A placeholder"),
    "policy.results": spec(
        "executor.spec.policy.results",
        "1",
        "How results are kept.",
        {"reference_first": "policy.reference_first", "store": "result.store"},
    ),
    "policy.reference_first": flag("Store every result outside the log, whatever its size."),
    "policy.limits": spec(
        "executor.spec.policy.limits", "1", "Limits.", {"max_payload_bytes": "policy.max_payload_bytes"}
    ),
    "policy.max_payload_bytes": whole("The largest event row, in bytes.", 256, PAYLOAD_BYTES_MAX),
    "policy.failure": spec("failure", "2", "What a failure does to the rest.", {"mode": "policy.failure.mode"}),
    "policy.failure.mode": choice("Stop at once, or let the rest finish.", "fail_fast", "best_effort"),
    "policy.routing": spec(
        "executor.spec.policy.routing",
        "1",
        "How arcs are read.",
        {"unguarded_on_failure": "policy.unguarded_on_failure"},
    ),
    "policy.unguarded_on_failure": flag("Arcs without `when` also match a failed step (000 §13.1 to the letter)."),
    "timeout": Shape(
        types=(NUMBER, MAPPING),
        where="timeout",
        block="3",
        doc="Seconds for one attempt, or {connect, read, total}.",
        keys={"connect": "seconds", "read": "seconds", "total": "seconds"},
        minimum=0.001,
        maximum=TIMEOUT_SECONDS_MAX,
    ),
    "seconds": number("Seconds.", 0.001, TIMEOUT_SECONDS_MAX),
    "durability": choice("sync: wait until the task before is committed.", "sync", "async"),
    "pool": text("The worker pool."),
    "priority": whole("Lower runs first.", -1000, 1000),
    "isolation": choice("How code is kept apart.", "inline", "process", "sandbox"),
    "result": spec(
        "spec.result",
        "7",
        "Where results go.",
        {"store": "result.store", "schema": "result.schema", "select": "result.select", "ttl": "result.ttl"},
    ),
    "result.select": Shape(
        types=(LIST, MAPPING),
        is_open=True,
        where="spec.result.select",
        doc="Fields to keep readable beside a reference.",
    ),
    "result.store": Shape(
        types=(TEXT, MAPPING),
        is_spec=True,
        block="7",
        where="spec.result.store",
        doc="files, sqlite, postgres, nats_object, s3, gcs or azure; or {kind, bucket, prefix, table, auth}.",
        keys={"kind": "anything", **dict.fromkeys(("auth", "bucket", "container", "prefix", "table"), "text")},
    ),
    "result.ttl": number(
        "Seconds that a stored result is kept after its execution has ended; not given: for ever.", 1, TTL_SECONDS_MAX
    ),
    "result.schema": Shape(
        types=(MAPPING,), is_open=True, where="spec.result.schema", doc="A JSON Schema of the data."
    ),
    "step": mapping(
        "step",
        "2",
        "A step: admission, loop, pipeline, router.",
        {
            "step": "step.name",
            "desc": "step.desc",
            "spec": "step.spec",
            "loop": "loop",
            "input": "input",
            "tool": "tool",
            "set": "set",
            "next": "next",
        },
        required=("step",),
    ),
    "step.name": text("The step's name, unique in the workflow."),
    "step.desc": or_nothing(text("What the step does.")),
    "step.spec": or_nothing(spec("step.spec", "2", "Knobs of the step.", {**KNOBS, "policy": "step.policy"})),
    "step.policy": spec(
        "step.spec.policy",
        "2",
        "Admission, lifecycle, failure.",
        {
            "admit": "admit",
            "lifecycle": "lifecycle",
            "failure": "policy.failure",
            "emit": "emit",
            "compensation": "compensation",
            "plan": "plan",
            "tracing": "reserved",
            "quotas": "reserved",
        },
    ),
    "admit": spec(
        "admit",
        "2",
        "The gate in front of the step.",
        {"mode": "admit.mode", "rules": "admit.rules", "on_deny": "admit.on_deny", "join": "admit.join"},
    ),
    "admit.mode": choice("Reserved.", "exclusive", "inclusive"),
    "admit.rules": Shape(types=(LIST,), items="admit.rule", doc="First match wins."),
    "admit.rule": mapping(
        "admission rule", "2", "A rule of the gate.", {"when": "when", "then": "admit.then", "else": "admit.else"}
    ),
    "admit.else": mapping("admission else", "2", "If no rule matched.", {"then": "admit.then"}, required=("then",)),
    "admit.then": mapping("admission then", "2", "The answer.", {"allow": "admit.allow"}, required=("allow",)),
    "admit.allow": flag("Whether the token enters."),
    "admit.on_deny": choice("What becomes of a denied token when nothing else can run.", "skip", "wait"),
    "admit.join": choice("Fire once, when all tokens that can still come have come.", "all"),
    "lifecycle": spec(
        "lifecycle", "2", "How long the step may take.", {"timeout_s": "seconds", "deadline_s": "seconds"}
    ),
    "emit": spec("emit", "2", "Events of the author's own.", {"events": "emit.events"}),
    "emit.events": Shape(types=(LIST,), items="emit.event", doc="Events added at the step's boundaries."),
    "emit.event": mapping("emit event", "2", "An event.", {"name": "emit.name", "on": "emit.on"}, required=("name",)),
    "emit.name": text("The event's name, with a prefix of your own."),
    "emit.on": choice("At which boundary.", "step.scheduled", "step.started", "step.done", "step.failed", "loop.done"),
    "compensation": spec("compensation", "2", "Tasks that undo this step.", {"tool": "tool"}),
    "plan": flag("The step's output is a list of steps to add to this execution."),
    "input": or_nothing(mapping("input", "3", "Named values.", {}, is_open=True, items="template")),
    "tool": Shape(types=(MAPPING, LIST), where="tool", block="3", is_open=True, items="task", doc="The pipeline."),
    "task": mapping(
        "task",
        "3",
        "A task of the pipeline.",
        {
            "name": "task.name",
            "desc": "step.desc",
            "kind": "task.kind",
            "input": "input",
            "set": "set",
            "spec": "task.spec",
            "auth": "task.auth",
        },
        required=("kind",),
        is_open=True,
    ),
    "task.name": text("The task's label, unique in its pipeline."),
    "task.kind": text("The tool kind."),
    "task.auth": Shape(types=(TEXT, MAPPING), is_open=True, where="auth", doc="The name of a keychain entry."),
    "task.spec": or_nothing(spec("task.spec", "3", "Knobs of the task.", {**KNOBS, "policy": "task.policy"})),
    "task.policy": spec(
        "task policy",
        "3",
        "What happens after the tool answered.",
        {
            "rules": "task.rules",
            "on_unmatched": "task.on_unmatched",
            "mode": "reserved",
            "before": "reserved",
            "after": "reserved",
            "finally": "reserved",
        },
    ),
    "task.rules": Shape(types=(LIST,), items="task.rule", doc="First match wins."),
    "task.on_unmatched": choice("If no rule matched and there is no else.", "continue", "fail"),
    "task.rule": mapping("rule", "3", "A rule.", {"when": "when", "then": "then", "else": "task.else"}),
    "task.else": mapping("else", "3", "If no rule matched.", {"then": "then"}),
    "when": Shape(types=(TEXT, BOOLEAN), is_template=True, doc="A condition: one {{ expression }}."),
    "then": mapping(
        "then",
        "3",
        "What to do.",
        {
            "do": "then.do",
            "attempts": "then.attempts",
            "backoff": "then.backoff",
            "delay": "then.delay",
            "max_delay": "then.max_delay",
            "jitter": "then.jitter",
            "to": "then.to",
            "set": "set",
        },
    ),
    "then.do": choice("The directive.", *DIRECTIVES),
    "then.attempts": whole("Tries in all, the first included.", 1, ATTEMPTS_MAX),
    "then.backoff": choice("How the delay grows.", "none", "linear", "exponential"),
    "then.delay": number("Seconds before the next try.", 0, DELAY_SECONDS_MAX, is_template=True),
    "then.max_delay": number("The longest delay.", 0, DELAY_SECONDS_MAX),
    "then.jitter": Shape(
        types=(BOOLEAN, NUMBER), minimum=0, maximum=1, doc="Vary the delay by this share (true: half)."
    ),
    "then.to": text("The task to jump to."),
    "set": or_nothing(mapping("set", "6", "Writes: ctx.*, step.*, iter.*", {}, is_open=True, items="template")),
    "loop": mapping(
        "loop",
        "4",
        "Run the pipeline once per element.",
        {"in": "loop.in", "iterator": "loop.iterator", "spec": "loop.spec", "loop": "loop"},
        required=("in", "iterator"),
    ),
    "loop.in": Shape(types=(TEXT, LIST, MAPPING), is_template=True, is_open=True, doc="The collection."),
    "loop.iterator": text("The element's name: iter.<iterator>."),
    "loop.spec": or_nothing(
        spec(
            "loop.spec",
            "4",
            "How the loop runs.",
            {**KNOBS, "mode": "loop.mode", "max_in_flight": "loop.max_in_flight", "policy": "loop.policy"},
        )
    ),
    "loop.mode": choice("One after the other, or many at once.", "sequential", "parallel"),
    "loop.max_in_flight": whole("How many iterations at once.", 1, IN_FLIGHT_MAX),
    "loop.policy": spec(
        "loop.spec.policy",
        "4",
        "Placement and merging.",
        {
            "exec": "loop.exec",
            "mode": "loop.mode",
            "max_in_flight": "loop.max_in_flight",
            "reducers": "loop.reducers",
            "ordering": "reserved",
            "backpressure": "reserved",
            "partitioning": "reserved",
        },
    ),
    "loop.exec": choice("Spread iterations over workers, or keep them with one worker.", "local", "distributed"),
    "loop.reducers": Shape(
        types=(MAPPING,), where="reducers", block="4", is_open=True, items="loop.reducer", doc="ctx.key: reducer"
    ),
    "loop.reducer": choice("How the iterations' writes become one value.", *REDUCERS),
    "next": mapping("next", "5", "The router.", {"spec": "next.spec", "arcs": "arcs"}, required=("arcs",)),
    "next.spec": or_nothing(
        spec("next.spec", "5", "How arcs are chosen.", {"mode": "next.mode", "policy": "next.policy"})
    ),
    "next.mode": choice("First match, or all matches.", "exclusive", "inclusive"),
    "next.policy": spec(
        "next.spec.policy",
        "5",
        "Reserved.",
        {"priority": "reserved", "dedupe": "reserved", "partitioning": "reserved"},
    ),
    "arcs": Shape(types=(LIST,), items="arc", doc="The arcs, in order."),
    "arc": mapping(
        "arc",
        "5",
        "A way to a next step.",
        {"step": "arc.step", "when": "when", "set": "set", "args": "arc.args", "spec": "arc.spec"},
        required=("step",),
    ),
    "arc.step": text("The step the token goes to."),
    "arc.args": mapping(
        "arc args", "5", "Values the token carries (deprecated: set).", {}, is_open=True, items="template"
    ),
    "arc.spec": or_nothing(
        spec(
            "arc.spec",
            "5",
            "Quality of the arc.",
            {"priority": "priority", "dedupe": "template", "partition": "template", "policy": "reserved"},
        )
    ),
}

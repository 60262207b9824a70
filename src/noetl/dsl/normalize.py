"""Draft to Playbook: the last stage of the room.

Takes a Draft in which the rules found no error and gives the model. All surfaces are one by now (`dialects/`), so what
is left is to give every default its value, every spec its layers, and every text its template. Never fails on a Draft
without errors.
"""

from __future__ import annotations

from collections.abc import Iterable

from noetl.dsl import draft as drafts
from noetl.dsl.conditions import reads_failure
from noetl.dsl.draft import Draft
from noetl.dsl.kinds import Field
from noetl.dsl.layers import Spec, effective_spec, merge, timeout_of
from noetl.dsl.model import (
    Admission,
    AdmissionRule,
    Arc,
    Assign,
    Condition,
    Credential,
    Data,
    Emission,
    Loop,
    Parts,
    Playbook,
    Policy,
    Router,
    Rule,
    Settings,
    Step,
    Task,
    Value,
)
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, Sequence, plain
from noetl.dsl.references import WORKBOOK, reference_wishes
from noetl.expressions import Template, looks_like_template, truth_of
from noetl.expressions import parse as parse_template


def normalize(draft: Draft) -> Playbook:
    """The Playbook of a Draft that has no errors."""
    return _Normalizer(draft).playbook()


class _Normalizer:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.executor_spec = merge(store_of_policy(draft), data_of(draft.executor_spec))
        self.settings = settings_of(draft)
        self.wishes = reference_wishes(draft)

    def playbook(self) -> Playbook:
        draft = self.draft
        metadata = draft.root.mapping("metadata")
        assert metadata is not None  # noqa: S101 - the rules have seen to it
        assert draft.entry is not None  # noqa: S101
        name = metadata.text("name") or ""
        return Playbook(
            place=draft.root.place,
            name=name,
            path=metadata.text("path") or name,
            version=words(metadata.get("version")),
            description=metadata.text("description") or "",
            settings=self.settings,
            credentials={name: credential(name, node) for name, node in draft.credentials.items()},
            workload=data_of(draft.workload),
            steps={step.name: self.step(step) for step in draft.steps},
            workbook={name: self.task(task, [self.executor_spec]) for name, task in draft.workbook.items()},
            entry=draft.entry.name,
            output_step=draft.executor_spec.text("output") if draft.executor_spec else None,
            debug_map=draft.debug_map,
        )

    def step(self, step: drafts.Step) -> Step:
        specs = [self.executor_spec, data_of(step.spec)]
        specs += [data_of(loop.spec) for loop in step.loops]
        knobs = effective_spec(None, specs[:2], self.draft.kinds)
        lifecycle = data_of(step.policy.mapping("lifecycle") if step.policy else None)
        failure = data_of(step.policy.mapping("failure") if step.policy else None)
        return Step(
            place=step.node.place,
            name=step.name,
            description=step.node.text("desc") or "",
            admission=admission(step),
            loop=self.loop(step.loops),
            input=values(step.input),
            tasks=tuple(self.task(task, specs) for task in step.tasks),
            set=assigns(step.sets),
            router=self.router(step),
            timeout_seconds=seconds(lifecycle.get("timeout_s")),
            deadline_seconds=seconds(lifecycle.get("deadline_s")),
            is_best_effort=failure.get("mode") == "best_effort",
            pool=text_or_none(knobs.get("pool")),
            priority=whole(knobs.get("priority"), 0),
            emissions=emissions(step),
            compensation=tuple(self.task(task, specs[:2]) for task in step.compensation),
            wants_reference=step.name in self.wishes.steps,
            is_planner=bool(step.policy and plain_of(step.policy.get("plan")) is True),
        )

    def loop(self, loops: list[drafts.Loop]) -> Loop | None:
        """A nest of loops, from the innermost outwards; reducers hold for the whole nest (SC-12)."""
        reducers: dict[str, str] = {}
        for loop in loops:
            declared = data_of(loop.policy.mapping("reducers") if loop.policy else None)
            reducers.update({key: str(value) for key, value in declared.items()})
        made: Loop | None = None
        for loop in reversed(loops):
            made = self.one_loop(loop, reducers, made)
        return made

    def one_loop(self, loop: drafts.Loop, reducers: dict[str, str], inner: Loop | None) -> Loop:
        where = plain_of(loop.policy.get("exec")) if loop.policy else None
        in_flight = plain_of(loop.knob("max_in_flight"))
        assert loop.collection is not None  # noqa: S101 - the rules have seen to it
        assert loop.iterator is not None  # noqa: S101
        return Loop(
            place=loop.node.place,
            collection=value(loop.collection),
            iterator=loop.iterator.text,
            is_parallel=loop.is_parallel,
            max_in_flight=in_flight if isinstance(in_flight, int) else None,
            is_distributed=where == "distributed" if where else not self.settings.is_local,
            reducers=reducers,
            inner=inner,
        )

    def task(self, task: drafts.Task, specs: list[Spec]) -> Task:
        kind = self.draft.kinds.get(task.kind)
        timeouts = data_of(self.draft.executor_policy("defaults")).get("timeouts")
        spec = effective_spec(kind, [*specs, data_of(task.spec)], self.draft.kinds, timeouts)
        fields = {field.name: field for field in kind.fields} if kind else {}
        made_from = self.draft.debug_map.get(task.step.name, {}) if task.step else {}
        return Task(
            place=task.node.place,
            label=task.label,
            kind=task.kind,
            input={name: value(entry.value, fields.get(name)) for name, entry in task.fields.items()},
            set=assigns(task.sets),
            policy=self.policy(task),
            spec={key: knob for key, knob in spec.items() if key != "timeout"},
            timeout=timeout_of(spec),
            wants_reference=(task.step.name if task.step else WORKBOOK, task.label) in self.wishes.tasks,
            made_from=made_from.get(task.label, ""),
        )

    def policy(self, task: drafts.Task) -> Policy | None:
        if not isinstance(task.policy, Mapping):
            return None
        return Policy(
            place=task.policy.place,
            rules=tuple(rule(one) for one in task.rules),
            on_unmatched=task.policy.text("on_unmatched") or "continue",
        )

    def router(self, step: drafts.Step) -> Router:
        place = step.next.place if step.next else step.node.place
        return Router(place=place, is_inclusive=step.is_inclusive, arcs=tuple(self.arc(arc) for arc in step.arcs))

    def arc(self, arc: drafts.Arc) -> Arc:
        spec = arc.node.mapping("spec")
        knobs = spec.entries if spec else {}
        when = condition(arc.when) if arc.when is not None else None
        return Arc(
            place=arc.node.place,
            target=arc.target_name,
            when=when,
            set=assigns(arc.sets),
            args=values(arc.args.entries if arc.args else {}),
            handles_failure=self.handles_failure(when),
            priority=whole(plain_of(spec.get("priority")) if spec else None, 0),
            dedupe=value(knobs["dedupe"].value) if "dedupe" in knobs else None,
            partition=value(knobs["partition"].value) if "partition" in knobs else None,
        )

    def handles_failure(self, when: Condition | None) -> bool:
        """RT-11: an arc without `when` matches success, unless the executor asks for the letter of 000 §13.1."""
        if when is None:
            return self.settings.unguarded_on_failure
        return when.template is not None and reads_failure(when.template)


def store_of_policy(draft: Draft) -> Spec:
    """executor.spec.policy.results.store, as executor.spec.result.store would write it."""
    store = data_of(draft.executor_policy("results")).get("store")
    return {"result": {"store": store}} if store is not None else {}


def settings_of(draft: Draft) -> Settings:
    executor = data_of(draft.root.mapping("executor"))
    limits = data_of(draft.executor_policy("limits"))
    defaults = Settings()
    policy = draft.executor_spec.mapping("policy") if draft.executor_spec else None
    return Settings(
        is_local=executor.get("profile") == "local",
        runtime=words(executor.get("version")),
        is_best_effort=data_of(draft.executor_policy("failure")).get("mode") == "best_effort",
        unguarded_on_failure=data_of(draft.executor_policy("routing")).get("unguarded_on_failure") is True,
        reference_first=data_of(draft.executor_policy("results")).get("reference_first") is True,
        max_payload_bytes=whole(limits.get("max_payload_bytes"), defaults.max_payload_bytes),
        placement=plain_of(policy.get("placement")) if policy else None,
        is_transparent=draft.is_upstream,
    )


def credential(name: str, node: Mapping) -> Credential:
    settings = {key: entry for key, entry in node.entries.items() if key not in ("name", "kind")}
    return Credential(place=node.place, name=name, kind=node.text("kind") or "", settings=values(settings))


def admission(step: drafts.Step) -> Admission:
    if step.admit is None:
        return Admission(place=step.node.place)
    return Admission(
        place=step.admit.place,
        rules=tuple(admission_rule(node) for node in step.admit_rules),
        waits_when_denied=step.admit.text("on_deny") == "wait",
        is_join=step.is_join,
    )


def admission_rule(node: Mapping) -> AdmissionRule:
    then = (node.mapping("else") or node).mapping("then")
    when = node.get("when")
    return AdmissionRule(
        place=node.place,
        when=condition(when) if when is not None else None,
        allow=plain_of(then.get("allow")) is True if then else True,
    )


def rule(written: drafts.Rule) -> Rule:
    then = written.then
    assert then is not None  # noqa: S101 - the rules have seen to it
    when = condition(written.when) if written.when is not None else None
    previous = then.get("set_prev")
    return Rule(
        place=written.node.place,
        when=when,
        do=written.do,
        set=assigns(written.sets),
        to=then.text("to"),
        attempts=whole(plain_of(then.get("attempts")), 3),
        backoff=then.text("backoff") or "none",
        delay=delay(then.get("delay")),
        max_delay_seconds=seconds(plain_of(then.get("max_delay"))),
        jitter=share(plain_of(then.get("jitter"))),
        previous=value(previous) if previous is not None else None,
        is_before_tool=written.do == "skip"
        and when is not None
        and when.reads.isdisjoint(("output", written.task.label)),
    )


def delay(node: AnyNode | None) -> Value | float:
    if node is None:
        return 1.0
    found = plain_of(node)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else value(node)


def share(jitter: Data) -> float:
    """`jitter: true` varies a delay by half."""
    if isinstance(jitter, bool):
        return 0.5 if jitter else 0.0
    return float(jitter) if isinstance(jitter, int | float) else 0.0


def emissions(step: drafts.Step) -> tuple[Emission, ...]:
    emit = step.policy.mapping("emit") if step.policy else None
    events = emit.sequence("events") if emit else None
    ending = "loop.done" if step.has_loop else "step.done"  # RT-03
    return tuple(
        Emission(place=node.place, name=node.text("name") or "", on=node.text("on") or ending)
        for node in (events.items if events else ())
        if isinstance(node, Mapping)
    )


def assigns(written: Iterable[drafts.Assignment]) -> tuple[Assign, ...]:
    return tuple(assign(one) for one in written)


def assign(written: drafts.Assignment) -> Assign:
    scope, _, path = written.target.partition(".")
    return Assign(place=written.key.place, scope=scope, path=tuple(path.split(".")), value=value(written.value))


def condition(node: AnyNode) -> Condition:
    """A `when`: text is true, false or empty, anything else in it is a template (TP-04)."""
    if isinstance(node, Scalar) and isinstance(node.value, str) and looks_like_template(node.value):
        return Condition(place=node.place, template=parse_template(node.value))
    return Condition(place=node.place, always=bool(truth_of(plain_of(node))))


def values(entries: dict[str, Entry]) -> dict[str, Value]:
    return {name: value(entry.value) for name, entry in entries.items()}


def value(node: AnyNode, field: Field | None = None) -> Value:
    """A node as a value; text of a field that takes no template (Python code) is data whatever it looks like."""
    if field and not field.is_template:
        return Value(place=node.place, parts=plain_of(node))
    names: set[str] = set()
    made = parts(node, names)
    if field is None:
        return Value(place=node.place, parts=made, reads=frozenset(names))
    return Value(
        place=node.place,
        parts=made,
        reads=frozenset(names),
        is_sql=field.is_sql,
        sql_keys=frozenset(field.sql_keys),
    )


def parts(node: AnyNode, names: set[str]) -> Parts:
    if isinstance(node, Mapping):
        return {name: parts(entry.value, names) for name, entry in node.entries.items()}
    if isinstance(node, Sequence):
        return [parts(item, names) for item in node.items]
    if isinstance(node.value, str) and looks_like_template(node.value):
        template: Template = parse_template(node.value)
        names.update(template.names)
        return template
    return node.value


def plain_of(node: AnyNode | None) -> Data:
    return plain(node) if node is not None else None  # type: ignore[return-value]  # plain data by construction


def data_of(node: Mapping | None) -> dict[str, Data]:
    found = plain_of(node)
    return found if isinstance(found, dict) else {}


def words(found: AnyNode | Data) -> str:
    """A version as text, however it was written: 2.0 stays `2.0`."""
    if isinstance(found, Scalar):
        return found.text
    return "" if found is None else str(found)


def seconds(found: Data) -> float | None:
    return float(found) if isinstance(found, int | float) else None


def whole(found: Data, otherwise: int) -> int:
    return found if isinstance(found, int) and not isinstance(found, bool) else otherwise


def text_or_none(found: Data) -> str | None:
    return found if isinstance(found, str) else None

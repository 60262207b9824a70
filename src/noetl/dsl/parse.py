"""Nodes to Draft: the second stage.

Takes the tree after the dialects, finds steps, tasks, rules, arcs, loops, writes and templates in it, and compiles
nothing but templates. It never complains: what has not the right shape is left out, and `shapes.py` and the rules
say so.
"""

from __future__ import annotations

from collections.abc import Iterable

from noetl.dsl.dialects.tree import Mark
from noetl.dsl.draft import Arc, Assignment, Draft, Loop, Rule, Site, Step, Task, Text
from noetl.dsl.kinds import Kinds
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, Sequence
from noetl.dsl.source import Source
from noetl.expressions import TemplateSyntaxFault, looks_like_template
from noetl.expressions import parse as parse_template

TASK_KEYS = frozenset(("name", "desc", "kind", "input", "set", "spec"))
REFUSED_KEYS = frozenset(
    ("eval", "expr", "pipe", "case", "retry", "sink", "vars")
)  # refused as a whole, with what is in them
SCOPES = ("ctx", "step", "iter")
LOOPS_MAX = 16


def parse(
    source: Source,
    root: Mapping,
    kinds: Kinds,
    *,
    is_legacy: bool = False,
    is_upstream: bool = False,
    marks: Iterable[Mark] = (),
    debug_map: dict[str, dict[str, str]] | None = None,
) -> Draft:
    """The Draft of one playbook document."""
    draft = Draft(
        source=source,
        root=root,
        kinds=kinds,
        is_legacy=is_legacy,
        is_upstream=is_upstream,
        marks=list(marks),
        debug_map=debug_map or {},
    )
    parser = _Parser(draft)
    parser.parse_keychain()
    parser.parse_workflow()
    parser.parse_workbook()
    return draft


class _Parser:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft

    def parse_keychain(self) -> None:
        for entry in self.draft.credentials.values():
            self.collect(entry, Site.CREDENTIAL)

    def parse_workflow(self) -> None:
        workflow = self.draft.root.sequence("workflow")
        for index, node in enumerate(workflow.items if workflow else ()):
            name = node.scalar("step") if isinstance(node, Mapping) else None
            if isinstance(node, Mapping) and name and name.text:
                self.draft.steps.append(self.parse_step(node, name, index))

    def parse_workbook(self) -> None:
        workbook = self.draft.root.mapping("workbook")
        for name, entry in workbook.entries.items() if workbook else ():
            if isinstance(entry.value, Mapping):
                self.draft.workbook[name] = self.parse_task(entry.value, name, None, 0)

    def parse_step(self, node: Mapping, name: Scalar, index: int) -> Step:
        step = Step(node=node, name=name.text, name_node=name, index=index, spec=node.mapping("spec"))
        step.policy = step.spec.mapping("policy") if step.spec else None
        self.parse_admission(step)
        step.loops = self.parse_loops(step)
        step.input = self.parse_input(node, Site.STEP_INPUT, step, None)
        step.tool = node.get("tool")
        step.tasks = self.parse_pipeline(step.tool, step)
        compensation = step.policy.mapping("compensation") if step.policy else None
        step.compensation = self.parse_pipeline(compensation.get("tool") if compensation else None, step, True)
        step.sets = self.parse_set(node, Site.STEP_SET, step, None)
        self.parse_router(step)
        return step

    def parse_admission(self, step: Step) -> None:
        step.admit = step.policy.mapping("admit") if step.policy else None
        rules = step.admit.sequence("rules") if step.admit else None
        step.admit_rules = [rule for rule in rules.items if isinstance(rule, Mapping)] if rules else []
        for rule in step.admit_rules:
            self.collect(rule.get("when"), Site.ADMIT, step=step)

    def parse_loops(self, step: Step) -> list[Loop]:
        loops: list[Loop] = []
        node = step.node.mapping("loop")
        while node and len(loops) < LOOPS_MAX:
            outer = loops[-1] if loops else None
            loop = Loop(node=node, collection=node.get("in"), iterator=node.scalar("iterator"), outer=outer)
            self.collect(loop.collection, Site.LOOP_IN, step=step, loop=loop)
            loops.append(loop)
            node = node.mapping("loop")
        return loops

    def parse_input(self, node: Mapping, site: str, step: Step | None, task: Task | None) -> dict[str, Entry]:
        values = node.mapping("input")
        for key, entry in values.entries.items() if values else ():
            self.collect(entry.value, site, step=step, task=task, target=key)
        return values.entries if values else {}

    def parse_pipeline(self, tool: AnyNode | None, step: Step, is_compensation: bool = False) -> list[Task]:
        if isinstance(tool, Mapping):
            label = tool.text("name") or f"{step.name}_task"
            return [self.parse_task(tool, label, step, 0, is_compensation)]
        if not isinstance(tool, Sequence):
            return []
        return [
            self.parse_task(item, item.text("name") or f"task_{index}", step, index, is_compensation)
            for index, item in enumerate(tool.items)
            if isinstance(item, Mapping)
        ]

    def parse_task(
        self, node: Mapping, label: str, step: Step | None, index: int, is_compensation: bool = False
    ) -> Task:
        task = Task(
            node=node,
            label=label,
            name=node.scalar("name"),
            step=step,
            index=index,
            kind=node.text("kind") or "",
            direct={key: entry for key, entry in node.entries.items() if key not in TASK_KEYS},
            input={},
            spec=node.mapping("spec"),
            policy=None,
            rules=[],
            sets=[],
            is_compensation=is_compensation,
        )
        self.parse_fields(task)
        self.parse_policy(task)
        task.sets = self.parse_set(node, Site.TASK_SET, step, task)
        return task

    def parse_fields(self, task: Task) -> None:
        kind = self.draft.kinds.get(task.kind)
        values = task.node.mapping("input")
        task.input = values.entries if values else {}
        for name, entry in (*task.direct.items(), *task.input.items()):
            field = kind.field(name) if kind else None
            is_field = field.is_template if field else name not in REFUSED_KEYS or name in task.input
            if is_field:
                self.collect(entry.value, Site.TASK_FIELD, step=task.step, task=task, target=name)

    def parse_policy(self, task: Task) -> None:
        task.policy = task.spec.get("policy") if task.spec else None
        rules = task.policy.sequence("rules") if isinstance(task.policy, Mapping) else None
        task.rules = [self.parse_rule(node, task) for node in rules.items if isinstance(node, Mapping)] if rules else []

    def parse_rule(self, node: Mapping, task: Task) -> Rule:
        otherwise = node.mapping("else")
        then = (otherwise or node).mapping("then")
        rule = Rule(node=node, when=node.get("when"), is_else="else" in node.entries, then=then, sets=[], task=task)
        self.collect(rule.when, Site.RULE_WHEN, step=task.step, task=task)
        if then:
            self.collect(then.get("delay"), Site.RULE_DELAY, step=task.step, task=task)
            rule.sets = self.parse_set(then, Site.RULE_SET, task.step, task)
            if self.draft.is_legacy:  # PB-10: 003's set_prev has no newer spelling
                self.collect(then.get("set_prev"), Site.RULE_SET, step=task.step, task=task, target="_prev")
        return rule

    def parse_router(self, step: Step) -> None:
        step.next = step.node.get("next")
        if not isinstance(step.next, Mapping):
            return
        spec = step.next.mapping("spec")
        step.is_inclusive = bool(spec and spec.text("mode") == "inclusive")
        arcs = step.next.sequence("arcs")
        for index, node in enumerate(arcs.items if arcs else ()):
            if isinstance(node, Mapping):
                step.arcs.append(self.parse_arc(node, step, index))

    def parse_arc(self, node: Mapping, step: Step, index: int) -> Arc:
        arc = Arc(
            node=node,
            target=node.scalar("step"),
            when=node.get("when"),
            sets=self.parse_set(node, Site.ARC_SET, step, None),
            args=node.mapping("args"),
            step=step,
            index=index,
        )
        self.collect(arc.when, Site.ARC_WHEN, step=step)
        self.collect(arc.args, Site.ARC_ARGS, step=step)
        self.collect(node.mapping("spec"), Site.ARC_SPEC, step=step)
        return arc

    def parse_set(self, node: Mapping, site: str, step: Step | None, task: Task | None) -> list[Assignment]:
        written = node.mapping("set")
        found: list[Assignment] = []
        for key, entry in written.entries.items() if written else ():
            found.extend(assignments(key, entry, site, step, task))
        for assignment in found:
            self.collect(assignment.value, site, step=step, task=task, target=assignment.target)
        self.draft.assignments.extend(found)
        return found

    def collect(
        self,
        node: AnyNode | None,
        site: str,
        *,
        step: Step | None = None,
        task: Task | None = None,
        loop: Loop | None = None,
        target: str = "",
    ) -> None:
        """Keep every template below a node."""
        if isinstance(node, Scalar):
            if isinstance(node.value, str) and looks_like_template(node.value):
                text = Text(node=node, site=site, template=None, fault=None, step=step, task=task, loop=loop)
                text.target = target
                compile_text(text)
                self.draft.texts.append(text)
        elif isinstance(node, Sequence):
            for item in node.items:
                self.collect(item, site, step=step, task=task, loop=loop, target=target)
        elif isinstance(node, Mapping):
            for entry in node.entries.values():
                self.collect(entry.value, site, step=step, task=task, loop=loop, target=target)


def compile_text(text: Text) -> None:
    try:
        text.template = parse_template(text.node.text)
    except TemplateSyntaxFault as fault:
        text.fault = fault


def assignments(key: str, entry: Entry, site: str, step: Step | None, task: Task | None) -> Iterable[Assignment]:
    """The writes one key of a `set` stands for: itself, or one per key of a scope's mapping (SC-10)."""
    if key in SCOPES and isinstance(entry.value, Mapping):
        for name, inner in entry.value.entries.items():
            target = f"{key}.{name}"
            yield Assignment(
                target=target, key=inner.key, value=inner.value, site=site, step=step, task=task, is_nested=True
            )
    else:
        yield Assignment(target=key, key=entry.key, value=entry.value, site=site, step=step, task=task)

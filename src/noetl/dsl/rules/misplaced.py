"""Keys that stand where they have no meaning, but whose meaning is known: one walk for all the rules that refuse them.

A knob beside `spec`, another word for `when`, a block that the language no longer has, a directive outside a task's
rules: each has a rule of its own that shows the right form. The walk finds them all, so that each rule asks for its
sort, and so that the rules for unknown keys (see `shape_faults.py`) stay silent about them.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from noetl.dsl.departures import Path
from noetl.dsl.draft import Draft
from noetl.dsl.kinds import Kind
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, Sequence
from noetl.dsl.rules.whereabouts import described
from noetl.dsl.shapes import KNOBS, SHAPES

CONDITION, KNOB, REMOVED, DIRECTIVE = "condition", "knob", "removed block", "directive"
SET, STEP_WHEN, NEXT_MODE, CREDENTIAL = "set under spec", "step when", "next_mode", "credential"
ARGS = "args beside input"

CONDITIONS = frozenset(("if", "unless", "condition", "cond", "expr"))
REMOVED_FROM_STEP = frozenset(("case", "retry", "sink", "vars", "eval"))
SECRETS = frozenset(
    "auth authentication credential credentials keychain password passwd token tokens secret secrets api_key apikey"
    " access_key secret_key private_key client_secret".split()
)
OF_RETRY = ("attempts", "backoff", "delay", "max_delay", "jitter")
RETRY_PATH = "the `then` of a rule under a task's spec.policy.rules"


def under(prefix: str, *keys: str) -> dict[str, str]:
    return {key: f"{prefix}.{key}" for key in keys}


# container → key beside its spec → where that key belongs
BELONGS: dict[str, dict[str, str]] = {
    "executor": {
        **under("executor.spec", *SHAPES["executor.spec"].keys),
        **under("executor.spec.policy", *SHAPES["executor.policy"].keys),
    },
    "step": {
        **under("spec", *(knob for knob in KNOBS if knob != "retry"), "policy"),
        **under("spec.policy", *SHAPES["step.policy"].keys),
        **under("spec.policy.lifecycle", "timeout_s", "deadline_s"),
        **under("spec.policy.admit", "join", "on_deny"),
        **under("loop.spec", "max_in_flight"),
        "mode": "next.spec.mode",
        "next_mode": "next.spec.mode",
        "concurrency": "loop.spec.max_in_flight",
        "exec": "loop.spec.policy.exec",
        **dict.fromkeys(OF_RETRY, RETRY_PATH),
    },
    "loop": {
        **under("loop.spec", *KNOBS, "mode", "max_in_flight", "policy"),
        **under("loop.spec.policy", "exec", "reducers"),
        "concurrency": "loop.spec.max_in_flight",
    },
    "next": {**under("next.spec", "mode", "policy")},
    "arc": {**under("spec", "priority", "dedupe", "partition", "policy"), "mode": "next.spec.mode"},
    "task": {
        **under("spec", *KNOBS, "policy"),
        **under("loop.spec", "mode", "max_in_flight"),
        **under("the step's spec.policy", "admit", "lifecycle"),
        **under("the step's spec.policy.lifecycle", "timeout_s", "deadline_s"),
        "timeouts": "spec.timeout",
        "concurrency": "loop.spec.max_in_flight",
        "exec": "loop.spec.policy.exec",
        **dict.fromkeys((*OF_RETRY, "retry", "retries"), RETRY_PATH),
    },
}


class Misplaced(msgspec.Struct, frozen=True, kw_only=True):
    """A key that stands where it has no meaning."""

    sort: str  # CONDITION … ARGS
    where: str  # what it stands in: executor, step, loop, next, arc, task, rule, then, admission rule;
    # for directives and set also: spec, policy, admission
    entry: Entry
    parent: Mapping
    owner: str  # step "fetch"
    belongs: str = ""  # for a knob: the path where it belongs

    @property
    def key(self) -> str:
        return self.entry.key.text


class Found(msgspec.Struct, frozen=True):
    """All of one document, and the ids of the values that no other rule needs to speak of."""

    keys: list[Misplaced]
    ids: set[int]


def misplaced(draft: Draft, sort: str) -> Iterator[Misplaced]:
    """The misplaced keys of one sort."""
    return (one for one in found_in(draft).keys if one.sort == sort)


def refused(draft: Draft) -> set[int]:
    """The ids of the values under misplaced keys: a rule speaks of them already."""
    return found_in(draft).ids


def found_in(draft: Draft) -> Found:
    made = draft.prepared.get("misplaced")
    if not isinstance(made, Found):
        made = draft.prepared["misplaced"] = _Search(draft).search()
    return made


class _Search:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.found = Found([], set())

    def search(self) -> Found:
        executor = self.draft.root.mapping("executor")
        if executor:
            self.executor(executor)
        workflow = self.draft.root.sequence("workflow")
        for index, node in enumerate(workflow.items if workflow else ()):
            if isinstance(node, Mapping):
                self.step(node, ("workflow", index))
        workbook = self.draft.root.mapping("workbook")
        for name, entry in workbook.entries.items() if workbook else ():
            if isinstance(entry.value, Mapping):
                self.task(entry.value, ("workbook", name))
        return self.found

    def add(self, sort: str, where: str, key: str, parent: Mapping, owner: str, belongs: str = "") -> None:
        entry = parent.entries[key]
        self.found.ids.add(id(entry.value))
        self.found.keys.append(
            Misplaced(sort=sort, where=where, entry=entry, parent=parent, owner=owner, belongs=belongs)
        )

    def executor(self, node: Mapping) -> None:
        self.credentials(node)
        for key in node.entries.keys() - SHAPES["executor"].keys.keys():
            if key.lower() not in SECRETS and key in BELONGS["executor"]:
                self.add(KNOB, "executor", key, node, "the executor", BELONGS["executor"][key])
        self.layer(node, "the executor")

    def credentials(self, node: AnyNode, *, is_store: bool = False) -> None:
        """Secrets under the executor, however deep; a result store names the credential that opens it (RS-06)."""
        if isinstance(node, Mapping):
            for key, entry in node.entries.items():
                if key.lower() in SECRETS and not (is_store and key == "auth" and isinstance(entry.value, Scalar)):
                    self.add(CREDENTIAL, "executor", key, node, "the executor")
                else:
                    self.credentials(entry.value, is_store=key == "store")
        elif isinstance(node, Sequence):
            for item in node.items:
                self.credentials(item)

    def step(self, node: Mapping, path: Path) -> None:
        owner = described(self.draft, path)
        for key in node.entries:
            if key == "when":
                self.add(STEP_WHEN, "step", key, node, owner)
            elif key in REMOVED_FROM_STEP:
                self.add(REMOVED, "step", key, node, owner)
            else:
                self.sort_out(key, node, "step", owner)
        self.layer(node, owner)
        self.pipeline(node.get("tool"), (*path, "tool"))
        self.loop(node.mapping("loop"), owner)
        self.router(node.mapping("next"), owner)
        self.policy_of_step(node, path, owner)

    def policy_of_step(self, node: Mapping, path: Path, owner: str) -> None:
        spec = node.mapping("spec")
        if spec and "next_mode" in spec.entries:
            self.add(NEXT_MODE, "spec", "next_mode", spec, owner)
        policy = spec.mapping("policy") if spec else None
        admit = policy.mapping("admit") if policy else None
        rules = admit.sequence("rules") if admit else None
        for rule in rules.items if rules else ():
            if isinstance(rule, Mapping):
                self.conditions(rule, "admission rule", owner)
        compensation = policy.mapping("compensation") if policy else None
        if compensation:
            self.pipeline(compensation.get("tool"), (*path, "spec", "policy", "compensation", "tool"))

    def loop(self, node: Mapping | None, owner: str) -> None:
        while node:
            for key in node.entries:
                self.sort_out(key, node, "loop", owner)
            self.layer(node, owner)
            node = node.mapping("loop")

    def router(self, node: Mapping | None, owner: str) -> None:
        if node is None:
            return
        for key in node.entries.keys() & BELONGS["next"].keys():
            self.add(KNOB, "next", key, node, owner, BELONGS["next"][key])
        self.layer(node, owner)
        arcs = node.sequence("arcs")
        for arc in arcs.items if arcs else ():
            if isinstance(arc, Mapping):
                self.arc(arc, owner)

    def arc(self, node: Mapping, owner: str) -> None:
        for key in node.entries:
            self.sort_out(key, node, "arc", owner)
        self.layer(node, owner)

    def pipeline(self, tool: AnyNode | None, path: Path) -> None:
        if isinstance(tool, Mapping):
            self.task(tool, path)
        for index, item in enumerate(tool.items if isinstance(tool, Sequence) else ()):
            if isinstance(item, Mapping):
                self.task(item, (*path, index))

    def task(self, node: Mapping, path: Path) -> None:
        owner = described(self.draft, path)
        kind = self.draft.kinds.get(node.text("kind") or "")
        for key in node.entries:
            if not (kind and kind.field(key)):
                self.sort_out(key, node, "task", owner, kind)
        spec = node.mapping("spec")
        if spec:
            self.task_spec(spec, owner)

    def task_spec(self, spec: Mapping, owner: str) -> None:
        """`rules` hold the only directives there are; beside them neither `do` nor `set` has a meaning."""
        policy = spec.mapping("policy")
        for node, where in ((spec, "spec"), (policy, "policy")):
            for key, sort in (("do", DIRECTIVE), ("set", SET)):
                if node and key in node.entries:
                    self.add(sort, where, key, node, owner)
        rules = policy.sequence("rules") if policy else None
        for rule in rules.items if rules else ():
            if isinstance(rule, Mapping):
                self.rule(rule, owner)

    def rule(self, node: Mapping, owner: str) -> None:
        self.conditions(node, "rule", owner)
        if "do" in node.entries:
            self.add(DIRECTIVE, "rule", "do", node, owner)
        then = node.mapping("then") or (node.mapping("else") or node).mapping("then")
        if then:
            self.conditions(then, "then", owner)

    def conditions(self, node: Mapping, where: str, owner: str) -> None:
        for key in node.entries.keys() & CONDITIONS:
            self.add(CONDITION, where, key, node, owner)

    def sort_out(self, key: str, node: Mapping, where: str, owner: str, kind: Kind | None = None) -> None:
        """A key of a step, loop, arc or task that may be a condition, a directive or a knob."""
        if key in SHAPES[where].keys:
            return
        if key == "args" and where in ("step", "task") and "input" in node.entries:
            self.add(ARGS, where, key, node, owner)
            return
        belongs = self.place_of_knob(key, node, where, kind)
        if key in CONDITIONS:
            self.add(CONDITION, where, key, node, owner)
        elif key == "do":
            self.add(DIRECTIVE, where, key, node, owner)
        elif belongs:
            self.add(KNOB, where, key, node, owner, belongs)

    def place_of_knob(self, key: str, node: Mapping, where: str, kind: Kind | None) -> str:
        if where == "task" and kind is None:
            return ""  # the fields of an unknown kind are not known either
        if where == "step" and key == "mode" and "loop" in node.entries and "next" not in node.entries:
            return "loop.spec.mode"
        return BELONGS[where].get(key) or (f"spec.{key}" if kind and kind.knob(key) else "")

    def layer(self, node: Mapping, owner: str) -> None:
        """The spec of anything but a task: it holds neither `set` nor directives, at any depth of its policy."""
        spec = node.mapping("spec")
        if spec is None:
            return
        for key in ("set", "do"):
            if key in spec.entries:
                self.add(SET if key == "set" else DIRECTIVE, "spec", key, spec, owner)
        policy = spec.mapping("policy")
        if policy:
            self.task_rules(policy, owner)
            self.policy(policy, owner)

    def task_rules(self, policy: Mapping, owner: str) -> None:
        """The rules of a task in a policy that has none: said once, at the first directive."""
        rules = policy.get("rules")
        before = len(self.found.keys)
        if rules:
            self.policy(rules, owner)
        if len(self.found.keys) > before:
            del self.found.keys[before + 1 :]
            self.found.ids.add(id(rules))

    def policy(self, node: AnyNode, owner: str, where: str = "policy") -> None:
        if id(node) in self.found.ids:
            return
        for item in node.items if isinstance(node, Sequence) else ():
            self.policy(item, owner, where)
        if not isinstance(node, Mapping):
            return
        for key, entry in node.entries.items():
            if key in ("do", "set"):
                self.add(SET if key == "set" else DIRECTIVE, where, key, node, owner)
            elif key != "tool":
                self.policy(entry.value, owner, "admission" if key == "admit" else where)

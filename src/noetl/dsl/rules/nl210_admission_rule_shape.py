"""Admission does not have its one shape.

`spec.policy.admit.rules` is a list. Each item is a condition with its answer, `when` and `then: { allow: … }`, or the
fallback, `else` with a `then` of its own, which comes last. Any other shape would leave open whether a token may
enter. An empty list is a warning: every token enters.

Wrong:

    spec:
      policy:
        admit:
          rules:
            - else: { allow: false }
            - when: "{{ ctx.total > 0 }}"
              allow: true

Right:

    spec:
      policy:
        admit:
          rules:
            - when: "{{ ctx.total > 0 }}"
              then: { allow: true }
            - else:
                then: { allow: false }

Spec: ST-05, ST-13.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding, did_you_mean, listed
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, Sequence, describe, shorten
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import shown
from noetl.dsl.rules.misplaced import CONDITIONS, refused
from noetl.dsl.rules.whereabouts import described, first_entry
from noetl.dsl.source import Place

RULE = contract.Rule(code="NL210", name="admission-rule-shape", spec=("ST-05", "ST-13"), also=(WARNING,))

WHY = "a rule is a condition with its answer (when, then) or the fallback (else, with its own then)"
SHOWN = 'admit: { rules: [{ when: "{{ … }}", then: { allow: true } }, { else: { then: { allow: false } } }] }'


def check(draft: Draft) -> Iterator[Finding]:
    workflow = draft.root.sequence("workflow")
    for index, step in enumerate(workflow.items if workflow else ()):
        spec = step.mapping("spec") if isinstance(step, Mapping) else None
        entry = spec.entries.get("policy") if spec else None
        if entry:
            yield from _Admission(draft, described(draft, ("workflow", index))).policy(entry)


class _Admission:
    """The admission of one step."""

    def __init__(self, draft: Draft, owner: str) -> None:
        self.refused = refused(draft)
        self.owner = owner

    def policy(self, entry: Entry) -> Iterator[Finding]:
        if not isinstance(entry.value, Mapping):
            yield self.at(entry, f"the policy of {self.owner} must be a mapping", f"write policy: {{ {SHOWN} }}")
        elif admit := entry.value.entries.get("admit"):
            yield from self.admit(admit)

    def admit(self, entry: Entry) -> Iterator[Finding]:
        if not isinstance(entry.value, Mapping):
            fix = "put the list under rules" if isinstance(entry.value, Sequence) else f"write {SHOWN}"
            yield self.at(entry, f"admit of {self.owner} must be a mapping", fix)
        elif rules := entry.value.entries.get("rules"):
            yield from self.rules(rules)

    def rules(self, entry: Entry) -> Iterator[Finding]:
        rules = entry.value
        if not isinstance(rules, Sequence):
            yield self.at(entry, f"the admission rules of {self.owner} must be a list", f"write {SHOWN}")
            return
        if not rules.items:
            yield RULE.at(
                entry.key.place,
                f"the admission rules of {self.owner} are an empty list",
                why="without a rule every token enters",
                fix=f"write {SHOWN}, or delete rules",
                severity=WARNING,
            )
        for index, rule in enumerate(rules.items):
            yield from self.rule(rule, f"admission rule {index + 1} of {self.owner}", index == len(rules.items) - 1)

    def rule(self, rule: AnyNode, name: str, is_last: bool) -> Iterator[Finding]:
        if not isinstance(rule, Mapping):
            message = f"{name} must be a mapping, found {describe(rule)}"
            yield RULE.at(rule.place, message, why=WHY, fix=f"write {SHOWN}")
            return
        yield from self.unknown(rule, name, ("when", "then", "else"))
        has_condition = "when" in rule.entries or not CONDITIONS.isdisjoint(rule.entries)
        if "else" in rule.entries:
            yield from self.otherwise(rule, name, is_last)
        elif not has_condition:
            yield self.without_condition(rule, name, is_last)
        else:
            yield from self.then(rule, name)

    def otherwise(self, rule: Mapping, name: str, is_last: bool) -> Iterator[Finding]:
        entry = rule.entries["else"]
        if "when" in rule.entries:
            fix = "make the else an item of its own, the last"
            yield RULE.at(entry.key.place, f"{name} has both when and else", why=WHY, fix=fix)
        elif not is_last:
            yield RULE.at(
                entry.key.place,
                f"{name} is the else, but rules follow it",
                why="rules are tried from top to bottom and else always matches, so the others are never reached",
                fix="move the else to the end",
            )
        if isinstance(entry.value, Mapping):
            yield from self.unknown(entry.value, f"the else of {name}", ("then",))
            yield from self.then(entry.value, f"the else of {name}", entry)
        else:
            fix = "write else: { then: { allow: false } }"
            yield self.at(entry, f"the else of {name} must be a mapping with then", fix)

    def without_condition(self, rule: Mapping, name: str, is_last: bool) -> Finding:
        first = first_entry(rule)
        answer = shown(rule.get("then"), "{ allow: … }")
        return RULE.at(
            first.key.place if first else rule.place,
            f"{name} has neither when nor else",
            why=WHY,
            fix=f"write else: {{ then: {answer} }}" if is_last else 'add when: "{{ … }}"',
        )

    def then(self, rule: Mapping, name: str, parent: Entry | None = None) -> Iterator[Finding]:
        entry = rule.entries.get("then")
        if entry is None and "do" in rule.entries:
            return  # NL209 says what to write instead
        if entry is None:
            allow = shown(rule.get("allow"), "true")
            key = rule.entries.get("allow") or parent or first_entry(rule)
            yield RULE.at(
                key.key.place if key else rule.place,
                f"{name} has no then",
                why=WHY,
                fix=f"write then: {{ allow: {allow} }}",
            )
        elif not isinstance(entry.value, Mapping):
            allow = shown(entry.value, "true") if is_boolean(entry.value) else "true"
            yield self.at(entry, f"the then of {name} must be a mapping", f"write then: {{ allow: {allow} }}")
        else:
            yield from self.unknown(entry.value, f"the then of {name}", ("allow",))
            if "allow" not in entry.value.entries and not self.is_refused(entry.value):
                yield RULE.at(
                    entry.key.place,
                    f"the then of {name} does not say allow",
                    why="admission is a gate: the token may enter, or it may not",
                    fix="write then: { allow: true } or { allow: false }",
                )

    def unknown(self, node: Mapping, name: str, known: tuple[str, ...]) -> Iterator[Finding]:
        """Keys that mean nothing here; `allow` beside then is told as the missing then."""
        for key, entry in node.entries.items():
            is_told = id(entry.value) in self.refused or (key == "allow" and "then" not in node.entries)
            if key not in known and not is_told:
                yield RULE.at(
                    entry.key.place,
                    f'{name} has no key "{shorten(key)}"',
                    why=f"it has: {listed(known)}",
                    fix=did_you_mean(key, known, "delete it"),
                )

    def is_refused(self, node: Mapping) -> bool:
        """Whether a key of it is told by another rule, and stands where allow should."""
        return any(id(entry.value) in self.refused for entry in node.entries.values())

    def at(self, entry: Entry, message: str, fix: str) -> Finding:
        """A value of the wrong shape: pointed at by its key where it has many lines or none."""
        return RULE.at(place(entry), f"{message}, found {describe(entry.value)}", why=WHY, fix=fix)


def place(entry: Entry) -> Place:
    is_scalar = isinstance(entry.value, Scalar) and bool(entry.value.text)
    return entry.value.place if is_scalar else entry.key.place


def is_boolean(node: AnyNode) -> bool:
    return isinstance(node, Scalar) and isinstance(node.value, bool)

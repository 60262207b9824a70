"""A task signs in with a credential that the playbook does not declare.

`auth` names an entry of the playbook's `keychain`. The server proves before the run that every declared credential can
be had; one that is used without being declared would be missed in the middle of the work. `auth` takes the name, not
the value: the worker hands the secret to the tool, and no template ever holds it. The `auth` of a result store
(`spec.result.store`) is checked in the same way.

Wrong:

    keychain:
      - name: warehouse
        kind: postgres_credential
    workflow:
      - step: load
        tool:
          kind: postgres
          auth: warehuose
          command: SELECT 1

Right:

        tool:
          kind: postgres
          auth: warehouse
          command: SELECT 1

Spec: KC-03, KC-07.
"""

from collections.abc import Iterator

from noetl.dsl.conditions import template_of
from noetl.dsl.departures import is_template
from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import ERROR, WARNING, Finding, did_you_mean, listed
from noetl.dsl.nodes import AnyNode, Mapping, Scalar
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import replace_value
from noetl.dsl.rules.pipelines import said
from noetl.dsl.rules.reference_paths import whole_path
from noetl.dsl.rules.result_stores import chosen_stores

RULE = contract.Rule(code="NL323", name="unknown-credential", spec=("KC-03", "KC-07"), also=(WARNING,))

NAMED_BY = ("name", "credential")  # keys of an auth mapping that hold a credential's name
ENDS = ("source", "target")  # fields of kind: transfer, each with an auth of its own


def check(draft: Draft) -> Iterator[Finding]:
    declared = draft.credentials
    for task in draft.tasks:
        for node in auths(draft, task):
            if is_template(node):
                yield from from_template(draft, task, node)
            elif node.text not in declared:
                yield undeclared(draft, said(task), node, list(declared))
    for chosen in chosen_stores(draft):
        auth = chosen.node.get("auth") if isinstance(chosen.node, Mapping) else None
        if isinstance(auth, Scalar) and auth.text not in declared:
            yield undeclared(draft, f"the result store of {chosen.owner}", auth, list(declared))


def auths(draft: Draft, task: Task) -> Iterator[Scalar]:
    """Every text of a task that names a credential."""
    kind = draft.kind_of(task)
    entries = [entry for name, entry in (*task.direct.items(), *task.input.items()) if name == "auth"]
    if kind and kind.field("auth"):
        for entry in entries:
            yield from names_in(entry.value)
    for name in ENDS if task.kind == "transfer" else ():
        end = task.fields.get(name)
        if end and isinstance(end.value, Mapping) and "auth" in end.value.entries:
            yield from names_in(end.value.entries["auth"].value)


def names_in(node: AnyNode) -> Iterator[Scalar]:
    """`auth: name`, `auth: {name: …}`, `auth: {alias: {credential: …}}`"""
    if isinstance(node, Scalar):
        if isinstance(node.value, str) and node.value:
            yield node
    elif isinstance(node, Mapping):
        for key, entry in node.entries.items():
            if isinstance(entry.value, Mapping) or key in NAMED_BY:
                yield from names_in(entry.value)


def undeclared(draft: Draft, owner: str, node: Scalar, declared: list[str]) -> Finding:
    has = f"the keychain has {listed(declared)}" if declared else "this playbook has no keychain"
    return RULE.at(
        node.place,
        f'{owner} signs in with "{node.text}", which the keychain does not declare',
        why=f"credentials are proved before the run, by their names; {has}",
        fix=did_you_mean(node.text, declared, f"declare it: keychain: [{{ name: {node.text}, kind: … }}]"),
        severity=WARNING if draft.is_upstream else ERROR,  # there, credentials are known to the server alone
    )


def from_template(draft: Draft, task: Task, node: Scalar) -> Iterator[Finding]:
    """A template may give a name that only the run knows; what it certainly gives is checked."""
    template = template_of(draft, node)
    read = whole_path(template) if template else None
    if read is None:
        return
    path = [str(key) for key in read.path]
    if path[0] == "keychain" and len(path) > 1:
        yield value_for_name(task, node, path[1])
    elif path[0] == "workload" and len(path) == 2:
        yield from by_workload(draft, task, node, path[1])


def value_for_name(task: Task, node: Scalar, name: str) -> Finding:
    return RULE.at(
        node.place,
        f'{said(task)} puts the secret of "{name}" into auth, which takes its name',
        why="the worker hands the secret to the tool; a template never needs to hold it",
        fix=f"write auth: {name}",
        edits=replace_value(node, name),
    )


def by_workload(draft: Draft, task: Task, node: Scalar, key: str) -> Iterator[Finding]:
    """A name that the request may choose: the default should be one that is declared."""
    default = draft.workload.text(key) if draft.workload else None
    declared = list(draft.credentials)
    if default and default not in draft.credentials:
        yield RULE.at(
            node.place,
            f'{said(task)} signs in with workload.{key}, whose default "{default}" the keychain does not declare',
            why=f"the keychain has {listed(declared)}" if declared else "this playbook has no keychain",
            fix=did_you_mean(default, declared, f"declare it: keychain: [{{ name: {default}, kind: … }}]"),
            severity=WARNING,
        )

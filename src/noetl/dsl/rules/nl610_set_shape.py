"""A set has not the shape of a set.

A set is a mapping from targets to values. A target is a dotted path of names: `ctx.orders.last_page`; a
name that a template cannot read with a dot, `ctx.user-id`, is read as `ctx['user-id']`. The scope alone
may also stand as a mapping, `ctx: {last_page: 1}`, which is `ctx.last_page`; a mapping deeper down is a value, and
replaces whatever was there. Targets are written out: a template in one is not rendered.

Wrong:

    set:
      - ctx.page: 1
    …
    set:
      ctx: "{{ output.data }}"
      ctx.orders.: []
      ctx.page size: 50

Right:

    set:
      ctx.page: 1
    …
    set:
      ctx.answer: "{{ output.data }}"
      ctx.orders: []
      ctx.page_size: 50

Spec: SC-10.
"""

import re
from collections.abc import Iterator

from noetl.dsl.departures import is_template
from noetl.dsl.draft import Assignment, Draft
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.nodes import AnyNode, Mapping, Scalar, Sequence, describe
from noetl.dsl.rules import contract
from noetl.dsl.rules.sets import CALLED, SCOPES, Written, sets

RULE = contract.Rule(code="NL610", name="set-shape", spec=("SC-10",), also=(WARNING,))

NAME = re.compile(r"[^\s'\"`\[\](){}]+\Z")  # whatever ctx['…'] can read without an escape
NOT_IN_NAME = re.compile(r"[\s'\"`\[\](){}]+")


def check(draft: Draft) -> Iterator[Finding]:
    for one in sets(draft):
        if not isinstance(one.node, Mapping) and not is_nothing(one.node):
            yield not_a_mapping(one)
    for write in draft.assignments:
        found = scope_alone(write) or bad_path(write) or scope_twice(write)
        if found:
            yield found


def is_nothing(node: AnyNode) -> bool:
    """`set:` with nothing after it writes nothing."""
    return isinstance(node, Scalar) and node.value is None


def not_a_mapping(one: Written) -> Finding:
    listed_keys = isinstance(one.node, Sequence) and all(isinstance(item, Mapping) for item in one.node.items)
    return RULE.at(
        one.node.place,
        f"{CALLED[one.site]} must be a mapping of targets to values, not {describe(one.node)}",
        why="all values of a set are rendered together, before any is written: it has no order",
        fix="write the same keys without the dashes" if listed_keys else "write set: {ctx.<name>: <value>}",
    )


def scope_alone(write: Assignment) -> Finding | None:
    if write.target not in SCOPES:
        return None
    return RULE.at(
        write.key.place,
        f'"{write.target}" is a whole scope and cannot be replaced',
        why=f"a set writes names inside a scope; found {describe(write.value)}",
        fix=f'write "{write.target}.<name>"',
    )


def bad_path(write: Assignment) -> Finding | None:
    parts = write.target.split(".")
    wrong = next((part for part in parts if not NAME.match(part)), None)
    if wrong is None:
        return None
    if is_template(write.key):
        what, fix = (
            "holds a template, and targets are not rendered",
            "write the name out, and put what varies into the value",
        )
    elif not wrong.strip():
        what, fix = "has an empty part", f'write "{".".join(part for part in parts if part.strip())}"'
    else:
        what, fix = f'has the part "{wrong}", which is not a name', f'write "{spelt(parts)}"'
    return RULE.at(
        write.key.place,
        f'the target "{write.target}" {what}',
        why="a target is names with dots between, and a name has no white space, quotes or brackets",
        fix=fix,
    )


def spelt(parts: list[str]) -> str:
    """The same path in letters that a name may have."""
    return ".".join(NOT_IN_NAME.sub("_", part) for part in parts)


def scope_twice(write: Assignment) -> Finding | None:
    """{ctx: {ctx.page: 1}}"""
    parts = write.target.split(".", 2)
    if not write.is_nested or len(parts) < 3 or parts[1] not in SCOPES:
        return None
    return RULE.at(
        write.key.place,
        f'this writes "{write.target}": the scope is said twice',
        why=f'it stands below "{parts[0]}:" already',
        fix=f'write "{parts[2]}"' if parts[0] == parts[1] else f'write "{parts[1]}.{parts[2]}" beside "{parts[0]}:"',
        severity=WARNING,
    )

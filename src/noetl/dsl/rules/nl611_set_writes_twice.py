"""One set writes the same thing twice.

The values of a set are rendered together and written together: it has no order. Where one target is another's
beginning (`ctx.user` and `ctx.user.name`), or is written both flat and nested, what remains would depend on one.

Wrong:

    set:
      ctx.user: "{{ output.data }}"
      ctx.user.name: "{{ output.data.name | title }}"

Right:

    set:
      ctx.user: "{{ dict(output.data, name=output.data.name | title) }}"

Spec: SC-10, TK-12.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Assignment, Draft
from noetl.dsl.findings import Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.nl610_set_shape import bad_path
from noetl.dsl.rules.sets import SCOPES, sets

RULE = contract.Rule(code="NL611", name="set-writes-twice", spec=("SC-10", "TK-12"))

HERE = ""  # the key of a branch under which the write that ends there is kept; no part of a path is empty


def check(draft: Draft) -> Iterator[Finding]:
    for one in sets(draft):
        paths: dict[str, object] = {}
        writes = [write for write in one.writes if write.target not in SCOPES and bad_path(write) is None]
        for write in sorted(writes, key=lambda write: write.target.count(".")):
            first = first_on_path(paths, write)
            if first:
                yield finding(first, write)


def first_on_path(paths: dict[str, object], write: Assignment) -> Assignment | None:
    """Walk down a path, shorter ones being there already; the write that was met on the way."""
    branch = paths
    for part in write.target.split("."):
        child = branch.setdefault(part or " ", {})
        if not isinstance(child, dict):
            return None
        branch = child
        met = branch.get(HERE)
        if isinstance(met, Assignment):
            return met
    branch[HERE] = write
    return None


def finding(first: Assignment, write: Assignment) -> Finding:
    is_same = first.target == write.target
    later, earlier = (write, first) if write.key.place[1:3] >= first.key.place[1:3] else (first, write)
    what = (
        f'"{later.target}" is written twice'
        if is_same
        else f'"{write.target}" is a part of "{first.target}", and both are written'
    )
    return RULE.at(
        later.key.place,
        f"{what} in one set",
        why=f"a set has no order, so which of the two remains is not said (the other is at line {earlier.key.line})",
        fix="remove one of them" if is_same else f'write one value for "{first.target}" that holds both',
    )

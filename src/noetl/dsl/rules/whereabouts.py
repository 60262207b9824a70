"""Where in a playbook a value stands, in the author's words: which step, task or credential owns it, and its path.

Several rules find a fault by the path from the root (`workflow`, 2, `tool`, 0, `spec`, `timeout`); a person looks for
`spec.timeout of task "fetch_page"`.
"""

from __future__ import annotations

from noetl.dsl.departures import Path
from noetl.dsl.draft import Draft
from noetl.dsl.nodes import AnyNode, Entry, Mapping, Scalar, Sequence, shorten

OWNERS = {"workflow": ("step", "step"), "keychain": ("keychain entry", "name")}
COMPENSATION = ("spec", "policy", "compensation", "tool")


def at(draft: Draft, path: Path) -> str:
    """A path as a message names it: `loop.spec.mode of step "fetch"`, `executor.profile`."""
    length = owner_length(draft, path)
    owner, inner = described(draft, path[:length]), dotted(path[length:])
    if not length:
        return inner
    return f"{inner} of {owner}" if inner else owner


def owner(draft: Draft, path: Path) -> str:
    """The step, task or credential that a path leads into; empty for the document itself."""
    return described(draft, path[: owner_length(draft, path)])


def owner_length(draft: Draft, path: Path) -> int:
    """How much of a path leads to its owner."""
    if len(path) < 2 or path[0] not in ("workflow", "keychain", "workbook"):
        return 0
    if path[0] != "workflow":
        return 2
    tool = 3 if path[2:3] == ("tool",) else 6 if path[2:6] == COMPENSATION else 2
    if tool == 2 or isinstance(value_at(draft, path[:tool]), Mapping):
        return tool
    return tool + 1 if len(path) > tool and isinstance(path[tool], int) else 2


def described(draft: Draft, path: Path) -> str:
    """The owner at the end of a path: `task "fetch"`, `step "start"`, `step 3`."""
    if not path:
        return ""
    if path[0] == "workbook":
        return f'workbook task "{path[1]}"'
    word, key = ("task", "name") if len(path) > 2 else OWNERS[str(path[0])]
    node = value_at(draft, path)
    name = node.scalar(key) if isinstance(node, Mapping) else None
    if name and name.text:
        return f'{word} "{shorten(name.text, 40)}"'
    if isinstance(path[-1], int):
        unnamed = f"{word} {path[-1] + 1}"
        return f"{unnamed} of {described(draft, path[:2])}" if word == "task" else unnamed
    return f"the task of {described(draft, path[:2])}"


def dotted(path: Path) -> str:
    """A path as it is written in prose: next.arcs[0].when"""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def value_at(draft: Draft, path: Path) -> AnyNode | None:
    """The value at the end of a path."""
    node: AnyNode | None = draft.root
    for part in path:
        if isinstance(node, Mapping):
            node = node.get(str(part))
        elif isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
        else:
            return None
    return node


def key_at(draft: Draft, path: Path) -> Scalar | None:
    """The key at the end of a path, or the nearest one before it."""
    for length in range(len(path), 0, -1):
        parent = value_at(draft, path[: length - 1])
        entry = parent.entries.get(str(path[length - 1])) if isinstance(parent, Mapping) else None
        if entry:
            return entry.key
    return None


def first_entry(node: Mapping) -> Entry | None:
    return next(iter(node.entries.values()), None)

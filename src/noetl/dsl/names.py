"""What a text that is being written names: steps, tasks, credentials, iterators, the writes to ctx, step and iter.

Read off the loose tree, so it is there while the text is no YAML; for completion, which must not be slow or strict.
"""

from __future__ import annotations

from collections.abc import Iterator

from noetl.dsl.places import SUGAR
from noetl.dsl.spots import Cell

NAMES_MAX = 2000


def steps_of(root: Cell) -> dict[str, Cell]:
    """The steps by name, in the order written."""
    workflow = root.get("workflow")
    return {name: item for item in (workflow.items if workflow else []) if (name := value_of(item, "step"))}


def value_of(cell: Cell | None, *path: str) -> str:
    found = cell.get(*path) if cell is not None else None
    return found.value if found is not None and found.box is None else ""


def tasks_of(step: Cell | None) -> dict[str, Cell]:
    """The tasks of a step by label, those inside sugar too."""
    tool = step.get("tool") if step is not None else None
    return dict(_labelled(tool, value_of(step, "step"))) if tool is not None else {}


def _labelled(tool: Cell, step: str) -> Iterator[tuple[str, Cell]]:
    if tool.box is not None:
        yield value_of(tool, "name") or f"{step}_task", tool
    for index, item in enumerate(tool.items[:NAMES_MAX]):
        inner = next((item.get(word) for word in SUGAR if item.get(word) is not None), None)
        if inner is None:
            yield value_of(item, "name") or f"task_{index}", item
            continue
        bodies = [inner.get("tool"), *(case.get("then", "tool") for case in inner.items)]
        bodies += [case.get("else", "then", "tool") for case in inner.items]
        for body in bodies:
            if body is not None:
                yield from _labelled(body, step)


def credentials_of(root: Cell) -> dict[str, str]:
    """The keychain's names, and the kind of each."""
    keychain = root.get("keychain")
    entries = keychain.items if keychain is not None else []
    return {name: value_of(entry, "kind") for entry in entries if (name := value_of(entry, "name"))}


def iterators_of(step: Cell | None) -> list[str]:
    """The iterators of a step's loops, outermost first."""
    found = []
    loop = step.get("loop") if step is not None else None
    while loop is not None:
        found += [name] if (name := value_of(loop, "iterator")) else []
        loop = loop.get("loop")
    return found


def keys_under(cell: Cell | None) -> list[str]:
    return list(cell.box.cells)[:NAMES_MAX] if cell is not None and cell.box is not None else []


def writes_in(cell: Cell) -> list[str]:
    """The targets of every `set` below a cell: ctx.total, iter.page; each once."""
    found: dict[str, None] = {}
    waiting = [cell]
    while waiting and len(found) < NAMES_MAX:
        one = waiting.pop()
        for name, inner in one.box.cells.items() if one.box is not None else ():
            if name == "set":
                found.update(dict.fromkeys(_targets(inner)))
            else:
                waiting.append(inner)
        waiting += one.items
    return list(found)


def _targets(cell: Cell) -> Iterator[str]:
    for name, inner in cell.box.cells.items() if cell.box is not None else ():
        nested = keys_under(inner) if name in ("ctx", "step", "iter") else []
        yield from (f"{name}.{key}" for key in nested)
        if not nested:
            yield name

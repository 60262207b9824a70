"""A plan as people read it: a table that fits 80 columns, then what is unknown, needed and tried.

Data in, lines out.
"""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Any

from noetl.cli.words import clean, coloured, duration, plural, table

WIDTH = 80
NAME_WIDTH = 36
MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}
STATES = {"found": ("✓", "green"), "missing": ("✗", "red"), "not asked": ("·", "bright_black")}
UNKNOWN = "?"
Row = dict[str, Any]
Cells = tuple[str, str, str, str, str]


def lines_of(plan: Row) -> list[str]:
    """The whole plan."""
    lines = [*head(plan), *body(plan), *unknowns(plan)]
    lines += [*needs(plan["needs"]), *connections(plan["connections"])]
    return [*lines, "", *paragraph("at worst: " + "; ".join(plan["assumptions"]), "")]


def head(plan: Row) -> list[str]:
    steps = [one for one in plan["steps"] if one["is_reached"]]
    title = coloured(clean(plan["name"]), None, bold=True)
    return [f"{title}  {plural(len(steps), 'step')}; at worst {attempts(plan)}, {seconds(plan['seconds_max'])}", ""]


def attempts(row: Row) -> str:
    found = row["attempts_max"]
    return "an unknown number of attempts" if found is None else plural(found, "attempt")


def seconds(found: float | None) -> str:
    if found is None:
        return "unknown time"
    return "no time" if not found else duration(found)


def body(plan: Row) -> list[str]:
    """The table of steps and their tasks, and below it those of the playbooks that are called."""
    rows = [cells for step in plan["steps"] for cells in step_cells(step)]
    lines = [line.rstrip() for line in table(rows, ("step", "attempts", "each", "waits", "at worst"))]
    for call in plan["calls"]:
        where = clean(f"{call['step'] or 'workbook'}/{call['task']}")
        if call["plan"] is None:
            lines += paragraph(f"{where} calls {clean(call['path'] or 'a playbook')}: {clean(call['why_not'])}", "")
        else:
            lines += ["", f"{where} calls {clean(call['path'])}:", *(f"  {line}" for line in body(call["plan"]))]
    return lines


def step_cells(step: Row) -> list[Cells]:
    """A step, what is to be known of it, and its tasks."""
    name = cut(clean(step["step"]), NAME_WIDTH)
    if not step["is_reached"]:
        return [(name, "never", "", "", "")]
    tasks = [task for task in step["tasks"] if not task["is_generated"]]
    return [
        (name, number(step["attempts_max"]), "", "", time(step["seconds_max"])),
        *((cut(f"  {words}", NAME_WIDTH), "", "", "", "") for words in words_of(step)),
        *(task_cells(task, "  ") for task in tasks),
        *(task_cells(task, "  undo: ") for task in step["compensation"]),
    ]


def task_cells(task: Row, indent: str) -> Cells:
    name = cut(indent + clean(f"{task['task']}: {task['kind']}"), NAME_WIDTH)
    times = [time(task[key]) for key in ("attempt_seconds_max", "wait_seconds_max", "seconds_max")]
    tries, visit = task["attempts_max"], task["visit_attempts_max"]
    often = f"{visit} × {UNKNOWN}" if tries is None and visit > 1 else number(tries)
    return (name, often, times[0], times[1], times[2])


def time(found: float | None) -> str:
    return UNKNOWN if found is None else duration(found) if found else "-"


def words_of(step: Row) -> list[str]:
    """What else a step does, a line for each thing worth knowing."""
    words = []
    if step["runs_max"] != 1:
        words.append("runs again and again" if step["runs_max"] is None else f"runs up to {step['runs_max']} times")
    words += gate_words(step["gate"]) if step["gate"] else []
    words += loop_words(step["loop"]) if step["loop"] else []
    return [*words, "plans further steps"] if step["is_planner"] else words


def gate_words(gate: Row) -> list[str]:
    words = ["join"] if gate["is_join"] else []
    if gate["opens"] is None:
        words.append(f"gate reads {', '.join(map(clean, gate['reads'])) or 'nothing'}")
    return [*words, "waits for a signal"] if gate["waits_for_signal"] and gate["opens"] is not True else words


def loop_words(loop: Row) -> list[str]:
    count = loop["iterations_max"]
    if loop["fault"]:
        return ["loop.in cannot be used"]
    times = "loop, unknown number" if count is None else f"loop, {count:,} ×"
    return [f"{times}, {loop['at_once_max']:,} at once" if loop["is_parallel"] else f"{times}, one by one"]


def number(found: int | None) -> str:
    return UNKNOWN if found is None else f"{found:,}"


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def unknowns(plan: Row) -> list[str]:
    """Each reason once, those of the steps too."""
    faults = [
        f'step "{one["step"]}": {one["loop"]["fault"]}' for one in plan["steps"] if one["loop"] and one["loop"]["fault"]
    ]
    reasons = dict.fromkeys(
        [*plan["unknown"], *(why for step in plan["steps"] if step["is_reached"] for why in step["unknown"])]
    )
    lines = ["", "would fail:", *listed(faults)] if faults else []
    return [*lines, "", "unknown:", *listed(reasons)] if reasons else lines


def listed(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in paragraph(clean(text), "  ")]


def paragraph(text: str, indent: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False) or [indent]


def needs(found: Row) -> list[str]:
    lines: list[str] = []
    for one in found["credentials"]:
        mark, colour = STATES[one["state"]]
        lines += marked(mark, colour, f"credential {clean(one['name'])} ({clean(one['kind'])}): {clean(one['says'])}")
    for one in found["missing_kinds"]:
        lines += marked("✗", "red", f"kind {one['kind']} is not installed: {one['fix']}")
    if found["pools"]:
        lines += marked("·", "bright_black", f"pools: {', '.join(map(clean, found['pools']))}")
    if found["result_stores"]:
        lines += marked("·", "bright_black", f"results go to: {', '.join(map(clean, found['result_stores']))}")
    return ["", "needs:", *lines] if lines else []


def connections(found: list[Row] | None) -> list[str]:
    if found is None:
        return []
    lines: list[str] = []
    for one in found:
        mark, colour = MARKS[one["state"]]
        lines += marked(mark, colour, f"{one['area']} {clean(one['name'])}: {clean(one['says'])}")
        if one["fix"]:
            lines += paragraph(f"do: {clean(one['fix'])}", "      ")
    return ["", "tried:", *lines]


def marked(mark: str, colour: str, text: str) -> list[str]:
    first, *others = paragraph(text, "    ")
    return [f"  {coloured(mark, colour)} {first[4:]}", *others]

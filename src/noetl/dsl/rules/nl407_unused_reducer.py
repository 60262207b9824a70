"""A reducer stands for a key that no iteration writes, or on a loop that needs none.

A reducer merges what parallel iterations wrote to exactly that path. One for another path does nothing, and the writes
it was meant for are not merged. In a loop that runs one iteration after the other, each simply sees what the one before
wrote.

Wrong:

    loop:
      in: "{{ workload.cities }}"
      iterator: city
      spec:
        mode: parallel
        policy:
          reducers: { ctx.totals: sum }
    tool:
      kind: http
      url: https://example.com/{{ iter.city }}
      set:
        ctx.total: "{{ output.data.count }}"

Right:

          reducers: { ctx.total: sum }

Spec: SC-12, SC-13.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Step
from noetl.dsl.findings import WARNING, Finding, did_you_mean, listed
from noetl.dsl.nodes import Entry
from noetl.dsl.rules import contract
from noetl.dsl.rules.loop_nests import is_parallel, iteration_writes, reducer_entries
from noetl.dsl.rules.nl406_unknown_reducer import is_path

RULE = contract.Rule(code="NL407", name="unused-reducer", spec=("SC-12", "SC-13"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    for step in draft.steps:
        entries = [entry for loop in step.loops for key, entry in reducer_entries(loop).items() if is_path(key)]
        if not entries:
            continue
        written = {one.target: None for one in iteration_writes(draft, step) if one.scope in ("ctx", "step")}
        for entry in entries:
            if entry.key.text not in written:
                yield unwritten(step, entry, list(written))
            elif not is_parallel(step):
                yield sequential(step, entry)


def unwritten(step: Step, entry: Entry, written: list[str]) -> Finding:
    key = entry.key.text
    below = [target for target in written if target.startswith(f"{key}.") or key.startswith(f"{target}.")]
    has = f"they write {listed(written)}" if written else "they write nothing to ctx or step"
    return RULE.at(
        entry.key.place,
        f'no iteration of step "{step.name}" writes {key}, so its reducer has nothing to merge',
        why=f"a reducer is for exactly one path; {has}",
        fix=f"name the path that is written: {below[0]}" if below else did_you_mean(key, written, "remove it"),
    )


def sequential(step: Step, entry: Entry) -> Finding:
    return RULE.at(
        entry.key.place,
        f'the reducer for {entry.key.text} is not used: the loop of step "{step.name}" is sequential',
        why="an iteration sees what the one before it wrote; only writes of parallel iterations are merged",
        fix="remove it, or set loop.spec.mode: parallel",
    )

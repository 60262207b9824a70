"""A task reads the output of a task that comes after it.

Tasks run in order. What a later task gives can be read only after a jump back; without one, its label is undefined
each time.

Wrong:

    tool:
      - name: save
        kind: postgres
        command: "INSERT INTO pages VALUES ({{ fetch.data.id }})"
      - name: fetch
        kind: http
        url: https://api.example.com/page

Right:

    tool:
      - name: fetch
        kind: http
        url: https://api.example.com/page
      - name: save
        kind: postgres
        command: "INSERT INTO pages VALUES ({{ fetch.data.id }})"

Spec: TP-02, TP-06.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.reads import LABEL, meanings, once_per_name

RULE = contract.Rule(code="NL620", name="task-read-before-it-ran", spec=("TP-02", "TP-06"), severity=WARNING)


def check(draft: Draft) -> Iterator[Finding]:
    earliest: dict[int, int] = {}
    for meaning in once_per_name(one for one in meanings(draft) if one.sort == LABEL):
        reader, read = meaning.text.task, meaning.task
        if reader is None or read is None or read.index <= reader.index:
            continue
        pipeline = reader.pipeline
        if id(pipeline) not in earliest:
            earliest[id(pipeline)] = earliest_jump(pipeline)
        if earliest[id(pipeline)] > reader.index:
            yield RULE.at(
                meaning.text.place_of(meaning.read.offset, meaning.read.end),
                f'"{reader.label}" reads "{read.label}", which runs after it',
                why="tasks run in order, and nothing in this pipeline jumps back",
                fix=f'move "{read.label}" before "{reader.label}"',
            )


def earliest_jump(pipeline: list[Task]) -> int:
    """The first task that some rule of a pipeline jumps to; beyond the end if none does."""
    indexes = {task.label: task.index for task in pipeline}
    targets = [rule.then.text("to") for task in pipeline for rule in task.rules if rule.then and rule.do == "jump"]
    return min((indexes[target] for target in targets if target in indexes), default=pipeline[-1].index + 1)

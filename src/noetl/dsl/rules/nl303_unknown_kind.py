"""A task has a kind that no tool answers to.

The kind chooses the tool: its fields, its output, how it runs. Some words look like kinds and are not: there is no
`sink`, because storing is an ordinary task whose tool returns a reference; there is no `loop`, because a loop is a
property of the step; and a pipeline is simply the list under `tool`. A kind that a package brings is one when whoever
runs NoETL has enabled it by name (setting `tools.plugins`); a playbook cannot.

Wrong:

    tool:
      - name: store
        kind: sink
        table: results

Right:

    tool:
      - name: store
        kind: postgres
        auth: warehouse
        command: INSERT INTO results (page) VALUES ({{ _prev | tojson }})

Spec: TL-01, TL-02, TL-03, RS-05.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Task
from noetl.dsl.findings import Edit, Finding, did_you_mean, listed
from noetl.dsl.repairs import replace
from noetl.dsl.rules import contract
from noetl.dsl.rules.pipelines import kind_place, said

RULE = contract.Rule(code="NL303", name="unknown-kind", spec=("TL-01", "TL-02", "TL-03", "RS-05"))

NOT_KINDS = {
    "sink": (
        "storing is an ordinary task: its tool writes the data and returns a reference",
        "use the kind that writes there, for example kind: postgres with an INSERT, or kind: duckdb",
    ),
    "loop": (
        "a loop is a property of the step, not a task",
        "give the step loop: { in: …, iterator: … } and let this task run once per element",
    ),
    "pipe": ("the list under tool is the pipeline already", "write the tasks as items of the step's tool list"),
    "eval": (
        "what happens after a task is said by its policy",
        "use kind: noop with spec.policy.rules, or rules on the task before",
    ),
    "set": ("set is a key of any task, rule or step", "use kind: noop with set: { ctx.name: value }"),
    "sleep": ("waiting is a delay of a retry", "use a rule with do: retry and delay"),
}
NOT_KINDS |= {"iterator": NOT_KINDS["loop"], "vars": NOT_KINDS["set"], "case": NOT_KINDS["eval"]}
SYNONYMS = {
    **dict.fromkeys(("bash", "sh", "cmd", "exec", "command"), "shell"),
    **dict.fromkeys(("rest", "api", "request", "requests", "curl", "https"), "http"),
    **dict.fromkeys(("pg", "psql", "sql", "postgresql", "db"), "postgres"),
    **dict.fromkeys(("py", "code", "function"), "python"),
    **dict.fromkeys(("task", "call"), "workbook"),
    **dict.fromkeys(("start", "end", "pass", "none", "nothing", "condition"), "noop"),
    **dict.fromkeys(("secret", "vault"), "secrets"),
    **dict.fromkeys(("subplaybook", "workflow", "subflow"), "playbook"),
}


def check(draft: Draft) -> Iterator[Finding]:
    for task in draft.tasks:
        if task.kind and task.kind not in draft.kinds:
            yield finding(draft, task)


def finding(draft: Draft, task: Task) -> Finding:
    kinds = sorted(draft.kinds)
    word = task.kind.lower()
    plain_why = f"kinds here: {listed(kinds, 20)}"
    absence = draft.kinds.absence(task.kind)
    why, fix = absence or NOT_KINDS.get(word, (plain_why, guess(word, task.kind, kinds)))
    return RULE.at(
        kind_place(task),
        f'{said(task)} has the kind "{task.kind}", which no tool answers to',
        why=why,
        fix=fix,
        edits=recased(draft, task),
    )


def guess(word: str, kind: str, kinds: list[str]) -> str:
    synonym = SYNONYMS.get(word)
    if synonym in kinds:
        return f"write kind: {synonym}"
    return did_you_mean(kind, kinds, "use one of these kinds")


def recased(draft: Draft, task: Task) -> tuple[Edit, ...]:
    """`HTTP` is certainly `http`."""
    kind = task.node.scalar("kind")
    return replace(kind, 0, len(kind.text), task.kind.lower()) if kind and task.kind.lower() in draft.kinds else ()

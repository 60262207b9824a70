"""A template reads `keychain` outside a tool field.

Secrets flow into tool fields and nowhere else. What a set writes is stored in the log, and admission rules, arcs and
`loop.in` are evaluated on the server, which keeps no secrets. The input of a noop becomes its output, and that of a
playbook the payload of a child execution: both are stored. So a secret never stands in an event, a log or a page.

Wrong:

    set:
      ctx.token: "{{ keychain.openai_token.value }}"

Right:

    tool:
      kind: http
      url: https://api.example.com/chat
      auth: openai_token

Spec: KC-07, KC-05.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Site
from noetl.dsl.findings import Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.reads import REFUSED, Meaning, meanings, once_per_name
from noetl.dsl.scopes import SITES

RULE = contract.Rule(code="NL615", name="keychain-outside-tool-field", spec=("KC-07", "KC-05"))


def check(draft: Draft) -> Iterator[Finding]:
    reads = (one for one in meanings(draft) if one.read.name == "keychain" and not is_chained(draft, one))
    for meaning in once_per_name(one for one in reads if one.sort == REFUSED or is_passed_on(draft, one)):
        path = meaning.text.node.text[meaning.read.offset : meaning.read.path_end]
        entry = str(meaning.read.parts[0].key) if meaning.read.parts else "<name>"
        yield RULE.at(
            meaning.text.place_of(meaning.read.offset, meaning.read.path_end),
            f'"{path}" is a secret, and cannot be read in {where(meaning)}',
            why="keychain values flow into tool fields only, so that they never reach the event log",
            fix=fix_for(meaning, entry),
        )


def is_chained(draft: Draft, meaning: Meaning) -> bool:
    """A credential made of another one, as playbooks of the public NoETL have them."""
    return draft.is_upstream and meaning.text.site == Site.CREDENTIAL


def is_passed_on(draft: Draft, meaning: Meaning) -> bool:
    """Whether a tool keeps its input in the log: a noop as its output, a playbook as the child's payload."""
    task = meaning.text.task
    kind = draft.kind_of(task) if task and meaning.text.site == Site.TASK_FIELD else None
    return kind is not None and kind.records_input and kind.field(meaning.text.target) is None


def fix_for(meaning: Meaning, entry: str) -> str:
    if meaning.text.task and meaning.text.site == Site.TASK_FIELD and meaning.text.task.kind == "playbook":
        return f"declare {entry} in the keychain of the playbook that is called, and use it there"
    return f"write auth: {entry} on the task that needs it, or read it in that task's own fields"


def where(meaning: Meaning) -> str:
    called = SITES[meaning.text.site].called
    task = meaning.text.task if meaning.text.site == Site.TASK_FIELD else None
    return f"the input of kind: {task.kind}, which the event log keeps" if task else called

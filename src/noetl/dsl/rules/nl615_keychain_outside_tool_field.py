"""A template reads `keychain` outside a tool field.

Secrets flow into tool fields and nowhere else. What a set writes is stored in the log, and admission rules, arcs and
`loop.in` are evaluated on the server, which keeps no secrets. So a secret never stands in an event, a log or a page.

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
    reads = (one for one in meanings(draft) if one.read.name == "keychain")
    for meaning in once_per_name(one for one in reads if one.sort == REFUSED or is_passed_on(draft, one)):
        path = meaning.text.node.text[meaning.read.offset : meaning.read.path_end]
        entry = str(meaning.read.parts[0].key) if meaning.read.parts else "<name>"
        yield RULE.at(
            meaning.text.place_of(meaning.read.offset, meaning.read.path_end),
            f'"{path}" is a secret, and cannot be read in {where(meaning)}',
            why="keychain values flow into tool fields only, so that they never reach the event log",
            fix=f"write auth: {entry} on the task that needs it, or read it in that task's own fields",
        )


def is_passed_on(draft: Draft, meaning: Meaning) -> bool:
    """Whether a tool has no fields, so that its input becomes its output, which is stored."""
    task = meaning.text.task
    kind = draft.kind_of(task) if task and meaning.text.site == Site.TASK_FIELD else None
    return kind is not None and not kind.fields


def where(meaning: Meaning) -> str:
    called = SITES[meaning.text.site].called
    task = meaning.text.task if meaning.text.site == Site.TASK_FIELD else None
    return f"the input of kind: {task.kind}, which becomes its output" if task else called

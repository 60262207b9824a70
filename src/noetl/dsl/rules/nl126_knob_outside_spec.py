"""A knob stands beside `spec` instead of in it.

Everything that tunes how something runs (timeouts, modes, limits, policies) lives under `spec`, at the place it tunes:
executor, step, loop, task, next or arc. So the keys beside `spec` say what is done, and those in it say how.

Wrong:

    loop:
      in: "{{ workload.items }}"
      iterator: item
      mode: parallel
      max_in_flight: 10

Right:

    loop:
      in: "{{ workload.items }}"
      iterator: item
      spec: { mode: parallel, max_in_flight: 10 }

Spec: PB-12.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft
from noetl.dsl.findings import Edit, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.key_repairs import into_mapping, pair_text, replace_pair, shown
from noetl.dsl.rules.misplaced import KNOB, RETRY_PATH, Misplaced, misplaced

RULE = contract.Rule(code="NL126", name="knob-outside-spec", spec=("PB-12",))

WHERE = {"loop": "the loop of ", "next": "next of ", "arc": "an arc of "}
STEP_TIMEOUT = (
    "move it to spec.policy.lifecycle.timeout_s, in seconds, for the whole step,"
    " or to spec.timeout, for each attempt of its tasks"
)
RETRIES = frozenset(("retry", "retries"))


def check(draft: Draft) -> Iterator[Finding]:
    moved: set[int] = set()  # mappings that get their spec by the edit of another knob
    for one in misplaced(draft, KNOB):
        edits = () if id(one.parent) in moved else repair(one)
        if edits:
            moved.add(id(one.parent))
        yield RULE.at(
            one.entry.key.place,
            f'{place(one)} has "{one.key}" beside its spec',
            why="knobs live under spec only, at the place they tune",
            fix=fix(one),
            edits=edits,
        )


def place(one: Misplaced) -> str:
    return f"{WHERE.get(one.where, '')}{one.owner}"


def fix(one: Misplaced) -> str:
    if one.belongs == RETRY_PATH:
        return f"write a rule under spec.policy.rules of the task: {retry_rule(one)}"
    if is_step_timeout(one):
        return STEP_TIMEOUT
    is_first = is_own(one) and "spec" not in one.parent.entries
    return f"move it to {one.belongs}" + (f": write spec: {{ {shown_pair(one)} }}" if is_first else "")


def is_step_timeout(one: Misplaced) -> bool:
    """A time for the whole step, or for one attempt of each of its tasks: only the author knows."""
    return one.where == "step" and one.key == "timeout"


def shown_pair(one: Misplaced) -> str:
    return pair_text(one.entry) or f"{one.key}: …"


def retry_rule(one: Misplaced) -> str:
    """The rule that retries, with the author's own number where there is one."""
    value = shown(one.entry.value, "")
    detail = "attempts: 3"
    if one.key in RETRIES:
        detail = f"attempts: {value}" if value.isdecimal() else detail
    elif value:
        detail = f"{one.key}: {value}"
    return f"""- {{ when: "{{{{ output.status == 'error' }}}}", then: {{ do: retry, {detail} }} }}"""


def is_own(one: Misplaced) -> bool:
    """Whether the knob belongs right under the spec of the mapping it stands in."""
    prefix = "" if one.where in ("step", "task", "arc") else f"{one.where}."
    return one.belongs == f"{prefix}spec.{one.key}"


def repair(one: Misplaced) -> tuple[Edit, ...]:
    """Move the knob into the spec that is there, or make one of it."""
    if not is_own(one) or is_step_timeout(one):
        return ()
    if "spec" not in one.parent.entries:
        return replace_pair(one.entry, one.parent, f"spec: {{ {pair_text(one.entry)} }}")
    return into_mapping(one.entry, one.parent, one.parent.entries["spec"])

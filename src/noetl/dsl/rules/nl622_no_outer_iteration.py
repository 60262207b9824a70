"""A template reads iter.parent where no iteration is around the present one.

`iter` is the iteration a task runs in, and `iter.parent` the one around it: that of the loop in which this loop stands
(`loop.loop`). In a step with a single loop there is no outer one, and each further `.parent` needs one more loop.

Wrong:

    loop:
      in: "{{ workload.cities }}"
      iterator: city
    tool:
      kind: http
      url: "https://api.example.com/{{ iter.parent.city }}"

Right:

    tool:
      kind: http
      url: "https://api.example.com/{{ iter.city }}"

Spec: SC-04, LP-09.
"""

from collections.abc import Iterator

from noetl.dsl.draft import Draft, Loop
from noetl.dsl.findings import WARNING, Finding
from noetl.dsl.rules import contract
from noetl.dsl.rules.reads import SCOPE, Meaning, meanings, place_of_key
from noetl.dsl.scopes import is_called_anywhere, loops_around

RULE = contract.Rule(code="NL622", name="no-outer-iteration", spec=("SC-04", "LP-09"), also=(WARNING,))


def check(draft: Draft) -> Iterator[Finding]:
    for meaning in meanings(draft):
        if meaning.sort == SCOPE and meaning.read.name == "iter" and not is_called_anywhere(meaning.text):
            loops = loops_around(meaning.text)
            depth = parents(meaning)
            if loops and depth >= len(loops):
                yield finding(meaning, loops, draft.is_upstream)


def parents(meaning: Meaning) -> int:
    """How many iterations out a read of iter goes; a loop may call its own element `parent`."""
    loops, depth = loops_around(meaning.text), 0
    for part in meaning.read.parts:
        is_element = depth < len(loops) and loops[-1 - depth].iterator
        if part.key != "parent" or (is_element and is_element.text == "parent"):
            break
        depth += 1
    return depth


def finding(meaning: Meaning, loops: list[Loop], is_upstream: bool) -> Finding:
    step = meaning.text.step
    name = step.name if step else ""
    outermost = "iter" + ".parent" * (len(loops) - 1)
    has = "one loop" if len(loops) == 1 else f"{len(loops)} loops"
    return RULE.at(
        place_of_key(meaning.text, meaning.read.parts[len(loops) - 1]),
        f"there is no iteration around {outermost}",
        why=f'step "{name}" has {has} around this, and each .parent goes out by one',
        fix=f"write {outermost}{rest(meaning)}",
        severity=WARNING if is_upstream else None,
    )


def rest(meaning: Meaning) -> str:
    """What is read of the iteration, as it is written."""
    parts = meaning.read.parts[parents(meaning) :]
    return meaning.text.node.text[parts[0].offset : parts[-1].end] if parts else ""

"""A template calls a method of a mapping: `.items()`, `.keys()`, `.values()`, `.get()`.

A dot on a mapping always reads a key, so that data with a key called `items` or `values` can be read like any other.
The methods that Python's mappings have are therefore not there; filters do their work.

Wrong:

    loop:
      in: "{{ workload.cities.items() }}"
      iterator: city
    …
    page: "{{ output.data.get('page', 1) }}"

Right:

    loop:
      in: "{{ workload.cities | items }}"
      iterator: city
    …
    page: "{{ output.data.page | default(1) }}"

Spec: TP-08.
"""

import re
from collections.abc import Iterator

from noetl.dsl import repairs
from noetl.dsl.draft import Draft, Text
from noetl.dsl.findings import Edit, Finding
from noetl.dsl.nodes import shorten
from noetl.dsl.rules import contract
from noetl.dsl.rules.calls import arguments
from noetl.expressions import Call

RULE = contract.Rule(code="NL617", name="mapping-method-by-dot", spec=("TP-08",))

UNCHANGING = "values never change in a template: "
MAPPING_METHODS = {
    "items": "write value | items",
    "keys": "write value | keys",
    "values": "write value | values",
    "get": "write value['key'] | default(other)",
    "update": f"{UNCHANGING}write dict(value, key=new)",
    "setdefault": f"{UNCHANGING}write dict({{'key': new}}, **value)",
    "pop": f"{UNCHANGING}read value['key']",
    "copy": f"{UNCHANGING}no copy is needed",
    "has_key": "write 'key' in value",
}
NOT_PLAIN = re.compile(r"\*|\w+\s*=(?!=)")  # *more, name=value
LITERAL_NAME = re.compile(r"(['\"])([A-Za-z_]\w*)\1\Z")


def check(draft: Draft) -> Iterator[Finding]:
    for text in draft.texts:
        for call in text.template.calls if text.template else ():
            if call.form == "method" and call.method in MAPPING_METHODS:
                yield finding(text, call)


def finding(text: Text, call: Call) -> Finding:
    source = text.node.text
    before = source[call.read.offset : call.offset] if call.read else "value"
    made = replacement(source, call)
    return RULE.at(
        text.place_of(call.offset, call.end),
        f'".{call.method}()" reads a key called "{call.method}", and a key cannot be called',
        why="a dot on a mapping reads a key, never a method, so that data may have any key",
        fix=MAPPING_METHODS[call.method] if made is None else f"write {shorten(before + made)}",
        edits=() if made is None else repair(text, call, made),
    )


def repair(text: Text, call: Call, made: str) -> tuple[Edit, ...]:
    """The same with filters, in brackets where something follows that would else belong to the filter."""
    source = text.node.text
    if "|" not in made or not is_read_on(source, call):
        return repairs.replace(text.node, call.offset, call.end, made)
    if call.read is None:
        return ()
    start = call.read.offset
    return repairs.replace(text.node, start, call.end, f"({source[start : call.offset]}{made})")


def is_read_on(source: str, call: Call) -> bool:
    """Whether a part of what the call gives is read: x.get('a').b"""
    return source[call.end :].lstrip()[:1] in (".", "[", "(")


def replacement(source: str, call: Call) -> str | None:
    """What takes the place of `.method(…)`; None if that is not mechanical."""
    given = arguments(source[call.offset + 1 + len(call.method) : call.end])
    if given is None or any(NOT_PLAIN.match(part) for part in given):
        return None
    if not given:
        return {"items": " | items", "keys": " | keys", "values": " | values", "copy": ""}.get(call.method)
    if call.method != "get" or len(given) > 2:
        return None
    name = LITERAL_NAME.match(given[0])
    key = f".{name.group(2)}" if name else f"[{given[0]}]"
    needless = ("None", "{}", "dict()") if is_read_on(source, call) else ("None",)  # undefined chains (TP-07)
    return f"{key} | default({given[1]})" if len(given) == 2 and given[1] not in needless else key

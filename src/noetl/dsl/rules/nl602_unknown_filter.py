"""A template uses a filter that does not exist.

The filters are Jinja2's, without those that reach into objects or grow without bound, and with a few of our own
(`fromjson`, `sha256`, `ident`, …). An unknown one would fail the run at the moment the template is evaluated.

Wrong:

    when: "{{ output.data.orders | len > 0 }}"

Right:

    when: "{{ output.data.orders | length > 0 }}"

Spec: TP-03, TP-05.
"""

from collections.abc import Iterator

from noetl.dsl import repairs
from noetl.dsl.draft import Draft, Text
from noetl.dsl.findings import Finding, did_you_mean, listed, near_miss
from noetl.dsl.rules import contract
from noetl.expressions import Use
from noetl.expressions.filters import FILTERS, REMOVED

RULE = contract.Rule(code="NL602", name="unknown-filter", spec=("TP-03", "TP-05"))

SAME_AS = {
    "len": "length",
    "size": "length",
    "to_json": "tojson",
    "json": "tojson",
    "to_nice_json": "tojson",
    "from_json": "fromjson",
    "parse_json": "fromjson",
    "str": "string",
    "to_string": "string",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "lowercase": "lower",
    "downcase": "lower",
    "uppercase": "upper",
    "upcase": "upper",
    "strip": "trim",
    "sorted": "sort",
    "reversed": "reverse",
    "uniq": "unique",
    "dict2items": "items",
    "base64_encode": "b64encode",
    "base64_decode": "b64decode",
    "quote": "urlencode",
    "url_encode": "urlencode",
}


def check(draft: Draft) -> Iterator[Finding]:
    for text in draft.texts:
        for use in text.template.filters if text.template else ():
            if use.name not in FILTERS:
                yield finding(text, use)


def finding(text: Text, use: Use) -> Finding:
    place = text.place_of(use.offset, use.end)
    reason = REMOVED.get(use.name)
    if reason:
        return RULE.at(place, f'the filter "{use.name}" cannot be used in a playbook', why=reason)
    ours, miss = SAME_AS.get(use.name), near_miss(use.name, FILTERS)
    return RULE.at(
        place,
        f'there is no filter "{use.name}"',
        why="" if ours or miss else f"the filters are: {listed(sorted(FILTERS), most=60)}",
        fix=f'write "{ours}"' if ours else did_you_mean(use.name, FILTERS, "do this in a task of kind python"),
        edits=repairs.replace(text.node, use.offset, use.end, ours) if ours else (),
    )

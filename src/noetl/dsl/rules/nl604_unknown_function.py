"""A template calls something that cannot be called.

A template can call two functions, `range` and `dict`, and a short list of methods of texts and lists. Most of what
looks like a function in other languages is a filter here. What must look at the clock, the network or chance belongs
in a task: a template gives the same value each time it is evaluated with the same names.

Wrong:

    when: "{{ len(output.data) > 0 }}"
    set:
      ctx.started_at: "{{ now() }}"

Right:

    when: "{{ output.data | length > 0 }}"
    set:
      ctx.started_at: "{{ output.meta.ts }}"

Spec: TP-03, TP-05.
"""

from collections.abc import Iterator

from noetl.dsl import repairs
from noetl.dsl.draft import Draft, Text
from noetl.dsl.findings import Finding, did_you_mean, listed
from noetl.dsl.nodes import shorten
from noetl.dsl.rules import contract
from noetl.dsl.rules.calls import arguments, callable_methods, needs_brackets
from noetl.dsl.rules.nl617_mapping_method_by_dot import MAPPING_METHODS
from noetl.dsl.rules.nl618_forbidden_attribute import is_hidden
from noetl.expressions import FUNCTIONS, Call
from noetl.expressions.filters import FILTERS

RULE = contract.Rule(code="NL604", name="unknown-function", spec=("TP-03", "TP-05"))

AS_FILTER = {
    "len": "length",
    "str": "string",
    "sorted": "sort",
    "reversed": "reverse",
    "json": "tojson",
    "to_json": "tojson",
    "from_json": "fromjson",
    "enumerate": "",
    "zip": "",
}
CLOCK = "a template sees no clock: read output.meta.ts, or take the time in a task of kind python"
CHANCE = "a template has no chance in it: use execution_id or _key, or make the value in a task of kind python"
OUTSIDE = "a template sees nothing of the process: put the value into workload, or declare it in keychain"
INSTEAD = {
    **dict.fromkeys(("now", "utcnow", "today", "time", "timestamp", "datetime", "date"), CLOCK),
    **dict.fromkeys(("uuid", "uuid4", "random", "randint"), CHANCE),
    **dict.fromkeys(("env", "env_var", "getenv", "lookup", "secret", "open", "input"), OUTSIDE),
    "format": "join texts with ~",
    "strftime": CLOCK,
    "isoformat": CLOCK,
    "append": "values never change: write list + [item]",
    "extend": "values never change: write list + other",
    "encode": "use | b64encode or | sha256",
    "decode": "use | b64decode",
    "namespace": "use {% set %}",
    "defined": "write {{ name is defined }}",
    "isinstance": "write {{ value is string }}, is mapping, is sequence, is number",
}


def check(draft: Draft) -> Iterator[Finding]:
    for text in draft.texts:
        for call in text.template.calls if text.template else ():
            if is_hidden(call.method):
                continue
            if call.form == "function" and call.method not in FUNCTIONS:
                yield unknown_function(text, call)
            elif call.form == "method" and call.method not in callable_methods() | MAPPING_METHODS.keys():
                yield unknown_method(text, call)
            elif call.form == "value":
                yield RULE.at(text.place_of(call.offset, call.end), "this value cannot be called", why=only())


def only() -> str:
    return f"the functions are {' and '.join(sorted(FUNCTIONS))}"


def unknown_function(text: Text, call: Call) -> Finding:
    name = call.method
    filter_name = AS_FILTER.get(name, name if name in FILTERS else "")
    fix = INSTEAD.get(name) or did_you_mean(name, FUNCTIONS, "do this in a task of kind python")
    made = as_filter(text.node.text, call, filter_name) if filter_name else ""
    if filter_name:
        fix = f"it is a filter here: write {shorten(made) if made else f'value | {filter_name}'}"
    return RULE.at(
        text.place_of(call.offset, call.offset + len(name)),
        f'there is no function "{name}"',
        why=only(),
        fix=fix,
        edits=repairs.replace(text.node, call.offset, call.end, made) if made else (),
    )


def as_filter(source: str, call: Call, name: str) -> str:
    """len(x) as x | length, where it has one argument."""
    given = arguments(source[call.offset + len(call.method) : call.end])
    if given is None or len(given) != 1 or "=" in given[0]:
        return ""
    value = given[0] if given[0].replace(".", "").replace("_", "").isalnum() else f"({given[0]})"
    made = f"{value} | {name}"
    return f"({made})" if needs_brackets(source, call) else made


def unknown_method(text: Text, call: Call) -> Finding:
    name = call.method
    known = sorted(callable_methods())
    advice = INSTEAD.get(name) or did_you_mean(name, known, "")
    otherwise = f"it is a filter: write value | {name}" if name in FILTERS else "do this in a task of kind python"
    return RULE.at(
        text.place_of(call.offset, call.end),
        f'a template cannot call ".{name}()"',
        why="" if advice else f"the methods are: {listed(known, most=60)}",
        fix=advice or otherwise,
    )

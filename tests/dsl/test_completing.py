"""Completion and description at a cursor, in texts that are whole and in texts that are not YAML yet.

A cursor is ¦ in the text.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.dsl.completing import complete
from noetl.dsl.describing import describe
from noetl.dsl.loose import read_loosely
from noetl.dsl.proposals import ITEMS_MAX, Proposal
from noetl.dsl.read import read
from noetl.dsl.spots import cell_at
from noetl.tools.registry import declarations
from tests.dsl.front import PLAYBOOKS

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\n"
ORDERS = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: orders}
keychain:
  - {name: pg, kind: postgres_credential}
  - name: api
    kind: bearer
workload: {day: "2026-03-01", shop: {city: Bern}}
workflow:
  - step: start
    desc: Where it begins
    input: {day: "{{ workload.day }}"}
    tool:
      - name: count
        kind: http
        url: https://example.com
        spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: jump, to: ¦}}]}}
      - {name: save, kind: noop, set: {ctx.rows: "{{ output.data }}", step.seen: true}}
    next:
      arcs:
        - step: pages
          when: "{{ ctx.rows }}"
  - step: pages
    loop: {in: "{{ range(3) }}", iterator: page, loop: {in: [1], iterator: part}}
    tool: {name: fetch, kind: http, url: "x", set: {iter.done: true}}
"""
WHOLE = ORDERS.replace("¦", "save")


def at(marked: str) -> tuple[str, int, int]:
    """The text, and the line and column of its mark."""
    before, mark, after = marked.partition("¦")
    assert mark, "there is no cursor in the text"
    return before + after, before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1


def proposed(marked: str) -> Proposal:
    return complete(*at(marked), declarations)


def labels(marked: str) -> list[str]:
    return [item.label for item in proposed(marked).items]


# --- keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "some", "none"),
    [
        ("¦", ["apiVersion", "metadata", "workflow"], []),
        ("api¦", ["apiVersion"], ["workflow"]),
        (f"{HEAD}¦", ["workflow", "workload", "keychain"], ["apiVersion", "metadata"]),
        ("metadata:\n  na¦", ["name"], ["path"]),
        ("metadata: {¦", ["name", "path"], []),
        ("metadata: {name: a, ¦}", ["path", "version"], ["name"]),
        (f"{HEAD}workflow:\n  - ¦", ["step", "tool", "next"], []),
        (f"{HEAD}workflow:\n  - st¦", ["step"], ["tool"]),
        (f"{HEAD}workflow:\n  - step: a\n    ¦", ["tool", "next", "loop", "set"], ["step"]),
        (f"{HEAD}workflow:\n- step: a\n  ¦\n- step: b\n", ["tool", "next"], ["step"]),
        (f"{HEAD}workflow:\n  - step: a\n    tool:\n      kind: http\n      ¦", ["url", "method", "input"], ["kind"]),
        (f"{HEAD}workflow:\n  - step: a\n    tool:\n      ¦\n      kind: http\n", ["url", "name"], ["kind"]),
        (f"{HEAD}workflow:\n  - step: a\n    tool:\n      - name: x\n        kind: http\n        u¦", ["url"], []),
        (f"{HEAD}workflow:\n  - step: a\n    tool: {{kind: http, ¦", ["url", "auth"], ["kind"]),
        (f"{HEAD}workflow:\n  - step: a\n    tool:\n      - ¦", ["kind", "name", "choose"], []),
        (f"{HEAD}workflow:\n  - step: a\n    tool:\n      kind: http\n      input:\n        ¦", ["url"], ["kind"]),
        (
            f"{HEAD}workflow:\n  - step: a\n    tool:\n      kind: http\n      spec:\n        ¦",
            ["policy", "timeout"],
            [],
        ),
        (f"{HEAD}workflow:\n  - step: a\n    loop:\n      ¦", ["in", "iterator", "spec"], []),
        (f"{HEAD}workflow:\n  - step: a\n    next:\n      arcs:\n        - ¦", ["step", "when", "set"], []),
        (f"{HEAD}workflow:\n  - step: a\n    next:\n      arcs:\n        - step: b\n          ¦", ["when"], ["step"]),
        (f"{HEAD}workflow:\n  - step: a\n    next: {{arcs: [{{step: b, ¦", ["when", "set"], ["step"]),
        (f"{HEAD}workflow:\n  - step: a\n    spec:\n      policy:\n        admit:\n          ¦", ["rules", "join"], []),
        (f"{HEAD}executor:\n  spec:\n    ¦", ["policy", "entry_step", "http"], []),
        (WHOLE.replace("\n  - step: pages\n", "\n    set: {¦\n  - step: pages\n"), ["ctx.rows", "ctx.", "iter."], []),
        ("kind: Schedule\nspec:\n  ¦", ["playbook", "cron"], ["workflow"]),
        ("kind: Trigger\nspec:\n  webhook:\n    ¦", ["auth", "credential"], []),
        ("a: 1\n---\n¦", ["workflow"], []),
        ("workflow: {\n¦", ["apiVersion"], []),
    ],
)
def test_keys_are_those_that_may_stand_there_and_do_not_yet(text, some, none):
    found = labels(text)

    assert [key for key in some if key not in found] == []
    assert [key for key in none if key in found] == []


def test_a_key_comes_with_the_place_for_its_value():
    found = {item.label: item.insert for item in proposed(f"{HEAD}workflow:\n  - step: a\n    ¦").items}
    beside = {item.label: item.insert for item in proposed(f"{HEAD}workflow:\n  - step: a\n    next: {{¦").items}

    assert found["desc"] == "desc: "
    assert found["next"] == "next:\n      "
    assert beside["arcs"] == "arcs: "
    assert {item.label: item.insert for item in proposed(f"{HEAD}workflow:\n  ¦").items}["step"] == "- step: "


def test_what_must_be_there_comes_first_and_says_so():
    first, *_ = proposed(f"{HEAD}workflow:\n  - step: a\n    tool:\n      kind: http\n      input:\n        ¦").items

    assert (first.label, first.detail.startswith("required")) == ("url", True)


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("kind: ¦", ["Playbook", "Credential", "PlaybookTest", "Schedule", "Trigger"]),
        ("apiVersion: ¦", ["noetl.io/v2"]),
        (f"{HEAD}workflow:\n  - step: a\n    tool: {{kind: po¦", ["postgres"]),
        (f"{HEAD}workflow:\n  - step: a\n    tool:\n      kind: du¦\n", ["duckdb"]),
        (f"{HEAD}workflow:\n  - step: a\n    loop:\n      spec:\n        mode: ¦", ["sequential", "parallel"]),
        (f"{HEAD}workflow:\n  - step: a\n    next:\n      spec: {{mode: ¦}}", ["exclusive", "inclusive"]),
        (f"{HEAD}workflow:\n  - step: a\n    spec: {{policy: {{plan: ¦}}}}", ["true", "false"]),
        (ORDERS, ["count", "save"]),
        (WHOLE.replace("- step: pages\n          when", "- step: ¦\n          when"), ["start", "pages"]),
        (WHOLE.replace("url: https", "auth: ¦\n        url: https"), ["pg", "api"]),
        (f"{HEAD}executor: {{spec: {{entry_step: ¦}}}}\nworkflow: [{{step: one}}, {{step: two}}]", ["one", "two"]),
        (f"{HEAD}executor:\n  profile: ¦\n", ["local", "distributed"]),
        (f"{HEAD}executor:\n  profile:¦\n", ["local", "distributed"]),
        (f"{HEAD}executor:\n  profile:  ¦  local\n", ["local", "distributed"]),
        (WHOLE.replace("do: jump", "do: re¦"), ["retry", "break"]),
        (WHOLE.replace("do: jump", "do: jump, backoff: ¦"), ["none", "linear", "exponential"]),
        (f"{HEAD}keychain:\n  - name: pg\n    kind: post¦\n", ["postgres_credential"]),
        (f"{HEAD}workbook:\n  mail: {{kind: noop}}\nworkflow:\n- step: a\n  tool: {{kind: workbook, task: ¦", ["mail"]),
    ],
)
def test_values_are_those_that_are_known(text, wanted):
    assert labels(text) == wanted


def test_a_value_right_after_its_colon_comes_with_a_space():
    (first, *_), (other, *_) = (proposed(f"executor:\n  profile:{gap}¦").items for gap in ("", " "))

    assert (first.insert, other.insert) == (" local", "local")


def test_a_value_replaces_what_is_typed_of_it():
    found = proposed(f"{HEAD}workflow:\n  - step: a\n    tool: {{kind: po¦")

    line = "    tool: {kind: po"
    assert found.start_column == len(line) - 1
    assert found.items[0].doc.startswith("Runs SQL")


# --- templates -------------------------------------------------------------------------------------------------------


def inside(expression: str, where: str) -> str:
    """The text of ORDERS with an expression in a place."""
    return {
        "arc": WHOLE.replace("{{ ctx.rows }}", f"{{{{ {expression} }}}}"),
        "rule": WHOLE.replace("{{ output.status == 'error' }}", f"{{{{ {expression} }}}}"),
        "field": WHOLE.replace('url: "x"', f'url: "{{{{ {expression} }}}}"'),
        "loop": WHOLE.replace("{{ range(3) }}", f"{{{{ {expression} }}}}"),
        "input": WHOLE.replace("{{ workload.day }}", f"{{{{ {expression} }}}}"),
        "open": WHOLE.replace('when: "{{ ctx.rows }}"', f'when: "{{{{ {expression}'),
    }[where]


@pytest.mark.parametrize(
    ("expression", "where", "some", "none"),
    [
        ("¦", "arc", ["workload", "ctx", "output", "event", "step", "start"], ["keychain", "iter", "_prev", "count"]),
        ("¦", "rule", ["output", "_attempt", "count", "save", "start"], ["event", "iter", "keychain"]),
        ("¦", "field", ["iter", "page", "part", "keychain", "fetch", "_key"], ["event"]),
        ("¦", "loop", ["output", "ctx", "input"], ["step", "iter", "event", "fetch"]),
        ("¦", "input", ["workload", "ctx"], ["step", "event", "_prev"]),
        ("¦", "open", ["output", "event"], []),
        ("wo¦", "arc", ["workload"], ["ctx"]),
        ("ctx.¦", "arc", ["rows"], ["seen"]),
        ("workload.¦", "arc", ["day", "shop"], ["city"]),
        ("workload.shop.¦", "arc", ["city"], ["day"]),
        ("output.¦", "arc", ["status", "data", "error"], []),
        ("output.error.¦", "arc", ["kind", "message"], ["status"]),
        ("output.http.¦", "rule", ["status"], []),
        ("start.¦", "arc", ["status", "data"], ["loop"]),
        ("pages.loop.¦", "arc", ["done", "failed"], []),
        ("count.¦", "rule", ["data", "http"], []),
        ("iter.¦", "field", ["part", "_index", "parent", "done"], ["page"]),
        ("iter.parent.¦", "field", ["page", "_index"], ["part", "parent"]),
        ("input.¦", "rule", ["day"], []),
        ("event.¦", "arc", ["name", "status", "payload"], []),
        ("keychain.¦", "field", ["pg", "api"], []),
        ("keychain.api.¦", "field", ["token"], ["password"]),
        ("ctx.rows | ¦", "arc", ["length", "default", "tojson"], ["ctx"]),
        ("ctx.rows|le¦", "arc", ["length"], ["default"]),
        ("ctx.rows is ¦", "arc", ["defined", "none"], ["=="]),
        ("ctx.rows is not de¦", "arc", ["defined"], []),
        ("ctx.rows > 1 and outp¦", "arc", ["output"], ["ctx"]),
        ("ctx.rows == 'ct¦", "arc", [], ["ctx"]),
    ],
)
def test_a_template_may_read_what_the_table_of_scopes_says(expression, where, some, none):
    found = labels(inside(expression, where))

    assert [name for name in some if name not in found] == []
    assert [name for name in none if name in found] == []


def test_a_template_in_a_block_of_text_is_completed_too():
    text = (
        f"{HEAD}workflow:\n  - step: a\n    tool:\n      kind: postgres\n      command: |\n        SELECT {{{{ ctx¦\n"
    )

    assert labels(text) == ["ctx"]


def test_code_is_not_taken_for_keys():
    text = (
        f"{HEAD}workflow:\n  - step: a\n    tool:\n      kind: python\n      code: |\n        kind: ¦\n        x = 1\n"
    )

    assert labels(text) == []


# --- whatever the text is --------------------------------------------------------------------------------------------

BROKEN = [
    "",
    "\n\n",
    "- ",
    "::::",
    "{",
    "[[[[[[",
    "a: {b: [c, {d: 'e",
    "\tkey: 1",
    "a: 'x\n  y\nb",
    "workflow:\n      - step: a\n   tool: {kind\n  next:\n- ",
    "a: &x {b: 1}\nc: *x\n",
    "? a\n: b\n",
    "workflow: {{",
    "é: ü\n  ¿: {",
    "a: |\n  {{ b",
    "x" * 5000,
    "- " * 200,
    "{a: " * 200,
]


@pytest.mark.parametrize("text", [*BROKEN, WHOLE], ids=range(len(BROKEN) + 1))
def test_at_any_cursor_of_any_text_there_is_an_answer_and_not_too_long_a_one(text):
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        for column in range(1, min(len(line), 120) + 2):
            found = complete(text, number, column, declarations)
            assert len(found.items) <= ITEMS_MAX
            assert 1 <= found.start_column <= column
            describe(text, number, column, declarations)


WORDS = [
    "workflow:",
    "- ",
    "step: a",
    "tool:",
    "kind: http",
    "next:",
    "arcs:",
    "when: ",
    "ctx.",
    "---",
    "&a ",
    "0",
    "é",
]
SIGNS = [
    "{",
    "}",
    "[",
    "]",
    ", ",
    ": ",
    "'",
    '"',
    "{{ ",
    " }}",
    "|",
    "#",
    " ",
    "\t",
    "\n",
    "\n  ",
    "\n    ",
    "\n      ",
]
PIECES = st.sampled_from([*WORDS, *SIGNS])


@given(st.lists(PIECES, max_size=30).map("".join), st.integers(1, 12), st.integers(1, 40))
def test_nothing_that_can_be_typed_is_too_much(text, line, column):
    found = complete(text, line, column, declarations)

    assert 1 <= found.start_column <= column
    describe(text, line, column, declarations)


@pytest.mark.parametrize(("line", "column"), [(1, 999), (999, 1), (999, 999)])
def test_a_cursor_beyond_the_end_is_at_the_end(line, column):
    assert complete(HEAD, line, column, declarations).start_column >= 1


@pytest.mark.parametrize("path", sorted((PLAYBOOKS / "good").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_text_that_is_yaml_is_read_as_yaml_reads_it(path):
    """Each key of a playbook, as the loose reader and YAML see it: the same path."""
    text = path.read_bytes().decode("utf-8", "replace")
    documents = read(text, path.name).documents
    if len(documents) != 1 or "&" in text or "? " in text:
        pytest.skip("anchors, complex keys and several documents are another matter")

    for wanted, line, column in keys_of(documents[0], ()):
        spot = read_loosely(text, line - 1, column - 1)
        assert (spot.is_value, (*spot.path, spot.key)) == (False, wanted)
        assert cell_at(spot.root, wanted) is not None


def keys_of(node, path):
    for key, entry in getattr(node, "entries", {}).items():
        yield (*path, key), entry.key.line, entry.key.column
        yield from keys_of(entry.value, (*path, key))
    for index, item in enumerate(getattr(node, "items", None) or ()):
        yield from keys_of(item, (*path, index))


# --- describing ------------------------------------------------------------------------------------------------------


def described(marked: str):
    return describe(*at(marked), declarations)


@pytest.mark.parametrize(
    ("text", "title", "words"),
    [
        (WHOLE.replace("kind: http\n", "kind: ht¦tp\n", 1), "kind: http", "## Fields"),
        (WHOLE.replace("url: https", "u¦rl: https"), "tool.url", "A field of kind `http`"),
        (WHOLE.replace("iterator: page", "iter¦ator: page"), "loop.iterator", "iter.<iterator>"),
        (WHOLE.replace("workload:", "work¦load:"), "workload", "Default inputs"),
        (WHOLE.replace("do: jump", "do: ju¦mp"), "tool.spec.policy.rules.then.do", "`retry`"),
        (WHOLE.replace("{{ ctx.rows }}", "{{ c¦tx.rows }}"), "ctx", "shared by the steps"),
        (WHOLE.replace("{{ ctx.rows }}", "{{ ctx.ro¦ws }}"), "ctx", "an arc's condition"),
        (WHOLE.replace("{name: orders}", "{na¦me: orders}"), "metadata.name", "The playbook's name"),
        ("¦", "playbook", "`workflow`"),
        ("nonsense: ¦", "", ""),
    ],
)
def test_what_stands_under_a_cursor_has_a_page(text, title, words):
    found = described(text)

    assert found.title == title
    assert words in found.markdown


@pytest.mark.parametrize(
    ("text", "step", "task"),
    [
        (WHOLE.replace("url: https", "u¦rl: https"), "start", "count"),
        (WHOLE.replace('url: "x"', 'url: "¦x"'), "pages", "fetch"),
        (WHOLE.replace("desc: Where", "desc: Wh¦ere"), "start", None),
        (WHOLE.replace("workload:", "work¦load:"), None, None),
    ],
)
def test_the_cursor_is_in_a_step_and_a_task(text, step, task):
    found = described(text)

    assert (found.step, found.task) == (step, task)


def test_markup_of_the_author_is_in_no_page():
    found = described(WHOLE.replace("desc: Where it begins", "desc: <script>alert(1)</script>¦"))

    assert "<script>" not in found.title + found.markdown

"""`--fix`: a repair removes its finding, touches nothing else, and deprecated spellings keep their meaning."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.dsl.check import Checked, check
from noetl.dsl.dialects.reading import translate
from noetl.dsl.findings import ERROR, Edit, Finding, apply_edits
from noetl.dsl.nodes import Mapping, plain
from noetl.dsl.read import read
from noetl.tools.registry import declarations
from tests.dsl.front import FLAGS, HEAD, PLAYBOOKS

PASSES_MAX = 20
BAD = [path for path in sorted((PLAYBOOKS / "bad").glob("*.yaml")) if path.stem != "not-utf8"]
V10_DOCUMENTS = [
    path for path in sorted((PLAYBOOKS / "documents").glob("*.yaml")) if path.name[:3] in ("000", "001", "002")
]


def flags_of(text: str) -> dict[str, bool]:
    first = text.split("\n", 1)[0]
    words = first.removeprefix("# check:").split() if "# check:" in first else []
    return {FLAGS[word]: True for word in words if word in FLAGS}


def checked(text: str, **flags: bool) -> Checked:
    return check(text, "t.yaml", declarations, **flags)


def fixed(text: str, block: str = "NL", **flags: bool) -> str:
    """As `noetl check --fix` does it: until nothing mechanical is left."""
    for _ in range(PASSES_MAX):
        findings = [one for one in checked(text, **flags).findings if one.code.startswith(block)]
        text, repaired = apply_edits(text, findings)
        if not repaired:
            return text
    raise AssertionError("it never becomes stable")


def meaning(text: str, **flags: bool) -> list[object]:
    """The documents of a text as data, on the 2026 surface."""
    switches = {"is_legacy": False, "is_upstream": False, **flags}
    switches.pop("is_strict", None)
    found = []
    for document in read(text, "t.yaml").documents:
        if isinstance(document, Mapping):
            translate(document, declarations, **switches)
        found.append(plain(document))
    return found


def changed_only_there(before: str, after: str, edits: tuple[Edit, ...]) -> bool:
    """Whether a text is the other one with just these places changed, read from left to right."""
    position = shift = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if before[position : edit.start] != after[position + shift : edit.start + shift]:
            return False
        position, shift = edit.end, shift + len(edit.text) - (edit.end - edit.start)
    return before[position:] == after[position + shift :]


def is_same_fault(one: Finding, other: Finding) -> bool:
    return (one.code, one.message, one.place.line, one.place.column) == (
        other.code,
        other.message,
        other.place.line,
        other.place.column,
    )


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_repair_removes_its_finding_and_changes_no_other_byte(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")
    flags = flags_of(text)

    for finding in checked(text, **flags).findings:
        if not finding.edits:
            continue
        after, repaired = apply_edits(text, [finding])
        left = checked(after, **flags).findings

        assert repaired == 1
        assert changed_only_there(text, after, finding.edits)
        assert not any(is_same_fault(finding, other) for other in left), finding.message
        assert "NL101" not in {other.code for other in left} - {finding.code}


@pytest.mark.spec("DI-02", "DI-03")
@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_repaired_spelling_means_what_it_meant(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")
    flags = flags_of(text)

    for finding in checked(text, **flags).findings:
        if finding.code.startswith("NL9") and finding.edits:
            after, _ = apply_edits(text, [finding])

            assert meaning(after, **flags) == meaning(text, **flags)


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_repairing_comes_to_an_end(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")
    flags = flags_of(text)

    once = fixed(text, **flags)

    assert fixed(once, **flags) == once


@pytest.mark.spec("DI-02", "DI-04", "AC-10")
@pytest.mark.parametrize("path", V10_DOCUMENTS, ids=lambda path: path.stem)
def test_a_repaired_v10_document_is_of_the_new_surface_but_for_arc_args(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")

    after = fixed(text)

    errors = {finding.code for finding in checked(after, is_strict=True).findings if finding.severity == "error"}
    assert errors <= {"NL906"}
    assert not any(finding.edits for finding in checked(after).findings if finding.code.startswith("NL9"))


@pytest.mark.spec("PB-10", "DI-02")
@pytest.mark.parametrize("path", sorted((PLAYBOOKS / "documents").glob("*.yaml")), ids=lambda path: path.stem)
def test_repaired_spellings_of_any_document_mean_what_they_meant(path: Path) -> None:
    text, flags = path.read_text(encoding="utf-8"), {"is_legacy": path.name.startswith("003")}

    after = fixed(text, "NL9", **flags)

    assert meaning(after, **flags) == meaning(text, **flags)


LABELLED = {
    "block": (
        """
  - step: a
    tool:
      # before
      - fetch:  # beside

          # inside
          kind: http
          url: "https://example.com/{{ workload.x }}
            and more"
          body: |
            first

              {{ workload.x }}
            # not a comment
          headers: {a: b,
            c: d}

      # after
      - done:
              kind: noop
""",
        """
  - step: a
    tool:
      # before
      - name: fetch  # beside

        # inside
        kind: http
        url: "https://example.com/{{ workload.x }}
          and more"
        body: |
          first

            {{ workload.x }}
          # not a comment
        headers: {a: b,
          c: d}

      # after
      - name: done
        kind: noop
""",
    ),
    "flow": (
        "\n  - step: a\n    tool:\n      - fetch: { kind: noop, set: {step.a: 1} }\n      - { done: {kind: noop} }\n",
        "\n  - step: a\n    tool:\n      - { name: fetch, kind: noop, set: {step.a: 1} }\n"
        "      - {name: done, kind: noop}\n",
    ),
    "quoted and numbered": (
        "\n  - step: a\n    tool:\n      - 'fetch':\n          kind: noop\n      - 404: {kind: noop}\n",
        "\n  - step: a\n    tool:\n      - name: 'fetch'\n        kind: noop\n      - {name: \"404\", kind: noop}\n",
    ),
    "dash on its own line": (
        "\n  - step: a\n    tool:\n      -\n        fetch:\n           kind: noop\n",
        "\n  - step: a\n    tool:\n      -\n        name: fetch\n        kind: noop\n",
    ),
}


@pytest.mark.spec("TK-01", "DI-02")
@pytest.mark.parametrize("case", LABELLED, ids=str)
@pytest.mark.parametrize("line_break", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_labelled_task_gets_a_name_and_keeps_all_else(case: str, line_break: str) -> None:
    before, wanted = (f"{HEAD}workload: {{x: 1}}\nworkflow:{body}" for body in LABELLED[case])
    before, wanted = before.replace("\n", line_break), wanted.replace("\n", line_break)

    after = fixed(before)

    assert after == wanted
    assert meaning(after) == meaning(before)


@pytest.mark.spec("TK-01", "DI-02")
@pytest.mark.parametrize(
    ("tasks", "found"),
    [
        ("[{ f: { kind: noop, name: f } }]", [("NL905", "warning", "")]),
        ("[{ f: { kind: noop, name: g } }]", [("NL318", "error", 'labelled "f" and named "g"')]),
        ("{ kind: http, url: x, args: { a: 1 }, input: { b: 2 } }", [("NL901", "warning", "")]),
        ("{ kind: http, url: x, args: { a: 1, c: 3 }, input: { a: 2 } }", [("NL901", "error", 'both give "a"')]),
        ("{ kind: http, url: x, args: { a: 1 }, input: 2 }", [("NL901", "error", "one of them is the number 2")]),
    ],
)
def test_what_is_said_twice_is_not_repaired(tasks: str, found: list[tuple[str, str, str]]) -> None:
    text = f"{HEAD}workflow: [{{ step: a, tool: {tasks} }}]\n"

    findings = [one for one in checked(text).findings if one.code in ("NL203", "NL304", "NL318", "NL901", "NL905")]

    assert [(one.code, one.severity) for one in findings] == [(code, severity) for code, severity, _ in found]
    assert all(said in one.message for one, (_, _, said) in zip(findings, found, strict=True))
    assert fixed(text) == text


@pytest.mark.spec("DI-02")
def test_args_and_input_with_different_names_are_one() -> None:
    text = f"{HEAD}workflow: [{{ step: a, args: {{ x: 1 }}, input: {{ y: 2 }}, tool: {{ kind: noop }} }}]\n"

    (draft,) = checked(text).drafts

    assert list(draft.steps[0].input) == ["x", "y"]


@pytest.mark.spec("PB-12")
def test_the_time_of_a_step_is_moved_by_its_author() -> None:
    text = f"{HEAD}workflow: [{{ step: a, timeout: 3, tool: {{ kind: noop }} }}]\n"

    (finding,) = [one for one in checked(text).findings if one.code == "NL126"]

    assert "spec.policy.lifecycle.timeout_s" in finding.fix
    assert "spec.timeout" in finding.fix
    assert finding.edits == ()


def rule_with(then: str) -> str:
    return f"""{HEAD}workload: {{xs: []}}
workflow:
  - step: a
    loop: {{in: "{{{{ workload.xs }}}}", iterator: x}}
    tool:
      - name: t
        kind: noop
        spec:
          policy:
            rules:
              - else:
{then}"""


SETS = {
    "flow": (
        "                  then: { do: continue, set_iter: { page: 1, 'b': 2 } }\n",
        "                  then: { do: continue, set: { iter.page: 1, 'iter.b': 2 } }\n",
    ),
    "block": (
        """                  then:
                    do: continue
                    set_iter:  # why
                      page: 1
                      # a comment
                      items: |
                        a
                    # the end
""",
        """                  then:
                    do: continue
                    set:  # why
                      iter.page: 1
                      # a comment
                      iter.items: |
                        a
                    # the end
""",
    ),
    "both in flow": (
        "                  then: { set_ctx: { a: 1 }, set_iter: { b: '2', c: [3] }, do: continue }\n",
        "                  then: { set: { ctx.a: 1, iter.b: '2', iter.c: [3] }, do: continue }\n",
    ),
    "both in flow, last": (
        "                  then: {do: continue, set_iter: {b: 2}, set_ctx: {a: 1}}\n",
        "                  then: {do: continue, set: {iter.b: 2, ctx.a: 1}}\n",
    ),
    "flow in block": (
        """                  then:
                    set_ctx: { a: 1 }  # first
                    do: continue
                    set_iter: { b: 2 }
""",
        """                  then:
                    set: { ctx.a: 1, iter.b: 2 }  # first
                    do: continue
""",
    ),
    "both in block": (
        """                  then:
                    set_ctx:
                      a: 1
                    do: continue
                    set_iter:
                        b: 2  # two
                        "c": 3
""",
        """                  then:
                    set:
                      ctx.a: 1
                      iter.b: 2  # two
                      "iter.c": 3
                    do: continue
""",
    ),
    "beside a set": (
        """                  then:
                    do: continue
                    set:
                      step.a: 1
                    set_ctx:
                      b: 2
""",
        """                  then:
                    do: continue
                    set:
                      step.a: 1
                      ctx.b: 2
""",
    ),
}


@pytest.mark.spec("SC-10", "DI-02")
@pytest.mark.parametrize("case", SETS, ids=str)
def test_set_ctx_and_set_iter_become_one_set(case: str) -> None:
    before, wanted = (rule_with(body) for body in SETS[case])

    after = fixed(before)

    assert after == wanted
    assert meaning(after) == meaning(before)


UNCLEAR = {
    "an anchor on the body": "\n  - step: a\n    tool:\n      - fetch: &body\n          kind: noop\n",
    "an alias": "\n  - step: a\n    tool:\n      - fetch: &body {kind: noop}\n      - again: *body\n",
    "a comment before a flow body": "\n  - step: a\n    tool:\n      - fetch:  # why\n          {kind: noop}\n",
}


@pytest.mark.parametrize("case", UNCLEAR, ids=str)
def test_what_is_not_plainly_written_is_marked_and_left_alone(case: str) -> None:
    text = f"{HEAD}workflow:{UNCLEAR[case]}"

    assert "NL905" in {finding.code for finding in checked(text).findings}
    assert fixed(text) == text


NAMES = st.sampled_from(["fetch", "store", "a1", "_x"])
VALUES = st.sampled_from(
    [
        "1",
        "'a b'",
        '"{{ outcome.status }}"',
        "[1, 2]",
        "{a: 1}",
        "|\nPAD  one\n\nPAD    two",
        ">-\nPAD  {{ args.x }}\nPAD  b",
        "|2-\nPAD   one\n \nPAD  two",
    ]
)
COMMENTS = st.sampled_from(["", "  # why", "\n", "\nPAD# a line of its own", "\n  # far left"])


@st.composite
def v10_steps(draw: st.DrawFn) -> str:
    """A step of the v10 surface: labelled tasks in block style, with what may stand in them."""
    dash = " " * draw(st.integers(4, 7))
    pad = f"{dash}  {' ' * draw(st.integers(1, 6))}"
    lines = ["  - step: start", *(["    args: {x: 1}"] if draw(st.booleans()) else []), "    tool:"]
    for label in draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)):
        lines.append(f"{dash}- {label}:{draw(COMMENTS)}".replace("PAD", pad))
        lines += [f"{pad}{line}" for line in ("kind: noop", *draw(fields()), *draw(policies()))]
    return "\n".join(lines).replace("PAD", pad) + draw(st.sampled_from(["", "\n", "\n\n", "\n# the end\n"]))


@st.composite
def fields(draw: st.DrawFn) -> list[str]:
    found = []
    for key in draw(st.lists(st.sampled_from(["desc", "input", "args"]), max_size=2, unique=True)):
        value = draw(VALUES) if key == "desc" else f"\nPAD  k: {draw(VALUES).replace('PAD', 'PAD  ')}"
        is_block = "|" in value or ">" in value
        found.append(f"{key}: {value}{'' if is_block else draw(COMMENTS)}")
    return found


@st.composite
def policies(draw: st.DrawFn) -> list[str]:
    found = ["spec:", "  policy:", "    rules:", "      - else:", "          then:", "            do: continue"]
    for scope in draw(st.lists(st.sampled_from(["set_ctx", "set_iter", "set"]), max_size=3, unique=True)):
        name = "step.q" if scope == "set" else "q"
        written = draw(st.sampled_from([f" {{{name}: 1}}", f"\nPAD              {name}: 1"]))
        found.append(f"            {scope}:{written}")
    return found


@pytest.mark.spec("DI-02", "DI-03")
@settings(max_examples=150, deadline=None)
@given(v10_steps(), st.sampled_from(["\n", "\r\n"]))
def test_a_generated_v10_step_is_repaired_without_a_change_of_meaning(body: str, line_break: str) -> None:
    text = f"{HEAD}workflow:\n{body}".replace("\n", line_break)

    after = fixed(text, "NL9")

    assert meaning(after) == meaning(text)
    left = [one for one in checked(after).findings if one.code in ("NL901", "NL902", "NL905")]
    assert not [one for one in left if not is_args_beside_input(one)] or not meaning(text)


def is_args_beside_input(finding: Finding) -> bool:
    """Two mappings in one are joined by hand."""
    return finding.code == "NL901" and (finding.severity == ERROR or "beside it" in finding.fix)

"""migrate: the same playbook in today's spelling, with all that was said beside it."""

import textwrap
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from noetl.dsl.check import check
from noetl.dsl.migrate import SET_PREV, UNWRITTEN, Migrated, migrate, remaining
from noetl.dsl.nodes import plain
from noetl.dsl.read import read
from noetl.dsl.rewriting.outline import comments
from noetl.tools.registry import declarations
from tests.dsl.front import HEAD, PLAYBOOKS, checked
from tests.dsl.meaning import meaning
from tests.dsl.yaml_texts import layouts

DOCUMENTS = sorted((PLAYBOOKS / "documents").glob("*.yaml"))
OLD = [path for path in DOCUMENTS if path.name < "004"]


def migrated(body: str, surface: str | None = None) -> Migrated:
    return migrate(HEAD + textwrap.dedent(body).lstrip("\n"), "t.yaml", declarations, surface)


def body(result: Migrated) -> str:
    return result.text.removeprefix(HEAD)


def left(result: Migrated) -> list[str]:
    return [f"{one.message}: {one.why}" for one in result.left_over]


@pytest.mark.spec("PB-11", "PB-10", "DI-02", "DI-03")
@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_an_old_example_of_the_documents_migrates_and_means_the_same(path: Path) -> None:
    data = path.read_bytes()

    done = migrate(data, path.name, declarations)

    assert done.surface == ("legacy" if path.name.startswith("003") else "v10")
    assert done.left_over == ()
    assert remaining(data, done, path.name, declarations).findings == []
    if not any(change.name == "arc-args" for change in done.changes):
        assert meaning(check(done.text, path.name, declarations, is_strict=False)) == meaning(checked(path))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_a_modern_text_is_not_touched(path: Path) -> None:
    once = migrate(path.read_bytes(), path.name, declarations).text

    again = migrate(once, path.name, declarations)

    assert again.text == once
    assert again.changes == ()


def test_what_is_not_old_keeps_every_byte():
    text = HEAD + textwrap.dedent(
        """\
        workload:   # odd   spacing
            list: [ 1,2,   3 ]      # kept
            text: "\\u00e9\\t" # kept
            hex:   0x1F


        workflow:
        - step:  start
          tool:
           -   kind: noop
               args: {a:   1}
           -   {kind: noop,   input: {a: 1}}
        """
    )

    done = migrate(text, "t.yaml", declarations)

    assert done.text == text.replace("args:", "input:")


def test_comments_travel_with_what_they_were_written_at():
    done = migrated(
        """
        workflow:
          # the first
          - step: start  # begin
            # only when ready
            when: "{{ workload.ready }}"  # set by the caller

            tool:
              # the call
              - fetch:  # one page
                  kind: noop  # for now
                  # what to do
                  eval:  # rules
                    # first
                    - expr: "{{ outcome.status == 'success' }}"  # fine
                      do: continue  # on
                      # page
                      set_iter: { page: 1 }  # from one
                    # last
                    - else: { do: fail }  # stop
            # where to
            next:  # arcs
              # the end
              - step: end  # done
          # no more
          - step: end
            tool: { kind: noop }
        """
    )

    assert body(done) == textwrap.dedent(
        """\
        workflow:
          # the first
          - step: start  # begin
            # only when ready
            spec:
              policy:
                admit:
                  rules:
                    - when: "{{ workload.ready }}"  # set by the caller
                      then: { allow: true }
                    - else:
                        then: { allow: false }

            tool:
              # the call
              - name: fetch  # one page
                kind: noop  # for now
                # what to do
                spec:
                  policy:
                    rules:  # rules
                      # first
                      - when: "{{ output.status == 'ok' }}"  # fine
                        then:
                          do: continue  # on
                          # page
                          set: { iter.page: 1 }  # from one
                      # last
                      - else:
                          then: { do: fail }  # stop
            # where to
            next:
              arcs:  # arcs
                # the end
                - step: end  # done
          # no more
          - step: end
            tool: { kind: noop }
        """
    )


def test_the_authors_habits_of_indentation_are_kept():
    done = migrated(
        """
        workflow:
        -   step: start
            when: "{{ workload.a }}"
            tool:
            -   call:
                    kind: noop
                    eval:
                    -   else: {do: break}
        """
    )

    assert body(done) == textwrap.dedent(
        """\
        workflow:
        -   step: start
            spec:
                policy:
                    admit:
                        rules:
                        -   when: "{{ workload.a }}"
                            then: {allow: true}
                        -   else:
                                then: {allow: false}
            tool:
            -   name: call
                kind: noop
                spec:
                    policy:
                        rules:
                        -   else:
                                then: {do: break}
        """
    )


def test_line_breaks_and_code_in_texts_stay():
    done = migrated(
        """
        workflow:
          - step: start
            tool:
              - run:
                  kind: python
                  args: { x: "{{ args.a }}" }
                  code: |
                    outcome = "{{ args.x }}"

                    result = outcome
              - say:
                  kind: http
                  url: >-
                    https://x.y/{{ outcome.result.url }}
                    /{{ args.b }}
                  headers:
                    X: 'it''s {{ outcome.status ~ "!" }}'
        """
    )

    assert body(done) == textwrap.dedent(
        """\
        workflow:
          - step: start
            tool:
              - name: run
                kind: python
                input: { x: "{{ input.a }}" }
                code: |
                  outcome = "{{ args.x }}"

                  result = outcome
              - name: say
                kind: http
                url: >-
                  https://x.y/{{ output.http.url }}
                  /{{ input.b }}
                headers:
                  X: 'it''s {{ output.status ~ "!" }}'
        """
    )


def test_aliases_stay_where_they_still_say_the_same():
    done = migrated(
        """
        workflow:
          - step: start
            tool:
              - name: a
                kind: noop
                spec: &retry
                  policy:
                    rules:
                      - else: { then: { do: continue, set_iter: { a: 1 } } }
              - name: b
                kind: noop
                spec: *retry
              - name: c
                kind: noop
                spec:
                  <<: *retry
                  timeout: 3
        """
    )

    assert "spec: *retry\n" in done.text
    assert "<<: *retry\n" in done.text
    assert "set: { iter.a: 1 }" in done.text


def test_an_alias_that_would_say_something_else_is_written_out():
    done = migrated(
        """
        workflow:
          - step: start
            tool:
              - name: a
                kind: http
                url: &url "{{ outcome.result.data }}"
              - name: b
                kind: duckdb
                command: *url
        """
    )

    assert 'url: &url "{{ output.data }}"' in done.text
    assert 'command: "{{ output.data.data }}"' in done.text


def test_every_playbook_of_a_file_is_migrated_and_other_documents_stay():
    one = HEAD + "workflow: [{step: a, tool: {kind: noop, args: {a: 1}}}]\n"
    other = "apiVersion: noetl.io/v2\nkind: Schedule\nargs:   {outcome: 1}\n"

    done = migrate(f"# first\n{one}---\n{other}---  # third\n{one}...\n", "t.yaml", declarations)

    assert done.text == f"# first\n{one}---\n{other}---  # third\n{one}...\n".replace("noop, args", "noop, input")


def test_windows_line_breaks_are_kept():
    text = (HEAD + "workflow:\n- step: a # c\n  tool:\n    kind: noop\n    args: {a: 1}\n").replace("\n", "\r\n")

    assert migrate(text, "t.yaml", declarations).text == text.replace("args:", "input:")


def test_a_text_that_cannot_be_read_is_left_with_its_faults():
    done = migrate("a: [1", "t.yaml", declarations)

    assert done.text == "a: [1"
    assert [fault.fault for fault in done.faults] == ["not-yaml"]


@pytest.mark.parametrize(
    ("surface", "text"),
    [
        ("legacy", "workflow: [{step: a, when: '{{ true }}', tool: {kind: noop}}]"),
        ("legacy", "workflow: [{step: a, tool: {kind: noop}, next: [{step: b}]}, {step: b, tool: {kind: noop}}]"),
        ("legacy", "workflow: [{step: a, tool: {kind: noop, input: {x: '{{ vars.x }}'}}}]"),
        ("upstream", "workflow: [{step: a, tool: {kind: http, endpoint: 'https://x.y'}}]"),
        ("upstream", "workflow: [{step: a, tool: {kind: noop, set: {x: 1}}}]"),
        ("upstream", "executor: {spec: {compat: upstream}}\nworkflow: [{step: a, tool: {kind: noop}}]"),
        ("v10", "workflow: [{step: a, tool: {kind: noop, args: {x: 1}}}]"),
        (
            "v10",
            "workflow: [{step: a, tool: {kind: noop, spec: {policy: {rules: [{when: true, then: {do: fail}}]}}}}]",
        ),
        ("v10", "workflow: [{step: a, tool: {kind: noop}}]"),
    ],
)
def test_the_surface_is_recognised(surface, text):
    assert migrate(HEAD + text, "t.yaml", declarations).surface == surface


@pytest.mark.spec("PB-11", "PB-10")
def test_set_prev_is_left_and_named():
    text = """
        workflow:
          - step: start
            tool:
              - call:
                  kind: noop
                  eval:
                    - else: { do: continue, set_prev: "{{ outcome.result }}" }
        """

    done = migrated(text)

    assert left(done) == [f'set_prev of task "call" stays: {SET_PREV}']
    (one,) = done.left_over
    assert (one.place.line, one.place.column) == (10, 37)
    assert done.text.split("\n")[one.new_place.line - 1][one.new_place.column - 1 :].startswith("set_prev")


def test_findings_say_what_is_still_wrong():
    data = HEAD + "workflow: [{step: a, when: '{{ true }}', tool: {kind: htp}, next: [{step: zz}]}]\n"

    done = migrate(data, "t.yaml", declarations)

    codes = {finding.code for finding in remaining(data, done, "t.yaml", declarations).findings}
    assert codes == {"NL303", "NL501"}


def test_a_fault_that_only_the_old_spelling_shows_is_still_said():
    data = HEAD + textwrap.dedent(
        """\
        workflow:
          - step: a
            loop: { in: "{{ [1] }}", iterator: i, spec: { mode: parallel } }
            tool:
              - t: { kind: noop, eval: [{ else: { do: continue, set_shared: { total: 1 } } }] }
        """
    )

    done = migrate(data, "t.yaml", declarations)

    assert "set: { step.total: 1 }" in done.text
    assert {one.code for one in remaining(data, done, "t.yaml", declarations).findings} == {"NL410"}


@pytest.mark.spec("PB-11", "PB-10")
def test_keys_keep_their_style_and_sets_their_order():
    done = migrated(
        """
        workflow:
          - step: start
            loop: { in: "{{ [1] }}", iterator: i }
            tool:
              - name: call
                kind: http
                url: x
                eval:
                  - expr: "{{ outcome.status == 'error' }}"
                    do: retry
                    backoff: fixed
                    set_iter: { page: 1 }
                    set_vars: { b: 1 }
                    set_ctx: { c: 1 }
                  - else: { do: continue }
        """
    )

    assert (
        "then:\n" + textwrap.indent("do: retry\nbackoff: none\nset: { iter.page: 1, step.b: 1, ctx.c: 1 }\n", " " * 18)
        in done.text
    )


@pytest.mark.spec("PB-11", "DI-02")
def test_args_beside_input_join_it_and_keep_their_comments():
    done = migrated(
        """
        workflow:
          - step: a
            tool:
              kind: http
              url: x
              input:
                y: 2  # two
              # old
              args:  # first
                x: 1  # one
        """
    )

    assert body(done) == textwrap.dedent(
        """\
        workflow:
          - step: a
            tool:
              kind: http
              url: x
              # old
              input:  # first
                x: 1  # one
                y: 2  # two
        """
    )


@pytest.mark.spec("DI-02", "TK-01")
@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("- step: a\n  tool: [{ f: { kind: noop, name: g } }]", "NL318"),
        ("- step: a\n  args: { x: 1 }\n  input: { x: 2 }\n  tool: { kind: noop }", "NL901"),
    ],
)
def test_what_is_said_twice_is_left_and_told(written, code):
    text = HEAD + f"workflow:\n{written}\n"

    done = migrate(text, "t.yaml", declarations)

    assert done.text == text
    assert [one.code for one in remaining(text, done, "t.yaml", declarations).findings] == [code]


def examples() -> list[object]:
    return [plain(read(path.read_bytes(), path.name).documents[0]) for path in OLD]


@pytest.mark.spec("PB-11")
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_however_a_text_is_laid_out_its_comments_and_its_meaning_stay(data):
    original = data.draw(st.sampled_from(examples()))
    text = data.draw(layouts(original))
    assume([repr(plain(one)) for one in read(text, "t.yaml").documents] == [repr(original)])

    done = migrate(text, "t.yaml", declarations)

    assert not any(one.why == UNWRITTEN for one in done.left_over)
    assert sorted(comments(done.text)) == sorted(comments(text))
    assert remaining(text, done, "t.yaml", declarations).findings == []
    assert migrate(done.text, "t.yaml", declarations).text == done.text

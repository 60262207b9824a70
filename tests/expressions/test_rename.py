"""Renaming the paths that a template reads, and nothing else in it."""

import pytest

from noetl.expressions import Edit, TemplateSyntaxFault, parse, rename

RENAMES = {("outcome", "result"): "output.data", ("outcome",): "output", ("args",): "input", ("result",): "output.data"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ outcome.result.x }}", "{{ output.data.x }}"),
        ("{{ outcome.status == 'error' }}", "{{ output.status == 'error' }}"),
        ("{{ outcome['result'][0] }}", "{{ output.data[0] }}"),
        ("{{ outcome [ 'result' ] . x }}", "{{ output.data . x }}"),
        ("{{ args.a ~ args['b'] }}", "{{ input.a ~ input['b'] }}"),
        ("{{ args }}", "{{ input }}"),
        ("{{ args.outcome.args }}", "{{ input.outcome.args }}"),
        ("{{ 'args.a outcome.result' ~ args.a }}", "{{ 'args.a outcome.result' ~ input.a }}"),
        ("{{ ctx['args'] }}", "{{ ctx['args'] }}"),
        ("{{ ctx[args.k].args }}", "{{ ctx[input.k].args }}"),
        ("{{ {'args': args} }}", "{{ {'args': input} }}"),
        ("{{ dict(args=args) }}", "{{ dict(args=input) }}"),
        (
            "{# args.a #}{{ args.a }}{% raw %}{{ args.a }}{% endraw %}",
            "{# args.a #}{{ input.a }}{% raw %}{{ args.a }}{% endraw %}",
        ),
        (
            "args.a {{ args.a }}\n  args {%- if args.b %}\r\n{{ args }}{% endif %}",
            "args.a {{ input.a }}\n  args {%- if input.b %}\r\n{{ input }}{% endif %}",
        ),
        (
            "{% for args in args %}{{ args.x }}{% endfor %}{{ args }}",
            "{% for args in input %}{{ args.x }}{% endfor %}{{ input }}",
        ),
        ("{% set args = args.x %}{{ args }}", "{% set args = input.x %}{{ args }}"),
        ("{{ args.name.upper() }}", "{{ input.name.upper() }}"),
        ("{{ args() }}", "{{ args() }}"),
        ("{{ outcome.results }}", "{{ output.results }}"),
        ("{{ é.args ~ outcome\n.result }}", "{{ é.args ~ output.data }}"),
        ("{{ x | default(args.y) if args is defined }}", "{{ x | default(input.y) if input is defined }}"),
        ("no template", "no template"),
        ("", ""),
    ],
)
def test_read_paths_are_replaced_by_the_longest_match(source: str, expected: str) -> None:
    assert rename(source, RENAMES)[0] == expected


def test_edits_are_in_coordinates_of_the_old_source() -> None:
    source = "{{ args.a + outcome.result }}"

    _, edits = rename(source, RENAMES)

    assert edits == (Edit(3, 4, "input"), Edit(12, 14, "output.data"))
    assert [source[edit.offset : edit.offset + edit.length] for edit in edits] == ["args", "outcome.result"]


def test_nothing_to_rename_gives_the_same_source_and_no_edits() -> None:
    assert rename("{{ ctx.x }}", RENAMES) == ("{{ ctx.x }}", ())


def test_a_long_source_can_be_renamed() -> None:
    source = "x" * 10_000 + "{{ args.a }}"

    assert rename(source, RENAMES)[0] == "x" * 10_000 + "{{ input.a }}"


def test_what_cannot_be_parsed_cannot_be_renamed() -> None:
    with pytest.raises(TemplateSyntaxFault):
        rename("{{ args. }}", RENAMES)


def test_a_renamed_template_means_the_same_under_the_new_names() -> None:
    source = "{{ outcome.result.rows | length > args.min and outcome.status != 'error' }}"
    renamed, _ = rename(source, RENAMES)

    old = parse(source).evaluate({"outcome": {"result": {"rows": [1, 2]}, "status": "ok"}, "args": {"min": 1}})
    new = parse(renamed).evaluate({"output": {"data": {"rows": [1, 2]}, "status": "ok"}, "input": {"min": 1}})

    assert old is new is True

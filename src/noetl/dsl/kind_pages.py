"""The page of a tool kind, made from its declaration: fields, knobs, what it gives. For `docs/tools/`, and editors."""

from __future__ import annotations

from noetl.dsl.kinds import Field, Kind


def kind_page(kind: Kind, guide: str = "") -> str:
    """A page in Markdown; `guide`: what was written by hand about it."""
    lines = [f"# kind: {kind.name}", "", kind.summary, ""]
    if kind.extra:
        lines += [f'Needs: `pip install "noetl[{kind.extra}]"`.', ""]
    lines += [guide.strip(), ""] if guide else []
    lines += field_table("Fields", "Written under `input`, or on the task itself.", kind.fields)
    groups = [
        *(("At least one of", group) for group in kind.one_of),
        *(("At most one of", group) for group in kind.at_most_one_of),
    ]
    lines += [f"{words}: {', '.join(f'`{name}`' for name in group)}.\n" for words, group in groups]
    lines += field_table(
        "Knobs", f"Written under the task's `spec`, or as defaults under any `spec.{kind.name}`.", kind.knobs
    )
    lines += ["## Output", "", f"`output.data` is {kind.result}." if kind.result else "", ""]
    if kind.helper:
        names = ", ".join(f"`output.{kind.helper}.{name}`" for name in kind.helper_fields)
        lines += [f"Besides: {names}.", ""]
    return "\n".join(lines).rstrip() + "\n"


def field_table(title: str, words: str, fields: tuple[Field, ...]) -> list[str]:
    if not fields:
        return []
    rows = [
        f"| `{field.name}` | {types_of(field)} | {field.doc}{' Required.' if field.required else ''} |"
        for field in fields
    ]
    return [f"## {title}", "", words, "", "| name | type | meaning |", "|---|---|---|", *rows, ""]


def types_of(field: Field) -> str:
    return " or ".join(f"`{choice}`" for choice in field.choices) or " or ".join(field.types)

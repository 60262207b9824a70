"""A Graph as Mermaid text: what GitHub, GitLab and many editors draw by themselves.

Nodes have ids of ours; every word of the playbook stands in quotes, with all that Mermaid reads as more than a letter
written as a character code.
"""

from __future__ import annotations

from noetl.dsl.drawing.words import arc_label, clean, kinds_line, loop_line
from noetl.dsl.graph import Graph, GraphArc, GraphStep

PLAIN = frozenset(" _-.,:=!?+/()→·×…'⟳")
LABEL_CHARS_MAX = 60
STYLES = (
    "classDef join stroke:#5a5fd6,stroke-width:3px",
    "classDef pale opacity:0.5,stroke-dasharray:4 3",
    "classDef marker fill:#1f9d55,stroke:#1f9d55",
)


def as_mermaid(graph: Graph) -> str:
    """The text of a Mermaid flowchart."""
    ids = {step.name: f"s{number}" for number, step in enumerate(graph.steps)}
    lines = ["flowchart TD"]
    lines += [f"    {ids[step.name]}{shape(step)}" for step in graph.steps]
    lines.append('    entry(("start")):::marker')
    lines.append(f"    entry --> {ids[graph.entry]}")
    lines += [f"    {ids[arc.source]} {line(arc)} {ids[arc.target]}" for arc in graph.arcs]
    lines += [f"    {ids[step.name]} --> end{ids[step.name]}(((end)))" for step in graph.steps if ends(step)]
    lines += [f"    {style}" for style in STYLES]
    for name, members in classes(graph, ids).items():
        lines += [f"    class {','.join(members)} {name}"] if members else []
    failures = [str(number + 1) for number, arc in enumerate(graph.arcs) if arc.is_failure]  # 0 is the entry's
    lines += [f"    linkStyle {','.join(failures)} stroke:#d2384a,color:#b3202f"] if failures else []
    return "\n".join(lines) + "\n"


def ends(step: GraphStep) -> bool:
    return step.is_end and step.is_reached


def shape(step: GraphStep) -> str:
    """A step as a box; one that loops has double sides."""
    lines = [f"<b>{quote(step.name)}</b>"]
    lines += [f"<small>{quote(line)}</small>" for line in (kinds_line(step), loops(step), notes(step)) if line]
    opening, closing = ("[[", "]]") if step.loops else ("(", ")")
    return f'{opening}"{"<br/>".join(lines)}"{closing}'


def loops(step: GraphStep) -> str:
    return f"⟳ {loop_line(step)}" if step.loops else ""


def notes(step: GraphStep) -> str:
    words = {"join": step.is_join, "all arcs that match": step.is_inclusive, "gate": step.has_admission}
    return " · ".join(word for word, holds in words.items() if holds)


def line(arc: GraphArc) -> str:
    """An arc: whole, or dotted where it is for failures or can never fire."""
    stroke = "-.->" if arc.is_failure or not arc.can_fire else "-->"
    label = arc_label(arc) + ("" if arc.can_fire else " (never)")
    return f'{stroke}|"{quote(label.strip())}"|' if label else stroke


def classes(graph: Graph, ids: dict[str, str]) -> dict[str, list[str]]:
    return {
        "join": [ids[step.name] for step in graph.steps if step.is_join],
        "pale": [ids[step.name] for step in graph.steps if not step.is_reached],
    }


def quote(text: str) -> str:
    """Words that are only words, whatever Mermaid makes of quotes, brackets, hashes and markup."""
    words = clean(text)
    if len(words) > LABEL_CHARS_MAX:
        words = words[: LABEL_CHARS_MAX - 1] + "…"
    return "".join(char if char.isalnum() or char in PLAIN else f"#{ord(char)};" for char in words)

"""A Plan as SVG: light, dark where the reader's screen is dark, and readable without a legend.

Last stage of the layout. A bar on top of a box is a join, one below it a fan-out; a dashed red line is taken when a
step fails; what is pale can never happen. Colours are written out per class, not as variables, because not every viewer
of SVG knows those. All words of the playbook go through `escape`, so that they cannot become markup.
"""

from __future__ import annotations

from noetl.dsl.drawing.curves import number, point
from noetl.dsl.drawing.plan import (
    ICON,
    LABEL_SIZE,
    MARKER_RADIUS,
    NAME_LINE,
    NAME_SIZE,
    SMALL_LINE,
    SMALL_SIZE,
    Box,
    Curve,
    Marker,
    Plan,
    plan,
)
from noetl.dsl.drawing.words import clean, width
from noetl.dsl.graph import Graph, GraphArc, GraphStep

FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace"
CORNER, BAR, PLATE = 9.0, 4.0, 3.0

# class: property → light colour, dark colour
COLOURS: dict[str, dict[str, tuple[str, str]]] = {
    ".page": {"fill": ("#ffffff", "#14171c")},
    ".box": {"fill": ("#f7f9fc", "#1e232b"), "stroke": ("#a3b1c6", "#46536a")},
    ".name": {"fill": ("#0f1b2d", "#e8edf5")},
    ".small": {"fill": ("#5b6b82", "#95a3b8")},
    ".loop": {"fill": ("#0b7a6f", "#4fd1c0")},
    ".icon": {"stroke": ("#0b7a6f", "#4fd1c0")},
    ".bar": {"fill": ("#5a5fd6", "#8f94ff")},
    ".line": {"stroke": ("#7587a0", "#73839b")},
    ".head": {"fill": ("#7587a0", "#73839b")},
    ".failure.line": {"stroke": ("#d2384a", "#ff6b7a")},
    ".failure.head": {"fill": ("#d2384a", "#ff6b7a")},
    ".dead.line": {"stroke": ("#c9d2df", "#3a4454")},
    ".dead.head": {"fill": ("#c9d2df", "#3a4454")},
    ".label": {"fill": ("#42526b", "#b3bfd1")},
    ".failure.label": {"fill": ("#b3202f", "#ff8f9b")},
    ".dead.label": {"fill": ("#a8b4c6", "#566377")},
    ".entry": {"fill": ("#1f9d55", "#3ccb7f")},
    ".end": {"stroke": ("#5b6b82", "#95a3b8")},
    ".dot": {"fill": ("#5b6b82", "#95a3b8")},
}
SHAPES = f"""\
text {{ font-family: {FONT}; text-anchor: middle; }}
.box {{ stroke-width: 1.2; }}
.name {{ font-size: {number(NAME_SIZE)}px; font-weight: 600; }}
.small, .loop {{ font-size: {number(SMALL_SIZE)}px; }}
.line {{ fill: none; stroke-width: 1.5; }}
.failure.line {{ stroke-dasharray: 6 4; }}
.dead.line {{ stroke-dasharray: 2 4; }}
.icon {{ fill: none; stroke-width: 1.4; stroke-linecap: round; stroke-linejoin: round; }}
.end {{ fill: none; stroke-width: 1.5; }}
.label {{ font-size: {number(LABEL_SIZE)}px; font-family: {MONOSPACE}; }}
.plate {{ fill-opacity: .88; }}
.pale {{ opacity: .5; }}
.pale .box {{ stroke-dasharray: 4 3; }}
"""


def as_svg(graph: Graph) -> str:
    """The picture of a graph."""
    return draw(plan(graph))


def draw(laid_out: Plan) -> str:
    sizes = f'width="{number(laid_out.width)}" height="{number(laid_out.height)}"'
    view = f'viewBox="{number(laid_out.left)} 0 {number(laid_out.width)} {number(laid_out.height)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {sizes} {view} role="img" aria-labelledby="noetl-title">',
        f'<title id="noetl-title">{escape(laid_out.name)}</title>',
        f"<style>\n{SHAPES}{rules(0)}@media (prefers-color-scheme: dark) {{\n{rules(1)}}}\n</style>",
        f"<defs>{head('arrow', 'head')}{head('arrow-failure', 'failure head')}{head('arrow-dead', 'dead head')}</defs>",
        f'<rect class="page" x="{number(laid_out.left)}" y="0" {sizes} rx="12"/>',
        *(draw_curve(curve) for curve in laid_out.curves),
        *(draw_box(box) for box in laid_out.boxes),
        *(draw_marker(marker) for marker in laid_out.markers),
        *(draw_label(curve) for curve in laid_out.curves if curve.label),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def rules(scheme: int) -> str:
    """The colours of one scheme as CSS."""
    found = []
    for name, properties in COLOURS.items():
        said = " ".join(f"{key}: {colours[scheme]};" for key, colours in properties.items())
        found.append(f"{name} {{ {said} }}\n")
    return "".join(found)


def head(name: str, classes: str) -> str:
    """An arrow's head, as markers know it."""
    shape = f'<path class="{classes}" d="M0,0 L9,4.5 L0,9 L2,4.5 Z"/>'
    place = 'viewBox="0 0 9 9" refX="8.5" refY="4.5" markerWidth="9" markerHeight="9"'
    return f'<marker id="noetl-{name}" {place} markerUnits="userSpaceOnUse" orient="auto">{shape}</marker>'


def draw_curve(curve: Curve) -> str:
    sort = sort_of(curve)
    arrow = f"arrow-{sort}" if sort else "arrow"
    title = f"<title>{escape(said_of_arc(curve.arc))}</title>" if curve.arc else ""
    classes = f"{sort} line" if sort else "line"
    path = f'<path class="{classes}" d="{curve.path}" marker-end="url(#noetl-{arrow})"'
    return f"{path}>{title}</path>" if title else f"{path}/>"


def sort_of(curve: Curve) -> str:
    if curve.is_dead:
        return "dead"
    return "failure" if curve.arc and curve.arc.is_failure else ""


def said_of_arc(arc: GraphArc) -> str:
    """What is shown of an arc when one points at it."""
    when = f" when {arc.when}" if arc.when else " otherwise" if arc.is_fallback else ""
    writes = f"; writes {', '.join(arc.writes)}" if arc.writes else ""
    never = "" if arc.can_fire else " (never fires)"
    return f"{arc.source} → {arc.target}{when}{never}{writes}"


def draw_label(curve: Curve) -> str:
    label = curve.label
    if label is None:
        return ""
    left, top = label.x - label.width / 2 - PLATE, label.y - LABEL_SIZE * 0.7
    place = f'x="{number(left)}" y="{number(top)}" width="{number(label.width + 2 * PLATE)}"'
    plate = f'<rect class="page plate" {place} height="{number(LABEL_SIZE * 1.4)}" rx="3"/>'
    return plate + text(f"{sort_of(curve)} label".strip(), label.x, label.y, label.text)


def draw_box(box: Box) -> str:
    step = box.step
    left, half = box.x - box.width / 2, box.width / 2
    place = f'x="{number(left)}" y="{number(box.y)}" width="{number(box.width)}" height="{number(box.height)}"'
    parts = [f"<title>{escape(said_of_step(step))}</title>", f'<rect class="box" {place} rx="{number(CORNER)}"/>']
    if step.is_join:
        parts.append(bar(left, box.y - BAR / 2, box.width))
    if step.is_inclusive:
        parts.append(bar(left, box.y + box.height - BAR / 2, box.width))
    y = box.y + 8 + NAME_LINE / 2
    parts.append(text("name", left + half, y, box.name))
    y += (NAME_LINE + SMALL_LINE) / 2
    if box.kinds:
        parts.append(text("small", left + half, y, box.kinds))
        y += SMALL_LINE
    if step.loops:
        parts.append(loop_badge(left + half, y, box.loop))
        y += SMALL_LINE
    if box.notes:
        parts.append(text("small", left + half, y, box.notes))
    return f"<g{'' if step.is_reached else ' class=' + chr(34) + 'pale' + chr(34)}>{''.join(parts)}</g>"


def said_of_step(step: GraphStep) -> str:
    """What is shown of a step when one points at it."""
    description = f": {step.description}" if step.description else ""
    tasks = "; ".join(f"{task.label} ({task.kind})" for task in step.tasks)
    return f"{step.name}{description}{' — ' + tasks if tasks else ''}"


def bar(left: float, top: float, across: float) -> str:
    place = f'x="{number(left + CORNER)}" y="{number(top)}" width="{number(across - 2 * CORNER)}"'
    return f'<rect class="bar" {place} height="{number(BAR)}" rx="{number(BAR / 2)}"/>'


def text(name: str, x: float, y: float, words: str) -> str:
    """Words with their middle there; `dy` and not a baseline, which some viewers do not know."""
    return f'<text class="{name}" x="{number(x)}" y="{number(y)}" dy="0.35em">{escape(words)}</text>'


def loop_badge(x: float, y: float, words: str) -> str:
    """An arrow that runs round, drawn rather than written since few fonts have it, and what is looped over."""
    start = x - (width(words, SMALL_SIZE) + ICON) / 2 + ICON / 2 - 3
    circle = f"M{point(start + 2.9, y - 2.9)} A4.1,4.1 0 1 0 {point(start + 4.1, y + 0.4)}"
    tip = f"M{point(start + 3.2, y - 6)} V{number(y - 2.7)} H{number(start - 0.1)}"
    return f'<path class="icon" d="{circle} {tip}"/>' + text("loop", x + ICON / 2 - 2, y, words)


def draw_marker(marker: Marker) -> str:
    place = f'cx="{number(marker.x)}" cy="{number(marker.y)}"'
    if marker.is_entry:
        return f'<circle class="entry" {place} r="{number(MARKER_RADIUS - 1)}"><title>start</title></circle>'
    ring = f'<circle class="end" {place} r="{number(MARKER_RADIUS - 1)}"/>'
    return f'<g><title>a branch ends</title>{ring}<circle class="dot" {place} r="3"/></g>'


def escape(words: str) -> str:
    """Words as XML text, with nothing in them that XML does not allow."""
    shown = clean(words)
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        shown = shown.replace(char, entity)
    return shown

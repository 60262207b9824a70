"""The graph of a playbook as data, as Mermaid and as SVG."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from itertools import combinations, pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noetl.dsl.drawing.columns import nearest
from noetl.dsl.drawing.mermaid import as_mermaid
from noetl.dsl.drawing.plan import MARKER_RADIUS, STEPS_MAX, Box, Plan, TooLarge, plan
from noetl.dsl.drawing.ranks import rank
from noetl.dsl.drawing.svg import as_svg
from noetl.dsl.graph import Graph, GraphArc, GraphLoop, GraphStep, GraphTask, graph_of
from tests.dsl.front import Front

SVG = "{http://www.w3.org/2000/svg}"
BODY = """
workflow:
  - step: start
    desc: Where it  begins
    next:
      spec: { mode: inclusive }
      arcs:
        - step: fetch
        - step: watch
          when: "{{ workload.watch }}"
          set: { ctx.watched: true }
  - step: fetch
    loop:
      in: [1, 2]
      iterator: page
      spec: { mode: parallel, max_in_flight: 8 }
    tool:
      - { name: get, kind: http, url: "https://example.com/{{ iter.page }}" }
      - { name: shape, kind: python, code: pass }
    next:
      arcs:
        - step: merge
          when: "{{ event.name == 'loop.done' }}"
        - step: fetch
          when: "{{ output.error.kind == 'rate_limit' }}"
        - step: forgotten
          when: "{{ event.name == 'step.done' }}"
  - step: watch
    tool: { kind: noop }
    next:
      arcs:
        - step: watch
          when: "{{ ctx.again }}"
        - step: merge
  - step: merge
    spec: { policy: { admit: { join: all } } }
    tool: { kind: noop }
  - step: forgotten
    tool: { kind: noop }
"""


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # noqa: S314  it is our own


def graph(body: str = BODY) -> Graph:
    found = graph_of(Front().check(body).drafts[0])
    assert found is not None
    return found


@pytest.mark.spec("RT-06", "ST-11", "RT-02", "RT-03")
def test_steps_know_what_they_are() -> None:
    steps = {step.name: step for step in graph().steps}

    assert [name for name, step in steps.items() if step.is_entry] == ["start"]
    assert [name for name, step in steps.items() if step.is_join] == ["merge"]
    assert [name for name, step in steps.items() if step.is_inclusive] == ["start"]
    assert [name for name, step in steps.items() if step.is_end] == ["merge", "forgotten"]
    assert [name for name, step in steps.items() if not step.is_reached] == ["forgotten"]
    assert steps["start"].description == "Where it begins"
    assert steps["fetch"].loops == [GraphLoop(iterator="page", is_parallel=True, max_in_flight=8)]
    assert steps["fetch"].tasks == [
        GraphTask(label="get", kind="http", line=21, end_line=21),
        GraphTask(label="shape", kind="python", line=22, end_line=22),
    ]


@pytest.mark.spec("RT-11", "RT-02")
def test_arcs_know_when_they_fire() -> None:
    arcs = {(arc.source, arc.target): arc for arc in graph().arcs}

    assert arcs["start", "watch"].when == "workload.watch"
    assert arcs["start", "watch"].writes == ["ctx.watched"]
    assert [key for key, arc in arcs.items() if arc.is_failure] == [("fetch", "fetch")]
    assert [key for key, arc in arcs.items() if arc.is_fallback] == [("watch", "merge")]
    assert [key for key, arc in arcs.items() if not arc.can_fire] == [("fetch", "forgotten")]
    assert [arc.order for arc in graph().arcs if arc.source == "fetch"] == [1, 2, 3]


def test_tasks_that_sugar_made_are_not_shown() -> None:
    body = """
        workflow:
          - step: a
            tool:
              - name: wait
                until:
                  when: "{{ output.data }}"
                  tool: [{ name: ask, kind: noop }]
    """

    assert [task.label for task in graph(body).steps[0].tasks] == ["ask"]


def test_a_playbook_whose_arcs_are_not_in_order_has_no_graph() -> None:
    assert graph_of(Front().check("workflow: [{step: a, next: b}]\n").drafts[0]) is None


def test_mermaid_shows_every_step_and_arc() -> None:
    text = as_mermaid(graph())

    assert text.startswith("flowchart TD\n")
    for step in graph().steps:
        assert f"<b>{step.name}</b>" in text
    assert text.count("-->") + text.count("-.->") == len(graph().arcs) + 2  # and those of start and end
    assert 's1 -->|"loop.done"| s3' in text
    assert "s1 -.->|\"output.error.kind == 'rate_limit'\"| s1" in text
    assert "linkStyle 4 stroke" in text
    assert "⟳ page · parallel × 8" in text


EVIL = [
    'a"b',
    "<script>alert(1)</script>",
    "x]]-->y",
    "`**md**`",
    "%%{init: {}}%%",
    "a;b#c",
    "\u202e\x07\ud7ff",
    "'>&<",
]


def evil_graph() -> Graph:
    steps = [
        GraphStep(
            name=name,
            description="</title><x>",
            line=1,
            tasks=[GraphTask(label="<a>", kind='k"<')],
            loops=[GraphLoop(iterator='i"]', is_parallel=True, max_in_flight=3)] if number % 2 else [],
        )
        for number, name in enumerate(EVIL)
    ]
    arcs = [
        GraphArc(source=one, target=EVIL[(number * 3 + 1) % len(EVIL)], order=1, when="x == '|\"|' and y < 3 --> ]]>")
        for number, one in enumerate(EVIL)
    ]
    return Graph(name="<b>&", entry=EVIL[0], steps=steps, arcs=arcs)


def test_no_line_ends_with_a_piece_without_length_for_its_arrow_would_point_aside() -> None:
    lines = re.findall(r' d="(M[^"]+)"', as_svg(graph()))

    assert len(lines) > 4
    assert [line for line in lines if re.search(r",(-?[\d.]+) V\1$", line)] == []


def test_markup_in_names_is_inert_in_svg() -> None:
    root = parsed(as_svg(evil_graph()))

    known = {"svg", "title", "style", "defs", "marker", "path", "rect", "g", "text", "circle"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == known
    assert root[0].text == "<b>&"
    assert "<script>alert(1)</script>" in {element.text for element in root.iter(f"{SVG}text")}


def test_markup_in_names_is_inert_in_mermaid() -> None:
    text = as_mermaid(evil_graph())

    for word in ("<script", "**md**", "%%", "]]-->", "\x07", "\u202e"):
        assert word not in text
    quoted = re.sub(r'"[^"]*"', "", text)
    assert all(re.fullmatch(r"[\w\s:,#.;()\[\]|>-]*", line) for line in quoted.splitlines())


def boxes_overlap(one: Box, other: Box) -> bool:
    apart = abs(one.x - other.x) >= (one.width + other.width) / 2
    return not apart and one.y < other.y + other.height and other.y < one.y + one.height


def inside(box: Box, x: float, y: float, margin: float) -> bool:
    is_across = abs(x - box.x) < box.width / 2 - margin
    return is_across and box.y + margin < y < box.y + box.height - margin


def points(path: str) -> Iterator[tuple[float, float]]:
    """Points along a path of M, V, H, C and Q."""
    x = y = 0.0
    for command, written in re.findall(r"([MVHCQ])([^MVHCQ]*)", path):
        numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", written)]
        ends = {"V": [x, *numbers], "H": [*numbers, y]}.get(command, numbers)
        controls = [(x, y), *zip(ends[::2], ends[1::2], strict=True)]
        for step in range(21) if command != "M" else (20,):
            yield bezier(controls, step / 20)
        x, y = controls[-1]


def bezier(controls: list[tuple[float, float]], at: float) -> tuple[float, float]:
    while len(controls) > 1:
        controls = [
            (one[0] + (other[0] - one[0]) * at, one[1] + (other[1] - one[1]) * at) for one, other in pairwise(controls)
        ]
    return controls[0]


def check_plan(laid_out: Plan) -> None:
    for one, other in combinations(laid_out.boxes, 2):
        assert not boxes_overlap(one, other), f"{one.name} lies on {other.name}"
    labels = [curve.label for curve in laid_out.curves if curve.label]
    for label in labels:
        for box in laid_out.boxes:
            is_beside = abs(label.x - box.x) >= (label.width + box.width) / 2
            assert is_beside or not box.y - 5 < label.y < box.y + box.height + 5, f"{label.text} lies on {box.name}"
    for first, second in combinations(labels, 2):
        is_beside = abs(first.x - second.x) >= (first.width + second.width) / 2
        assert is_beside or abs(first.y - second.y) >= 10, f"{first.text} lies on {second.text}"
    for curve in laid_out.curves:
        for x, y in points(curve.path):
            assert laid_out.left <= x <= laid_out.left + laid_out.width
            assert 0 <= y <= laid_out.height
            for box in laid_out.boxes:
                assert not inside(box, x, y, 1.5), f"the line {curve.arc} runs over {box.name}"
    for marker in laid_out.markers:
        assert laid_out.left + MARKER_RADIUS <= marker.x <= laid_out.left + laid_out.width - MARKER_RADIUS


NAMES = st.text("abc_xyzMW<&", min_size=1, max_size=30)
GUARDS = st.sampled_from(
    [None, "ctx.ready", "event.name == 'step.failed'", "output.data.rows > 100 and workload.mode == 'x'"]
)


@st.composite
def graphs(draw: st.DrawFn, count_max: int = 12) -> Graph:
    names = draw(st.lists(NAMES, min_size=1, max_size=count_max, unique=True))
    steps = [
        GraphStep(
            name=name,
            description="",
            line=number,
            tasks=[GraphTask(label="t", kind="http")] * draw(st.integers(0, 5)),
            loops=[GraphLoop(iterator="page", is_parallel=True, max_in_flight=None)] * draw(st.integers(0, 2)),
            is_end=draw(st.booleans()),
            is_join=draw(st.booleans()),
            is_inclusive=draw(st.booleans()),
            is_reached=draw(st.booleans()),
            has_admission=draw(st.booleans()),
        )
        for number, name in enumerate(names)
    ]
    ends = st.sampled_from(names)
    arc = st.builds(
        GraphArc,
        source=ends,
        target=ends,
        order=st.just(1),
        when=GUARDS,
        is_failure=st.booleans(),
        is_fallback=st.booleans(),
        can_fire=st.booleans(),
    )
    return Graph(name="net", entry=draw(ends), steps=steps, arcs=draw(st.lists(arc, max_size=20)))


@given(net=graphs())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_lies_on_anything_else(net: Graph) -> None:
    laid_out = plan(net)

    assert [box.step for box in laid_out.boxes] == net.steps
    check_plan(laid_out)


@given(net=graphs())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_picture_is_well_formed_complete_and_the_same_each_time(net: Graph) -> None:
    text = as_svg(net)
    root = parsed(text)

    assert text == as_svg(net)
    assert len(root.findall(f".//{SVG}rect[@class='box']")) == len(net.steps)
    lines = [element for element in root.iter(f"{SVG}path") if "line" in element.get("class", "").split()]
    assert len(lines) == len(net.arcs) + 1 + sum(step.is_end and step.is_reached for step in net.steps)
    assert "nan" not in text
    assert as_mermaid(net) == as_mermaid(net)


def long_chain(count: int) -> Graph:
    steps = [GraphStep(name=f"s{number}", description="", line=1, tasks=[], loops=[]) for number in range(count)]
    arcs = [
        GraphArc(source=f"s{number}", target=f"s{(number + 1) % count}", order=1, when=None) for number in range(count)
    ]
    return Graph(name="chain", entry="s0", steps=steps, arcs=arcs)


def is_straight(laid_out: Plan) -> bool:
    return max(box.x for box in laid_out.boxes) - min(box.x for box in laid_out.boxes) < 1


def test_a_chain_as_long_as_can_be_is_drawn() -> None:
    laid_out = plan(long_chain(STEPS_MAX))

    assert is_straight(laid_out)
    assert [box.y for box in laid_out.boxes] == sorted(box.y for box in laid_out.boxes)


def test_more_steps_than_anyone_can_look_at_are_refused() -> None:
    with pytest.raises(TooLarge, match="1001 steps"):
        plan(long_chain(STEPS_MAX + 1))


def test_a_chain_runs_straight_down_and_back_up_beside_it() -> None:
    laid_out = plan(long_chain(3))

    assert is_straight(laid_out)
    back = laid_out.curves[2]
    assert max(x for x, _ in points(back.path)) > max(box.x + box.width / 2 for box in laid_out.boxes)


def test_every_edge_but_those_that_close_a_cycle_leads_down() -> None:
    ranked = rank(4, [(0, 1), (1, 2), (2, 1), (2, 3), (3, 3), (0, 3)], 0)

    assert ranked.rank[:4] == [0, 1, 2, 3]
    assert [link.is_back for link in ranked.links] == [False, False, True, False, False, False]
    assert [link.is_loop for link in ranked.links] == [False, False, False, False, True, False]
    assert len(ranked.links[5].chain) == 4


def test_wishes_are_met_as_closely_as_the_distances_allow() -> None:
    assert nearest([(0.0, 1.0), (0.0, 1.0)], [10.0]) == [-5.0, 5.0]
    assert nearest([(0.0, 1.0), (100.0, 1.0)], [10.0]) == [0.0, 100.0]
    assert nearest([(0.0, 3.0), (0.0, 1.0)], [8.0]) == [-2.0, 6.0]

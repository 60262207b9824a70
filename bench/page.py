"""The tables of docs/performance.md, from a report. What stands around them is written by hand and is left alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.report import Figure, Part, PeerFigure, Report
from bench.targets import TARGETS, VALUE, Bound, Target, verdict_of

BEGIN, END = "<!-- begin: bench -->", "<!-- end: bench -->"
TITLES = {
    "embedded": "Embedded: one process, SQLite, `synchronous=FULL`",
    "tools": "Tools, embedded",
    "start": "Cold start",
    "million": "A million iterations",
    "cluster": "Cluster: PostgreSQL, NATS, one server, two workers, on the same machine",
    "growth": "How cost grows",
    "limits": "Limits of the machine, in the same run",
    "front_end": "Reading and checking",
    "peers": "Peers",
}
HEAD = """| | what | median | spread | CPU ms each | beside | target | |
|---|---|---|---|---|---|---|---|"""
WORKLOADS = ("W1", "W2", "W3", "W4", "W5")
RATES = ("/s",)


def written(page: str, report: Report) -> str:
    """The page with new tables between its two marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page needs {BEGIN} and, after it, {END}: the tables go between them")
    return f"{before}{BEGIN}\n{tables(report)}\n{END}{after}"


def rewrite(path: Path, report: Report) -> None:
    path.write_text(written(path.read_text(encoding="utf-8"), report), encoding="utf-8")


def tables(report: Report) -> str:
    known = [name for name in TITLES if any(part.name == name for part in report.parts)]
    parts = {part.name: part for part in report.parts}
    sections = [machine_line(report)]
    for name in known:
        section = peers_table(report, parts[name].peers) if name == "peers" else figures_table(parts[name])
        sections.append(f"### {TITLES[name]}\n\n{section}\n\n{measured_line(parts[name])}")
    return "\n\n".join(sections)


def machine_line(report: Report) -> str:
    machine = report.machine
    packages = ", ".join(f"{name} {version}" for name, version in machine.packages.items())
    return (
        f"Measured on {machine.cores} cores ({machine.processor}), {machine.memory_gibibytes} GiB, {machine.system} "
        f"{machine.architecture}; {machine.python}, SQLite {machine.sqlite}; {packages}."
    )


def measured_line(part: Part) -> str:
    taken = sum(figure.rounds_taken for figure in part.figures)
    clean = sum(figure.rounds_clean for figure in part.figures)
    rounds = f"; {clean} of {taken} rounds undisturbed by others" if taken else ""
    return f"Commit {part.commit}, {part.began_at}{rounds}."


def figures_table(part: Part) -> str:
    return "\n".join([HEAD, *map(row, part.figures)])


def row(figure: Figure) -> str:
    if figure.error:
        return f"| {figure.name} | {figure.title} | not measured: {figure.error} | | | | | |"
    cells = (
        figure.name,
        figure.title,
        f"{number(figure.median)} {figure.unit}".replace(" /s", "/s"),
        f"{number(figure.low)} – {number(figure.high)}" if len(figure.rounds) > 1 else "once",
        number(figure.cpu_ms_per_item) if figure.cpu_ms_per_item is not None else "",
        beside(figure),
        target_words(TARGETS[figure.name], figure.unit) if figure.name in TARGETS else "",
        verdict_of(figure),
    )
    return f"| {' | '.join(cells)} |"


def number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def beside(figure: Figure) -> str:
    if figure.ratio is None:
        return ""
    return f"{ratio_words(figure.ratio, figure.unit)} {figure.beside}"


def ratio_words(ratio: float, unit: str) -> str:
    """A share of what could be reached, for rates; a multiple of the least, for costs."""
    return f"{ratio:.0%} of" if unit in RATES and ratio < 1 else f"{ratio:.2g}x" if ratio < 10 else f"{ratio:.0f}x"


def target_words(target: Target, unit: str) -> str:
    joined = " or " if target.is_either else " and "
    return joined.join(bound_words(bound, unit) for bound in target.bounds)


def bound_words(bound: Bound, unit: str) -> str:
    sign, wanted = ("≤", bound.at_most) if bound.at_most is not None else ("≥", bound.at_least)
    assert wanted is not None
    if bound.of == VALUE:
        return f"{sign} {number(wanted)} {unit}".replace(" /s", "/s")
    return f"{sign} {wanted:.0%}" if wanted < 1 else f"{sign} {wanted:g}x"


# --- peers -----------------------------------------------------------------------------------------------------------


def peers_table(report: Report, peers: list[PeerFigure]) -> str:
    """Ours first, then each peer; a workload that a peer did not run is a dash."""
    units = {"W1": "ms/step", "W2": "/s", "W3": "workflows/s", "W4": "ms", "W5": "/s"}
    lines = [
        "| | " + " | ".join(f"{name} {units[name]}" for name in WORKLOADS) + " | peak MiB |",
        "|---" * (len(WORKLOADS) + 2) + "|",
        "| NoETL | " + " | ".join(_ours(report, name) for name in WORKLOADS) + f" | {_our_peak(report)} |",
    ]
    for name in dict.fromkeys(figure.peer for figure in peers):
        figures = {figure.workload: figure for figure in peers if figure.peer == name}
        cells = [_cell(figures.get(workload)) for workload in WORKLOADS]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {_peak(list(figures.values()))} |")
    return "\n".join([*lines, *_errors(peers)])


def _ours(report: Report, name: str) -> str:
    figure = report.figure(name)
    return number(figure.median) if figure else "–"


def _our_peak(report: Report) -> str:
    found = [figure.peak_mebibytes for name in WORKLOADS if (figure := report.figure(name)) and figure.peak_mebibytes]
    return number(max(found)) if found else "–"


def _cell(figure: PeerFigure | None) -> str:
    if figure is None:
        return "–"
    return "failed" if figure.error else number(figure.value)


def _peak(figures: list[PeerFigure]) -> str:
    found = [figure.peak_mebibytes for figure in figures if figure.peak_mebibytes]
    return number(max(found)) if found else "–"


def _errors(peers: list[PeerFigure]) -> Iterator[str]:
    failed = [f"{figure.peer} {figure.workload}: {figure.error}" for figure in peers if figure.error]
    if failed:
        yield "\nFailed: " + "; ".join(failed) + "."

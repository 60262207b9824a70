"""python -m bench [--only PART] [--output FILE]: measure; a table for people, JSON for machines; 1 if over a limit."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from bench import cluster, engine, front_end
from bench.measure import Ratio

PARTS = {"front_end": front_end.measurements, "engine": engine.measurements, "cluster": cluster.measurements}


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--output", type=Path, help="where the JSON goes (standard output if not given)")
    parser.add_argument("--only", choices=sorted(PARTS), help="one part of it")
    arguments = parser.parse_args()
    rows = []
    for row in chosen(arguments.only):
        rows.append(row)
        print(line(row), file=sys.stderr, flush=True)
    report(rows, arguments.output)
    return 0 if all(row.is_within for row in rows) else 1


def chosen(only: str | None) -> Iterator[Ratio]:
    for name, measurements in PARTS.items():
        if only in (None, name):
            yield from measurements()


def line(row: Ratio) -> str:
    verdict = "within" if row.is_within else "OVER"
    each = f"{row.count / row.seconds:8,.0f}/s" if row.count > 1 else " " * 10
    return (
        f"{row.name:<28} {row.seconds / row.count * 1000:9.3f} ms {each}   {row.ratio:6.2f}x {row.yardstick:<24} "
        f"±{row.spread:4.0%}   {verdict} {row.limit:g}x"
    )


def report(rows: Sequence[Ratio], output: Path | None) -> None:
    machine = {"python": platform.python_version(), "system": platform.system(), "machine": platform.machine()}
    figures = [{**row._asdict(), "is_within": row.is_within} for row in rows]
    text = msgspec.json.format(msgspec.json.encode({"machine": machine, "figures": figures}), indent=2).decode()
    if output:
        output.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    sys.exit(main())

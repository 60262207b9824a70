"""The public NoETL 5: its program runs a playbook by itself. It stores nothing, and runs the step of a loop once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from services import Job

HEAD = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: bench, path: bench/chain}
workload: {}
workflow:
"""
STEP = """  - step: {name}
    tool: {{kind: rhai, code: "1"}}
"""
NEXT = """    next:
      spec: {{mode: exclusive}}
      arcs: [{{step: {name}}}]
"""


def playbook(count: int) -> str:
    names = ["start", *(f"step_{number}" for number in range(1, count))]
    steps = [STEP.format(name=name) + NEXT.format(name=following) for name, following in pairwise(names)]
    return HEAD + "".join(steps) + STEP.format(name=names[-1])


def run(file: Path) -> None:
    program = str(Path(sys.executable).with_name("noetl"))
    subprocess.run([program, "run", str(file), "-r", "local"], check=True, stdout=subprocess.DEVNULL)


@contextmanager
def chain(job: Job) -> Iterator[Callable[[], None]]:
    """The whole command, its start included: it is a program and has no other way in."""
    file = job.folder / "chain.yaml"
    file.write_text(playbook(job.count), encoding="utf-8")
    run(file)
    yield lambda: run(file)


WORKLOADS = {"W1": chain}

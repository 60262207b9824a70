"""W4 of the gate: a new process runs a playbook of one step. How many modules it imports, and what that costs."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import workloads
from bench.spawning import BARE_PYTHON, NOETL, compiled, environment

ROUNDS = 7
IMPORT_LINE = "import time:"


def counts() -> dict[str, float]:
    """Modules, as -X importtime lists them: one line each, and a line that names the columns."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-X", "importtime", *NOETL[1:], *_words(Path(folder))]
        variables = environment(NOETL_HOME=folder)
        ended = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    return {"W4 modules": ended.stderr.count(IMPORT_LINE) - 1}


def times() -> dict[str, float]:
    """Processor time beside that of an interpreter that does nothing, in turns."""
    compiled()
    with tempfile.TemporaryDirectory() as folder:
        words, variables = [*NOETL, *_words(Path(folder))], environment(NOETL_HOME=folder)
        _cpu_seconds(words, variables)
        ratios = [_cpu_seconds(words, variables) / _cpu_seconds(BARE_PYTHON, variables) for _ in range(ROUNDS)]
    return {"W4 processor time": statistics.median(ratios)}


def _words(folder: Path) -> list[str]:
    file = folder / "one.yaml"
    file.write_text(workloads.chain(1), encoding="utf-8")
    return ["run", str(file), "--format", "json"]


def _cpu_seconds(command: Sequence[str], variables: Mapping[str, str]) -> float:
    process = subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime

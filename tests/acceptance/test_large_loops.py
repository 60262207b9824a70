"""A loop whose outputs are 200 MB together is collected into one stored list, in bounded memory (LP-10, RS-01)."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: large_loop, path: tests/large_loop}
workload: {count: 1}
workflow:
  - step: make
    loop: {in: "{{ range(workload.count) }}", iterator: number, spec: {mode: parallel, max_in_flight: 4}}
    tool:
      kind: python
      input: {number: "{{ iter.number }}"}
      code: |
        result = {"number": input["number"], "text": "x" * 1_000_000}
    next: {arcs: [{step: read, args: {all_ref: "{{ output.ref }}"}}]}
  - step: read
    tool:
      - {name: last, kind: resolve, ref: "{{ input.all_ref }}", slice: [-2, null]}
      - {name: middle, kind: resolve, ref: "{{ input.all_ref }}", path: "7.number"}
      - name: told
        kind: python
        input: {last: "{{ last.data }}", middle: "{{ middle.data }}"}
        code: |
          result = {"last": [[row["number"], len(row["text"])] for row in input["last"]], "middle": input["middle"]}
"""
MEASURED = """
import json, sys
from pathlib import Path
from noetl.cli import main
code = main(sys.argv[1:])
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
print(json.dumps({"peak_bytes": int(peak.split()[1]) * 1024}), file=sys.stderr)
sys.exit(code)
"""
MIB = 1024 * 1024


class Ran(NamedTuple):
    summary: dict[str, Any]
    peak_bytes: int  # of server and worker, which are one process


def run(folder: Path, count: int) -> Ran:
    file = folder / "large_loop.yaml"
    file.write_text(textwrap.dedent(PLAYBOOK))
    home = folder / f"home-{count}"
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, "run", str(file), "--set", f"count={count}", "--format", "json"],
        env={**os.environ, "NOETL_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    peak_bytes = json.loads(done.stderr.strip().splitlines()[-1])["peak_bytes"]
    return Ran(json.loads(done.stdout), peak_bytes)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process's own memory is asked of /proc")
@pytest.mark.spec("LP-10", "RS-01", "TL-05")
def test_a_loop_of_200_mb_is_collected_and_read_in_bounded_memory(tmp_path: Path) -> None:
    small = run(tmp_path, 8)

    large = run(tmp_path, 210)

    assert large.summary["output"]["data"] == {"last": [[208, 1_000_000], [209, 1_000_000]], "middle": 7}
    assert large.peak_bytes - small.peak_bytes < 100 * MIB

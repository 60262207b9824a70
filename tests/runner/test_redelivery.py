"""A process that dies in the middle of a pipeline: the next one has in hand what the first one had."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from noetl.references import LINES
from tests.runner.runs import HEAD
from tests.runner.test_execute import stored

# The second task ends the whole process, the first time.
PLAYBOOK = """\
workload: {mark: null, ref: null}
workflow:
  - step: start
    tool:
      - {name: large, kind: python, code: "result = ['x' * 1000] * 200", set: {step.n: 1, ctx.n: 1}}
      - {name: lines, kind: python, input: {ref: "{{ workload.ref }}"}, code: "result = input['ref']"}
      - {name: near, kind: noop, input: {prev_ref: "{{ _prev }}", n: "{{ large.data | length }}"}}
      - name: deadly
        kind: python
        input: {mark: "{{ workload.mark }}", before: "{{ _prev }}", n: "{{ large.data | length }}"}
        spec: {durability: sync}
        code: |
          import os, pathlib, signal
          mark = pathlib.Path(input["mark"])
          if not mark.exists():
              mark.touch()
              os.kill(os.getppid(), signal.SIGKILL)
          result = [input["before"], input["n"]]
    set: {ctx.step: "{{ step.n }}", ctx.large: "{{ large.data | length }}"}
"""


def noetl(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "NOETL_HOME": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", "noetl", *words], env=environ, capture_output=True, text=True, timeout=60, check=False
    )


def document(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.spec("TK-15", "SC-07")
@pytest.mark.slow
def test_a_pipeline_goes_on_with_its_payloads_in_hand(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(HEAD + PLAYBOOK, encoding="utf-8")
    ref = stored(tmp_path, b'{"n": 1}\n{"n": 2}\n', LINES)
    payload = json.dumps({"mark": str(tmp_path / "mark"), "ref": ref})

    killed = noetl(tmp_path, "run", str(tmp_path / "t.yaml"), "--payload", payload, "--format", "json")
    (row,) = document(noetl(tmp_path, "list", "--format", "json"))
    ended = document(noetl(tmp_path, "resume", row["execution_id"], "--format", "json"))

    assert killed.returncode == -9
    assert ended["output"]["data"] == [{"prev_ref": ref, "n": 200}, 200]
    assert ended["ctx"] == {"n": 1, "step": 1, "large": 200}
    lines = noetl(tmp_path, "events", row["execution_id"], "--format", "json").stdout.splitlines()
    done = [event["task_label"] for event in map(json.loads, lines) if event["name"] == "task.done"]
    assert done == ["large", "lines", "near", "deadly"]

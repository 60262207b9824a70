"""Playbooks and a way to run noetl as a whole process, for the tests of the verbs about executions."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: trial, path: tests/trial}\n"
GREET = (
    HEAD
    + """workload:
  greeting: hello
  place: {city: Rome}
workflow:
  - step: start
    tool:
      kind: noop
      input: {text: "{{ workload.greeting }}", city: "{{ workload.place.city }}"}
    set:
      ctx.text: "{{ output.data.text }}"
    next:
      arcs:
        - step: never
          when: "{{ ctx.text == 'never' }}"
        - step: end
  - step: end
    tool: {kind: noop}
  - step: never
    tool: {kind: noop}
"""
)
FAIL = (
    HEAD
    + """workflow:
  - step: start
    tool:
      - name: refuse
        kind: noop
        spec:
          policy:
            rules:
              - else:
                  then: {do: fail}
"""
)
WAIT = (
    HEAD
    + """workflow:
  - step: start
    tool: {kind: noop}
    next:
      arcs: [{step: approve}]
  - step: approve
    spec:
      policy:
        admit:
          on_deny: wait
          rules:
            - when: "{{ ctx.approved }}"
              then: {allow: true}
            - else:
                then: {allow: false}
    tool: {kind: noop, input: {by: "{{ ctx.approved }}"}}
"""
)
LOOP = (
    HEAD
    + """workflow:
  - step: each
    loop:
      in: "{{ range(20) }}"
      iterator: number
      spec: {mode: parallel}
    tool: {kind: noop, input: {number: "{{ iter.number }}"}}
"""
)
BAD = GREET.replace("kind: noop}", "kind: nope}", 1)


def noetl(*words: str, home: Path, stdin: bytes = b"", **environ: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end; data lives in home/.noetl."""
    return subprocess.run(
        [sys.executable, "-m", "noetl", *words],
        input=stdin.decode(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=home,
        timeout=60,
        env={**os.environ, "NOETL_HOME": str(home / ".noetl"), **environ},
    )


def document(done: subprocess.CompletedProcess[str]) -> dict:
    """The one JSON document on standard output."""
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@contextmanager
def serving_api(folder: Path) -> Iterator[str]:
    """The api.py of a folder, as a process of its own; its address."""
    command = [sys.executable, "api.py", "--port", "0"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=quiet, text=True) as api:
        yield api.stdout.readline().strip()
        api.terminate()

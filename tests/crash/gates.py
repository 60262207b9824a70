"""A task that stops and waits for the test: it says that it is there, and goes on when it is let through."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS_MAX = 30.0
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: gated, path: tests/crash/gated}\n"

# Three steps: before, at and after the gate. The rows are too large for the log, so they are kept as a stored result.
GATED = (
    HEAD
    + """workload: {port: 0}
workflow:
  - step: before
    tool:
      kind: python
      input:
        code: result = [7] * 60000
    set: {ctx.rows_ref: "{{ output.ref }}"}
    next:
      arcs: [{step: at_gate}]
  - step: at_gate
    tool:
      kind: python
      input:
        port: "{{ workload.port }}"
        code: |
          import os, socket
          with socket.create_connection(("127.0.0.1", input["port"])) as gate:
              gate.sendall(f"{os.getpid()}\\n".encode())
              gate.recv(1)
          result = "passed"
      spec:
        policy:
          rules:
            - when: "{{ output.status == 'error' }}"
              then: {do: retry, attempts: 2}
            - else:
                then: {do: continue}
    next:
      arcs: [{step: after}]
  - step: after
    tool:
      - name: fetch_rows
        kind: resolve
        input: {ref: "{{ ctx.rows_ref }}"}
      - name: count_rows
        kind: noop
        input: {count: "{{ fetch_rows.data | length }}"}
"""
)


class Gate:
    """Where a task waits."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.port: int = listener.getsockname()[1]

    @contextmanager
    def reached(self) -> Iterator[int]:
        """Wait for a task; gives the id of its process, and lets it through at the end of the block."""
        connection, _ = self._listener.accept()
        with connection, connection.makefile("r") as words:
            yield int(words.readline())


@contextmanager
def a_gate() -> Iterator[Gate]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(SECONDS_MAX)
        yield Gate(listener)

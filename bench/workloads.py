"""What the engine is measured with: chains and loops of tasks that do nothing, and a loop of requests."""

from __future__ import annotations

HEAD = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {{ name: {name} }}
workload:
  url: http://127.0.0.1:8080
workflow:
"""
STEP = """  - step: step_{n}
    tool: {{ kind: noop }}
    next: {{ arcs: [{{ step: step_{next} }}] }}
"""
LAST_STEP = """  - step: step_{n}
    tool: {{ kind: noop }}
"""
LOOP = """  - step: each
    loop:
      in: "{{{{ range({count}) }}}}"
      iterator: number
      spec: {{ mode: parallel, max_in_flight: {in_flight} }}
    tool: {{ {tool} }}
"""


def chain(steps: int) -> str:
    """Steps one after another."""
    body = "".join(STEP.format(n=n, next=n + 1) for n in range(1, steps))
    return HEAD.format(name=f"chain_of_{steps}") + body + LAST_STEP.format(n=steps)


def loop(count: int, in_flight: int) -> str:
    """One parallel loop over tasks that do nothing."""
    return HEAD.format(name="loop") + LOOP.format(count=count, in_flight=in_flight, tool="kind: noop")


def requests(count: int, in_flight: int) -> str:
    """One parallel loop over GETs to `workload.url`."""
    tool = 'kind: http, input: { url: "{{ workload.url }}" }'
    return HEAD.format(name="requests") + LOOP.format(count=count, in_flight=in_flight, tool=tool)

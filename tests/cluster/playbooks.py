"""Playbooks of every shape, whose tools leave two lines in a ledger and give back the word that they made up.

The word is what a checker tells executions of one attempt apart by (checker.py); the word that a tool was given
stands in its lines too.
"""

import json
import textwrap
from typing import Any

EVERY_SECONDS = 2.0
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: {name}, path: load/{name}}}\n"
CODE = """\
import os, random, secrets, time
nonce = secrets.token_hex(8)
def note(word):
    line = f"{word} {input['key']} {input['attempt']} {nonce} {input.get('previous') or '-'} {time.time()}"
    file = os.open(input["ledger"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, (line + chr(10)).encode())
    os.close(file)
note("begun")
time.sleep(0.02 + random.random() * 0.5)
note("ended")
if input["attempt"] < input.get("fails_before", 0):
    raise RuntimeError("this attempt fails")
result = {"nonce": nonce}
"""


def task(name: str, *, indent: int, previous: str = "", more: str = "", **given: Any) -> str:
    """A tool that leaves its lines."""
    values = {
        "ledger": "{{ workload.ledger }}",
        "key": "{{ _key }}",
        "attempt": "{{ _attempt }}",
        "previous": previous,
        "code": CODE,
        **given,
    }
    body = f"- name: {name}\n  kind: python\n  input: {json.dumps(values)}\n{textwrap.indent(more, '  ')}"
    return textwrap.indent(body, " " * indent)


def playbook(name: str, body: str) -> str:
    return HEAD.format(name=name) + 'workload: {ledger: "", every_seconds: 0}\n' + textwrap.dedent(body)


RETRY = """\
spec:
  policy:
    rules:
      - when: "{{ output.status == 'error' }}"
        then: {do: retry, attempts: 8, delay: %s}
      - else:
          then: {do: continue}
"""
CHAIN = playbook(
    "chain",
    f"""
workflow:
  - step: first
    tool:
{task("one", indent=6)}
{task("two", indent=6, previous="{{ one.data.nonce }}")}
    set: {{ctx.last: "{{{{ output.data.nonce }}}}"}}
    next: {{arcs: [{{step: second}}]}}
  - step: second
    tool:
{task("three", indent=6, previous="{{ ctx.last }}", more="spec: {durability: sync}")}
{task("four", indent=6, previous="{{ three.data.nonce }}")}
""",
)
LOOPS = playbook(
    "loops",
    f"""
workflow:
  - step: side_by_side
    loop:
      in: "{{{{ range(9) }}}}"
      iterator: number
      spec: {{mode: parallel, max_in_flight: 3, policy: {{reducers: {{ctx.nonces: append}}}}}}
    tool:
{task("each", indent=6, more='set: {ctx.nonces: "{{ output.data.nonce }}"}')}
    next: {{arcs: [{{step: in_a_row}}]}}
  - step: in_a_row
    loop:
      in: "{{{{ ctx.nonces }}}}"
      iterator: before
    tool:
{task("after", indent=6, previous="{{ iter.before }}")}
    next: {{arcs: [{{step: nested}}]}}
  - step: nested
    loop:
      in: [1, 2, 3]
      iterator: tens
      spec: {{mode: parallel, max_in_flight: 2}}
      loop:
        in: "{{{{ range(iter.tens) }}}}"
        iterator: unit
    tool:
{task("inner", indent=6)}
    next: {{arcs: [{{step: nearby}}]}}
  - step: nearby
    loop:
      in: "{{{{ range(4) }}}}"
      iterator: number
      spec: {{mode: parallel, max_in_flight: 2, policy: {{exec: local}}}}
    tool:
{task("local", indent=6)}
""",
)
CALLED = playbook(
    "called",
    f"""
workflow:
  - step: only
    loop: {{in: "{{{{ range(3) }}}}", iterator: number, spec: {{mode: parallel, max_in_flight: 2}}}}
    tool:
{task("below", indent=6)}
""",
)
CALLER = playbook(
    "caller",
    f"""
workflow:
  - step: calls
    loop: {{in: [1, 2, 3], iterator: number, spec: {{mode: parallel, max_in_flight: 2}}}}
    tool:
      - name: call
        kind: playbook
        input: {{path: load/called, ledger: "{{{{ workload.ledger }}}}"}}
    next: {{arcs: [{{step: afterwards}}]}}
  - step: afterwards
    tool:
{task("last", indent=6)}
""",
)
STUBBORN = playbook(
    "stubborn",
    f"""
workflow:
  - step: insists
    tool:
{task("tries", indent=6, fails_before=3, more=RETRY % "0.3")}
{task("goes_on", indent=6, previous="{{ tries.data.nonce }}")}
""",
)
PATIENT = playbook(
    "patient",
    f"""
workflow:
  - step: parks
    tool:
{task("waits", indent=6, fails_before=2, more=RETRY % "61")}
""",
)
ENDLESS = playbook(
    "endless",
    f"""
workflow:
  - step: goes_on
    loop: {{in: "{{{{ range(5000) }}}}", iterator: number, spec: {{mode: parallel, max_in_flight: 2}}}}
    tool:
{task("each", indent=6)}
""",
)
GATED = playbook(
    "gated",
    f"""
workflow:
  - step: before
    tool:
{task("early", indent=6)}
    next: {{arcs: [{{step: behind}}]}}
  - step: behind
    spec:
      policy:
        admit:
          on_deny: wait
          rules:
            - when: "{{{{ ctx.is_open is defined }}}}"
              then: {{allow: true}}
            - else:
                then: {{allow: false}}
    tool:
{task("late", indent=6)}
""",
)
TICK = playbook(
    "tick",
    f"""
workflow:
  - step: ticks
    tool:
{task("tock", indent=6)}
""",
)
PLAYBOOKS = {
    "chain": CHAIN,
    "loops": LOOPS,
    "called": CALLED,
    "caller": CALLER,
    "stubborn": STUBBORN,
    "patient": PATIENT,
    "endless": ENDLESS,
    "gated": GATED,
    "tick": TICK,
}
SCHEDULE = f"""\
apiVersion: noetl.io/v2
kind: Schedule
metadata: {{name: tick}}
spec:
  playbook: {{path: load/tick}}
  payload: {{ledger: "%s", every_seconds: {EVERY_SECONDS}}}
  every: {EVERY_SECONDS:g}
  overlap: allow
  catch_up: all
  catch_up_max: 1000
"""

"""The playbooks of a soak: those of the kill test, and one whose results are too large for the log."""

from tests.cluster.playbooks import CODE, PLAYBOOKS, playbook, task

ROW_COUNT = 60_000  # some 120 KB as JSON: over the 64 KiB that an event holds
HEAP = f'{CODE}result["rows"] = [7] * {ROW_COUNT}\n'
COUNTED = f'{CODE}assert input["rows"] == {ROW_COUNT}\n'
BULKY = playbook(
    "bulky",
    f"""
workflow:
  - step: makes
    tool:
{task("heap", indent=6, code=HEAP)}
{task("beside", indent=6, previous="{{ heap.data.nonce }}")}
    set: {{ctx.heap_ref: "{{{{ heap.ref }}}}"}}
    next: {{arcs: [{{step: counts}}]}}
  - step: counts
    tool:
      - {{name: fetch, kind: resolve, input: {{ref: "{{{{ ctx.heap_ref }}}}"}}}}
{task("counted", indent=6, previous="{{ fetch.data.nonce }}", rows="{{ fetch.data.rows | length }}", code=COUNTED)}
""",
)
ALL = {**PLAYBOOKS, "bulky": BULKY}

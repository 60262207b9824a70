"""python scripts/demo.py: run the examples, as a person would type it, with the API that some of them talk to.

Runs are kept in build/demo, so that they can be looked at afterwards. Leaves with 1 if an example does not end as it
should.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
HOME = ROOT / "build" / "demo"
NOETL = (sys.executable, "-m", "noetl")
EXAMPLES = (  # what to watch for, the words, the exit code
    ("one step, one task", "run examples/hello.yaml", 0),
    ("two branches at once, and a join", "run examples/fan_out_join.yaml", 0),
    ("a loop in a loop; sums come together in order", "run examples/nested_loops.yaml", 0),
    ("a large result stays outside the log", "run examples/large_results.yaml", 0),
    ("three lists at once, page by page, over HTTP", "run examples/paging.yaml", 0),
    ("asking until a report is ready", "run examples/polling.yaml", 0),
    ("a gate, a shared task, a child playbook", "run examples/admission.yaml", 0),
    ("the hotel is full: the flight is given back, and the run fails", "run examples/saga.yaml", 1),
    ("a job: a feed is read, scored, and the best of it published", "run examples/jobs/press_review.yaml", 0),
    ("a job that asks a person, and waits", "run examples/jobs/payout_approval.yaml", 4),
    ("somebody agrees", "signal last --set ctx.approved=true --set ctx.approved_by=ada", 0),
    ("and it goes on where it was", "resume last", 0),
    ("any run can be looked at afterwards", "show last", 0),
    ("and its log gives the same state again", "replay last --verify", 0),
    ("all of them", "list", 0),
    ("tests: answers in place of tools, minutes of waiting in no time", "test examples/tests", 0),
)


def main() -> int:
    command = [sys.executable, "examples/api.py", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as api:
        url = api.stdout.readline().strip() if api.stdout else ""
        try:
            unexpected = [words for title, words, code in EXAMPLES if show(title, words, url) != code]
        finally:
            api.terminate()
    print("\nThe runs are in build/demo. To look at them: .venv/bin/noetl list --home build/demo")
    for words in unexpected:
        print(f"did not end as it should: noetl {words}", file=sys.stderr)
    return 1 if unexpected else 0


def show(title: str, words: str, api_url: str) -> int:
    """Say what comes, and do it; the exit code."""
    print(f"\n# {title}\n$ noetl {words}", flush=True)
    more = ["--set", f"api_url={api_url}"] if words.startswith("run") else []
    environ = {**os.environ, "NOETL_HOME": str(HOME)}
    return subprocess.run([*NOETL, *words.split(), *more], cwd=ROOT, env=environ).returncode


if __name__ == "__main__":
    sys.exit(main())

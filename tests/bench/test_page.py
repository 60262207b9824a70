"""The tables of the page come from the JSON, and nothing else on the page is touched."""

import re
from pathlib import Path

import pytest

from bench import page
from bench.__main__ import main
from bench.report import write
from tests.bench.parts import BROKEN, CHAIN, LOOP, PEERS, part, report

PAGE = f"# Performance\n\nBefore.\n\n{page.BEGIN}\nold\n{page.END}\n\nAfter.\n"
TABLES = """\
Measured on 2 cores (Some Processor), 24 GiB, Linux x86_64; CPython 3.11.7, SQLite 3.45.0; noetl 0.1.0, msgspec 0.20.0.

### Embedded: one process, SQLite, `synchronous=FULL`

| | what | median | spread | CPU ms each | beside | target | |
|---|---|---|---|---|---|---|---|
| W1 | chain of 200 no-op steps | 0.35 ms/step | 0.33 – 0.41 | 0.12 | 1.2x 1 SQLite commit of 1 row a step | \
≤ 0.4 ms/step or ≤ 1.6x | met |
| W2 | loop of 2,000 no-ops, 100 in flight | 9,500/s | 9,000 – 10,000 |  | 50% of SQLite alone | ≥ 12,000/s | not met |

Commit 0123456789, 2026-01-02 03:04 UTC; 6 of 8 rounds undisturbed by others.

### Tools, embedded

| | what | median | spread | CPU ms each | beside | target | |
|---|---|---|---|---|---|---|---|
| tools broke off |  | not measured: RuntimeError | | | | | |

Commit 0123456789, 2026-01-02 03:04 UTC.

### Peers

| | W1 ms/step | W2 /s | W3 workflows/s | W4 ms | W5 /s | peak MiB |
|---|---|---|---|---|---|---|
| NoETL | 0.35 | 9,500 | – | – | – | 41.5 |
| dbos | 2.8 | – | – | – | failed | 72.0 |

Failed: dbos W5: it did not start.

Commit 0123456789, 2026-01-02 03:04 UTC."""


def test_the_page_is_written_from_a_json_file(tmp_path: Path) -> None:
    found, written = tmp_path / "bench.json", tmp_path / "page.md"
    write(report(part("peers", peers=PEERS), part("tools", BROKEN), part("embedded", CHAIN, LOOP)), found)
    written.write_text(PAGE, encoding="utf-8")

    code = main(["--from", str(found), "--page", str(written)])

    assert code == 0
    assert written.read_text("utf-8") == PAGE.replace("\nold\n", f"\n{TABLES}\n")


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="the tables go between them"):
        page.written("# Performance\n", report())


def test_the_page_of_the_documentation_has_the_marks() -> None:
    text = (Path(__file__).parent.parent.parent / "docs" / "performance.md").read_text("utf-8")

    assert re.search(f"{page.BEGIN}.*{page.END}", text, re.DOTALL)

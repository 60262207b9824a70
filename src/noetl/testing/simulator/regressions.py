"""Cases that once failed, one file each: kept for ever, and replayed in every run of the tests.

    tests/simulation/regressions/<invariant>-<shape>-<seed>.json, or <mutant>.json

A case means what its draws mean: a change of what a world draws makes another case of it. So the fault is kept, too,
as a mutant (`mutants/fixed.py`): a case that does not fail any more when it is planted has become another, and a new
one is looked for (`tests.simulation.keep`). `why` says which fault that was.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from noetl.testing.simulator.case import Case

FOLDER = Path("tests/simulation/regressions")  # of the project's own folder
UNEXPLAINED = "not explained yet"  # until somebody has found out


class Regression(msgspec.Struct, frozen=True, kw_only=True):
    """`invariant` is what the case broke, `why` what was wrong, in words, `mutant` the fault that breaks it again."""

    invariant: str
    why: str
    case: Case
    mutant: str = ""  # until its repair is made, and taken back as one

    @property
    def id(self) -> str:
        return self.mutant or f"{self.invariant.lower()}-{self.case.shape}-{self.case.seed}"


def written(regression: Regression, folder: Path = FOLDER) -> Path:
    """Keep it; the file it is in. One of the same name is replaced: it is a smaller one of the same fault."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{regression.id}.json"
    file.write_bytes(msgspec.json.format(msgspec.json.encode(regression), indent=1) + b"\n")
    return file


def read(file: Path) -> Regression:
    """Raises msgspec.ValidationError, OSError."""
    return msgspec.json.decode(file.read_bytes(), type=Regression)


def kept(folder: Path = FOLDER) -> list[Path]:
    return sorted(folder.glob("*.json"))

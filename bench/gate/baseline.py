"""The committed figures, bench/baseline.json, by version of Python: each has calls and modules of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

BASELINE = Path(__file__).parent.parent / "baseline.json"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
DIGITS = 4

Figures = dict[str, float]


def read(path: Path = BASELINE, version: str = VERSION) -> Figures | None:
    """The figures of this version of Python, if somebody took them."""
    return _all(path).get(version)


def write(figures: Figures, path: Path = BASELINE, version: str = VERSION) -> None:
    """Replaces those of this version; others stay."""
    rounded = {name: round(value, DIGITS) for name, value in figures.items()}
    text = msgspec.json.format(msgspec.json.encode(_all(path) | {version: rounded}), indent=2)
    path.write_text(text.decode() + "\n", encoding="utf-8")


def _all(path: Path) -> dict[str, Figures]:
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Figures]) if path.is_file() else {}

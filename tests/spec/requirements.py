"""The requirements of the specification, read from requirements.yaml, and the ids that a test cites."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

REQUIREMENTS = Path(__file__).parent / "requirements.yaml"


class Requirement(NamedTuple):
    id: str
    section: str
    level: str
    rule: str


def read_requirements(text: str) -> dict[str, Requirement]:
    found: dict[str, Requirement] = {}
    for section, rows in yaml.safe_load(text).items():
        for row in rows:
            if row["id"] in found:
                raise ValueError(f"requirement {row['id']} is listed twice")
            found[row["id"]] = Requirement(row["id"], section, row["level"], row["rule"])
    return found


@cache
def requirements() -> dict[str, Requirement]:
    return read_requirements(REQUIREMENTS.read_text(encoding="utf-8"))


def cited_ids(item: pytest.Item) -> list[str]:
    return [requirement_id for mark in item.iter_markers("spec") for requirement_id in mark.args]

"""What a playbook means, without the places it was written at: for comparing two texts."""

import re

import msgspec

from noetl.dsl.check import Checked
from noetl.dsl.normalize import normalize
from noetl.expressions import Template


def meaning(result: Checked) -> object:
    """The model of the first playbook of a text."""
    assert [f"{finding.place}: {finding.message}" for finding in result.findings if finding.severity == "error"] == []
    return without_places(normalize(result.drafts[0]))


def without_places(value: object) -> object:
    if isinstance(value, msgspec.Struct):
        fields = [name for name in value.__struct_fields__ if name != "place"]
        return {"is": type(value).__name__, **{name: without_places(getattr(value, name)) for name in fields}}
    if isinstance(value, Template):
        return {"template": value.source}
    if isinstance(value, dict):
        return {key: without_places(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_places(item) for item in value]
    return re.sub(r" at line \d+", "", value) if isinstance(value, str) else value

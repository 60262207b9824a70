"""The JSON Schema: every example validates against it, and what it refuses the checker refuses."""

from pathlib import Path

import jsonschema_rs
import pytest

from noetl.dsl.check import check
from noetl.dsl.nodes import plain
from noetl.dsl.read import read
from noetl.dsl.schema import schema
from noetl.tools.registry import declarations
from tests.dsl.front import PLAYBOOKS

ROOT = PLAYBOOKS.parent.parent
EXAMPLES = sorted(
    [
        *(ROOT / "examples").glob("*.yaml"),
        *(ROOT / "examples" / "jobs").glob("*.yaml"),
        *(ROOT / "src" / "noetl" / "projects").glob("*/*.yaml"),
    ]
)
DOCUMENTS = [path for path in sorted((PLAYBOOKS / "documents").glob("*.yaml")) if not path.name.startswith("003")]
GOOD = sorted((PLAYBOOKS / "good").glob("*.yaml"))
BAD = sorted((PLAYBOOKS / "bad").glob("*.yaml"))
VALIDATOR = jsonschema_rs.Draft202012Validator(schema(declarations))


def faults(path: Path) -> list[str]:
    reading = read(path.read_bytes(), path.name)
    return [
        f"{list(error.instance_path)}: {error.message}" for error in VALIDATOR.iter_errors(plain(reading.documents[0]))
    ]


@pytest.mark.spec("TL-03")
@pytest.mark.parametrize("path", EXAMPLES + DOCUMENTS, ids=lambda path: path.stem)
def test_every_example_validates(path: Path) -> None:
    assert faults(path) == []


@pytest.mark.parametrize("path", GOOD + BAD, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_the_schema_refuses_the_checker_refuses(path: Path) -> None:
    reading = read(path.read_bytes(), path.name)
    if reading.faults or not reading.documents or "# check:" in path.read_bytes()[:10].decode("utf-8", "replace"):
        return
    if faults(path):
        assert not check(path.read_bytes(), path.name, declarations).is_valid


def test_the_schema_itself_is_valid_and_speaks_of_every_kind() -> None:
    made = schema(declarations)

    jsonschema_rs.meta.validate(made)
    assert {f"kind.{name}" for name in declarations} <= set(made["$defs"])


@pytest.mark.spec("PB-02", "TL-03")
@pytest.mark.parametrize(
    "change",
    [
        ("kind: Playbook", "kind: Play"),
        ("workflow:", "workflows:"),
        ("kind: python", "kind: pyton"),
        ("tool:", "tools:"),
        ("metadata:", "vars: {}\nmetadata:"),
    ],
)
def test_the_schema_sees_common_mistakes(change: tuple[str, str]) -> None:
    text = (ROOT / "examples" / "hello.yaml").read_text().replace(*change)

    assert list(VALIDATOR.iter_errors(plain(read(text, "t").documents[0])))

"""The bills of materials name everything that is shipped or brought, once, with licence and hashes, and no registry."""

import json
import re

import jsonschema_rs
import pytest

from scripts import locked, sbom

WHEN = "1700000000"
HASHES = {
    "type": "array",
    "minItems": 1,
    "items": {
        "required": ["alg", "content"],
        "properties": {
            "alg": {"enum": ["SHA-256", "SHA-512"]},
            "content": {"pattern": "^([0-9a-f]{64}|[0-9a-f]{128})$"},
        },
    },
}
COMPONENT = {
    "required": ["type", "bom-ref", "name", "version", "purl", "licenses"],
    "properties": {
        "type": {"enum": ["application", "library"]},
        "purl": {"pattern": "^pkg:(pypi|npm)/[^@]+@[^@]+$"},
        "scope": {"enum": ["required", "optional"]},
        "licenses": {"type": "array", "minItems": 1, "items": {"required": ["expression"]}},
        "hashes": HASHES,
        "externalReferences": {
            "items": {
                "required": ["type", "url", "hashes"],
                "properties": {"hashes": HASHES, "url": {"pattern": "^[^/:]+$"}},
            }
        },
    },
}
# What CycloneDX 1.5 asks of the parts that we write, and what we ask besides.
SCHEMA = {
    "required": ["bomFormat", "specVersion", "serialNumber", "version", "metadata", "components", "dependencies"],
    "properties": {
        "bomFormat": {"const": "CycloneDX"},
        "specVersion": {"const": "1.5"},
        "serialNumber": {"pattern": "^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"},
        "version": {"const": 1},
        "metadata": {
            "required": ["timestamp", "component"],
            "properties": {"timestamp": {"const": "2023-11-14T22:13:20Z"}, "component": COMPONENT},
        },
        "components": {"type": "array", "uniqueItems": True, "items": COMPONENT},
        "dependencies": {"items": {"required": ["ref", "dependsOn"]}},
    },
}
BILLS = pytest.mark.parametrize("text", [sbom.python_bill(WHEN), sbom.pages_bill(WHEN)], ids=["python", "pages"])


@BILLS
def test_a_bill_has_the_shape_that_readers_of_cyclonedx_expect(text):
    faults = [fault.message for fault in jsonschema_rs.validator_for(SCHEMA).iter_errors(json.loads(text))]

    assert faults == []


@BILLS
def test_every_reference_leads_to_a_component_and_every_component_is_reached(text):
    bill = json.loads(text)
    root = bill["metadata"]["component"]["bom-ref"]
    graph = {edge["ref"]: edge["dependsOn"] for edge in bill["dependencies"]}
    reached, waiting = set(), [root]
    while waiting:
        one = waiting.pop()
        if one not in reached:
            reached.add(one)
            waiting += graph[one]

    assert reached == graph.keys() == {root, *(component["bom-ref"] for component in bill["components"])}


@BILLS
def test_every_package_has_a_hash_and_no_host_is_named(text):
    bill = json.loads(text)

    assert [one["name"] for one in bill["components"] if not (one.get("hashes") or one.get("externalReferences"))] == []
    assert re.findall(r"https?://([\w.-]+)", text) == ["cyclonedx.org"]


def test_the_same_locks_give_the_same_bytes_and_another_lock_another_number():
    text = (locked.ROOT / "uv.lock").read_text("utf-8")
    lock = locked.PythonLock(text)
    product = sbom.product("noetl", "application", "pkg:pypi/noetl@1")

    one, again = (sbom.bill(product, lock.runtime(), [], set(), WHEN) for _ in range(2))
    other = sbom.bill(product, lock.core(), [], set(), WHEN)

    assert one == again
    assert json.loads(one)["serialNumber"] != json.loads(other)["serialNumber"]


def test_core_is_required_and_what_only_extras_bring_is_optional():
    scopes = {one["name"]: one["scope"] for one in json.loads(sbom.python_bill(WHEN))["components"]}

    assert (scopes["jinja2"], scopes["markupsafe"]) == ("required", "required")
    assert (scopes["psycopg"], scopes["psycopg-binary"], scopes["nats-py"]) == ("optional",) * 3
    assert "pytest" not in scopes


def test_the_pages_bill_has_what_is_built_in_and_not_what_builds():
    names = {one["name"] for one in json.loads(sbom.pages_bill(WHEN))["components"]}

    assert {"react", "react-dom", "scheduler", "@codemirror/state"} <= names
    assert names.isdisjoint({"vite", "typescript", "vitest", "@types/react"})

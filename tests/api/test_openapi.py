"""The API's own description, and the page that tries it."""

import json
import re
import shutil
import subprocess
from importlib.resources import files

import jsonschema_rs
import pytest
import schemathesis

from noetl.api.openapi import document
from noetl.api.operations import HOOK, PUBLIC
from noetl.api.table import OPERATIONS
from tests.api.site import NONE

DOCUMENT = document(OPERATIONS)


def validate(described: dict) -> None:
    schemathesis.openapi.from_dict(described).validate()  # against the meta schema of OpenAPI 3.1


def test_the_document_is_valid_openapi():
    validate(DOCUMENT)


def test_a_document_that_is_not_valid_is_noticed():
    broken = {**DOCUMENT, "paths": {"/x": {"get": {"responses": {"200": {"content": {}}}}}}}

    with pytest.raises(jsonschema_rs.ValidationError):
        validate(broken)


@pytest.mark.parametrize("name", DOCUMENT["components"]["schemas"])
def test_every_schema_is_a_json_schema(name):
    jsonschema_rs.Draft202012Validator(
        {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}, validate_formats=True
    )


def test_every_reference_leads_somewhere():
    text = json.dumps(DOCUMENT)
    wanted = set(re.findall(r'"#/components/schemas/([^"]+)"', text))

    assert wanted <= set(DOCUMENT["components"]["schemas"])


def test_every_operation_is_described_with_its_role_and_its_refusals():
    for one in OPERATIONS:
        described = DOCUMENT["paths"][one.path][one.method.lower()]

        assert described["x-role"] == one.role
        assert described["operationId"] == one.id
        assert described["summary"]
        assert {"400", "421", "429", "500", "503"} <= set(described["responses"])
        assert ("401" in described["responses"]) == (one.role != PUBLIC)
        assert (described.get("security") == []) == (one.role in (PUBLIC, HOOK))


async def test_the_document_is_served_to_those_who_may_look(api):
    assert (await api.ask("GET", "/api/v1/openapi.json", role="viewer"))[1] == json.loads(json.dumps(DOCUMENT))


# --- the page --------------------------------------------------------------------------------------------------------


async def test_the_page_loads_nothing_from_elsewhere_and_has_nothing_inline(api):
    _, headers, page = await api.raw("GET", "/api/docs", role=NONE)
    parts = re.findall(rb'(?:src|href)="([^"]+)"', page)

    assert sorted(parts) == [b"/api/docs?part=script", b"/api/docs?part=style"]
    assert not re.search(rb"<script>|<style|style=| on[a-z]+=|javascript:|https?://", page)
    assert "script-src 'self'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    for part in parts:
        status, headers, body = await api.raw("GET", part.decode(), role=NONE)
        assert (status, len(body) > 100) == (200, True)
        assert headers["Content-Type"].startswith(("text/javascript", "text/css"))


def test_the_script_puts_in_what_the_server_says_as_text_and_keeps_the_token_nowhere():
    script = files("noetl.api").joinpath("page", "page.js").read_text()

    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Storage", "cookie"):
        assert word not in script


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to read JavaScript")
def test_the_script_is_javascript():
    script = files("noetl.api").joinpath("page", "page.js")

    subprocess.run(["node", "--check", str(script)], check=True, timeout=30)

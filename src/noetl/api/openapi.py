"""The declarations as an OpenAPI 3.1 document. Nothing is said here that the declarations do not say."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from noetl import __version__
from noetl.api.operations import HOOK, JSON, PROBLEM, PUBLIC, Media, Operation
from noetl.api.problems import Problem
from noetl.api.routing import WORD_CHARACTERS_MAX

REF = "#/components/schemas/{name}"
EVERYWHERE = (400, 421, 429, 500, 503)  # problems that every operation may answer with
WITH_TOKEN = (401, 403)
WITH_BODY = (408, 413, 415)
PARAMETERS: dict[str, dict[str, Any]] = {
    "execution_id": {"type": "string", "pattern": "^[1-9][0-9]{0,18}$"},
}
ANY_WORD = {"type": "string", "minLength": 1, "maxLength": WORD_CHARACTERS_MAX}


def document(operations: Iterable[Operation]) -> dict[str, Any]:
    """The whole document."""
    found = tuple(operations)
    schemas = Schemas(found)
    paths: dict[str, dict[str, Any]] = {}
    for one in found:
        paths.setdefault(one.path, {})[one.method.lower()] = described(one, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "NoETL",
            "version": __version__,
            "description": "Playbooks, executions and what runs them. Errors are problem+json with a stable `code`.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "tags": [{"name": name} for name in dict.fromkeys(one.tag for one in found)],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


class Schemas:
    """The types of all declarations as JSON Schema, each named one once."""

    def __init__(self, operations: tuple[Operation, ...]) -> None:
        types: list[Any] = [Problem]
        for one in operations:
            types += [one.query] if one.query else []
            types += [one.body] if one.body else []
            types += [body for body in one.answers.values() if body is not None and not isinstance(body, Media)]
        self._types = types
        found, self.components = msgspec.json.schema_components(types, ref_template=REF)
        self._found = list(found)

    def of(self, kind: Any) -> dict[str, Any]:
        return self._found[next(i for i, one in enumerate(self._types) if one is kind)]

    def fields(self, kind: Any) -> tuple[dict[str, Any], list[str]]:
        """The properties of an object, and those that must be there."""
        name = self.of(kind)["$ref"].rpartition("/")[2]
        return self.components[name].get("properties", {}), self.components[name].get("required", [])


def described(one: Operation, schemas: Schemas) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": one.id,
        "summary": one.summary,
        "tags": [one.tag],
        "x-role": one.role,
        "responses": responses(one, schemas),
    }
    if text := description_of(one):
        found["description"] = text
    if given := [*path_parameters(one), *query_parameters(one, schemas), *header_parameters(one)]:
        found["parameters"] = given
    if one.role in (PUBLIC, HOOK):
        found["security"] = []
    if one.takes_body:
        found["requestBody"] = request_body(one, schemas)
    return found


def description_of(one: Operation) -> str:
    needs = {PUBLIC: "Needs no token.", HOOK: "Authenticated by the trigger's own secret."}
    words = [one.description, needs.get(one.role, f"Needs the role {one.role}.")]
    words += [f'"{field}" needs the role {role}.' for field, role in one.body_roles.items()]
    return " ".join(word for word in words if word)


def path_parameters(one: Operation) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": PARAMETERS.get(name, ANY_WORD)}
        for name in one.parameters
    ]


def query_parameters(one: Operation, schemas: Schemas) -> list[dict[str, Any]]:
    if one.query is None:
        return []
    fields, required = schemas.fields(one.query)
    return [
        {"name": name, "in": "query", "required": name in required, "schema": without_null(schema)}
        for name, schema in fields.items()
    ]


def without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that may be left out: it cannot be null, for in a query that would be a word."""
    choices = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    if len(choices) == 1:
        return {**choices[0], **rest}
    if schema.get("default", 0) is None:
        enum = [value for value in schema.get("enum", []) if value is not None]
        return {**rest, **({"enum": enum} if enum else {})}
    return schema


def header_parameters(one: Operation) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "header", "required": False, "description": purpose, "schema": {"type": "string"}}
        for name, purpose in one.headers.items()
    ]


def request_body(one: Operation, schemas: Schemas) -> dict[str, Any]:
    content = {
        media: {"schema": schemas.of(one.body) if media == JSON and one.body else {}} for media in one.body_media
    }
    return {"required": True, "content": content}


def responses(one: Operation, schemas: Schemas) -> dict[str, Any]:
    found: dict[str, Any] = {str(status): answer_of(status, body, schemas) for status, body in one.answers.items()}
    problem = {"description": "", "content": {PROBLEM: {"schema": schemas.of(Problem)}}}
    for status in refusals_of(one):
        found.setdefault(str(status), {**problem, "description": HTTPStatus(status).phrase})
    return dict(sorted(found.items()))


def refusals_of(one: Operation) -> list[int]:
    """The statuses of the problems that an operation may answer with."""
    with_token = () if one.role == PUBLIC else WITH_TOKEN
    with_body = WITH_BODY if one.takes_body else ()
    not_found = (404,) if one.parameters else ()
    return sorted({*EVERYWHERE, *with_token, *with_body, *not_found, *one.refusals})


def answer_of(status: int, body: Any, schemas: Schemas) -> dict[str, Any]:
    found: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if isinstance(body, Media):
        return {"description": body.says, "content": {one: {"schema": {"type": "string"}} for one in body.types}}
    if body is not None:
        found["content"] = {JSON: {"schema": schemas.of(body)}}
    return found


def main() -> None:
    """Prints the document of all operations: what the types of the web pages are made from."""
    from noetl.api.table import OPERATIONS  # which has this file's document among its answers

    sys.stdout.write(msgspec.json.encode(document(OPERATIONS)).decode())


if __name__ == "__main__":
    main()

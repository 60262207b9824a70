"""kind: http — one HTTP request.

The declaration, which costs nothing to import; the work is done in http_tool.py, loaded when a task needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.dsl.kinds import ANY, BOOLEAN, INTEGER, LIST, MAPPING, NUMBER, TEXT, Field, Kind

if TYPE_CHECKING:
    from noetl.tools.contract import Hands, Tool

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")

KIND = Kind(
    name="http",
    summary="Sends one HTTP request.",
    fields=(
        Field(name="url", required=True, doc="Where to; http or https."),
        Field(name="method", choices=METHODS, doc="GET if not given."),
        Field(name="params", types=(MAPPING,), doc="Query parameters."),
        Field(name="headers", types=(MAPPING,), doc="Request headers."),
        Field(name="json", types=(ANY,), doc="A body sent as JSON."),
        Field(name="form", types=(MAPPING,), doc="A body sent as a form."),
        Field(
            name="body",
            types=(TEXT, MAPPING),
            doc="A body sent as it is: text, {base64: …}, or a reference, whose payload is sent in pieces.",
        ),
        Field(
            name="files",
            types=(MAPPING, LIST),
            doc="Parts of a multipart body: name to text, reference or {content or ref, filename, content_type}; "
            "a list repeats its name.",
        ),
        Field(name="auth", types=(TEXT, MAPPING), doc="The keychain entry to sign in with."),
    ),
    at_most_one_of=(("json", "form", "body"), ("json", "files"), ("body", "files")),
    knobs=(
        Field(name="version", types=(NUMBER, TEXT), doc="HTTP version: 1.1, the only one there is."),
        Field(
            name="verify",
            types=(BOOLEAN, TEXT),
            doc="Check the server's certificate: true if not given; or the file of a CA, beside the playbook.",
        ),
        Field(name="follow_redirects", types=(BOOLEAN,), doc="true if not given, five at most."),
        Field(
            name="stream",
            types=(BOOLEAN,),
            doc="true: the body goes straight into the result store and the output is its reference.",
        ),
        Field(
            name="max_response_bytes",
            types=(INTEGER,),
            minimum=1,
            doc="Cap of the answer's size: 64 MiB if not given, 10 GiB with stream.",
        ),
    ),
    defaults={"timeout": {"connect": 10, "read": 60}},
    result="the parsed body: JSON as data, other text as text, bytes as {base64: …}, nothing as null; "
    "with spec.stream there is no data, and output.ref is the reference to the body",
    helper="http",
    helper_fields=("status", "headers", "request_id", "url"),
)


def make(hands: Hands) -> Tool:
    from noetl.tools.http_tool import HttpTool  # brings aiohttp, 300 ms that only playbooks with http tasks pay

    return HttpTool(hands)

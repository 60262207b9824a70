"""An HTTP answer as the output of its task: one `Answer` in, with the reference to its body if that was stored, one
`Output` out.

The body becomes data: JSON parsed, other text as text, bytes as {base64: …}, nothing as null. A status of 400 or more
is an error with the body in data all the same; what it means for retries is the table KINDS.
"""

from __future__ import annotations

import asyncio
import base64
import re
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from noetl.engine.output import Error, Output
from noetl.references import Reference
from noetl.web.json_body import NotJson, parsed_json
from noetl.web.messages import Answer

THREAD_BYTES_MIN = 256 * 1024  # a larger body is parsed beside the event loop
CONTENT_TYPE_CHARACTERS_MAX = 200  # it goes into references, and comes from a stranger
BYTES = "application/octet-stream"
REQUEST_ID_HEADERS = ("x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "x-amz-request-id")

# status: error.kind and whether another attempt may help; the hundreds below stand for the rest
KINDS = {
    401: ("auth", False),
    403: ("auth", False),
    404: ("not_found", False),
    408: ("timeout", True),
    410: ("not_found", False),
    429: ("rate_limit", True),
    501: ("server_error", False),
    505: ("server_error", False),
}
KINDS_OF_HUNDREDS = {4: ("client_error", False), 5: ("server_error", True)}
STATUSES_WITH_RETRY_AFTER = frozenset((429, 503))

_TEXT_TYPES = re.compile(
    r"text/.*|.*[/+](xml|yaml|x-yaml|javascript|ecmascript|x-ndjson|ndjson|jsonl|csv|sql|graphql|x-www-form-urlencoded)"
)
_JSON_TYPES = re.compile(r".*/json|.*\+json")


async def output_of(answer: Answer, reference: Reference | None = None, *, now: float) -> Output:
    """The one output of an answer."""
    if reference is not None:
        return Output(ref=reference.as_data(), helpers={"http": helper_of(answer)})
    fault = None
    try:
        if len(answer.body) < THREAD_BYTES_MIN:
            data = data_of(answer)
        else:
            data = await asyncio.to_thread(data_of, answer)
    except NotJson as not_json:
        data = _decoded_text(answer)
        fault = f"the answer of {answer.host} says that it is JSON, but {not_json}"
    return Output(
        data=data,
        error=_error_of(answer, fault),
        helpers={"http": helper_of(answer)},
        retry_after_seconds=_retry_after_seconds(answer, now),
    )


def type_of(answer: Answer) -> str:
    """The content type under which a body is stored."""
    charset = f"; charset={answer.charset}" if answer.charset else ""
    return f"{answer.content_type or BYTES}{charset}"[:CONTENT_TYPE_CHARACTERS_MAX]


def helper_of(answer: Answer) -> dict[str, Any]:
    """What templates read as `output.http`."""
    request_id = next((answer.headers[name] for name in REQUEST_ID_HEADERS if name in answer.headers), None)
    return {"status": answer.status, "headers": answer.headers, "request_id": request_id, "url": answer.url}


def _error_of(answer: Answer, fault: str | None) -> Error | None:
    if answer.status < HTTPStatus.BAD_REQUEST:
        return Error(kind="type", message=fault) if fault else None
    kind, retryable = KINDS.get(answer.status) or KINDS_OF_HUNDREDS.get(answer.status // 100, ("server_error", False))
    message = f"HTTP {answer.status} from {answer.host}"
    return Error(kind=kind, message=message, retryable=retryable, details={"status": answer.status})


def _retry_after_seconds(answer: Answer, now: float) -> float | None:
    """How long the other side asks to wait: seconds, or a date of its clock."""
    asked = answer.headers.get("retry-after", "").strip()
    if not asked or answer.status not in STATUSES_WITH_RETRY_AFTER:
        return None
    if asked.isascii() and asked.isdigit() and len(asked) < 10:
        return float(asked)
    try:
        return max(0.0, parsedate_to_datetime(asked).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def data_of(answer: Answer) -> Any:
    """The body as data; NotJson if it was announced as JSON and is not."""
    if not answer.body:
        return None
    if _JSON_TYPES.fullmatch(answer.content_type):
        return parsed_json(answer.body if answer.charset is None else _decoded_text(answer).encode())
    if _TEXT_TYPES.fullmatch(answer.content_type) or answer.charset:
        return _decoded_text(answer)
    if not answer.content_type:
        try:
            return answer.body.decode()
        except UnicodeDecodeError:
            pass
    return {"base64": base64.b64encode(answer.body).decode("ascii")}


def _decoded_text(answer: Answer) -> str:
    try:
        return answer.body.decode(answer.charset or "utf-8", "replace")
    except (LookupError, UnicodeError):  # a charset that nobody knows, or that is none
        return answer.body.decode("utf-8", "replace")

"""Large results over the API: only what stands in the log of an execution that one may see (security 16, 23)."""

import hashlib
import json

from tests.api.site import HELLO
from tests.control.parts import settings_of

LARGE = """
workflow:
  - step: start
    tool:
      kind: python
      code: |
        result = ["x" * 1000] * 200
"""
SHA = hashlib.sha256(json.dumps(["x" * 1000] * 200, separators=(",", ":")).encode()).hexdigest()


async def referring_event(api, execution_id: str) -> int:
    """The event that refers to the result."""
    _, page = await api.ask("GET", f"/api/v1/executions/{execution_id}/events")
    return next(int(one["event_id"].split("-")[1]) for one in page["events"] if "sha256:" in json.dumps(one))


async def test_a_result_is_read_through_the_event_that_refers_to_it(api):
    execution_id = await api.run(LARGE)
    seq = await referring_event(api, execution_id)

    status, headers, body = await api.raw("GET", f"/api/v1/executions/{execution_id}/results?seq={seq}", role="viewer")

    assert status == 200
    assert json.loads(body) == ["x" * 1000] * 200
    assert headers["Content-Type"] == "application/json"
    assert headers["Content-Length"] == str(len(body))
    assert headers["ETag"] == f'"{hashlib.sha256(body).hexdigest()}"'
    assert headers["Content-Disposition"] == "attachment"


async def test_a_reference_that_does_not_stand_in_the_log_opens_nothing(api):
    mine, others = await api.run(HELLO), await api.run(LARGE)
    seq = await referring_event(api, others)
    where = f"/api/v1/executions/{mine}/results"

    for query in (f"seq={seq}", f"seq={seq}&sha256={SHA}", "seq=1", "seq=9999", f"seq=1&sha256={SHA}"):
        status, problem = await api.ask("GET", f"{where}?{query}")
        assert (status, problem["code"]) == (404, "no-reference"), query


async def test_a_result_outside_of_a_tokens_path_is_not_there(api):
    execution_id = await api.run(LARGE, "others")
    seq = await referring_event(api, execution_id)
    api.tokens["team"] = await api.token(role="admin", path_prefix="team")

    status, problem = await api.ask("GET", f"/api/v1/executions/{execution_id}/results?seq={seq}", role="team")

    assert (status, problem["code"]) == (404, "unknown-execution")


async def test_a_result_that_was_swept_is_not_found_and_a_damaged_one_is_not_given_out_whole(api, tmp_path):
    execution_id = await api.run(LARGE)
    seq = await referring_event(api, execution_id)
    where = f"/api/v1/executions/{execution_id}/results?seq={seq}"
    (file,) = [one for one in settings_of(tmp_path).store_path.with_suffix(".results").rglob("*") if one.is_file()]

    file.chmod(0o600)
    file.write_bytes(file.read_bytes().replace(b"x", b"y"))
    damaged = await whole(api, where)
    file.unlink()
    swept = await whole(api, where)

    assert damaged in ("cut", 502)
    assert swept == 404


async def whole(api, where: str) -> int | str:
    try:
        return (await api.raw("GET", where))[0]
    except OSError:
        return "cut"

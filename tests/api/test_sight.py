"""What a token for one path reaches: nothing outside of it, by any operation there is (security 17)."""

import pytest

from noetl.api.operations import HOOK
from noetl.api.table import OPERATIONS
from tests.api.site import HELLO, WAITING
from tests.control.parts import text_of

EXECUTIONS = "/api/v1/executions"
BODIES = {"signal_execution": {"set": {"ctx.go": True}}, "evaluate_expression": {"expression": "1"}}
QUERIES = {
    "read_result": "?seq=1",
    "list_iterations": "?run=1",
    "explain_step": "?step=start",
    "diff_executions": "?other=999998",
}
OF_AN_EXECUTION = [one for one in OPERATIONS if "execution_id" in one.parameters and one.role != HOOK]


@pytest.mark.parametrize("operation", OF_AN_EXECUTION, ids=lambda one: one.id)
async def test_an_execution_outside_the_path_does_not_exist(api, operation):
    outside = await api.run(WAITING, "teams")
    api.tokens["team"] = await api.token(role="admin", path_prefix="team")
    body = BODIES.get(operation.id, {}) if operation.takes_body else None

    def asked(execution_id):
        path = operation.path.replace("{execution_id}", execution_id) + QUERIES.get(operation.id, "")
        return api.ask(operation.method, path, body, role="team")

    status, problem = await asked(outside)
    unknown, other = await asked("999999")

    assert (status, unknown) == (404, 404)
    assert problem["detail"].replace(f" {outside} ", " 999999 ") == other["detail"]
    assert str(api.engine.store.name) not in other["detail"]
    assert (await api.ask("GET", f"{EXECUTIONS}/{outside}"))[1]["status"] == "waiting"


async def test_an_execution_of_ones_own_is_not_compared_with_one_outside_the_path(api):
    own, outside = await api.run(HELLO, "team/a"), await api.run(HELLO, "teams")
    api.tokens["team"] = await api.token(role="viewer", path_prefix="team")

    answers = [await api.ask("GET", f"{EXECUTIONS}/{own}/diff?other={other}", role="team") for other in (own, outside)]

    assert [status for status, _ in answers] == [200, 404]


async def test_an_author_of_a_path_reruns_with_another_text_of_that_path_however_it_is_written(api):
    execution_id = await api.run(HELLO, "team/a")
    api.tokens["team"] = await api.token(role="author", path_prefix="team")
    upstream = HELLO.replace("set: {ctx.greeting", "set_ctx: {greeting")

    def rerun(name):
        body = {"text": text_of(upstream, name).decode(), "is_upstream": True}
        return api.ask("POST", f"{EXECUTIONS}/{execution_id}/rerun", body, role="team")

    inside, _ = await rerun("team/a")
    outside, _ = await rerun("teams")

    assert (inside, outside) == (201, 403)


async def test_a_runner_cannot_bring_code_along(api):
    execution_id = await api.run(HELLO, "orders")
    text = text_of(HELLO, "orders").decode()

    statuses = [
        (await api.ask("POST", path, body, role="runner"))[0]
        for path, body in (
            (EXECUTIONS, {"text": text}),
            (EXECUTIONS, {"path": "orders", "beside": {"child.yaml": text}}),
            (f"{EXECUTIONS}/{execution_id}/rerun", {"text": text}),
            ("/api/v1/catalog", {"text": text}),
            ("/api/v1/catalog/check", {"text": text}),
            ("/api/catalog/register", {"content": text, "resource_type": "Playbook"}),
        )
    ]

    assert statuses == [403] * 6

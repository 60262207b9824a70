"""Who may do what: the table of the repository, the declarations and a running server agree (security 17)."""

from pathlib import Path

import msgspec
import pytest
from yarl import URL

from noetl.api.operations import HOOK, HOOK_PATHS, PUBLIC, PUBLIC_PATHS, Operation
from noetl.api.table import OPERATIONS, check_table
from noetl.identity.roles import RANKS
from tests.api.site import NONE, ROLES

TABLE = Path(__file__).with_name("roles.txt")
WORKER = "worker"


def rows() -> dict[tuple[str, str], str]:
    lines = [line.split() for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    return {(method, path): role for method, path, role in lines}


def is_allowed(role: str, needed: str) -> bool:
    return needed == PUBLIC or (role in RANKS and RANKS[role] >= RANKS[needed])


async def status_of(api, operation: Operation, role: str) -> int:
    """The status of a request that says nothing; of a stream only how it begins."""
    path = operation.path
    for name in operation.parameters:
        path = path.replace(f"{{{name}}}", "1")
    headers = api.headers(role) | ({"Content-Type": "application/json"} if operation.takes_body else {})
    url = URL(api.url + path, encoded=True)
    async with api.session.request(operation.method, url, headers=headers) as answer:
        return answer.status


def test_the_table_of_the_repository_is_that_of_the_router():
    assert {(one.method, one.path): one.role for one in OPERATIONS} == rows()


def test_nothing_is_public_but_literal_paths_that_hold_no_data():
    public = [one.path for one in OPERATIONS if one.role == PUBLIC]
    hooks = [one.path for one in OPERATIONS if one.role == HOOK]

    assert sorted(public) == sorted(PUBLIC_PATHS)
    assert [path for path in PUBLIC_PATHS if not path.startswith("/ui")] == ["/healthz", "/api/docs", "/"]
    assert set(hooks) <= set(HOOK_PATHS)


async def test_a_running_server_keeps_to_the_table(api):
    found, wanted = {}, {}
    for one in OPERATIONS:
        if one.role == HOOK:
            continue
        for role in (NONE, *ROLES):
            status = await status_of(api, one, role)
            found[one.id, role] = status if status in (401, 403) else "in"
            refused = 401 if role == NONE else 403
            wanted[one.id, role] = "in" if is_allowed(role, one.role) else refused

    assert found == wanted


async def test_a_hook_lets_in_nobody_by_a_token_of_the_api(api):
    for one in OPERATIONS:
        if one.role == HOOK:
            statuses = {await status_of(api, one, role) for role in (NONE, *ROLES)}
            assert statuses == {401}


@pytest.mark.parametrize(
    "change",
    [
        {"role": "operator"},
        {"role": WORKER},
        {"role": PUBLIC},
        {"role": HOOK},
        {"method": "GET", "path": "/healthz"},
        {"method": "DELETE"},
    ],
)
def test_a_table_with_a_hole_is_not_served(change):
    good = next(one for one in OPERATIONS if one.id == "cancel_execution")
    others = tuple(one for one in OPERATIONS if one is not good)

    with pytest.raises(ValueError, match=r"executions|healthz"):
        check_table((*others, msgspec.structs.replace(good, **change)))


def test_two_operations_of_one_route_are_not_served():
    with pytest.raises(ValueError, match="there twice"):
        check_table((*OPERATIONS, OPERATIONS[0]))

"""A credential that cannot be had just now, such as one of a vault that starts again: the task may be tried again."""

import pytest

from noetl.secret import CredentialUnavailable
from noetl.sql import Sql
from noetl.testing.hands import CredentialsInMemory, call, hands, run
from noetl.tools.registry import declarations

TARGET = {"kind": "postgres", "auth": "db", "table": "orders"}
FIELDS = {
    "http": {"url": "http://127.0.0.1:9/", "auth": "db"},
    "nats": {"operation": "kv_keys", "bucket": "b", "auth": "db"},
    "postgres": {"command": Sql(("SELECT 1",)), "auth": "db"},
    "python": {"code": "result = 1", "auth": "db"},
    "secrets": {"auth": "db"},
    "transfer": {"source": {"kind": "postgres", "auth": "db"}, "query": Sql(("SELECT 1",)), "target": TARGET},
}


class Away(CredentialsInMemory):
    """A keychain that says so of every name."""

    def __init__(self, *, retryable: bool) -> None:
        super().__init__({})
        self.retryable = retryable

    async def resolve(self, name):
        raise CredentialUnavailable("the vault starts again", retryable=self.retryable)


@pytest.mark.spec("TK-19", "KC-04")
@pytest.mark.parametrize("is_passing", [True, False])
@pytest.mark.parametrize("kind", FIELDS)
async def test_a_credential_that_will_be_back_makes_a_failure_to_try_again(kind, is_passing):
    tool = declarations.make_tool(kind, hands())

    output = await run(tool, call(declarations[kind], credentials=Away(retryable=is_passing), **FIELDS[kind]))
    await tool.close()

    assert (output.error.kind, output.error.retryable) == ("auth", is_passing)
    assert "the vault starts again" in output.error.message

"""Credentials that a worker asks of a server: for the job at hand, kept for a while, never beyond its playbook."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from noetl.config import Settings, url_of
from noetl.errors import Forbidden, Unreachable
from noetl.keychain.opening import open_keychain
from noetl.keychain.server_source import SERVED_SECONDS, ServerSource
from noetl.secret import CredentialUnavailable, Declared, Errand, revealed
from noetl.testing.clocks import ShiftedClock

PLANTED = "planted-s3cret"


class Server:
    """Has entries by name, and remembers who asked for what."""

    def __init__(self, **entries: dict[str, Any]) -> None:
        self.entries = entries
        self.asked: list[tuple[tuple[int, int, int], int, str]] = []
        self.fault: Exception | None = None
        self.not_held: set[int] = set()  # leases

    async def credential(self, key: tuple[int, int, int], lease: int, name: str) -> dict[str, Any]:
        self.asked.append((key, lease, name))
        await asyncio.sleep(0)
        if lease in self.not_held:
            raise Forbidden("this worker does not hold that job")
        if self.fault is not None:
            raise self.fault
        if name not in self.entries:
            raise LookupError(f'the credential "{name}" is nowhere')
        return self.entries[name]


def declared(name: str = "api", lease: int = 7, sha: str = "5ha", **settings: Any) -> Declared:
    return Declared(name=name, kind="bearer", settings=settings, errand=Errand(key=(1, 2, -1), lease=lease, sha=sha))


def keychain_of(folder: Path, server: Server, clock: ShiftedClock, environ: dict[str, str] | None = None) -> Any:
    settings = Settings(home=folder, store_url=url_of(folder / "noetl.db"), keychain_env_allow=("TOKEN",))
    source = ServerSource(server.credential, clock)
    return open_keychain(settings, environ or {}, clock, is_embedded=False, asked=source)


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.mark.spec("KC-01")
async def test_an_entry_is_asked_for_in_the_name_of_the_job_and_kept_for_a_short_while(tmp_path, clock):
    server = Server(api={"token": PLANTED})
    chain = keychain_of(tmp_path, server, clock)

    first = await chain.resolve(declared())
    again = await chain.resolve(declared(lease=8))
    server.entries["api"] = {"token": "planted-rotated"}
    clock.shift_seconds = SERVED_SECONDS + 1
    rotated = await chain.resolve(declared(lease=9))
    await chain.close()

    assert [revealed(dict(one))["token"] for one in (first, again, rotated)] == [PLANTED, PLANTED, "planted-rotated"]
    assert server.asked == [((1, 2, -1), 7, "api"), ((1, 2, -1), 9, "api")]
    assert chain.known_secrets() >= {PLANTED, "planted-rotated"}
    assert SERVED_SECONDS <= 60


@pytest.mark.spec("KC-07")
async def test_what_one_playbook_was_given_another_must_ask_for_itself(tmp_path, clock):
    server = Server(api={"token": PLANTED})
    chain = keychain_of(tmp_path, server, clock)
    await chain.resolve(declared())

    server.not_held = {8}
    with pytest.raises(LookupError, match="does not hold that job"):
        await chain.resolve(declared(lease=8, sha="another"))
    await chain.close()


async def test_the_workers_own_variable_comes_first_and_the_server_is_not_asked(tmp_path, clock):
    server = Server(api={"token": "planted-at-server"})
    chain = keychain_of(tmp_path, server, clock, {"NOETL_SECRET_API": f'{{"token": "{PLANTED}"}}'})

    entry = await chain.resolve(declared())
    await chain.close()

    assert revealed(dict(entry))["token"] == PLANTED
    assert server.asked == []


async def test_what_no_server_has_is_asked_of_the_provider_that_the_playbook_names(tmp_path, clock):
    chain = keychain_of(tmp_path, Server(), clock, {"TOKEN": PLANTED})

    entry = await chain.resolve(Declared(**(fields_of(declared()) | {"kind": "secret_manager", "settings": PROVIDED})))
    with pytest.raises(LookupError, match="is nowhere"):
        await chain.resolve(declared("other"))
    await chain.close()

    assert revealed(dict(entry))["value"] == PLANTED


PROVIDED = {"provider": "env", "variable": "TOKEN"}


def fields_of(one: Declared) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__struct_fields__}


async def test_a_server_that_cannot_be_reached_makes_a_failure_that_may_pass(tmp_path, clock):
    server = Server(api={"token": PLANTED})
    server.fault = Unreachable("no server answers")
    chain = keychain_of(tmp_path, server, clock)

    with pytest.raises(CredentialUnavailable) as caught:
        await chain.resolve(declared())
    server.fault = None
    entry = await chain.resolve(declared())
    await chain.close()

    assert caught.value.retryable
    assert revealed(dict(entry))["token"] == PLANTED


async def test_a_job_that_was_taken_away_does_not_spoil_the_entry_for_another_that_asks_at_the_same_time(
    tmp_path, clock
):
    server = Server(api={"token": PLANTED})
    server.not_held = {7}
    chain = keychain_of(tmp_path, server, clock)

    lost, held = await asyncio.gather(
        chain.resolve(declared(lease=7)), chain.resolve(declared(lease=8)), return_exceptions=True
    )
    await chain.close()

    assert isinstance(lost, LookupError)
    assert revealed(dict(held))["token"] == PLANTED


async def test_a_worker_makes_no_keys_and_opens_no_stored_credentials(tmp_path, clock):
    chain = keychain_of(tmp_path, Server(api={"token": PLANTED}), clock)

    await chain.resolve(declared())
    await chain.close()

    assert list(tmp_path.iterdir()) == []


async def test_an_entry_that_was_refused_is_asked_for_anew(tmp_path, clock):
    server = Server(api={"token": PLANTED})
    chain = keychain_of(tmp_path, server, clock)
    await chain.resolve(declared())

    server.entries["api"] = {"token": "planted-rotated"}
    can_change = await chain.renew(declared())
    entry = await chain.resolve(declared())
    await chain.close()

    assert can_change
    assert revealed(dict(entry))["token"] == "planted-rotated"

"""The keychain of a simulated process: it hands secrets out and takes them out of what is recorded, as the real one."""

import pytest

from noetl.secret import Declared, Secret, revealed
from noetl.testing.simulator.keychain import SimKeychain, canary_entries, entry_name

CANARIES = ("canary-7-0-a-long-one", "canary-7-1-a-long-one")
SECOND = Declared(name=entry_name(1), kind="bearer")


class Asked:
    """A server that has one entry."""

    def __init__(self) -> None:
        self.is_closed = False
        self.forgotten: list[str] = []

    async def entry(self, declared):
        return {"token": CANARIES[0]} if declared.name == "elsewhere" else None

    def forget(self, declared):
        self.forgotten.append(declared.name)
        return True

    async def close(self):
        self.is_closed = True


@pytest.mark.spec("KC-03")
async def test_a_canary_is_handed_out_sealed_and_redacted_from_then_on():
    keychain = SimKeychain(canary_entries(CANARIES))
    assert not keychain.has_secrets

    entry = await keychain.resolve(SECOND)

    assert isinstance(entry["token"], Secret)
    assert revealed(dict(entry)) == {"token": CANARIES[1], "kind": "bearer"}
    assert keychain.known_secrets() == {CANARIES[1]}
    assert keychain.redactor().clean({"said": f"Bearer {CANARIES[1]}"}) == {"said": "Bearer ***"}


async def test_what_no_entry_has_is_refused_without_showing_anything():
    keychain = SimKeychain(canary_entries(CANARIES))

    with pytest.raises(LookupError) as refused:
        await keychain.resolve(Declared(name="unknown", kind="bearer"))

    assert not any(canary in str(refused.value) for canary in CANARIES)


async def test_an_entry_that_lacks_what_its_kind_needs_is_refused():
    keychain = SimKeychain({"api": {"password": CANARIES[0]}})

    with pytest.raises(LookupError, match="incomplete"):
        await keychain.resolve(Declared(name="api", kind="bearer"))


async def test_a_worker_asks_a_server_for_what_it_does_not_have():
    asked = Asked()
    keychain = SimKeychain(asked=asked)
    elsewhere = Declared(name="elsewhere", kind="bearer")

    entry = await keychain.resolve(elsewhere)
    is_renewed = await keychain.renew(elsewhere)
    await keychain.close()

    assert revealed(entry["token"]) == CANARIES[0]
    assert is_renewed
    assert asked.forgotten == ["elsewhere"]
    assert asked.is_closed


async def test_a_secret_that_was_made_of_one_is_known_too():
    keychain = SimKeychain()

    keychain.remember(CANARIES[0])

    assert keychain.redactor().clean(CANARIES[0]) == "***"
    assert not await keychain.renew(SECOND)

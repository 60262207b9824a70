"""A result store in NATS logs in as kind nats does, and no secret is said before the connection is secured."""

import pytest

from noetl.errors import ResultStoreRefused, ResultStoreUnreachable
from noetl.messaging.signing import proof_of_seed
from noetl.results.blobs import Place
from noetl.results.nats import NatsResults
from noetl.testing.services import running_nats
from tests.integration.nats.test_connections import a_seed, certificate_in

pytestmark = pytest.mark.spec("RS-06")
PLACE = Place(type="nats", prefix="nats:results/sha256:", auth_reference="lab")


async def round_trip(**fields: object) -> bytes:
    results = NatsResults(fields, "results", PLACE)
    try:
        return await results.fetch(await results.store(b"[1]"))
    finally:
        await results.close()


async def test_an_nkey_opens_it_and_another_does_not():
    seed = a_seed()
    configuration = f"authorization {{ users = [{{ nkey: {proof_of_seed(seed).public_key} }}] }}"
    with running_nats(configuration) as url:
        assert await round_trip(url=url, nkey=seed) == b"[1]"
        with pytest.raises(ResultStoreRefused, match="refused its credential"):
            await round_trip(url=url, nkey=a_seed())


async def test_a_certificate_is_trusted_by_its_authority_and_not_without(tmp_path):
    authority = certificate_in(tmp_path)
    with running_nats(f'tls {{ cert_file: "{tmp_path}/cert.pem", key_file: "{tmp_path}/key.pem" }}') as url:
        place = url.replace("nats://", "tls://")

        assert await round_trip(url=place, ca=authority) == b"[1]"
        with pytest.raises(ResultStoreUnreachable, match="certificate"):
            await round_trip(url=place)


async def test_a_server_without_the_tls_that_is_demanded_gets_no_password():
    with running_nats() as url, pytest.raises(ResultStoreRefused, match="does not offer TLS") as refused:
        await round_trip(url=url, tls=True, user="ann", password="hunter2")

    assert "hunter2" not in str(refused.value)

"""Where the keychain asks: the operator's hosts and no others, and settings that name them safely."""

import pytest

from noetl.config import load
from noetl.errors import RequestError
from noetl.keychain.endpoint import Endpoint, OperatorsHosts
from noetl.secret import CredentialUnavailable
from noetl.testing.http_server import Answer, running_api
from noetl.web.guard import target_of
from noetl.web.messages import Request


def request(url: str) -> Request:
    return Request(method="GET", target=target_of(url), headers={})


async def asked(endpoint: Endpoint, url: str) -> int:
    try:
        return (await endpoint.ask(request(url), "the vault")).status
    finally:
        await endpoint.close()


async def test_the_operators_host_is_asked_on_whatever_network():
    with running_api() as api:
        status = await asked(Endpoint(OperatorsHosts(["127.0.0.1"])), f"{api.url}/echo")

    assert status == 200


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "https://api.example.com/", "http://10.0.0.1/"])
async def test_no_other_host_is_asked(url):
    with pytest.raises(CredentialUnavailable) as raised:
        await asked(Endpoint(OperatorsHosts(["vault.example.com"])), url)

    assert "the operator names vault.example.com" in str(raised.value)


async def test_a_metadata_service_is_not_asked_even_if_the_operator_names_it():
    with pytest.raises(CredentialUnavailable, match="never allowed"):
        await asked(Endpoint(OperatorsHosts(["169.254.169.254"])), "http://169.254.169.254/latest")


async def test_a_host_that_resolves_to_a_metadata_service_is_not_asked():
    async def lookup(host: str, port: int) -> list[str]:
        return ["169.254.169.254"]

    with pytest.raises(CredentialUnavailable):
        await asked(Endpoint(OperatorsHosts(["vault.example.com"]), lookup=lookup), "http://vault.example.com/")


async def test_an_answer_that_is_too_large_is_not_read():
    with running_api() as api:
        api.script("/large", Answer(text="x" * (1024 * 1024 + 1)))
        with pytest.raises(CredentialUnavailable):
            await asked(Endpoint(OperatorsHosts(["127.0.0.1"])), f"{api.url}/large")


@pytest.mark.parametrize(
    "url", ["https://vault.example.com", "https://vault:8200/", "http://127.0.0.1:8200", "http://localhost:8200"]
)
def test_a_service_is_reached_by_tls_or_on_this_machine(tmp_path, url):
    settings = load(environ={"NOETL_KEYCHAIN_VAULT_URL": url, "NOETL_HOME": str(tmp_path)}, folder=tmp_path)

    assert settings.keychain_vault_url == url.rstrip("/")


@pytest.mark.parametrize(
    "url",
    ["http://vault.example.com", "https://me:planted-s3cret@vault", "https://", "vault:8200", "https://[", "ftp://a/"],
)
def test_a_service_address_that_would_show_the_token_is_refused_without_being_shown(tmp_path, url):
    with pytest.raises(RequestError) as raised:
        load(environ={"NOETL_KEYCHAIN_VAULT_URL": url, "NOETL_HOME": str(tmp_path)}, folder=tmp_path)

    assert "NOETL_KEYCHAIN_VAULT_URL" in str(raised.value)
    assert "planted-s3cret" not in str(raised.value)

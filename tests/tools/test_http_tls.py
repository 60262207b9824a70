"""Kind http: whose certificates are believed, and which one is shown."""

import pytest

from noetl.testing.hands import call, hands, run
from noetl.tools import http
from noetl.tools.http_tool import HttpTool
from tests.tools.http_parts import answer_to, http_tool, raw_server, response, saying
from tests.tools.tls_parts import Authority, server_context

HELLO = saying(response(b"hello"))


@pytest.fixture(scope="module")
def authority():
    return Authority()


@pytest.fixture
def ca_file(authority, tmp_path):
    file = tmp_path / "ca.pem"
    file.write_text(authority.pem)
    return file


@pytest.fixture
def context(authority, tmp_path):
    return server_context(tmp_path, authority.issue("127.0.0.1"))


async def test_a_certificate_nobody_vouches_for_is_refused_and_the_message_says_how_to_trust_it(context):
    async with raw_server(HELLO, context) as server:
        output = await answer_to(server.url)

    assert (output.error.kind, output.error.retryable, output.is_definite) == ("connection", False, True)
    assert "spec.verify" in output.error.message


@pytest.mark.parametrize("verifies", [True, False])
async def test_a_ca_can_be_named_and_the_check_can_be_left_out(context, ca_file, verifies):
    async with raw_server(HELLO, context) as server:
        output = await answer_to(server.url, spec={"verify": str(ca_file) if verifies else False})

    assert output.data == "hello"


async def test_a_ca_is_found_beside_the_playbook(context, ca_file):
    async with raw_server(HELLO, context) as server:
        output = await answer_to(server.url, spec={"verify": "ca.pem"}, folder=ca_file.parent)

    assert output.data == "hello"


async def test_the_wrong_ca_is_refused(context, tmp_path):
    (tmp_path / "other.pem").write_text(Authority("another CA").pem)

    async with raw_server(HELLO, context) as server:
        output = await answer_to(server.url, spec={"verify": "other.pem"}, folder=tmp_path)

    assert (output.error.kind, output.error.retryable) == ("connection", False)
    assert "not trusted" in output.error.message


@pytest.mark.parametrize(
    ("names", "is_expired"), [(("api.example.com",), False), (("127.0.0.2",), False), (("127.0.0.1",), True)]
)
async def test_a_certificate_for_another_host_or_of_the_past_is_refused(
    authority, tmp_path, ca_file, names, is_expired
):
    context = server_context(tmp_path, authority.issue(*names, is_expired=is_expired))

    async with raw_server(HELLO, context) as server:
        output = await answer_to(server.url, spec={"verify": str(ca_file)})

    assert (output.error.kind, output.error.retryable) == ("connection", False)
    assert "not trusted" in output.error.message


async def test_the_name_that_was_asked_for_is_checked_and_not_the_address_it_has(authority, tmp_path, ca_file):
    context = server_context(tmp_path, authority.issue("api.example.com"))

    async def local(host, port):
        return ["127.0.0.1"]

    async with raw_server(HELLO, context) as server:
        tool = HttpTool(hands(), lookup=local)
        named, other = [
            await run(
                tool, call(http.KIND, url=f"https://{host}.example.com:{server.port}", spec={"verify": str(ca_file)})
            )
            for host in ("api", "other")
        ]
        await tool.close()

    assert named.data == "hello"
    assert other.error.kind == "connection"


async def test_a_server_without_tls_is_told_apart():
    async def plain(reader, writer):
        await reader.read(1)
        writer.write(response(b"hello"))

    async with raw_server(plain) as server:
        output = await answer_to(server.url.replace("http:", "https:"))

    assert (output.error.kind, output.error.retryable) == ("connection", False)
    assert "TLS" in output.error.message


async def test_a_certificate_of_a_credential_is_shown_and_its_ca_believed(authority, tmp_path):
    context = server_context(tmp_path, authority.issue("127.0.0.1"), clients_of=authority)
    certificate, private_key = authority.issue("client")
    entry = {"certificate": certificate, "private_key": private_key, "authority": authority.pem}

    async with raw_server(HELLO, context) as server, http_tool(credentials={"us": entry}) as send:
        known = await send(server.url, auth="us")
        unknown = await send(server.url, spec={"verify": False})

    assert known.data == "hello"
    assert unknown.error.kind == "connection"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"private_key": "planted-s3cret"}, '"certificate" and "private_key"'),
        ({"private_key": None}, 'has no field "private_key"'),
        ({"authority": "planted-s3cret"}, '"authority"'),
    ],
)
async def test_a_certificate_that_is_none_is_refused_and_not_shown(authority, change, words):
    certificate, private_key = authority.issue("client")
    entry = {"certificate": certificate, "private_key": private_key, **change}

    async with http_tool(credentials={"us": entry}) as send:
        output = await send("https://127.0.0.1:9", auth="us")

    assert words in output.error.message
    assert "planted" not in output.error.message
    assert "BEGIN" not in output.error.message

"""kind: nats and its server: who is let in, over what, and what happens when it goes away."""

import asyncio
import base64
import binascii
import json
import os

import nats as client_library
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from noetl.messaging.server import server_of
from noetl.messaging.signing import proof_of_seed
from noetl.testing.hands import call, run
from noetl.testing.services import running_nats
from noetl.tools import nats
from tests.integration.nats.outputs import error_of
from tests.tools.tls_parts import Authority

pytestmark = pytest.mark.spec("UP-09")


async def test_a_server_that_went_away_is_one_failure_and_a_new_connection(tool):
    def at(url, **fields):
        lab = {"lab": {"url": url}}
        return call(nats.KIND, auth="lab", credentials=lab, operation="request", subject="silent", **fields)

    with running_nats() as url:
        service = await client_library.connect(url)
        asked = asyncio.Event()

        async def silent(message):
            asked.set()

        await service.subscribe("silent", cb=silent)
        await service.flush()
        running = asyncio.ensure_future(run(tool, at(url, wait_seconds=60)))
        await asked.wait()
        await service.close()
    output = await running
    gone = await run(tool, at(url))

    kind, message = error_of(output)
    assert (kind, output.error.retryable, output.is_definite) == ("connection", True, False)
    assert message.endswith("broke")
    assert error_of(gone)[0] == "connection"
    assert "cannot connect to 127.0.0.1:" in error_of(gone)[1]


async def test_many_calls_at_once_share_one_connection(tool, ask, place):
    await asyncio.gather(*(ask("publish", subject=place, value=1, delivery="core") for _ in range(50)))

    assert len(tool.connections._open) == 1


CONFIGURATIONS = {
    "token": "authorization { token: correct-horse }",
    "password": "authorization { users = [{ user: ann, password: correct-horse }] }",
}


@pytest.mark.parametrize(
    ("configuration", "credential", "is_let_in"),
    [
        ("token", {"token": "correct-horse"}, True),
        ("token", {"token": "wrong-donkey"}, False),
        ("token", {}, False),
        ("password", {"user": "ann", "password": "correct-horse"}, True),
        ("password", {"user": "ann", "password": "wrong-donkey"}, False),
    ],
)
async def test_a_credential_lets_in_or_is_refused(tool, tmp_path, configuration, credential, is_let_in):
    with running_nats(CONFIGURATIONS[configuration]) as url:
        output = await run(tool, one_call(url, **credential))

    if is_let_in:
        assert output.error is None, output.error
    else:
        assert error_of(output) == ("auth", f"{url.removeprefix('nats://')} refuses the credential")
        assert output.error.retryable is False


async def test_a_password_in_the_url_lets_in_too(tool, tmp_path):
    with running_nats(CONFIGURATIONS["password"]) as url:
        output = await run(tool, one_call(url.replace("://", "://ann:correct-horse@")))

    assert output.error is None, output.error


async def test_what_a_credential_is_not_permitted_is_an_error_of_kind_auth(tool, tmp_path):
    permissions = (
        'authorization { users = [{ user: ann, password: pw, permissions: { publish: ["open.>", "_INBOX.>"] } }] }'
    )
    with running_nats(permissions) as url:
        output = await run(
            tool, one_call(url, user="ann", password="pw", operation="request", subject="closed.x", wait_seconds=0.3)
        )

    assert error_of(output)[0] == "auth"
    assert error_of(output)[1].endswith("does not permit it to this credential")


async def test_an_nkey_signs_for_whom_it_is(tool, tmp_path):
    seed, other_seed = a_seed(), a_seed()
    configuration = f"authorization {{ users = [{{ nkey: {proof_of_seed(seed).public_key} }}] }}"
    with running_nats(configuration) as url:
        right = await run(tool, one_call(url, nkey=seed))
        wrong = await run(tool, one_call(url, nkey=other_seed))
        broken = await run(tool, one_call(url, nkey=seed[:-9] + seed[-9:].swapcase()))

    assert right.error is None, right.error
    assert error_of(wrong)[0] == "auth"
    assert error_of(broken)[1].startswith("nkey must be the seed of a user") or error_of(broken)[0] == "auth"


async def test_a_credentials_file_signs_for_the_user_that_its_account_knows(tool):
    operator, account, system, user, stranger = (Signer(letter) for letter in "OAAUU")
    preloaded = [f"{one.public_key}: {operator.token(one, 'account', limits=UNLIMITED)}" for one in (account, system)]
    configuration = f"""
        operator: {operator.token(operator, "operator")}
        system_account: {system.public_key}
        resolver: MEMORY
        resolver_preload: {{ {", ".join(preloaded)} }}
    """
    token = account.token(user, "user", subs=-1, data=-1, payload=-1)
    with running_nats(configuration) as url:
        right = await run(tool, one_call(url, creds=credentials_file(token, user.seed)))
        wrong = await run(tool, one_call(url, creds=credentials_file(token, stranger.seed)))
        half = await run(tool, one_call(url, creds=token))

    assert right.error is None, right.error
    assert error_of(wrong)[0] == "auth"
    assert error_of(half)[1].startswith("creds must be the text of a NATS credentials file")


async def test_tls_is_demanded_where_the_credential_says_so_and_a_server_without_it_hears_no_password(tool):
    heard = bytearray()

    async def serve(reader, writer):
        writer.write(b'INFO {"server_id":"x","version":"2.10.0","max_payload":1000,"auth_required":true}\r\n')
        heard.extend(await reader.read(10_000))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        output = await run(tool, one_call(f"tls://127.0.0.1:{port}", user="ann", password="correct-horse"))

    assert error_of(output)[0] == "connection"
    assert "does not offer TLS" in error_of(output)[1]
    assert b"correct-horse" not in heard


async def test_a_server_with_a_certificate_is_trusted_by_its_authority_and_not_without(tool, tmp_path):
    authority = certificate_in(tmp_path)
    with running_nats(f'tls {{ cert_file: "{tmp_path}/cert.pem", key_file: "{tmp_path}/key.pem" }}') as url:
        place = url.replace("nats://", "tls://")
        trusted = await run(tool, one_call(place, ca=authority))
        unknown = await run(tool, one_call(place))
        nonsense = await run(tool, one_call(place, ca="-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----"))

    assert trusted.error is None, trusted.error
    assert error_of(unknown)[0] == "connection"
    assert "is not trusted" in error_of(unknown)[1]
    assert error_of(nonsense) == ("auth", "ca must be certificates in PEM")


@pytest.mark.parametrize(
    ("url", "said", "needs_tls"),
    [
        ("nats://127.0.0.1:4222", None, False),
        ("nats://[::1]:4222", None, False),
        ("localhost", None, False),
        ("nats://nats.example.com", None, True),
        ("nats://10.0.0.7:4222", None, True),
        ("nats://10.0.0.7:4222", False, False),
        ("nats://127.0.0.1:4222", True, True),
        ("tls://127.0.0.1:4222", False, True),
    ],
)
def test_off_this_machine_tls_is_demanded_unless_the_credential_gives_it_up(url, said, needs_tls):
    assert server_of("lab", {"url": url, "tls": said}).needs_tls is needs_tls


@pytest.mark.parametrize("url", ["", "http://x", "nats://", "nats://x:y", "nats://x/path", "nats://x:1?a=b"])
async def test_a_url_that_is_none_is_refused_without_being_shown(tool, url):
    kind, message = error_of(await run(tool, one_call(url)))

    assert kind == "auth"
    assert "nats://host:4222" in message


async def test_without_a_credential_there_is_no_server(tool):
    nobody = await run(tool, call(nats.KIND, operation="stream_info", stream="s"))
    unknown = await run(tool, call(nats.KIND, operation="stream_info", stream="s", auth="lab"))

    assert error_of(nobody) == ("auth", "auth must name the keychain entry of a NATS server")
    assert error_of(unknown)[0] == "auth"


def one_call(url, **fields):
    names = ("token", "user", "password", "nkey", "creds", "ca", "tls")
    credential = {"url": url, **{name: fields.pop(name) for name in names if name in fields}}
    wanted = {"operation": "publish", "subject": "open.x", "delivery": "core", "value": 1, **fields}
    return call(nats.KIND, auth="lab", credentials={"lab": credential}, **wanted)


UNLIMITED = {"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "conn": -1, "leaf": -1}
LETTERS = {"O": 14 << 3, "A": 0, "U": 20 << 3}


def credentials_file(token, seed):
    return (
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\nIMPORTANT: keep it.\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )


def wrapped(data):
    return base64.b32encode(data + binascii.crc_hqx(data, 0).to_bytes(2, "little")).decode().rstrip("=")


def unpadded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Signer:
    """A key of an operator, an account or a user, which signs tokens as NATS wants them."""

    def __init__(self, letter):
        prefix, raw = LETTERS[letter], os.urandom(32)
        self.key = Ed25519PrivateKey.from_private_bytes(raw)
        self.seed = wrapped(bytes((18 << 3 | prefix >> 5, (prefix & 31) << 3)) + raw)
        self.public_key = wrapped(bytes((prefix,)) + self.key.public_key().public_bytes_raw())

    def token(self, of, kind, **claims):
        header = {"typ": "JWT", "alg": "ed25519-nkey"}
        about = {"jti": "1", "iat": 1, "iss": self.public_key, "sub": of.public_key, "name": kind}
        body = {**about, "nats": {"type": kind, "version": 2, **claims}}
        text = ".".join(unpadded(json.dumps(part).encode()) for part in (header, body))
        return f"{text}.{unpadded(self.key.sign(text.encode()))}"


def a_seed():
    return Signer("U").seed


def certificate_in(folder):
    """Write a certificate for 127.0.0.1 and its key; gives what to trust for it."""
    authority = Authority()
    certificate, key = authority.issue("127.0.0.1")
    (folder / "cert.pem").write_text(certificate)
    (folder / "key.pem").write_text(key)
    return authority.pem

"""kind: postgres over TLS: a server is believed only if an authority that is trusted signed its certificate.

The PostgreSQL of the tests is built without TLS, so a door before it speaks it: what comes out of the tunnel goes to
the server's socket as it is.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.integration.postgres_parts import bench

HOST = "127.0.0.1"
TLS_REQUEST_BYTES = 8


def certificate(name: str, key, issuer: str, issuer_key, *, is_authority: bool) -> x509.Certificate:
    def named(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(named(name))
        .issuer_name(named(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))]), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )


def pem(found: x509.Certificate) -> bytes:
    return found.public_bytes(serialization.Encoding.PEM)


def make_certificates(folder: Path) -> None:
    """ours.pem, the authority of the server's certificate, and others.pem, another one of the same name."""
    ours, others, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    (folder / "ours.pem").write_bytes(pem(certificate("ours", ours, "ours", ours, is_authority=True)))
    (folder / "others.pem").write_bytes(pem(certificate("ours", others, "ours", others, is_authority=True)))
    (folder / "server.crt").write_bytes(pem(certificate(HOST, key, "ours", ours, is_authority=False)))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.key").write_bytes(key.private_bytes(*form))


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    await closed(writer)


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


@asynccontextmanager
async def tls_door(url: str, folder: Path) -> AsyncIterator[int]:
    """A port on which PostgreSQL is reached through TLS and in no other way."""
    socket_path = Path(parse_qs(urlsplit(url).query)["host"][0]) / ".s.PGSQL.5432"
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")

    served: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.add(asyncio.current_task())
        try:
            await reader.readexactly(TLS_REQUEST_BYTES)
            writer.write(b"S")
            await writer.start_tls(context)
            inner_reader, inner_writer = await asyncio.open_unix_connection(str(socket_path))
            await asyncio.gather(pump(reader, inner_writer), pump(inner_reader, writer))
        except (OSError, asyncio.IncompleteReadError):  # a client that does not believe us hangs up
            pass
        finally:
            await closed(writer)

    async with await asyncio.start_server(serve, HOST, 0) as door:
        yield door.sockets[0].getsockname()[1]
        await asyncio.gather(*served)


@pytest.fixture
async def output_of(postgres_url, tmp_path):
    """The output of a query with a credential that names this file of authorities."""
    make_certificates(tmp_path)

    async def output(authorities: str):
        fields = {"host": HOST, "user": "postgres", "database": "postgres", "sslmode": "verify-full"}
        async with tls_door(postgres_url, tmp_path) as port, bench("") as db:
            db.credentials["db"] = {**fields, "port": port, "sslrootcert": str(tmp_path / authorities)}
            return await db.output(command="SELECT 1 AS one")

    return output


async def test_a_server_with_a_certificate_of_a_trusted_authority_is_spoken_to(output_of):
    output = await output_of("ours.pem")

    assert output.error is None, output.error
    assert output.data == [{"one": 1}]


@pytest.mark.parametrize("authorities", ["others.pem", "none.pem"])
async def test_a_server_that_no_trusted_authority_vouches_for_is_refused_for_good(output_of, authorities):
    output = await output_of(authorities)

    assert (output.error.kind, output.error.retryable) == ("connection", False)
    assert "name the file of its CA as sslrootcert in the credential" in output.error.message

"""Certificates of a CA of our own making, for the tests of TLS."""

import datetime
import ssl
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HOUR = datetime.timedelta(hours=1)
SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


class Authority:
    """A CA: `pem` is what to trust."""

    def __init__(self, name: str = "test CA") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        own = (
            self._builder(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .add_extension(SIGNS_CERTIFICATES, critical=True)
        )
        self.pem = own.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()

    def issue(self, *names: str, is_expired: bool = False) -> tuple[str, str]:
        """A certificate for these names and addresses, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
        builder = self._builder(subject, key, datetime.timedelta(hours=-2) if is_expired else datetime.timedelta())
        signed = builder.add_extension(
            x509.SubjectAlternativeName([_general(name) for name in names]), critical=False
        ).sign(self._key, hashes.SHA256())
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return signed.public_bytes(serialization.Encoding.PEM).decode(), private.decode()

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, shift: datetime.timedelta = datetime.timedelta()
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC) + shift
        return (
            x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - HOUR)
            .not_valid_after(now + HOUR)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )  # Python 3.13 and newer want to know by which key, as RFC 5280 says
        )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def server_context(
    folder: Path, certificate: tuple[str, str], *, clients_of: Authority | None = None
) -> ssl.SSLContext:
    """A server's side; `clients_of`: it takes only clients that this CA vouches for."""
    file = folder / "server.pem"
    file.write_text(certificate[1] + certificate[0])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    if clients_of is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients_of.pem)
    return context

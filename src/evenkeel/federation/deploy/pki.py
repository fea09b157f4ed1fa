"""Keys and certificates: one authority, one server certificate, one key a site.

Made with `cryptography`, the library that Flower itself reads them with and brings along: one reader, one writer, and
no text of some `openssl` version to interpret. Private keys have mode 0600 from their first byte, and nothing that is
there already is ever written over.
"""

import ipaddress
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from evenkeel.errors import InputError

AUTHORITY_YEARS, SERVER_DAYS = 10, 825  # 825 days is the longest that common clients accept
_SKEW = timedelta(days=1)  # a site whose clock is behind accepts a certificate of today
_PEM, _SSH = serialization.Encoding.PEM, serialization.Encoding.OpenSSH


class Pair(NamedTuple):
    """A private key and what may be shown of it, as the bytes of their files."""

    private: bytes
    public: bytes


def authority(name: str, private: bytes | None = None) -> Pair:
    """A certificate authority of our own: its key signs the server's certificate and nothing else.

    Here and below, `private` is a key that is there already, because whoever made it was stopped before its other half.
    """
    key = _key(private) if private else ec.generate_private_key(ec.SECP384R1())
    subject = _name(name)
    made = (
        _certificate(subject, subject, key.public_key(), days=365 * AUTHORITY_YEARS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA384())
    )
    return Pair(_private_pem(key), made.public_bytes(_PEM))


def server(signer: Pair, host: str, private: bytes | None = None) -> Pair:
    """The server's key and certificate, good for `host` and for this machine's own loopback."""
    issuer_key, issuer = _key(signer.private), x509.load_pem_x509_certificate(signer.public)
    if issuer.public_key() != issuer_key.public_key():
        raise InputError("ca.key: does not belong to ca.pem; put back the pair that init wrote")
    key = _key(private) if private else ec.generate_private_key(ec.SECP256R1())
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    names += [name for name in [_general(host)] if name not in names]
    made = (
        _certificate(_name(host), issuer.subject, key.public_key(), days=SERVER_DAYS)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
        .sign(issuer_key, hashes.SHA384())
    )
    return Pair(_private_pem(key), made.public_bytes(_PEM))


def site(name: str, private: bytes | None = None) -> Pair:
    """A site's ECDSA key (P-384) in OpenSSH's format: what Flower's node authentication reads.

    >>> site("north").public.split()[0], site("north").public.split()[2]
    (b'ecdsa-sha2-nistp384', b'north')
    """
    key = _key(private) if private else ec.generate_private_key(ec.SECP384R1())
    kept = private or key.private_bytes(_PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption())
    public = key.public_key().public_bytes(_SSH, serialization.PublicFormat.OpenSSH)
    return Pair(kept, public + b" " + name.encode() + b"\n")


def secret() -> bytes:
    """32 random bytes in hexadecimal, for the processes of one machine among themselves."""
    return secrets.token_hex(32).encode()


def public_key(file: Path) -> bytes:
    """A site's public key from a file, refused unless Flower would take it."""
    try:
        key = serialization.load_ssh_public_key(file.read_bytes())
    except OSError as error:
        raise InputError(
            f"{file}: cannot be read ({(error.strerror or str(error)).lower()}); give a .pub file"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePublicKey):
        rule = "must be an ECDSA public key in OpenSSH's format"
        raise InputError(f"{file}: {rule}; `ssh-keygen -t ecdsa -b 384` makes one")
    return key.public_bytes(_SSH, serialization.PublicFormat.OpenSSH)


def expires(certificate: bytes) -> datetime:
    """The last moment at which a certificate is good."""
    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc


def covers(certificate: bytes, host: str) -> bool:
    """Whether a server certificate is good for this host."""
    held = x509.load_pem_x509_certificate(certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return _general(host) in list(held.value)


def _key(private: bytes) -> ec.EllipticCurvePrivateKey:
    ssh = private.startswith(b"-----BEGIN OPENSSH")
    try:
        load = serialization.load_ssh_private_key if ssh else serialization.load_pem_private_key
        key = load(private, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise InputError("a key file holds no ECDSA key, or only part of one: move it away and try again")
    return key


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:64])])


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + timedelta(days=days))
    )


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not sign_certificates,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )

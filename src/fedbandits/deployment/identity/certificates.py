"""Certificates for TLS between members and the broker: P-256 keys, one authority a federation."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fedbandits.errors import IdentityError

#: What a certificate is for: members show theirs as clients, the broker as a server.
CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
#: Clocks of members may differ by so much.
_EARLIER = datetime.timedelta(hours=1)
_YEARS_OF_AUTHORITY = 10


def now() -> datetime.datetime:
    """Return the time, in UTC."""
    return datetime.datetime.now(datetime.UTC)


def new_key() -> ec.EllipticCurvePrivateKey:
    """Make a new key for TLS."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: PrivateKeyTypes) -> bytes:
    """Write a private key as text, unencrypted."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def load_key(data: bytes, place: object) -> PrivateKeyTypes:
    """Read a private key; raises IdentityError if it is damaged."""
    try:
        return serialization.load_pem_private_key(data, None)
    except (ValueError, TypeError):
        raise IdentityError(
            f"{place}: is damaged, or not a private key; restore it from a backup, or make new keys"
        ) from None


def pem(certificate: x509.Certificate) -> bytes:
    """Write a certificate as text."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def load_certificate(data: bytes, place: object) -> x509.Certificate:
    """Read a certificate; raises IdentityError if it is damaged."""
    try:
        return x509.load_pem_x509_certificate(data)
    except ValueError:
        raise IdentityError(f"{place}: is damaged, or no certificate") from None


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of a certificate, 64 hexadecimal digits."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def key_name(key: ec.EllipticCurvePublicKey) -> str:
    """Return a name for a key: the first half of its SHA-256, 32 hexadecimal digits."""
    digest = hashes.Hash(hashes.SHA256())
    digest.update(
        key.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return digest.finalize().hex()[:32]


def public_key_of(
    signed: x509.Certificate | x509.CertificateSigningRequest, place: object
) -> ec.EllipticCurvePublicKey:
    """Return the key of a certificate, or of a request for one.

    Raises IdentityError if it is no P-256 key.
    """
    try:
        key = signed.public_key()
    except ValueError:
        key = None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise IdentityError(f"{place}: its key for TLS is not of the curve P-256")
    return key


def signing_request(name: str, key: ec.EllipticCurvePrivateKey) -> bytes:
    """Make a request for a certificate, as text; its signature shows that its maker has the key."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(_called(name))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def load_signing_request(data: bytes, place: object) -> ec.EllipticCurvePublicKey:
    """Return the key that a certificate is asked for, by somebody who has it.

    Raises IdentityError if the request is damaged, or not signed with that key.
    """
    try:
        request = x509.load_pem_x509_csr(data)
        valid = request.is_signature_valid
    except ValueError:
        raise IdentityError(f"{place}: its signing request is damaged, or is not one") from None
    key = public_key_of(request, place)
    if not valid:
        raise IdentityError(f"{place}: its signing request is not signed with the key it is for")
    return key


def new_authority(federation: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    """Make the certificate of an authority that signs itself, and no further authorities."""
    subject, public = _called(f"authority of {federation}"), key.public_key()
    end = now() - _EARLIER + datetime.timedelta(days=365 * _YEARS_OF_AUTHORITY)
    return _builder(subject, subject, public, public, end, True).sign(key, hashes.SHA256())


def issue(
    authority: x509.Certificate,
    key: ec.EllipticCurvePrivateKey,
    public: ec.EllipticCurvePublicKey,
    names: Sequence[str],
    usage: x509.ObjectIdentifier,
    days: float,
) -> x509.Certificate:
    """Issue a certificate about the key ``public``, which an authority signs with its own ``key``.

    ``names`` are host names or addresses of its owner; the first one is its subject. Its ``usage``
    is :data:`CLIENT` or :data:`SERVER`. It is valid for so many ``days``, at most as long as the
    authority's own.
    """
    end = min(now() + datetime.timedelta(days=days), authority.not_valid_after_utc)
    signer = public_key_of(authority, "the authority's certificate")
    return (
        _builder(_called(names[0]), authority.subject, public, signer, end, False)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(x509.SubjectAlternativeName(list(map(_host, names))), critical=False)
        .sign(key, hashes.SHA256())
    )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePublicKey,
    end: datetime.datetime,
    ca: bool,
) -> x509.CertificateBuilder:
    """Begin a certificate with what every one has; an authority's may sign others."""
    uses = x509.KeyUsage(not ca, False, False, False, False, ca, ca, False, False)
    constraints = x509.BasicConstraints(ca=ca, path_length=0 if ca else None)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now() - _EARLIER)
        .not_valid_after(end)
        .add_extension(constraints, critical=True)
        .add_extension(uses, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False)
    )


def _called(name: str) -> x509.Name:
    """Make a subject; at most 64 characters fit."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)

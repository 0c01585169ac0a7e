"""Signatures: of cookies and forms with a secret of the service, which checks them itself; of certificates with a private key, so that
others check them with the public one."""

import hashlib
import hmac

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key


def signature(key: bytes, text: bytes) -> str:
    """HMAC-SHA256 in hexadecimal."""
    return hmac.new(key, text, hashlib.sha256).hexdigest()


def agrees(key: bytes, text: bytes, candidate: str) -> bool:
    """Whether a signature is that of the text, compared in constant time."""
    return hmac.compare_digest(signature(key, text).encode(), candidate.encode())


def public_key(private: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def sign(private: bytes, text: bytes) -> str:
    """The Ed25519 signature of a text, in hexadecimal."""
    return Ed25519PrivateKey.from_private_bytes(private).sign(text).hex()


def signed_with(public: bytes, text: bytes, candidate: str) -> bool:
    """Whether a signature is that of the text by the private key that belongs to a public one. Raises ValueError where that is none."""
    key = read_public(public)
    try:
        key.verify(bytes.fromhex(candidate), text)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(public: bytes) -> str:
    """SHA-256 of a public key in DER, which people compare. Raises ValueError where it is none."""
    return hashlib.sha256(read_public(public).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def read_public(public: bytes) -> Ed25519PublicKey:
    """A public key from PEM. Raises ValueError where it is none of Ed25519."""
    try:
        key = load_pem_public_key(public)
    except Exception:  # ValueError, UnsupportedAlgorithm, and others for what OpenSSL cannot read
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError("public_key is not a public key for Ed25519 in PEM; give the text that GET /v1/public-key answers.")
    return key

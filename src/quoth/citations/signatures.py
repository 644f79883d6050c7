"""Sign receipts with a key of the user's own, and check such signatures (Ed25519, extra `sign`)."""

from __future__ import annotations

import base64
import binascii
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from quoth.citations.verify_receipt import Receipt, ReceiptFault
from quoth.errors import MissingExtra, ReceiptError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


def new_key(path: Path) -> str:
    """Write a new private key, which only its owner may read, and return the public key in base64."""
    _check_extra()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = Ed25519PrivateKey.generate()
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    except OSError as error:
        hint = "Choose another file; a key is never overwritten."
        raise ReceiptError(f"cannot write {path}: {error.strerror}", hint=hint) from error
    return _base64(key.public_key())


def read_key(path: Path) -> Ed25519PrivateKey:
    """Return the private key in a PEM file. Raise `ReceiptError` when it holds none that can be used."""
    _check_extra()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    hint = "Make one: quoth receipt-key new KEYFILE"
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise ReceiptError(f"cannot read {path}: {error.strerror}", hint=hint) from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ReceiptError(f"{path} holds no private key without a password", hint=hint) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ReceiptError(f"{path} holds a key that is not Ed25519", hint=hint)
    return key


def signed(receipt: Receipt, key: Ed25519PrivateKey) -> Receipt:
    """Return a receipt with a signature over its digest."""
    value = base64.b64encode(key.sign(receipt["digest"].encode("ascii"))).decode("ascii")
    return {**receipt, "signature": {"algorithm": "ed25519", "public_key": _base64(key.public_key()), "value": value}}


def signature_checked(read: Receipt | ReceiptFault, public_key: str | None) -> Receipt | ReceiptFault:
    """Return a receipt that was read, or a fault unless its signature is right, and by `public_key` if one is given.

    A receipt without a signature passes when no key is given.
    """
    if isinstance(read, ReceiptFault):
        return read
    if (signature := read.get("signature")) is None:
        return read if public_key is None else ReceiptFault("it is not signed")
    _check_extra()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if public_key not in {None, signature["public_key"]}:
        return ReceiptFault(f"it is signed with another key: {signature['public_key']!r}")
    try:
        key = Ed25519PublicKey.from_public_bytes(_decoded(signature["public_key"]))
        key.verify(_decoded(signature["value"]), read["digest"].encode("ascii"))
    except (InvalidSignature, ValueError):
        return ReceiptFault("its signature does not fit")
    return read


def _base64(key: Ed25519PublicKey) -> str:
    return base64.b64encode(key.public_bytes_raw()).decode("ascii")


def _decoded(text: str) -> bytes:
    """Return the bytes; raise `ValueError` for any other way of writing the same bytes."""
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode("ascii") != text:
        raise binascii.Error("not the only way to write it")
    return data


def _check_extra() -> None:
    if find_spec("cryptography") is None:
        raise MissingExtra("a signature", "sign")

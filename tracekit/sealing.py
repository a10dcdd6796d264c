"""
The key that lies outside logs and stores, and what is made with it: digests of secrets, sealed bodies.

The key is `TRACEKIT_KEY` if that is set, else the file `HOME/key` (mode 0600, made at first use). Who loses it can't
read sealed values any more; who copies a store or a log without it reads no secret.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import secrets
from functools import lru_cache
from pathlib import Path
from typing import Any

from tracekit.config import settings
from tracekit.errors import TracekitError
from tracekit.folders import make_private

KEY_VARIABLE = "TRACEKIT_KEY"
_MIN_KEY_CHARS = 32
_NONCE_BYTES = 12
_MAC_BYTES = 32
_AES = b"tk1a"
_PLAIN_PYTHON = b"tk1p"
_log = logging.getLogger("tracekit")


def seal(data: bytes) -> bytes:
    """
    *data* encrypted and authenticated under the key of this home.

    AES-256-GCM where `cryptography` is installed (extra `crypto`); else a stream of SHAKE-256 with a BLAKE2b code
    over it, both from the standard library, so that a plain installation writes no secret in the clear either.
    """
    nonce = secrets.token_bytes(_NONCE_BYTES)
    aes = _aes(_seal_key())
    if aes is not None:
        return _AES + nonce + bytes(aes.encrypt(nonce, data, _AES))
    body = _xor(data, _stream(nonce, len(data)))
    return _PLAIN_PYTHON + nonce + body + _code(nonce + body)


def unseal(data: bytes) -> bytes:
    """
    What was given to `seal`.

    Raises:
        TracekitError: the key is another one, the bytes were changed, or `cryptography` is needed and missing.
    """
    form, nonce, body = data[:4], data[4 : 4 + _NONCE_BYTES], data[4 + _NONCE_BYTES :]
    if form == _AES:
        return _unseal_aes(nonce, body)
    if form == _PLAIN_PYTHON and len(body) >= _MAC_BYTES:
        body, code = body[:-_MAC_BYTES], body[-_MAC_BYTES:]
        if hmac.compare_digest(code, _code(nonce + body)):
            return _xor(body, _stream(nonce, len(body)))
    raise _cannot_open()


def keyed_digest(data: bytes) -> str:
    """12 hexadecimal digits: equal for equal secrets under one key, and no way back without it."""
    return hashlib.blake2b(data, digest_size=6, key=_subkey(b"mark")).hexdigest()


def load_key(home: Path) -> bytes:
    """
    The 32 bytes of the key: from the environment, else from `home/key`, which is made if it is not there.

    Raises:
        TracekitError: the key in the environment is too short, or the file can't be read or made.
    """
    given = os.environ.get(KEY_VARIABLE, "")
    if given:
        if len(given) < _MIN_KEY_CHARS:
            raise TracekitError(
                "sealing.short_key",
                f"expected at least {_MIN_KEY_CHARS} random characters in {KEY_VARIABLE}, got {len(given)}; "
                "make one with: openssl rand -hex 32",
            )
        return hashlib.blake2b(given.encode(), digest_size=32, person=b"tracekit-key").digest()
    try:
        return _key_of_file(home / "key")
    except (OSError, ValueError) as error:
        raise TracekitError(
            "sealing.no_key",
            f"expected to read or make the key file {home / 'key'} ({error}); make the folder writable, restore the "
            f"file, or set {KEY_VARIABLE}",
        ) from error


def _key_of_file(path: Path) -> bytes:
    if not path.exists():
        make_private(path.parent)
        made = path.with_name(f".key.{os.getpid()}.{secrets.token_hex(4)}")
        fd = os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w") as file:
            file.write(secrets.token_hex(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(made, path)  # fails where another process was first: then its key is everybody's
        except FileExistsError:
            pass
        finally:
            made.unlink()
    if path.stat().st_mode & 0o077:
        _log.warning("the key file %s can be read by others; make it private: chmod 600 %s", path, path)
    key = bytes.fromhex(path.read_text().strip())
    if len(key) != 32:
        raise ValueError(f"it holds {len(key)} bytes where 32 were expected")
    return key


def _subkey(use: bytes) -> bytes:
    """A key of its own for each use, so that no two uses can be played against each other."""
    return _derived(str(settings().home), os.environ.get(KEY_VARIABLE, ""), use)


@lru_cache(maxsize=64)
def _derived(home: str, given: str, use: bytes) -> bytes:
    return hashlib.blake2b(b"tracekit " + use, digest_size=32, key=load_key(Path(home))).digest()


def _seal_key() -> bytes:
    return _subkey(b"seal")


def _aes(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        return None
    return AESGCM(key)


def _unseal_aes(nonce: bytes, body: bytes) -> bytes:
    aes = _aes(_seal_key())
    if aes is None:
        raise TracekitError(
            "sealing.no_cryptography",
            "expected the library that this value was sealed with; install it: pip install 'tracekit-agents[crypto]'",
        )
    from cryptography.exceptions import InvalidTag

    try:
        return bytes(aes.decrypt(nonce, body, _AES))
    except (InvalidTag, ValueError) as error:
        raise _cannot_open() from error


def _stream(nonce: bytes, length: int) -> bytes:
    return hashlib.shake_256(_subkey(b"stream") + nonce).digest(length)


def _code(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_MAC_BYTES, key=_subkey(b"code")).digest()


def _xor(left: bytes, right: bytes) -> bytes:
    size = len(left)
    return (int.from_bytes(left, "little") ^ int.from_bytes(right, "little")).to_bytes(size, "little")


def _cannot_open() -> TracekitError:
    return TracekitError(
        "sealing.wrong_key",
        "expected a value sealed under the key in use, got one of another key or one that was changed; set "
        f"{KEY_VARIABLE} or restore HOME/key as it was when the value was written",
    )

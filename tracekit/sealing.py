"""
The key that lies outside logs and stores, and what is made with it: digests of secrets, sealed bodies.

The key is `TRACEKIT_KEY` if that is set, else the file `HOME/key` (mode 0600, made at first use). Who loses it can't
read sealed values any more; who copies a store or a log without it reads no secret.

Former keys seal nothing and still open: those in `TRACEKIT_OLD_KEYS`, the file `HOME/key.old`, and `HOME/key` where
`TRACEKIT_KEY` has taken its place.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import secrets
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from tracekit.config import settings
from tracekit.errors import TracekitError
from tracekit.folders import make_private

KEY_VARIABLE = "TRACEKIT_KEY"
OLD_KEYS_VARIABLE = "TRACEKIT_OLD_KEYS"
"""Former values of `TRACEKIT_KEY`, with commas and nothing else between."""
_MIN_KEY_CHARS = 32
_NONCE_BYTES = 12
_MAC_BYTES = 32
_AES = b"tk1a"
_PLAIN_PYTHON = b"tk1p"
_log = logging.getLogger("tracekit")

Subkey = Callable[[bytes], bytes]
"""The key of a use, such as `seal`."""


def seal(data: bytes) -> bytes:
    """
    *data* encrypted and authenticated under the key of this home.

    AES-256-GCM where `cryptography` is installed (extra `crypto`); else a stream of SHAKE-256 with a BLAKE2b code
    over it, both from the standard library, so that a plain installation writes no secret in the clear either.
    """
    nonce = secrets.token_bytes(_NONCE_BYTES)
    aes = _aes(_subkey(b"seal"))
    if aes is not None:
        return _AES + nonce + bytes(aes.encrypt(nonce, data, _AES))
    body = _xor(data, _stream(_subkey, nonce, len(data)))
    return _PLAIN_PYTHON + nonce + body + _code(_subkey, nonce + body)


def unseal(data: bytes) -> bytes:
    """
    What was given to `seal`.

    Raises:
        TracekitError: the key is another one, the bytes were changed, or `cryptography` is needed and missing.
    """
    form, nonce, body = data[:4], data[4 : 4 + _NONCE_BYTES], data[4 + _NONCE_BYTES :]
    for key in _all_that_open():
        if form == _AES:
            opened = _unseal_aes(key(b"seal"), nonce, body)
        elif form == _PLAIN_PYTHON and len(body) >= _MAC_BYTES:
            opened = _unseal_plain(key, nonce, body)
        else:
            break
        if opened is not None:
            return opened
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
        return _key_of_text(given)
    return _key_of_file(home / "key")


def _key_of_text(given: str) -> bytes:
    return hashlib.blake2b(given.encode(), digest_size=32, person=b"tracekit-key").digest()


def _key_of_file(path: Path) -> bytes:
    try:
        return _read_or_made(path)
    except (OSError, ValueError) as error:
        raise TracekitError(
            "sealing.no_key",
            f"expected to read or make the key file {path} ({error}); make the folder writable, restore the "
            f"file, or set {KEY_VARIABLE}",
        ) from error


def _read_or_made(path: Path) -> bytes:
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
    return _for_use(load_key(Path(home)), use)


def _for_use(key: bytes, use: bytes) -> bytes:
    return hashlib.blake2b(b"tracekit " + use, digest_size=32, key=key).digest()


def _all_that_open() -> tuple[Subkey, ...]:
    """The key in use, then the former ones."""
    given, old = (os.environ.get(name, "") for name in (KEY_VARIABLE, OLD_KEYS_VARIABLE))
    return (_subkey, *_former(str(settings().home), given, old))


@lru_cache(maxsize=8)
def _former(home: str, given: str, old: str) -> tuple[Subkey, ...]:
    """What derives subkeys from each key that no longer seals and still opens."""
    keys = [_key_of_text(text) for text in old.split(",") if text]
    files = [Path(home) / "key.old", *([Path(home) / "key"] if given else [])]
    keys += [_key_of_file(path) for path in files if path.exists()]
    return tuple(partial(_for_use, key) for key in keys)


def _aes(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        return None
    return AESGCM(key)


def _unseal_aes(key: bytes, nonce: bytes, body: bytes) -> bytes | None:
    """What was sealed; None where *key* is another one."""
    aes = _aes(key)
    if aes is None:
        raise TracekitError(
            "sealing.no_cryptography",
            "expected the library that this value was sealed with; install it: pip install 'tracekit-agents[crypto]'",
        )
    from cryptography.exceptions import InvalidTag

    try:
        return bytes(aes.decrypt(nonce, body, _AES))
    except (InvalidTag, ValueError):
        return None


def _unseal_plain(subkey: Subkey, nonce: bytes, body: bytes) -> bytes | None:
    """What was sealed without `cryptography`; None where the key is another one."""
    body, code = body[:-_MAC_BYTES], body[-_MAC_BYTES:]
    if not hmac.compare_digest(code, _code(subkey, nonce + body)):
        return None
    return _xor(body, _stream(subkey, nonce, len(body)))


def _stream(subkey: Subkey, nonce: bytes, length: int) -> bytes:
    return hashlib.shake_256(subkey(b"stream") + nonce).digest(length)


def _code(subkey: Subkey, data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_MAC_BYTES, key=subkey(b"code")).digest()


def _xor(left: bytes, right: bytes) -> bytes:
    size = len(left)
    return (int.from_bytes(left, "little") ^ int.from_bytes(right, "little")).to_bytes(size, "little")


def _cannot_open() -> TracekitError:
    return TracekitError(
        "sealing.wrong_key",
        "expected a value sealed under the key in use, got one of another key or one that was changed; set "
        f"{KEY_VARIABLE} or {OLD_KEYS_VARIABLE}, or restore HOME/key (or HOME/key.old) as it was when the value was written",
    )

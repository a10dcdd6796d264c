"""
Values as text: for the log (never fails), for digests (one form), for the store (exact, or refused with the path).

`to_log` takes any Python value and never raises. `canonical` gives the one byte form that digests are taken of.
`encode` and `decode` store a value and give back an equal one of the same type, never by pickle.
"""

from tracekit.snapshot.canonical import canonical, context_digest, digest, message_hash
from tracekit.snapshot.codec import check_storable, decode, encode
from tracekit.snapshot.tolog import Redact, log_bytes, marker, plain_json, readable, to_log

__all__ = [
    "Redact",
    "canonical",
    "check_storable",
    "context_digest",
    "decode",
    "digest",
    "encode",
    "log_bytes",
    "marker",
    "message_hash",
    "plain_json",
    "readable",
    "to_log",
]

"""
One set of rules for secrets: marked in the log, sealed in the store.

A secret is found by the name of its key (whole words: `api_key`, `clientSecret`; not `token_count`, `secretary`) or by
its own shape (provider keys, bearer tokens, JWT, user info in URLs, private keys), also inside JSON in strings, in
exception texts and in header lists. The marker names the rule and a keyed digest, never the value; two equal secrets
keep being equal. `RULES` lists the names of all rules.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any

from tracekit.config import settings
from tracekit.errors import TracekitError
from tracekit.snapshot import log_bytes, marker, plain_json, to_log

_KEY_RULES: dict[str, tuple[str, ...]] = {
    "password": (
        "password", "passwd", "passphrase", "passcode", "pwd", "password hash",
    ),
    "secret": (
        "secret", "secrets", "secret key", "secret access key", "secret key base", "secret value", "client secret",
    ),
    "api_key": (
        "api key", "apikey", "api keys", "apikeys", "access key", "accesskey", "subscription key", "account key",
        "signing key", "encryption key", "master key", "license key", "api secret",
    ),
    "token": ("token", "accesstoken", "authtoken", "refreshtoken", "apitoken", "idtoken", "sessiontoken"),
    "authorization": ("authorization", "proxy authorization"),
    "cookie": ("cookie", "cookies", "set cookie"),
    "credential": ("credential", "credentials"),
    "private_key": ("private key", "privatekey", "ssh key"),
    "card_code": ("cvv", "cvc"),
    "one_time_code": ("otp", "otp code", "mfa code", "one time code"),
}  # fmt: skip
"""Rule, and the words that a key has to end with; a number behind them does not matter."""

_HARMLESS_BEFORE_TOKEN = frozenset(
    [
        "next",
        "previous",
        "prev",
        "page",
        "pagination",
        "continuation",
        "cursor",
        "sync",
        "start",
        "end",
        "stop",
        "first",
        "last",
        "pad",
        "eos",
        "bos",
        "unk",
        "mask",
        "sep",
        "cls",
        "special",
        "per",
        "idempotency",
        "request",
        "resume",
        "cancel",
        "cancellation",
        "input",
        "output",
        "prompt",
        "completion",
        "total",
        "max",
        "min",
        "num",
        "new",
        "each",
        "delta",
        "text",
        "fence",
        "fencing",
        "design",
    ]
)
"""Words that make `..._token` something else than a key: places in a list, units of text."""

_ONLY_TEXT = frozenset({"token", "secret", "cookie", "credential", "api_key", "one_time_code"})
"""Rules under whose keys a number is a count or a flag, not a secret."""

_SHAPES: dict[str, str] = {
    "private_key": r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)",
    "jwt": r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*",
    "provider_key": r"\b(?:sk|rk|pk)-[A-Za-z0-9][\w-]{15,}"
    r"|\b(?:sk|rk|pk)_(?:live|test)_\w{10,}|\bwhsec_[\w+/=]{16,}"
    r"|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bya29\.[\w-]{16,}|\bGOCSPX-[\w-]{16,}"
    r"|\bxox[a-z]-[\w-]{10,}|\bxapp-[\w-]{10,}|\bhf_[A-Za-z0-9]{20,}|\bgsk_\w{20,}|\bnpm_[A-Za-z0-9]{30,}"
    r"|\bpypi-[\w-]{40,}|\bSG\.[\w-]{16,}\.[\w-]{16,}|\bdapi[0-9a-f]{32}\b",
    "bearer_token": r"(?<=\b[Bb]earer )(?=[^\s\"',;]*[\d._~+/=-])[\w.~+/=-]{12,}",
    "url_password": r"(?<=://)[^\s/:@\"'<>\\]{0,200}:[^\s/@\"'<>\\]{1,200}(?=@)",
}  # fmt: skip
"""Rule, and the shape of a value that it finds in any text."""

RULES: tuple[str, ...] = tuple(dict.fromkeys([*_KEY_RULES, *_SHAPES]))

_HINTS = (
    r"sk-[a-z0-9_-]{15}|rk-[a-z0-9_-]{15}|pk-[a-z0-9_-]{15}|xox[a-z]-|xapp-|pat-|-----begin|_live_|_test_|whsec_|hf_[a-z0-9]{20}|"
    r"ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|akia[a-z0-9]{16}|asia[a-z0-9]{16}|aiza|eyj|ya29\.|sg\.|gsk_|npm_|pypi-|"
    "dapi[0-9a-f]{32}|gocspx-|://|passw|passphrase|passcode|secret|token[^s]|_key|-key|api key|apikey|accesskey|"
    "privatekey|signingkey|encryptionkey|masterkey|licensekey|accountkey|subscriptionkey|sshkey|cookie|authoriz|"
    "credential|bearer|pwd|cvv|cvc|otp|mfa"
)
"""At least one of these is in the lower-case form of every text that a rule can match."""

_SHAPE = re.compile("|".join(f"(?P<{rule}>{shape})" for rule, shape in _SHAPES.items()), re.DOTALL)
_NAME = re.compile(
    r"""(?<![A-Za-z0-9])(?:
        (?P<name>[A-Za-z][A-Za-z0-9_.-]{1,60})(?:\\*["'])?\s{0,3}(?P<sep>=>|:=|[:=])\s{0,3}
        | --(?P<option>[A-Za-z][A-Za-z0-9-]{1,60})(?:\s{1,3}|=)
        )""",
    re.VERBOSE,
)
"""A name with what parts it from its value: `name=`, `"name": `, `\"name\": `, `--name `."""
_VALUE = re.compile(
    r"""(?!\[secret:)(?:\[\s{0,3})?[bru]?(?:
        (?P<quote>\\*["'])(?P<quoted>(?:(?!(?<!\\)(?P=quote)).)*)  # up to the same quote, escaped ones passed over
        | (?P<plain>(?:(?:[Bb]earer|[Bb]asic|[Tt]oken|[Dd]igest)\s+)?[^\s"'\\,;&}\])<>{\[]+)
        )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_MARKED = re.compile(r"\[secret:[a-z_]+:[0-9a-f]*\]\Z")


class Redactor:
    """Marks secrets and counts them by rule; satisfies `tracekit.snapshot.Redact`."""

    def __init__(self, harmless_keys: Iterable[str] = (), secret_keys: Iterable[str] = ()) -> None:
        """
        Args:
            harmless_keys: Names of keys that are never secret here, such as `session_token` of a game.
            secret_keys: Names of keys whose values are always secret here.
        """
        self._harmless = frozenset(harmless_keys)
        self._secret = frozenset(secret_keys)
        self._hits: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.suspects = _hint_search(tuple(sorted(name.lower() for name in self._secret)))
        """Whether JSON data may hold a secret; about 2 us for 2 KB of text."""

    def fresh(self) -> Redactor:
        """The same rules with counts at nothing and no lock held: for a forked child."""
        return Redactor(self._harmless, self._secret)

    def key_rule(self, name: str) -> str | None:
        """The rule by which the value under the key *name* is a secret."""
        if name in self._harmless:
            return None
        return "secret" if name in self._secret else key_rule(name)

    def text(self, text: str) -> str:
        """*text* with every secret in it replaced by `[secret:RULE:DIGEST]`; the same object when there is none."""
        if len(text) < 6 or not self.suspects(text.encode("utf-8", "replace")):
            return text
        return _SHAPE.sub(self._shaped, self._named(text))

    def secret(self, rule: str, value: Any) -> Any:
        """The marker that stands for *value*; *value* itself where the rule does not speak of such values."""
        if isinstance(value, str):
            if _MARKED.match(value):
                return value
        elif rule in _ONLY_TEXT and not isinstance(value, bytes | bytearray):
            return value
        data = value.encode("utf-8", "replace") if isinstance(value, str) else log_bytes(value)
        return marker("secret", rule=rule, digest=self._hit(rule, data))

    def counts(self) -> dict[str, Any]:
        """The rules in force and how often each was met, for the process line."""
        with self._lock:
            return {"rules": list(RULES), "hits": dict(self._hits)}

    def _hit(self, rule: str, data: bytes) -> str:
        with self._lock:
            self._hits[rule] += 1
        return _digest(data)

    def _mark(self, rule: str, secret: str) -> str:
        return f"[secret:{rule}:{self._hit(rule, secret.encode('utf-8', 'replace'))}]"

    def _shaped(self, match: re.Match[str]) -> str:
        rule, found = str(match.lastgroup), match[0]
        if rule == "url_password":
            user, _, password = found.partition(":")
            return found if password.startswith("[secret:") else f"{user}:{self._mark(rule, password)}"
        return self._mark(rule, found)

    def _named(self, text: str) -> str:
        """*text* with the values behind secret names replaced, at any depth of quoting."""
        parts: list[str] = []
        done = 0
        for name in _NAME.finditer(text):
            rule = self.key_rule(name["name"] or name["option"]) if name.start() >= done else None
            value = _VALUE.match(text, name.end()) if rule else None
            if rule is None or value is None or _is_marker(text, name):
                continue
            start, end = value.span("quoted" if value["quote"] else "plain")
            found = text[start:end]
            if not found or found.startswith("[secret:") or not _plausible(rule, found, name, value):
                continue
            parts += text[done:start], self._mark(rule, found)
            done = end
        return "".join([*parts, text[done:]]) if parts else text


def find_secrets(value: Any) -> bool:
    """Whether *value* holds a secret by any rule: then the store has to seal it."""
    options = settings()
    watch = Redactor(options.harmless_keys, options.secret_keys)
    data = plain_json(value)
    if data is not None and not watch.suspects(data):
        return False
    to_log(value, redact=watch)
    return bool(watch.counts()["hits"])


@lru_cache(maxsize=8192)
def key_rule(name: str) -> str | None:
    """The rule by which the value under the key *name* is a secret, by whole words of its end."""
    words = [word.lower() for word in _WORDS.findall(name)]
    while words and words[-1].isdecimal():
        words.pop()
    for rule, endings in _key_endings():
        for ending in endings:
            if tuple(words[-len(ending) :]) == ending:
                before = words[-2] if len(words) > 1 else ""
                harmless = rule == "token" and before in _HARMLESS_BEFORE_TOKEN
                return None if harmless else rule
    return None


@cache
def _key_endings() -> list[tuple[str, list[tuple[str, ...]]]]:
    return [(rule, [tuple(e.split()) for e in endings]) for rule, endings in _KEY_RULES.items()]


def _plausible(rule: str, found: str, name: re.Match[str], value: re.Match[str]) -> bool:
    """Whether an unquoted value behind `name:` in running text looks like a secret and not like the next word."""
    if value["quote"] or name["option"]:
        return True
    if rule in _ONLY_TEXT or rule == "card_code":
        return len(found) >= 3 and any(not c.isalpha() for c in found.rstrip(".!?:"))
    return len(found) >= (6 if name["sep"] == ":" else 3)


def _is_marker(text: str, name: re.Match[str]) -> bool:
    """Whether the name found is a part of `[secret:RULE:DIGEST]`, as in a text that was marked before."""
    before = text[max(0, name.start() - 8) : name.start()]
    return before.endswith("[secret:") or (before.endswith("[") and name["name"] == "secret")


def _digest(data: bytes) -> str:
    from tracekit import sealing

    try:
        return sealing.keyed_digest(data)
    except TracekitError:
        return ""  # no key can be had here: the secret is hidden all the same, only not comparable


_LOWER = bytes(range(256)).lower()
_NOT_ASCII = bytes(range(128, 256))


@lru_cache(maxsize=16)
def _hint_search(more_words: tuple[str, ...]) -> Callable[[bytes], bool]:
    """
    Whether bytes hold one of the hints.

    The regex engine inside pydantic finds many words at once, forty times faster than `re` (2 KB: 2 us against 100).
    """
    from pydantic_core import SchemaValidator, core_schema

    # letters beyond ASCII are in no hint, and checking their encoding would cost more than the search
    pattern = "|".join([_HINTS, *(re.escape(word) for word in more_words if word.isascii())])
    found = SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python
    if not all(word.isascii() for word in more_words):
        return lambda data: True
    return lambda data: found(data.translate(_LOWER, _NOT_ASCII))

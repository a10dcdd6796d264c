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
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

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
    {
        "next", "previous", "prev", "page", "pagination", "continuation", "cursor", "sync", "start", "end",
        "stop", "first", "last", "pad", "eos", "bos", "unk", "mask", "sep", "cls", "special", "per",
        "idempotency", "request", "resume", "cancel", "cancellation", "input", "output", "prompt", "completion",
        "total", "max", "min", "num", "new", "each", "delta", "text", "fence", "fencing", "design",
    }
)  # fmt: skip
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
    "bearer_token": r"\b[Bb]earer (?P<secret>(?=[^\s\"',;]*[\d._~+/=-])[\w.~+/=-]{12,})",
    "url_password": r"://[^\s/:@\"'<>\\]{0,200}:(?P<secret>[^\s/@\"'<>\\]{1,200})@",
}  # fmt: skip
"""Rule, and the shape that it finds in any text; the secret is the whole, or the group of that name."""

RULES: tuple[str, ...] = tuple(dict.fromkeys([*_KEY_RULES, *_SHAPES]))

_PROVIDER_HINTS = (
    "sk-[a-z0-9_-]{15}|rk-[a-z0-9_-]{15}|pk-[a-z0-9_-]{15}|xox[a-z]-|xapp-|pat-|_live_|_test_|whsec_|hf_[a-z0-9]{20}|"
    r"ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|akia[a-z0-9]{16}|asia[a-z0-9]{16}|aiza|ya29\.|sg\.|gsk_|npm_|pypi-|"
    "dapi[0-9a-f]{32}|gocspx-"
)
_WORD_HINTS = (
    "passw|passphrase|passcode|secret|token[^s]|_key|-key|api key|apikey|accesskey|privatekey|signingkey|encryptionkey|"
    "masterkey|licensekey|accountkey|subscriptionkey|sshkey|cookie|authoriz|credential|pwd|cvv|cvc|otp|mfa"
)
_HINTS = f"{_PROVIDER_HINTS}|{_WORD_HINTS}|-----begin|eyj|bearer|://"
"""At least one of these is in the lower-case form of every text that a rule can match."""

_SHAPE = {rule: re.compile(shape, re.DOTALL) for rule, shape in _SHAPES.items()}
_SEPARATOR = re.compile(r"=>|:=|[:=]")
_OPTION = re.compile(r"--(?P<name>[A-Za-z][A-Za-z0-9-]{1,60})\s{1,3}")
_NAME_BACKWARDS = re.compile(r"[A-Za-z0-9_.-]{2,62}")
_NAME_SPAN = 70
"""Characters before a separator in which its name is looked for."""
_STRETCH = 2048
"""Characters that are looked at together: in a long text most of them name nothing."""
_VALUE = re.compile(
    r"""\s{0,3}(?!\[secret:)(?:\[\s{0,3})?[bru]?(?:
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
        words = tuple(sorted(name.lower() for name in self._secret))
        self._may_name = _hint_search(_WORD_HINTS, words)
        self.suspects = _hint_search(_HINTS, words)
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
        if len(text) < 6:
            return text
        data = text.encode("utf-8", "replace")
        if not self.suspects(data):
            return text
        low = data.translate(_LOWER, _NOT_ASCII)
        if self._may_name(low):
            text = self._named(text, _options(text)) if "--" in text else text
            text = self._named(text, _names(text, self._may_name))
        return self._shaped(text, low)

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

    def _shaped(self, text: str, low: bytes) -> str:
        """*text* with every value replaced that has the shape of a secret; each rule is tried only where it can match."""
        can_match = {
            "private_key": "-----BEGIN" in text,
            "jwt": "eyJ" in text,
            "provider_key": _search(_PROVIDER_HINTS)(low),
            "bearer_token": "earer " in text,
            "url_password": "://" in text and "@" in text,
        }
        for rule, shape in _SHAPE.items():
            if can_match[rule]:
                text = shape.sub(partial(self._marked_match, rule), text)
        return text

    def _marked_match(self, rule: str, match: re.Match[str]) -> str:
        found = match.groupdict().get("secret")
        if found is None:
            return self._mark(rule, match[0])
        if found.startswith("[secret:"):
            return match[0]
        start, end = match.start("secret") - match.start(), match.end("secret") - match.start()
        return f"{match[0][:start]}{self._mark(rule, found)}{match[0][end:]}"

    def _named(self, text: str, names: Iterable[_Named]) -> str:
        """*text* with the values behind secret *names* replaced, at any depth of quoting."""
        parts: list[str] = []
        done = 0
        for name in names:
            rule = self.key_rule(name.name) if name.start >= done else None
            if rule is None or _is_marker(text, name):
                continue
            value = _VALUE.match(text, name.end)
            if value is None:
                continue
            start, end = value.span("quoted" if value["quote"] else "plain")
            found = text[start:end]
            if not found or found.startswith("[secret:") or not _plausible(rule, found, name, value):
                continue
            parts += text[done:start], self._mark(rule, found)
            done = end
        return "".join([*parts, text[done:]]) if parts else text


class _Named(NamedTuple):
    """A name in a text, and where its value begins."""

    name: str
    start: int
    end: int
    separator: str
    """`:`, `=` and the like; empty for the option of a command line."""


def _names(text: str, may_name: Callable[[bytes], bool]) -> Iterator[_Named]:
    """Every `name=`, `"name": `, `\\"name\\": ` in those stretches of *text* that may hold the name of a secret."""
    for begin in range(0, len(text), _STRETCH):
        end = begin + _STRETCH
        stretch = text[max(0, begin - _NAME_SPAN) : end + 1]
        if not may_name(stretch.encode("utf-8", "replace")):
            continue
        for separator in _SEPARATOR.finditer(text, begin, end + 1):
            first = max(0, separator.start() - _NAME_SPAN)
            before = text[first : separator.start()].rstrip().rstrip("\"'").rstrip("\\")
            # looked for backwards: a search for "a name at the end" would start at every character
            found = _NAME_BACKWARDS.match(before[::-1])
            if found is not None:
                start = first + len(before) - found.end()
                yield _Named(found[0][::-1], start, separator.end(), separator[0])


def _options(text: str) -> Iterator[_Named]:
    """Every `--name ` of *text*."""
    for option in _OPTION.finditer(text):
        yield _Named(option["name"], option.start("name"), option.end(), "")


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


def _plausible(rule: str, found: str, name: _Named, value: re.Match[str]) -> bool:
    """Whether an unquoted value behind `name:` in running text looks like a secret and not like the next word."""
    if value["quote"] or not name.separator or name.name.startswith("--"):
        return True
    if rule in _ONLY_TEXT or rule == "card_code":
        return len(found) >= 3 and any(not c.isalpha() for c in found.rstrip(".!?:"))
    return len(found) >= (6 if name.separator == ":" else 3)


def _is_marker(text: str, name: _Named) -> bool:
    """Whether the name found is a part of `[secret:RULE:DIGEST]`, as in a text that was marked before."""
    before = text[max(0, name.start - 8) : name.start]
    return before.endswith("[secret:") or (before.endswith("[") and name.name == "secret")


def _digest(data: bytes) -> str:
    from tracekit import sealing

    try:
        return sealing.keyed_digest(data)
    except TracekitError:
        return ""  # no key can be had here: the secret is hidden all the same, only not comparable


_LOWER = bytes(range(256)).lower()
_NOT_ASCII = bytes(range(128, 256))


@lru_cache(maxsize=16)
def _hint_search(hints: str, more_words: tuple[str, ...]) -> Callable[[bytes], bool]:
    """Whether bytes hold one of *hints* or of *more_words*, in any case of letters."""
    if not all(word.isascii() for word in more_words):
        return lambda data: True
    found = _search("|".join([hints, *map(re.escape, more_words)]))
    # letters beyond ASCII are in no hint, and checking their encoding would cost more than the search
    return lambda data: found(data.translate(_LOWER, _NOT_ASCII))


@lru_cache(maxsize=32)
def _search(pattern: str) -> Callable[[bytes], bool]:
    """
    Whether bytes hold *pattern*.

    The regex engine inside pydantic finds many words at once, forty times faster than `re` (2 KB: 2 us against 100).
    """
    from pydantic_core import SchemaValidator, core_schema

    return SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python

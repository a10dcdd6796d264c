"""One set of rules: marked in the log, sealed for the store; never the value, never in silence."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracekit import config, sealing
from tracekit.errors import TracekitError
from tracekit.recording import setup
from tracekit.recording.recorder import recorder
from tracekit.redaction import RULES, Redactor, find_secrets, key_rule
from tracekit.snapshot import to_log

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"
PLANTED = "PLANTEDs3cr3tVALUE"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TRACEKIT_HOME", str(tmp_path / "home"))
    config.reset()
    yield
    config.reset()


@pytest.mark.parametrize(
    "key",
    [
        "password", "Password", "db_password", "userPassword", "PASSWORD_2", "passwd", "pwd", "passphrase", "api_key",
        "apiKey", "X-Api-Key", "OPENAI_API_KEY", "apikey", "secret", "client_secret", "clientSecret", "secret_key",
        "AWS_SECRET_ACCESS_KEY", "access_token", "refreshToken", "token", "authToken", "Authorization",
        "Proxy-Authorization", "cookie", "Set-Cookie", "credentials", "private_key", "privateKey", "cvv", "session_token",
    ],
)  # fmt: skip
def test_a_key_that_names_a_secret_is_known_by_whole_words(key: str) -> None:
    assert key_rule(key) in RULES


@pytest.mark.parametrize(
    "key",
    [
        "token_count", "tokens", "max_tokens", "total_tokens", "input_tokens", "tokenizer", "next_page_token", "auth_types",
        "auth", "author", "secretary", "secret_santa_name", "key", "keys", "primary_key", "foreign_key", "idempotency_key",
        "password_required", "reset_password_url", "cookie_count", "passenger", "compass", "keyboard", "access_key_id",
        "private", "certificate", "pin_count", "pad_token", "cookies_accepted",
    ],
)  # fmt: skip
def test_a_harmless_key_stays(key: str) -> None:
    assert key_rule(key) is None


@pytest.mark.parametrize(
    "text",
    [
        "sk-proj-abcdefghijklmnop1234", "sk_live_abcdefghijklmnop", "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_abcdefghijklmnopqrstuv", "AKIAIOSFODNN7EXAMPLE", "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "xoxb-1234567890-abcdef", "glpat-abcdefghij1234567890", "hf_abcdefghijklmnopqrstuv", JWT, PEM,
        "whsec_abcdefghijklmnopqrst", "SG.abcdefghijklmnopqr.abcdefghijklmnopqr", "npm_abcdefghijklmnopqrstuvwxyz012345",
    ],
)  # fmt: skip
def test_a_value_that_has_the_shape_of_a_secret_is_found_anywhere_in_a_text(text: str) -> None:
    marked = Redactor().text(f"before {text} after")

    assert text not in marked
    assert text.splitlines()[-1] not in marked
    assert marked.startswith("before [secret:")
    assert marked.endswith("] after")


@pytest.mark.parametrize(
    "text",
    [
        f"password={PLANTED}", f"password: {PLANTED}", f"--password {PLANTED}", f"--api-key={PLANTED}",
        f"https://ann:{PLANTED}@host/x", f"postgresql://ann:{PLANTED}@db/x", f"?access_token={PLANTED}&x=1",
        f"Authorization: Bearer {PLANTED}", f"curl -H 'Authorization: Bearer {PLANTED}' http://x",
        f"X-Api-Key: {PLANTED}", f"{{'password': '{PLANTED}'}}", f'{{"password": "{PLANTED}"}}',
        json.dumps({"a": json.dumps({"password": PLANTED})}),
        json.dumps({"a": json.dumps({"b": json.dumps({"apiKey": PLANTED})})}),
        f"client_secret = '{PLANTED}'", f"OPENAI_API_KEY={PLANTED}", f"Cookie: session={PLANTED}",
        f"Bearer {PLANTED}", f"failed: password=b'{PLANTED}'", f"pwd=>{PLANTED}", f'{{"tokens": ["x"], "token": ["{PLANTED}"]}}',
    ],
)  # fmt: skip
def test_a_named_secret_inside_a_text_is_found_at_any_depth_of_quoting(text: str) -> None:
    marked = Redactor().text(text)

    assert PLANTED not in marked
    assert "[secret:" in marked
    if text.startswith("{") and "'" not in text:
        json.loads(marked)


@pytest.mark.parametrize(
    "text",
    [
        "The token count is: 5 of 10.", "Enter the password: then go on.", "a secret: nobody knows it", "risk-free sk-learn",
        "task-1234567890123456789012", "see https://example.com/a:b@c?x=1", '{"token_count": 5, "auth_types": ["basic"]}',
        "Basic understanding of bearer bonds", "the secretary: Ann", "order A-1024 costs 99.50", "max_tokens=4096",
        "desk-abcdefghijklmnopqrstuvwxyz",
    ],
)  # fmt: skip
def test_a_harmless_text_stays_the_very_same(text: str) -> None:
    assert Redactor().text(text) is text


VALUES = [
    {"password": PLANTED},
    {"credentials": {"user": "ann", "value": PLANTED}},
    [("Authorization", f"Basic {PLANTED}")],
    {"headers": {"Set-Cookie": [PLANTED, "b=2"]}},
    {"headers": [{"name": "X-Api-Key", "value": PLANTED}]},
    {b"authorization": PLANTED},
    ValueError(f"login failed: password={PLANTED}"),
    {"note": f"password={PLANTED}".encode()},
    {"a": [{"b": json.dumps({"client_secret": PLANTED})}]},
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_secret_is_marked_wherever_it_stands_and_the_store_is_told(value: Any) -> None:
    redactor = Redactor()
    marked = to_log(value, redact=redactor)

    assert PLANTED not in str(marked)
    assert find_secrets(value)
    assert to_log(marked, redact=redactor) == marked
    assert sum(redactor.counts()["hits"].values()) >= 1


def test_values_without_secrets_are_told_to_be_without() -> None:
    assert not find_secrets(
        {"order_id": "A-1024", "token_count": 7, "note": "the key to success", "amount": 99.5}
    )
    assert not find_secrets({"token": 5, "secret": True, "password": None, "password2": ""})


def test_equal_secrets_stay_comparable_and_different_ones_differ() -> None:
    told = to_log([{"password": PLANTED}, {"password": PLANTED}, {"password": "other"}], redact=Redactor())
    first, second, third = (item["password"]["$tk"]["digest"] for item in told)

    assert first == second != third
    assert f":{first}]" in Redactor().text(f"password={PLANTED}")


def test_the_digest_depends_on_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    first = sealing.keyed_digest(b"x")
    monkeypatch.setenv("TRACEKIT_KEY", "0123456789abcdef0123456789abcdef")

    assert sealing.keyed_digest(b"x") != first


def test_keys_can_be_declared_harmless_or_secret() -> None:
    redactor = Redactor(harmless_keys=["token"], secret_keys=["card_no"])

    told = to_log({"token": "pawn", "card_no": "4111"}, redact=redactor)
    assert told["token"] == "pawn"
    assert told["card_no"]["$tk"]["type"] == "secret"
    assert "4111" not in redactor.text("card_no=4111x")


def test_a_planted_key_is_in_no_file_of_the_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    setup.init(blob_bytes=200)
    messages = [
        {"role": "user", "content": f"my password is: password={PLANTED}"},
        {"role": "tool", "token": PLANTED},
    ]
    step = recorder().begin(
        "tool", f"fetch?api_key={PLANTED}", tool_name=f"x?token={PLANTED}1", call_id=f"password={PLANTED}",
        input={"password": PLANTED, "big": ["x" * 300, f"secret={PLANTED}"]}, raw=json.dumps({"api_key": PLANTED}),
        messages=messages, attributes={"Authorization": f"Bearer {PLANTED}"}, effect={"key": f"token={PLANTED}"},
    )  # fmt: skip
    step.finish(
        "error", output=f"https://a:{PLANTED}@h", raw=f"Bearer {PLANTED}", error=ValueError(f"password={PLANTED}"),
        asked=[{"name": "t", "arguments": json.dumps({"password": PLANTED})}],
    )  # fmt: skip
    setup.shutdown()

    files = [path for path in home.rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} == {"traces", "blobs", "home"}
    for path in files:
        assert PLANTED.encode() not in path.read_bytes(), path
    (log,) = (home / "traces").iterdir()
    last = json.loads(log.read_bytes().splitlines()[-1])
    assert last["redaction"]["hits"]["password"] >= 4
    assert set(last["redaction"]["rules"]) == set(RULES)


def test_redaction_can_be_switched_off(tmp_path: Path) -> None:
    setup.init(redact=False)
    recorder().begin("tool", "t", input={"password": PLANTED}).finish()
    setup.shutdown()

    (log,) = (tmp_path / "home" / "traces").iterdir()
    assert PLANTED in log.read_text()


@pytest.mark.parametrize("size", [0, 1, 31, 4096, 1_000_000])
@pytest.mark.parametrize("with_library", [True, False])
def test_sealed_bytes_come_back_and_tell_nothing(
    monkeypatch: pytest.MonkeyPatch, size: int, with_library: bool
) -> None:
    if not with_library:
        monkeypatch.setattr(sealing, "_aes", lambda key: None)
    data = (PLANTED.encode() * (size // 10 + 1))[:size]
    sealed = sealing.seal(data)

    assert sealing.unseal(sealed) == data
    assert PLANTED.encode() not in sealed
    assert size < 31 or sealing.seal(data) != sealed


@pytest.mark.parametrize("with_library", [True, False])
def test_changed_bytes_and_another_key_are_refused(
    monkeypatch: pytest.MonkeyPatch, with_library: bool
) -> None:
    if not with_library:
        monkeypatch.setattr(sealing, "_aes", lambda key: None)
    monkeypatch.setenv("TRACEKIT_KEY", "fedcba9876543210fedcba9876543210")
    sealed = sealing.seal(b"value")
    for changed in (sealed[:-1] + bytes([sealed[-1] ^ 1]), sealed[:10], b"", b"tk9x" + sealed[4:]):
        with pytest.raises(TracekitError) as caught:
            sealing.unseal(changed)
        assert caught.value.code == "sealing.wrong_key"
    monkeypatch.setenv("TRACEKIT_KEY", "0123456789abcdef0123456789abcdef")
    with pytest.raises(TracekitError):
        sealing.unseal(sealed)


def test_the_key_is_made_once_private_and_used_by_all(tmp_path: Path) -> None:
    first = sealing.load_key(tmp_path)

    assert sealing.load_key(tmp_path) == first
    assert len(first) == 32
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["key"]


def test_a_key_that_others_can_read_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sealing.load_key(tmp_path)
    (tmp_path / "key").chmod(0o644)
    sealing.load_key(tmp_path)

    assert "chmod 600" in caplog.text


def test_a_short_key_in_the_environment_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_KEY", "short")
    with pytest.raises(TracekitError) as caught:
        sealing.load_key(tmp_path)

    assert caught.value.code == "sealing.short_key"


def test_a_damaged_key_file_is_told_and_hides_secrets_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "key").write_text("not hex")

    assert PLANTED not in str(to_log({"password": PLANTED}, redact=Redactor()))
    with pytest.raises(TracekitError) as caught:
        sealing.seal(b"x")
    assert caught.value.code == "sealing.no_key"


@pytest.mark.parametrize("before", [0, 1, 2030, 2040, 2047, 2048, 2049, 4090, 4097, 100_000])
def test_a_secret_is_found_wherever_in_a_long_text_it_stands(before: int) -> None:
    text = "word " * (before // 5) + "x" * (before % 5) + f' "password" : "{PLANTED}" ' + "word " * 1000

    marked = Redactor().text(text)
    assert PLANTED not in marked
    assert len(marked) > 5000


@pytest.mark.parametrize(
    "text",
    ["a:" * 50_000 + "password", "password=\\" * 20_000, "://" * 50_000 + "token=@", "x" * 200_000 + "_key="],
    ids=["separators", "backslashes", "slashes", "one word"],
)
def test_a_long_text_made_to_be_slow_is_read_to_its_end(text: str) -> None:
    marked = Redactor().text(f"{text} password='{PLANTED}'")

    assert PLANTED not in marked


def test_a_word_given_as_an_option_is_a_secret_too() -> None:
    assert "hunter" not in Redactor().text("run --token=hunter --x=1")
    assert "hunter" not in Redactor().text("run --client-secret hunter")


@pytest.mark.parametrize("with_aes", [True, False])
def test_a_former_key_opens_and_no_longer_seals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_aes: bool
) -> None:
    if not with_aes:
        monkeypatch.setattr(sealing, "_aes", lambda key: None)
    config.configure(home=tmp_path)
    by_file = sealing.seal(b"under the file")
    (tmp_path / "key").rename(tmp_path / "key.old")
    sealing._derived.cache_clear()  # as a new process begins
    by_new_file = sealing.seal(b"under the new file")
    monkeypatch.setenv("TRACEKIT_KEY", "first " * 8)
    by_first = sealing.seal(b"under the first")
    monkeypatch.setenv("TRACEKIT_KEY", "second " * 8)
    monkeypatch.setenv("TRACEKIT_OLD_KEYS", "none of them," + "first " * 8)

    opened = [sealing.unseal(each) for each in (by_file, by_new_file, by_first, sealing.seal(b"now"))]

    assert opened == [b"under the file", b"under the new file", b"under the first", b"now"]
    monkeypatch.delenv("TRACEKIT_OLD_KEYS")
    with pytest.raises(TracekitError, match="another key"):
        sealing.unseal(by_first)

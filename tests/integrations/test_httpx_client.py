"""httpx under an effect: the key goes along, and a failure says whether the request had left."""

from __future__ import annotations

import socket
from typing import Any

import httpx as sdk
import httpx2
import pytest

import tracekit
from tracekit.integrations import httpx
from tracekit.model import Dispatch
from tracekit.outcome import classify


@pytest.fixture(autouse=True)
def instrumented(home: Any) -> None:
    httpx.instrument()


def refused_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def run_effect(work: Any, task_id: str = "t1") -> Any:
    made = tracekit.tool(effect="payment", retry=tracekit.Retry(attempts=1), name="pay")(work)
    with tracekit.task_scope(task_id):
        return made()


@pytest.mark.parametrize("module", [sdk, httpx2])
def test_the_key_of_the_effect_goes_along(provider: Any, answer: Any, module: Any) -> None:
    provider.answers(answer({"ok": True}))

    def pay() -> str | None:
        with module.Client() as client:
            client.post(f"{provider.url}/refunds", json={}).raise_for_status()
            client.get(f"{provider.url}/refunds")
            client.post(f"{provider.url}/own", headers={"Idempotency-Key": "mine"})
        return tracekit.idempotency_key()

    key = run_effect(pay)

    sent = [request["headers"].get("idempotency-key") for request in provider.requests]
    assert key
    assert sent == [key, None, "mine"]


async def test_the_async_client_sends_it_too(provider: Any, answer: Any) -> None:
    provider.answers(answer({"ok": True}))

    @tracekit.tool(effect="payment", name="pay_async")
    async def pay() -> str | None:
        async with sdk.AsyncClient() as client:
            await client.post(f"{provider.url}/refunds", json={})
        return tracekit.idempotency_key()

    with tracekit.task_scope("t1"):
        key = await pay()

    assert provider.requests[0]["headers"]["idempotency-key"] == key


def test_outside_an_effect_nothing_is_added(provider: Any, answer: Any) -> None:
    provider.answers(answer({"ok": True}))

    sdk.post(f"{provider.url}/refunds", json={})

    assert "idempotency-key" not in provider.requests[0]["headers"]


def ledger_status(home: Any) -> str:
    from tracekit.store import open_store

    with_effects = open_store(f"sqlite:{home / 'state.db'}").load("t1")
    assert with_effects is not None
    return str(with_effects.effects[-1].status.value)


def test_a_refused_connection_is_told_as_not_sent(home: Any, steps: Any) -> None:
    port = refused_port()

    with pytest.raises(sdk.ConnectError) as raised:
        run_effect(lambda: sdk.post(f"http://127.0.0.1:{port}/refunds"))

    assert classify(raised.value, is_effect=True).dispatch is Dispatch.NOT_SENT
    assert ledger_status(home) == "failed"


def test_a_connection_closed_without_an_answer_is_unknown_and_asks_a_person(
    provider: Any, answer: Any, home: Any
) -> None:
    provider.answers(answer(drop=True))

    with pytest.raises(tracekit.RequiresReview):
        run_effect(lambda: sdk.post(f"{provider.url}/refunds", json={}))

    assert ledger_status(home) == "executed_unknown"
    assert len(provider.requests) == 1


def test_an_exception_of_any_name_before_the_request_left_is_not_sent(provider: Any, answer: Any) -> None:
    class Odd(Exception):
        pass

    def fail_at_connect(event: str, info: Any) -> None:
        if event == "connection.connect_tcp.complete":
            raise Odd("the proxy's own check failed")

    def pay() -> None:
        with sdk.Client() as client:
            request = client.build_request(
                "POST", f"{provider.url}/refunds", extensions={"trace": fail_at_connect}
            )
            client.send(request)

    with pytest.raises(Odd) as raised:
        run_effect(pay)

    assert classify(raised.value, is_effect=True).dispatch is Dispatch.NOT_SENT
    assert provider.requests == []


def test_a_refused_connection_behind_a_redirect_is_no_proof_that_nothing_happened(
    provider: Any, answer: Any, home: Any
) -> None:
    away = f"http://127.0.0.1:{refused_port()}/elsewhere"
    provider.answers(answer({}, status=307, headers={"Location": away}))

    with pytest.raises(tracekit.RequiresReview):
        run_effect(lambda: sdk.post(f"{provider.url}/refunds", json={}, follow_redirects=True))

    assert ledger_status(home) == "executed_unknown"

"""
The outside world of the refund example: orders, payments, mails, and its own list of what really happened.

Run in its own process, so that killing the agent leaves it alone. The list is a file that is synced line by line
before the caller gets an answer, and is read back when the world starts again: the truth that tests count against.

| request | does |
|---|---|
| `GET /orders/ID` | one order |
| `POST /refunds` `{"order_id", "amount"}` | books a refund; with header `Idempotency-Key` at most once per key, where told to honour it |
| `GET /refunds?key=KEY` | `{"found": true, "refund": {...}}` or `{"found": false}`: what a probe asks |
| `POST /refunds/ID/cancel` | takes a refund back |
| `POST /notifications` `{"order_id", "text"}` | sends a mail |
| `GET /ledger` | everything that happened, in order |
"""

from __future__ import annotations

import argparse
import json
import os
import threading
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from tracekit.testing.loopback import Answer, Request, serve
from tracekit.testing.service import Service, call

ORDERS: dict[str, dict[str, Any]] = {
    "A-1024": {"customer": "Ada", "total": "129.90", "currency": "EUR", "returned": ["lamp"], "lines": {"lamp": "99.50", "bulb": "30.40"}},
    "A-1025": {"customer": "Bo", "total": "10.00", "currency": "EUR", "returned": ["pen"], "lines": {"pen": "10.00"}},
    "B-2001": {"customer": "Cy", "total": "840.00", "currency": "EUR", "returned": [], "lines": {"desk": "840.00"}},
}  # fmt: skip
"""Order id to order; amounts are decimal text."""


class Ledger:
    """The list of what happened: in memory, and on disk before anybody is told."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.lock = threading.RLock()
        self.rows: list[dict[str, Any]] = (
            [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        )
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def append(self, **fields: Any) -> dict[str, Any]:
        """Write one row down, synced, and return it with its number `n`."""
        with self.lock:
            row = {"n": len(self.rows) + 1, **fields}
            os.write(self._descriptor, (json.dumps(row) + "\n").encode())
            os.fsync(self._descriptor)
            self.rows.append(row)
            return row


class WorldApp:
    """Answers the requests of the table above."""

    def __init__(self, ledger: Ledger, *, honour_keys: bool) -> None:
        self._ledger = ledger
        self._honour_keys = honour_keys

    def answer(self, request: Request) -> Answer:
        match request.method, request.path.strip("/").split("/"):
            case "GET", ["orders", order_id]:
                return self._order(order_id)
            case "POST", ["refunds"]:
                return self._refund(request)
            case "GET", ["refunds"]:
                return self._find(request.query.get("key", ""))
            case "POST", ["refunds", refund_id, "cancel"]:
                return self._cancel(refund_id)
            case "POST", ["notifications"]:
                return Answer(
                    self._ledger.append(kind="notification", **_only(request.body, "order_id", "text"))
                )
            case "GET", ["ledger"]:
                return Answer(list(self._ledger.rows))
        return Answer({"error": f"no such thing: {request.method} {request.path}"}, status=404)

    def _order(self, order_id: str) -> Answer:
        order = ORDERS.get(order_id)
        if order is None:
            return Answer({"error": f"order {order_id} not found"}, status=404)
        return Answer({"order_id": order_id, **order})

    def _refund(self, request: Request) -> Answer:
        asked = _only(request.body, "order_id", "amount")
        if problem := _problem(asked):
            return Answer({"error": problem}, status=422)
        key = request.headers.get("idempotency-key")
        with self._ledger.lock:
            if self._honour_keys and key and (known := self._by_key(key)):
                return Answer(known)
            number = sum(row["kind"] == "refund" for row in self._ledger.rows) + 1
            return Answer(self._ledger.append(kind="refund", refund_id=f"R-{number}", key=key, **asked))

    def _find(self, key: str) -> Answer:
        with self._ledger.lock:
            known = self._by_key(key)
        return Answer({"found": True, "refund": known} if known else {"found": False})

    def _cancel(self, refund_id: str) -> Answer:
        with self._ledger.lock:
            kinds = [row["kind"] for row in self._ledger.rows if row.get("refund_id") == refund_id]
            if "refund" not in kinds:
                return Answer({"error": f"refund {refund_id} not found"}, status=404)
            if "cancel" in kinds:
                return Answer({"error": f"refund {refund_id} was cancelled before"}, status=409)
            return Answer(self._ledger.append(kind="cancel", refund_id=refund_id))

    def _by_key(self, key: str) -> dict[str, Any] | None:
        return next((row for row in self._ledger.rows if row["kind"] == "refund" and row["key"] == key), None)


def _only(body: Any, *names: str) -> dict[str, Any]:
    found = body if isinstance(body, dict) else {}
    return {name: found.get(name) for name in names}


def _problem(asked: dict[str, Any]) -> str | None:
    order = ORDERS.get(str(asked["order_id"]))
    if order is None:
        return f"order {asked['order_id']} not found"
    try:
        amount = Decimal(str(asked["amount"]))
    except InvalidOperation:
        return f"amount is not a number: {asked['amount']!r}"
    if not 0 < amount <= Decimal(order["total"]):
        return f"amount {amount} is not within 0 and the order's total of {order['total']}"
    return None


class World(Service):
    """
    The world in a process of its own.

    Args:
        ledger: File of what happened; an existing one is gone on with.
        honour_keys: Whether a second refund under the same `Idempotency-Key` gives back the first one.
    """

    module = "tracekit.testing.world"

    def __init__(self, ledger: Path, *, honour_keys: bool = False) -> None:
        super().__init__("--ledger", str(ledger), *(["--honour-keys"] if honour_keys else []))

    def happened(self, kind: str = "") -> list[dict[str, Any]]:
        """What really happened, in order; only *kind* (`refund`, `cancel`, `notification`) when given."""
        rows: list[dict[str, Any]] = call(f"{self.url}/ledger")
        return [row for row in rows if not kind or row["kind"] == kind]


def main() -> None:
    """Serve the world until standard input closes."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--ledger", type=Path, required=True, help="file of what really happened")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--honour-keys", action="store_true", help="one refund per Idempotency-Key")
    options = parser.parse_args()
    serve(WorldApp(Ledger(options.ledger), honour_keys=options.honour_keys), port=options.port)


if __name__ == "__main__":
    main()

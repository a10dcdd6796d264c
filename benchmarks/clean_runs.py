"""
Clean runs as chat messages, into which `mutate.py` plants faults: ours, made here from a seed, and the successful runs of
the corpus where it is present.

Ours are a support agent's runs: look the customer and the order up, sometimes read things twice, compute, pay, tell.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import corpus

Message = dict[str, Any]

SYSTEM = (
    "You are a support agent. Look things up before you act, pay refunds only for delivered orders, and tell the "
    "customer what was done. Amounts are in EUR."
)


@dataclass(frozen=True, slots=True)
class CleanRun:
    """A run in which nothing went wrong."""

    origin: str
    messages: list[Message]


@dataclass(slots=True)
class _Talk:
    """A conversation while it is written."""

    rng: random.Random
    messages: list[Message] = field(default_factory=list)

    def say(self, role: str, text: str) -> None:
        self.messages.append({"role": role, "content": text})

    def call(self, *calls: tuple[str, dict[str, Any], Any]) -> None:
        """One turn of the model with its calls, and their answers."""
        asked = []
        answers: list[Message] = []
        for name, arguments, answer in calls:
            call_id = f"call_{self.rng.getrandbits(48):012x}"
            function = {"name": name, "arguments": json.dumps(arguments)}
            asked.append({"id": call_id, "type": "function", "function": function})
            text = answer if isinstance(answer, str) else json.dumps(answer)
            answers.append({"role": "tool", "tool_call_id": call_id, "name": name, "content": text})
        self.messages.append({"role": "assistant", "content": None, "tool_calls": asked})
        self.messages.extend(answers)


def ours(count: int, seed: int = 7) -> list[CleanRun]:
    """*count* runs of the support agent; the same seed gives the same runs."""
    rng = random.Random(seed)
    return [CleanRun("ours", _run(rng, number)) for number in range(count)]


def _run(rng: random.Random, number: int) -> list[Message]:
    talk = _Talk(rng)
    user = f"{rng.choice(('ada', 'ben', 'chloe', 'dev', 'emi'))}_{rng.choice(('okoye', 'smith', 'ito', 'rossi'))}_{rng.randint(1000, 9999)}"
    orders = [f"#W{rng.randint(10**6, 10**7 - 1)}" for _ in range(rng.randint(1, 3))]
    methods = [f"credit_card_{rng.randint(10**5, 10**6)}", f"gift_card_{rng.randint(10**5, 10**6)}"]
    talk.say("system", SYSTEM)
    talk.say(
        "user", f"Hello, my user id is {user}. I want my money back for {orders[0]}, the lamp came broken."
    )
    profile = {"user_id": user, "payment_methods": [{"id": m} for m in methods], "orders": orders}
    records = {order: _order(rng, order, user, methods[0]) for order in orders}
    if rng.random() < 0.4:
        talk.call(
            ("get_user", {"user_id": user}, profile),
            ("get_order", {"order_id": orders[0]}, records[orders[0]]),
        )
    else:
        talk.call(("get_user", {"user_id": user}, profile))
        for order in orders[: rng.randint(1, len(orders))]:
            talk.call(("get_order", {"order_id": order}, records[order]))
    chosen = records[orders[0]]
    if rng.random() < 0.5:
        talk.say(
            "assistant", f"I can refund {chosen['total']} EUR to {chosen['payment_method_id']}. Shall I?"
        )
        talk.say("user", "Yes please.")
    if rng.random() < 0.5:
        talk.call(("search_policy", {"query": "refund of broken goods"}, _policy(rng)))
    quote = {"quote_id": f"q_{rng.randint(10**5, 10**6)}", "order_id": orders[0], "amount": chosen["total"]}
    talk.call(("quote_refund", {"order_id": orders[0], "item_id": chosen["items"][0]["item_id"]}, quote))
    refund = {
        "order_id": orders[0],
        "amount": quote["amount"],
        "payment_method_id": chosen["payment_method_id"],
        "quote_id": quote["quote_id"],
    }
    receipt = {"refund_id": f"r_{rng.randint(10**5, 10**6)}", "status": "booked", "amount": quote["amount"]}
    talk.call(("refund", refund, receipt))
    if rng.random() < 0.5:
        talk.call(("get_order", {"order_id": orders[0]}, {**chosen, "status": "refunded"}))
    talk.call(
        ("notify", {"user_id": user, "text": f"We paid {quote['amount']} EUR back, receipt {receipt['refund_id']}."}, {"sent": True, "message_id": f"m_{number}{rng.randint(100, 999)}"}),
    )  # fmt: skip
    talk.say("assistant", f"Your refund of {quote['amount']} EUR is booked ({receipt['refund_id']}).")
    return talk.messages


def _order(rng: random.Random, order: str, user: str, method: str) -> dict[str, Any]:
    items = [
        {"item_id": str(rng.randint(10**9, 10**10 - 1)), "name": rng.choice(("lamp", "chair", "kettle")), "price": round(rng.uniform(9, 300), 2)}
        for _ in range(rng.randint(1, 3))
    ]  # fmt: skip
    total = round(sum(item["price"] for item in items), 2)
    return {"order_id": order, "user_id": user, "status": "delivered", "items": items, "total": total, "payment_method_id": method}  # fmt: skip


def _policy(rng: random.Random) -> str:
    return rng.choice(
        (
            "Broken goods are refunded in full within 30 days. If a refund failed before, see section 4 (errors).",
            "Refunds: full price, original payment method. Error codes are listed in the appendix.",
        )
    )


def from_corpus() -> Iterator[CleanRun]:
    """Successful runs of the labelled chat logs in which neither a tool error nor an invented id is on record."""
    for name, files in (
        ("taubench_airline", ("gpt-4o-airline.json",)),
        ("agentrx_tau_retail", ("tau_dataset_failed.json", "tau_dataset_full.json")),
    ):
        path = corpus.folder(name)
        if path is None:
            continue
        labels = {(row["file"], row["trace_index"]): row for row in corpus.rows(path / "labels.jsonl")}
        invented = {(row["file"], row["trace_index"]) for row in corpus.rows(path / "unseen_ids.jsonl")}
        for file in files:
            for index, run in enumerate(json.loads((path / file).read_text(encoding="utf-8"))):
                label = labels.get((file, index))
                if (
                    label
                    and label["task_success"]
                    and not label["n_tool_errors"]
                    and (file, index) not in invented
                ):
                    yield CleanRun(name, [_plain(message) for message in run["traj"]])


def _plain(message: Message) -> Message:
    """A message with the keys of a chat alone: what labellers added to a log is left out."""
    return {
        key: message[key]
        for key in ("role", "content", "tool_calls", "tool_call_id", "name")
        if key in message
    }

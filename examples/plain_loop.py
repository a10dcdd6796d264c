"""
A plain loop, standard library only: the model is asked over HTTP, its tools are run, until it has nothing more to do.

    python examples/with_services.py examples/plain_loop.py "The lamp of order A-1024 came broken."

Everything is recorded, and everything is durable: kill it anywhere, `tracekit resume plain-1 --app examples/plain_loop.py`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any
from urllib.request import Request, urlopen

from refund_agent.agent import SYSTEM, TOOLS

import tracekit

MODEL_URL = os.environ.get("MODEL_URL", "http://127.0.0.1:8802/v1")

Json = dict[str, Any]


def ask(messages: list[Json], tools: list[Json]) -> Json:
    """One completion of any OpenAI-compatible server."""
    body = json.dumps({"model": "scripted-refund-1", "messages": messages, "tools": tools}).encode()
    request = Request(f"{MODEL_URL}/chat/completions", body, {"Content-Type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        found: Json = json.load(answer)
        return found


@tracekit.task(goal="Give the customer back what the returned goods cost")
def handle_ticket(run: tracekit.Run, ticket: str) -> str:
    messages: list[Json] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ticket}]
    while True:
        reply = run.model(ask, messages, tools=TOOLS)
        messages.append(reply.message)
        if not reply.tool_calls:
            return reply.text
        messages += run.tools(reply.tool_calls)


if __name__ == "__main__":
    tracekit.init(service="plain-loop")
    print(handle_ticket.start(sys.argv[1], task_id="plain-1"))

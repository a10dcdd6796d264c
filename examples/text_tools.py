"""
The refund agent for a model without tool calls: it is asked for one JSON object in its text, as small local models are.

    llama-server -m SmolLM2-135M-Instruct.gguf --jinja -c 4096 --port 8080      # or any OpenAI-compatible server
    MODEL_URL=http://127.0.0.1:8080/v1 python examples/text_tools.py "The lamp of order A-1024 came broken."

Needs `pip install openai`, and the services of `python -m tracekit.testing.world --ledger world.jsonl --port 8801`.
JSON_MODE=loose has the server hold the model to the form, JSON_MODE=strict to the schemas of the tools as well;
MAX_TOKENS cuts its answers off.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from openai import OpenAI
from refund_agent.agent import find_order, notify, refund

import tracekit
from tracekit.model import ToolCall

MODEL_URL = os.environ.get("MODEL_URL", "http://127.0.0.1:8080/v1")
MODEL = os.environ.get("MODEL", "smollm2-135m-instruct")
MAX_TOKENS = int(os.environ.get("MAX_TOKENS", "80"))
TOOLS = [find_order, refund, notify]
MOST_TURNS = 4

SYSTEM = """You handle refunds. Answer with one JSON object and nothing else. To use a tool:
{"tool": "find_order", "arguments": {"order_id": "..."}}
Tools: find_order(order_id), refund(order_id, amount), notify(order_id, text). When you are done:
{"tool": "say", "arguments": {"text": "..."}}"""


JSON_MODE = os.environ.get("JSON_MODE", "off")


def action(tool: str, arguments: Any) -> dict[str, Any]:
    """JSON Schema of one action."""
    properties = {"tool": {"const": tool}, "arguments": arguments}
    return {"type": "object", "properties": properties, "required": list(properties)}


def form(*, may_say: bool) -> dict[str, Any]:
    """What a server may hold the model to; nothing is said before something was looked up."""
    loose = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("order_id", "amount", "text")},
    }
    schemas = {tool.name: tool.definition()["function"]["parameters"] for tool in TOOLS}
    schemas |= {"say": {"type": "object", "properties": {"text": {"type": "string"}}}} if may_say else {}
    actions = [action(name, schema if JSON_MODE == "strict" else loose) for name, schema in schemas.items()]
    return {"type": "json_schema", "json_schema": {"name": "action", "schema": {"anyOf": actions}}}


def ask(messages: list[dict[str, Any]]) -> Any:
    """One completion of the model; the same one for the same messages."""
    held: Any = {} if JSON_MODE == "off" else {"response_format": form(may_say=len(messages) > 2)}
    client = OpenAI(base_url=MODEL_URL, api_key=os.environ.get("OPENAI_API_KEY", "none"), max_retries=0)
    sent: Any = messages
    return client.chat.completions.create(
        model=MODEL, messages=sent, max_tokens=MAX_TOKENS, temperature=0, seed=7, **held
    )


def read_action(text: str) -> dict[str, str]:
    """Tool and argument text of the answer; the arguments are left as they came, so that tracekit judges them."""
    found = re.match(
        r'\s*\{\s*"tool"\s*:\s*"(\w+)"\s*,\s*"arguments"\s*:\s*(\{.*?\}|\{[^}]*)', text, re.DOTALL
    )
    if found is None:
        raise ValueError(
            f"could not parse the answer: expected one JSON object with a tool, got {text[:60]!r}"
        )
    return {"tool": found[1], "arguments": found[2]}


@tracekit.task(goal="Give the customer back what the returned goods cost", max_reinfers=1)
def handle_ticket(run: tracekit.Run, ticket: str) -> str:
    """Goes on until the model says something to the customer, or has had its turns."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": ticket},
    ]
    for turn in range(MOST_TURNS):
        reply = run.model(ask, messages)
        asked = run.step("read the answer", read_action, reply.text)
        if asked["tool"] == "say":
            return asked["arguments"]
        [answer] = run.tools([ToolCall(f"call_{turn + 1}", asked["tool"], asked["arguments"])], TOOLS)
        told = {"role": "user", "content": f"{asked['tool']} answered: {answer['content']}"}
        messages += [reply.message, told]
    raise RuntimeError(f"maximum number of turns ({MOST_TURNS}) reached without an answer")


if __name__ == "__main__":
    tracekit.init(service="text-tools")
    print(handle_ticket.start(sys.argv[1], task_id=os.environ.get("TASK", "ticket-77")))

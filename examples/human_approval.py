"""
A payment that a person has to allow: the task waits, in no process, until somebody has answered.

    python examples/with_services.py examples/human_approval.py start      # exit code 5: waits for a person
    tracekit review list
    tracekit review decide REVIEW yes
    python examples/with_services.py examples/human_approval.py resume
"""

from __future__ import annotations

import sys
from decimal import Decimal

from refund_agent.agent import compute_refund, find_order, refund

import tracekit


@tracekit.task(goal="Pay back what came back, if a person agrees", review_expires_s=7 * 24 * 3600)
def pay_back(run: tracekit.Run, order_id: str) -> str:
    order = run.tool(find_order, order_id)
    due = run.tool(compute_refund, [Decimal(order["lines"][name]) for name in order["returned"]])
    if run.ask(f"Pay {due['amount']} back for {order_id}?", ["yes", "no"]) != "yes":
        return "not paid"
    return f"paid: {run.tool(refund, order_id, Decimal(due['amount']))['refund_id']}"


if __name__ == "__main__":
    tracekit.init(service="human-approval")
    try:
        print(
            pay_back.start("A-1024", task_id="approval-1")
            if sys.argv[1] == "start"
            else tracekit.resume("approval-1")
        )
    except tracekit.RequiresReview as question:
        print(question)
        sys.exit(5)

"""
The life of one attempt: open it, run the task function in it, close it.

Opening does what must happen before the function runs again: settle what a lost owner left unknown, carry out what a
person decided, look for changed code. Closing writes the result, or asks a person why it broke.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import orjson

from tracekit.durable import shell_async, shell_sync
from tracekit.durable.bodies import blob
from tracekit.durable.carried import UNFINISHED
from tracekit.durable.code_version import code_change
from tracekit.durable.compensate import roll_back
from tracekit.durable.decide import Facts
from tracekit.durable.errors_stored import error_to_json, safe_text
from tracekit.durable.journal import place_of
from tracekit.durable.owning import Ownership
from tracekit.durable.places import children_of, entered, named_call, numbered_tasks
from tracekit.durable.points import point
from tracekit.durable.requests import Commit, Op, commit
from tracekit.durable.reviewing import STANDARD_OPTIONS, review_row, stop_for_review
from tracekit.durable.run import Run
from tracekit.durable.session import Session, event, now_ms
from tracekit.durable.settle_lost import settle_lost
from tracekit.durable.trail import root_step
from tracekit.durable.unopened import REASON as UNOPENED
from tracekit.durable.user_frames import shorten_stop
from tracekit.errors import Divergence, LeaseLost, RequiresReview, TracekitError
from tracekit.model import StepKind, StepStatus, TaskStatus
from tracekit.store.contract import AppendDecision, PutStep, UpdateTask, UseReview, Write
from tracekit.store.rows import DecisionRow, ReviewRow
from tracekit.tools import handler, running_tasks


@dataclass(frozen=True, slots=True)
class Body:
    """What an attempt runs: the task function with its arguments."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    code_version: str
    tool_schema_hash: str
    on_code_change: str


OWN_ENDINGS = (SystemExit, asyncio.CancelledError)
"""In a worker these come from the task itself; taken for an interruption, it would be run again for ever."""


class TaskEnded(TracekitError):
    """A person ended the task instead of letting it go on."""


def run_sync(owner: Ownership, session: Session, body: Body) -> Any:
    """Run a plain task function to its end; returns its result or raises what ended the attempt."""
    with _attempt(owner, session) as run, entered(session.scope):
        shell_sync.drive(session, _open(session, body))
        try:
            point("before_function")
            value = body.function(run, *body.args, **body.kwargs)
            session.check()
        except BaseException as error:
            shell_sync.drive(session, _broke(session, error))
            shorten_stop(error)
            raise
        point("after_function")
        return shell_sync.drive(session, _done(session, value))


async def run_async(owner: Ownership, session: Session, body: Body) -> Any:
    """Run an async task function to its end, and its child tasks with it."""
    session.is_async = True
    with _attempt(owner, session) as run, numbered_tasks(asyncio.get_running_loop(), session.scope):
        await shell_async.drive(session, _open(session, body))
        try:
            point("before_function")
            value = await body.function(run, *body.args, **body.kwargs)
            await _children(session)
            session.check()
        except BaseException as error:
            await _children(session)
            await shell_async.drive(session, _broke(session, error))
            shorten_stop(error)
            raise
        point("after_function")
        return await shell_async.drive(session, _done(session, value))


async def _children(session: Session) -> None:
    """
    End the child tasks that are left, before the lease is given back.

    One that has sent something is waited for, so that what came of it is recorded; one that only waits is cancelled,
    since what it waits for may never come.
    """
    while mine := [task for task in children_of(session) if task is not asyncio.current_task()]:
        for task in mine:
            if task not in session.dispatching:
                task.cancel()
        await asyncio.wait(mine, timeout=0.05, return_when=asyncio.FIRST_COMPLETED)


@contextmanager
def _attempt(owner: Ownership, session: Session) -> Iterator[Run]:
    """The attempt's root step, its lease kept alive, and direct calls of tools led to its ledger."""
    session.root = root_step(session, session.task.function.rpartition(":")[2] or session.task.function)
    run = Run(session)
    owner.hold(session)
    with ExitStack() as stack:
        stack.callback(owner.release, session)
        stack.enter_context(session.root.active())
        token = handler.set(run)
        stack.callback(handler.reset, token)
        running_tasks.add(id(session))
        stack.callback(running_tasks.discard, id(session))
        try:
            yield run
        except BaseException as error:
            session.root.finish(_root_status(error), error=error)
            raise
    session.root.finish(StepStatus.OK, output=session.outcome)


def _root_status(error: BaseException) -> StepStatus:
    return StepStatus.UNKNOWN if isinstance(error, RequiresReview | Divergence) else StepStatus.ERROR


# ------------------------------------------------------------------------------------------- opening


def _open(session: Session, body: Body) -> Op[None]:
    task = session.task
    if task.error == UNFINISHED:
        yield from commit("task_failed", UpdateTask({"status": TaskStatus.CANCELLED}), durable=True)
        raise TaskEnded("fork.unfinished", f"fork {task.task_id!r} has no journal; fork again")
    begun = event(
        "attempt", None, attempt=task.attempt, recoveries=task.recoveries, owner=session.lease.owner
    )
    writes: list[Write] = [begun, UpdateTask({"error": None})]
    if task.attempt > 1:
        writes.append(_diagnosis(session))
    yield from commit("attempt", *writes, durable=False)
    yield from _check_code(session, body)
    yield from _carry_out_decisions(session)
    yield from _check_recoveries(session)
    yield from settle_lost(session)


def _diagnosis(session: Session) -> AppendDecision:
    """Why the attempt before ended and that it goes on, as a decision that can be read back."""
    open_steps = [row for row in session.steps.values() if row.status is StepStatus.RUNNING]
    failure_class = "process.exception" if session.task.error else "process.killed"
    risk = "high" if session.effects else "none"
    facts = Facts(failure_class, "task", risk, session.work_done())
    verdict = session.table.decide(facts)
    at = open_steps[-1].place if open_steps else None
    evidence = {
        "open_steps": [row.place for row in open_steps],
        "finished": len(session.steps) - len(open_steps),
    }
    return AppendDecision(
        DecisionRow(
            session.task.task_id,
            at,
            failure_class,
            risk,
            facts.work_done,
            verdict.action.value,
            verdict.rule_id,
            orjson.dumps(evidence).decode(),
            now_ms(),
        )
    )


def _check_code(session: Session, body: Body) -> Op[None]:
    """Go on with changed code and say so, or ask first, as the task declares."""
    changed = code_change(session.task, body.code_version, body.tool_schema_hash)
    if not changed:
        return
    now = UpdateTask({"code_version": body.code_version, "tool_schema_hash": body.tool_schema_hash})
    review = session.decided(None, "code.changed")
    if body.on_code_change == "review" and review is None:
        row = review_row(
            session,
            place=None,
            reason="code.changed",
            break_point="before the task goes on",
            why=f"since the task began, {' and '.join(changed)} changed.",
            recommendation="retry if the change keeps the order of the calls; replay stops at the first difference",
        )
        yield from stop_for_review(session, row)
    used = (UseReview(review.review_id),) if review is not None else ()
    yield from commit("attempt", now, *used, event("code_changed", None, what=changed), durable=False)


def _carry_out_decisions(session: Session) -> Op[None]:
    """What people decided about the task as a whole, and about steps that the replay will not come to ask for."""
    for review in sorted(session.reviews.values(), key=lambda row: row.decided_ms or 0):
        if review.status != "decided":
            continue
        if review.decision == "abort":
            yield from _abort(session, review)
        elif review.decision == "rollback":
            left = yield from roll_back(session, review)
            raise TaskEnded(
                "task.rolled_back",
                f"task {session.task.task_id!r} was rolled back by {review.decided_by}{left}",
            )
        elif review.reason == "task.exception":
            yield from _reopen(session, review)
        elif review.reason in ("divergence", "limit.recoveries", UNOPENED) and review.decision == "retry":
            fresh = {"recoveries": 0} if review.reason == "limit.recoveries" else {}
            yield from commit("decision_used", UseReview(review.review_id), UpdateTask(fresh), durable=True)
    # A review in the middle of a rollback takes the task's status; the stored list says what was going on.
    if session.compensations or session.task.status is TaskStatus.ROLLING_BACK:
        left = yield from roll_back(session, None)
        raise TaskEnded("task.rolled_back", f"task {session.task.task_id!r} was rolled back{left}")


def _abort(session: Session, review: ReviewRow) -> Op[None]:
    text = f"task {session.task.task_id!r} was ended by {review.decided_by}"
    yield from commit(
        "task_failed",
        UseReview(review.review_id),
        UpdateTask(
            {
                "status": TaskStatus.CANCELLED,
                "error": orjson.dumps({"type": "aborted", "message": text}).decode(),
            }
        ),
        event("aborted", review.place, by=review.decided_by),
        durable=True,
    )
    raise TaskEnded("task.aborted", text)


def _reopen(session: Session, review: ReviewRow) -> Op[None]:
    """Let the step that failed be tried anew, or put down what a person said of it."""
    writes: list[Write] = [
        UseReview(review.review_id),
        event("decided", review.place, decision=review.decision),
    ]
    row = session.steps.get(review.place or "")
    if row is not None and row.status is StepStatus.ERROR:
        if review.decision == "retry":
            changed = replace(row, status=StepStatus.RUNNING, error=None, tries=0, finished_ms=None)
        elif review.decision == "skip":
            changed = replace(row, status=StepStatus.SKIPPED, error=None, result=None)
        else:
            changed = replace(row, status=StepStatus.OK, error=None, result=review.payload)
        writes.append(PutStep(changed))
    yield from commit("decision_used", *writes, durable=True)


def _check_recoveries(session: Session) -> Op[None]:
    """Lay a task before a person that has lost its process as often as its limit allows."""
    task = session.task
    if not session.beyond_limit:
        return
    row = review_row(
        session,
        place=None,
        reason="limit.recoveries",
        break_point=f"attempt {task.attempt}",
        why=f"its process was lost {task.recoveries} times; {task.max_recoveries} recoveries are allowed.",
        recommendation="find out what ends the process before allowing more",
    )
    yield from stop_for_review(session, row)


# ------------------------------------------------------------------------------------------- closing


def _done(session: Session, value: Any) -> Op[Any]:
    """Record the result; the task is done with this commit and not before."""
    try:
        body = blob(value)
    except Exception as error:
        yield from _broke(session, error)
        raise
    session.outcome = value
    done = UpdateTask({"status": TaskStatus.DONE, "result": body.hash, "error": None})
    yield from commit("task_done", body, done, event("done", None), durable=True)
    return value


def _broke(session: Session, error: BaseException) -> Op[None]:
    """Record why the attempt ended without a result; what is recorded decides who goes on with it."""
    if session.broken or isinstance(error, LeaseLost):
        return
    if session.stopped is not None:
        session.flush()
        return
    if not isinstance(error, Exception) and not (session.by_worker and isinstance(error, OWN_ENDINGS)):
        # Interrupted from outside: nothing is wrong with the task, whoever resumes it goes on.
        yield Commit("note", (event("interrupted", None, by=type(error).__name__),), False)
        return
    place = place_of(session, error)
    at = session.steps.get(place) if place else None
    name = named_call(place, at.name) if place and at is not None else "the task's own code"
    row = review_row(
        session,
        place=place,
        reason="task.exception",
        break_point=name,
        why=f"{type(error).__name__}: {safe_text(error)}",
        recommendation=_after(session, error, name),
        options=() if at is not None and at.kind in (StepKind.TOOL, StepKind.STEP) else STANDARD_OPTIONS,
        details={"failure_class": at.failure_class if at is not None else "process.exception"},
    )
    # The agent's own exception is what the caller gets; the question waits in the store.
    with contextlib.suppress(RequiresReview):
        yield from stop_for_review(session, row, writes=(UpdateTask({"error": error_to_json(error)}),))


def _after(session: Session, error: BaseException, name: str) -> str:
    """What to do before the task is resumed: about the exception, or about the task inside it that waits for a person."""
    go_on = f"then `tracekit resume {session.task.task_id}` tries {name} again"
    if isinstance(error, RequiresReview):
        return f"answer what task {error.task_id!r} waits for, and resume it; {go_on}"
    return f"put the cause right, {go_on}"

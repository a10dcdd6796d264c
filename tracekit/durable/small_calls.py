"""The small durable calls: a named step, the time, a note, a plan, a question to a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from tracekit import clock
from tracekit.durable.attempts import STOPS
from tracekit.durable.bodies import blob, stored
from tracekit.durable.errors_stored import error_to_json
from tracekit.durable.journal import finished_result, is_finished, mark_escaped
from tracekit.durable.limit_checks import check_limits, check_tries
from tracekit.durable.places import named_call
from tracekit.durable.requests import Dispatch, Op, Raised, commit, dispatch
from tracekit.durable.reviewing import diverged, review_row, stop_for_review
from tracekit.durable.session import Session, event, now_ms
from tracekit.durable.trail import begin
from tracekit.errors import TracekitError
from tracekit.model import StepKind, StepStatus
from tracekit.snapshot import canonical, digest
from tracekit.store.contract import PutStep, UpdateTask, UseReview
from tracekit.store.rows import StepRow


@dataclass(frozen=True, slots=True)
class StepAsked:
    """A named piece of work as the agent wants it."""

    name: str
    call: Callable[[], Any]
    is_async: bool
    arguments: Mapping[str, Any]


def _row(session: Session, place: str, name: str, args_digest: str, **more: Any) -> StepRow:
    before = session.steps.get(place)
    base = StepRow(
        session.task.task_id,
        place,
        "",
        before.ord if before else session.next_ord(),
        StepKind.STEP,
        name,
        StepStatus.RUNNING,
        args_digest=args_digest,
        started_ms=now_ms(),
    )
    return replace(base, **more)


def _journaled(session: Session, place: str, name: str, args_digest: str) -> Op[StepRow | None]:
    """The finished row at *place*; stops for review when it is another call's."""
    session.check()
    row = session.steps.get(place)
    if row is None or not is_finished(row):
        return None
    if (row.kind, row.name, row.args_digest) != (StepKind.STEP, name, args_digest):
        recorded = f"{row.kind.value} {row.name} with arguments {row.args_digest or 'none'}"
        yield from diverged(
            session, place, recorded=recorded, asked=f"step {name} with arguments {args_digest}"
        )
    return row


def step_call(session: Session, place: str, asked: StepAsked) -> Op[Any]:
    """The result of a named piece of work, done once; raises what it raised."""
    args_digest = digest(canonical(dict(asked.arguments)))
    row = yield from _journaled(session, place, asked.name, args_digest)
    if row is not None:
        return finished_result(session, row)
    yield from check_limits(session, place)
    yield from check_tries(session, place, f"step {asked.name}")
    before = session.steps.get(place)
    tries = (before.tries if before else 0) + 1
    step = begin(session, StepKind.STEP, asked.name, input=dict(asked.arguments), tries=tries)
    running = _row(session, place, asked.name, args_digest, step_id=step.ref.step_id, tries=tries)
    yield from commit("before_step", PutStep(running), durable=False)
    try:
        answer = yield from dispatch(Dispatch(asked.call, asked.is_async, step=step, scope=f"{place}:step"))
    except GeneratorExit:
        raise
    except BaseException as error:
        step.finish(StepStatus.ERROR, error=error)
        raise
    return (yield from _end_step(session, running, answer, step))


def _end_step(session: Session, running: StepRow, answer: Any, step: Any) -> Op[Any]:
    error: BaseException | None = answer.error if isinstance(answer, Raised) else None
    if isinstance(error, STOPS):
        step.finish(StepStatus.ERROR, error=error)
        raise error
    body = None
    if error is None:
        body, error = stored(answer.value)
    status = StepStatus.OK if error is None else StepStatus.ERROR
    row = replace(
        running,
        status=status,
        result=body.hash if body else None,
        error=error_to_json(error) if error else None,
        finished_ms=now_ms(),
    )
    done = event("step_complete", row.place, status=status.value)
    yield from commit("after_step", *((body,) if body else ()), PutStep(row), done, durable=False)
    known: dict[str, Any] = {"output": answer.value} if error is None else {"error": error}
    step.finish(status, tries=row.tries, **known)
    if error is not None:
        mark_escaped(session, error, row.place)
        raise error
    return answer.value


def value_call(session: Session, place: str, name: str, make: Callable[[], Any]) -> Op[Any]:
    """A value that is made once and then remembered; written along with the next commit."""
    row = yield from _journaled(session, place, name, "")
    if row is not None:
        return finished_result(session, row)
    value = make()
    body = blob(value)
    done = _row(session, place, name, "", status=StepStatus.OK, result=body.hash, finished_ms=now_ms())
    session.later(body, PutStep(done))
    return value


def note_call(session: Session, place: str, values: Mapping[str, Any]) -> Op[None]:
    """Key values for whoever looks at the task; written along with the next commit."""
    args_digest = digest(canonical(dict(values)))
    if (yield from _journaled(session, place, "note", args_digest)) is not None:
        return
    done = _row(session, place, "note", args_digest, status=StepStatus.OK, finished_ms=now_ms())
    session.later(PutStep(done), event("note", place, **orjson.loads(canonical(dict(values)))))


def plan_call(session: Session, steps: Sequence[Mapping[str, Any] | str]) -> Op[None]:
    """Put down the plan: names with `depends_on` and `critical`; raises when a step depends on an unknown one."""
    session.check()
    rows: list[dict[str, Any]] = [{"name": each} if isinstance(each, str) else dict(each) for each in steps]
    names = {row["name"] for row in rows}
    for row in rows:
        row.setdefault("depends_on", [])
        row.setdefault("critical", True)
        if missing := set(row["depends_on"]) - names:
            raise TracekitError(
                "plan.unknown_step",
                f"step {row['name']!r} of the plan depends on {sorted(missing)}, which the plan does not have",
            )
    text = orjson.dumps(rows).decode()
    if text != session.task.plan:
        yield from commit(
            "plan", UpdateTask({"plan": text}), event("plan", None, steps=len(rows)), durable=False
        )


def ask_call(session: Session, place: str, question: str, options: tuple[str, ...]) -> Op[Any]:
    """A person's answer; raises `RequiresReview` until there is one."""
    args_digest = digest(canonical({"question": question, "options": list(options)}))
    row = yield from _journaled(session, place, "ask", args_digest)
    if row is not None:
        return finished_result(session, row)
    review = session.decided(place, "ask")
    if review is None:
        asked = review_row(
            session,
            place=place,
            reason="ask",
            break_point=named_call(place, "a question of the agent"),
            why=question,
            recommendation=f"answer {' or '.join(options)}"
            if options
            else "answer with `done` and the answer as result",
            args_digest=args_digest,
            answers=options,
        )
        yield from stop_for_review(session, asked)
        return None
    done = _row(
        session, place, "ask", args_digest, status=StepStatus.OK, result=review.payload, finished_ms=now_ms()
    )
    used = event("answered", place, by=review.decided_by)
    yield from commit("decision_used", UseReview(review.review_id), PutStep(done), used, durable=True)
    return session.body(review.payload) if review.payload else None


def wall_now() -> str:
    """The time as the journal holds it."""
    return clock.rfc3339(clock.now_ns())

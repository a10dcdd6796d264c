"""A task that is started with arguments that its function does not take is refused before anything is written."""

from __future__ import annotations

from typing import Any

import pytest

import tracekit
from tracekit.durable.owning import ownership
from tracekit.errors import TracekitError


@tracekit.task
def settle(run: tracekit.SyncRun, order: str, amount: int = 5, *, note: str = "") -> str:
    return f"{order} {amount} {note}"


@pytest.mark.parametrize(
    ("args", "kwargs", "told"),
    [((), {}, "'order'"), (("A-1", 5, 6), {}, "too many"), (("A-1",), {"amuont": 3}, "'amuont'")],
)
@pytest.mark.parametrize("how", ["start", "submit"])
def test_the_id_stays_free_and_the_parameters_are_named(
    how: str, args: tuple[Any, ...], kwargs: dict[str, Any], told: str
) -> None:
    with pytest.raises(TracekitError, match="order, amount, note") as refused:
        getattr(settle, how)(*args, task_id="t", **kwargs)

    assert refused.value.code == "task.arguments"
    assert told in str(refused.value)
    assert ownership().store.load("t") is None
    assert settle.start("A-1", note="late", task_id="t") == "A-1 5 late"


@pytest.mark.parametrize("name", ["store", "task_id", "priority"])
def test_a_parameter_that_start_would_take_for_itself_is_refused_where_the_task_is_declared(
    name: str,
) -> None:
    space: dict[str, Any] = {"__name__": __name__}
    exec(f"def work(run, {name}): return {name}", space)
    with pytest.raises(TracekitError, match=f"{name}_name") as refused:
        tracekit.task(space["work"])

    assert refused.value.code == "task.parameter"

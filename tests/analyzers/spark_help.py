"""What the tests of Spark share: whether it can run here, one session for all of them, reports that can be compared, a judge."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tracekit_analyzers.engine import Engine
from tracekit_analyzers.reports import as_json, result
from tracekit_analyzers.verdicts.judging import JudgedRun, Opinion

Report = dict[str, Any]


def spark_can_run() -> bool:
    """Whether Spark, Arrow and Java are here."""
    there = all(find_spec(name) is not None for name in ("pyspark", "pyarrow"))
    return there and (shutil.which("java") is not None or "JAVA_HOME" in os.environ)


def skip_without_spark() -> None:
    """Leave the module out, with the reason, where Spark or Java are missing."""
    pytest.importorskip("pyspark", reason="pyspark is not installed: make spark")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: make spark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java here", allow_module_level=True)


@contextmanager
def running_session(**conf: str) -> Iterator[Any]:
    """A session of two threads as a hosted service has one: what is analysed in the block runs on it."""
    from pyspark.sql import SparkSession

    # As on a cluster whose executors have tracekit installed.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    for name, value in conf.items():
        builder = builder.config(name, value)
    session = builder.config("spark.log.level", "OFF").getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def report(found: result.Result) -> Report:
    """An analysis as it can be compared: traces stand in the order of the log."""
    return {"summary": as_json.summary(found), "traces": [as_json.trace(verdict) for verdict in found.traces]}


def here(paths: Sequence[Path], judge: Any = None) -> Report:
    """What one machine says about *paths*."""
    with Engine(paths) as engine:
        engine.load()
        return report(result.of(engine, judge=judge))


ASKED: list[str] = []
"""Digests of the runs that `critic` was asked about, in their order."""


def critic(run: JudgedRun) -> list[Opinion]:
    """A judge that has something to say about every third run, resting on all that it is given."""
    ASKED.append(repr(run))
    if len(ASKED) % 3:
        return []
    longest = max(run.steps, key=lambda step: (len(step.input or ""), step.seq))
    return [Opinion("output.boring", longest.step_id, f"{len(run.steps)} steps, {run.verdict.status}", 0.25)]

"""A Spark session for one analysis: a cluster's own settings stand, ours fill what is open."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tracekit.errors import TracekitError
from tracekit_analyzers.engine import silent
from tracekit_analyzers.reading.ingest import Tell
from tracekit_analyzers.reports.result import Result
from tracekit_analyzers.spark.watch import ticking
from tracekit_analyzers.verdicts.judging import Judge

MEMORY = "spark.tracekit.memoryMb"
"""Memory that the query engine of one task may use; the rest of a task's Python process comes on top."""

_SETTINGS = {
    "spark.app.name": "tracekit analyze",
    # What matters of an error is told in one line; the traces of Java and of all executors would bury it.
    "spark.log.level": "OFF",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.maxResultSize": "0",
}


_ON_ONE_MACHINE = {
    # The work is done by the query engine; Java only moves bytes, and compiling it well costs more than it brings.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


_MASTER = re.compile(r"local(\[.+\])?|local-cluster\[.+\]|yarn|(spark|k8s)://.+")
_MASTER_PORT = 7077
_ANSWER_S = 10.0


def analyze(
    paths: Sequence[str],
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    reader: str | None = None,
    judge: Judge | None = None,
    tell: Tell = silent,
) -> Result:
    """
    Analyse *paths* on Spark: on the session that is active, or on one of its own that is closed afterwards.

    Args:
        paths: Files, folders and patterns of this machine, or of any file system that Spark reads (`s3a://...`).
        master: Where Spark runs, such as `spark://host:7077`, `yarn`, `k8s://...`, `local[4]`; by default what the
            environment says.
        conf: Settings of Spark.
        reader: Name of the reader for all files.
        judge: Asked in this process about the runs that the rules leave open, in the order of the log.
        tell: Called as it goes on.

    Raises:
        TracekitError: `spark.*`, `input.*`, `judge.failed`.
    """
    _needed()
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from tracekit_analyzers.spark.job import Job
    from tracekit_analyzers.spark.rows import Limits
    from tracekit_analyzers.spark.troubles import understood
    from tracekit_analyzers.spark.watch import Watch

    try:
        with _session(master, dict(conf or {}), tell) as spark:
            settings = spark.sparkContext.getConf()
            limits = Limits(int(settings.get(MEMORY, "1000")), int(settings.get("spark.task.cpus", "1")))
            job = Job(spark, Watch(spark.sparkContext, tell), limits, reader=reader)
            return job.run(paths, judge)
    except (PySparkException, Py4JError) as error:
        raise understood(error) from error


def _needed() -> None:
    """Raise when what Spark needs is not here."""
    try:
        import pyarrow  # noqa: F401  executors need it
        import pyspark  # noqa: F401
    except ImportError as error:
        raise TracekitError(
            "spark.missing", f"{error.name} is not installed: pip install 'tracekit-agents[spark]'"
        ) from error
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        raise TracekitError("spark.no_java", "Spark needs Java 17 or newer, and there is no `java` here")


@contextmanager
def _session(master: str | None, conf: dict[str, str], tell: Tell) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    settings = _SETTINGS
    if master is not None and master.startswith("local"):
        settings = settings | _ON_ONE_MACHINE
    running = SparkSession.getActiveSession()
    if running is not None:
        # A hosted service's own, or one of the caller: it stays open.
        yield running
        return
    if master is not None:
        _check(master)
    builder = SparkSession.builder if master is None else SparkSession.builder.master(master)
    for name, value in (settings | conf).items():
        builder = builder.config(name, value)
    with ticking("starting Spark", tell):
        spark = builder.getOrCreate()
    _same_python(spark.sparkContext)
    try:
        yield spark
    finally:
        spark.stop()


def _same_python(context: Any) -> None:
    """Let the executors of this machine run this very Python, unless told otherwise; the first one on the PATH may be any."""
    told = "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python")
    if context.master.startswith("local") and not told:
        context.pythonExec = sys.executable


def _check(master: str) -> None:
    """
    Raise when Spark knows no master of this form, which it tells as if Java had not started, or when none of the machines of
    `spark://HOST:PORT,HOST:PORT` answers, which it tries for minutes.
    """
    if not _MASTER.fullmatch(master):
        raise TracekitError(
            "spark.master",
            f"expected a master such as spark://host:7077, yarn, k8s://https://host:6443 or local[4], got {master!r}",
        )
    scheme, _, places = master.partition("://")
    if scheme != "spark":
        return
    said = ""
    for place in places.split(","):
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host or port, int(port) if host else _MASTER_PORT), _ANSWER_S).close()
            return
        except (OSError, ValueError) as error:
            said = str(error)
    raise TracekitError(
        "spark.master",
        f"expected a running Spark master at {master}, but: {said}; its port is {_MASTER_PORT} unless it was started with another",
    )

"""A Spark session for one analysis: a cluster's own settings stand, ours fill what is open."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tracekit.errors import TracekitError
from tracekit_analyzers.engine import silent
from tracekit_analyzers.ingest import Tell
from tracekit_analyzers.reports.result import Result

MEMORY = "spark.tracekit.memoryMb"
"""Memory that the query engine of one task may use; the rest of a task's Python process comes on top."""

_SETTINGS = {
    "spark.app.name": "tracekit analyze",
    "spark.log.level": "ERROR",
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


def analyze(
    paths: Sequence[str],
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    reader: str | None = None,
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
        tell: Called as it goes on.

    Raises:
        TracekitError: `spark.missing`, `spark.no_java`, `spark.failed`, `input.*`.
    """
    with _session(master, dict(conf or {})) as spark:
        from pyspark.errors import PySparkException

        from tracekit_analyzers.spark.job import Job
        from tracekit_analyzers.spark.rows import Limits
        from tracekit_analyzers.spark.watch import Watch

        settings = spark.sparkContext.getConf()
        limits = Limits(int(settings.get(MEMORY, "1000")), int(settings.get("spark.task.cpus", "1")))
        try:
            return Job(spark, Watch(spark.sparkContext, tell), limits, reader=reader).run(paths)
        except PySparkException as error:
            raise TracekitError("spark.failed", f"Spark gave up: {_last_line(str(error))}") from error


@contextmanager
def _session(master: str | None, conf: dict[str, str]) -> Iterator[Any]:
    try:
        import pyarrow  # noqa: F401  executors need it
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise TracekitError(
            "spark.missing", f"{error.name} is not installed: pip install 'tracekit-agents[spark]'"
        ) from error
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        raise TracekitError("spark.no_java", "Spark needs Java 17 or newer, and there is no `java` here")
    settings = _SETTINGS
    if master is not None and master.startswith("local"):
        settings = settings | _ON_ONE_MACHINE
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    running = SparkSession.getActiveSession()
    if running is not None:
        # A hosted service's own, or one of the caller: it stays open.
        yield running
        return
    builder = SparkSession.builder if master is None else SparkSession.builder.master(master)
    for name, value in (settings | conf).items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except PySparkRuntimeError as error:
        raise TracekitError("spark.no_java", f"Spark did not start: {error}") from error
    try:
        yield spark
    finally:
        spark.stop()


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if "Error" in line.split(":")[0] and not line.startswith("at ")]
    return (told or lines or ["no reason told"])[-1][:500]

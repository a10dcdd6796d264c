"""What Java and executors say is told in words that name what to do, whichever page of traces it stands in."""

from __future__ import annotations

import duckdb
import pytest

from tracekit.errors import TracekitError
from tracekit_analyzers.spark.troubles import carried, understood

PAGE = """An error occurred while calling o91.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 3 in stage 7.0 failed 4 times
{said}
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        ("ModuleNotFoundError: No module named 'tracekit_analyzers'", "spark.no_package", "no tracekit_analyzers"),
        ("PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has 3.9", "spark.other_python", "PYSPARK_PYTHON"),
        ("java.lang.UnsupportedClassVersionError: org/apache/spark", "spark.no_java", "Java 17"),
        ("org.apache.spark.SparkException: Could not parse Master URL: 'yran'", "spark.master", "got 'yran'"),
        ("org.apache.spark.SparkException: All masters are unresponsive! Giving up.", "spark.master", "no Spark master answers"),
        ('UnsupportedFileSystemException: No FileSystem for scheme "gs"', "input.no_file_system", "no file system for gs"),
        ("Caused by: java.net.UnknownHostException: nowhere.internal", "input.unreadable", "nowhere.internal"),
        ("java.io.IOException: No space left on device", "spark.disk", "spark.local.dir"),
        ("java.lang.OutOfMemoryError: Java heap space", "spark.memory", "spark.executor.memory="),
        ("ExecutorLostFailure (executor 1 exited) exit code: 137", "spark.memory", "spark.executor.memoryOverhead"),
        ("ExecutorLostFailure (executor 1 exited): worker lost", "spark.executor_lost", "memoryOverhead"),
        ("ValueError: something new", "spark.failed", "Spark gave up: ValueError: something new"),
    ],
)  # fmt: skip
def test_each_trouble_has_a_code_and_says_what_to_do(said: str, code: str, words: str) -> None:
    found = understood(RuntimeError(PAGE.format(said=said)))

    assert found.code == code
    assert words in str(found)
    assert "\n" not in str(found)


def test_an_error_of_ours_on_an_executor_is_the_same_on_the_driver() -> None:
    with pytest.raises(RuntimeError) as raised, carried(1000):
        raise TracekitError("input.unreadable", 'expected "x" in [a] or {b}, got\nnothing')

    found = understood(RuntimeError(PAGE.format(said=f"RuntimeError: {raised.value}] and more")))
    assert (found.code, str(found)) == ("input.unreadable", 'expected "x" in [a] or {b}, got\nnothing')


def test_a_bucket_that_does_not_fit_is_told_with_the_setting() -> None:
    con = duckdb.connect(config={"memory_limit": "8MB", "temp_directory": ""})
    with pytest.raises(RuntimeError) as raised, carried(8):
        con.execute("select list(range) from range(10000000)").fetchall()

    found = understood(raised.value)
    assert found.code == "spark.memory"
    assert "--conf spark.tracekit.memoryMb=16" in str(found)


def test_other_errors_of_the_code_go_through_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError), carried(1000):
        raise ZeroDivisionError

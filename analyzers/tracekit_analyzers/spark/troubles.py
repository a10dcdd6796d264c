"""What goes wrong on a cluster, in words that say what to do: Java and executors tell it as a page of traces."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from tracekit.errors import TracekitError

_SAID = "tracekit says: "
"""Before an error of ours in what an executor raises; a traceback holds text only."""

_HELP = "see docs/operations.md, Analysis on Spark"


@dataclass(frozen=True, slots=True)
class _Trouble:
    pattern: str
    """What Spark, Java or Python say."""
    code: str
    message: str
    """`{0}` is the first group that matched, `{line}` the line in which it stands."""


_KNOWN = (
    _Trouble(
        r"No module named '(?P<what>[\w.]+)'|No module named (?P<other>[\w.]+)",
        "spark.no_package",
        f"the Python of the executors has no {{0}}: pip install 'tracekit-agents[analyzers]' pyarrow, on every one of them; {_HELP}",
    ),
    _Trouble(
        r"PYTHON_VERSION_MISMATCH|different minor version|have different minor versions",
        "spark.other_python",
        f"executors run another version of Python than the driver: set PYSPARK_PYTHON to the same one; {_HELP}",
    ),
    _Trouble(
        r"UnsupportedClassVersionError|requires Java|class file version",
        "spark.no_java",
        "Spark needs Java 17 or newer, and the `java` here is older: set JAVA_HOME",
    ),
    _Trouble(
        r"JAVA_GATEWAY_EXITED|Java gateway process exited|JAVA_HOME is not set|No such file or directory: '(?P<what>[^']*java[^']*)'",
        "spark.not_started",
        "Spark did not start: it needs Java 17 or newer; look at JAVA_HOME, at --conf, and at what it said above",
    ),
    _Trouble(
        r"Could not parse Master URL: '?(?P<what>[^'\n]*)'?",
        "spark.master",
        "expected a master such as spark://host:7077, yarn, k8s://https://host:6443 or local[4], got {0!r}",
    ),
    _Trouble(
        r"All masters are unresponsive|Invalid master URL|Failed to connect to master|Master removed our application",
        "spark.master",
        "no Spark master answers at this address: is it running, and is the port that of the master (usually 7077)?",
    ),
    _Trouble(
        r"No FileSystem for scheme \"?(?P<what>\w+)|Class (?P<other>[\w.$]+FileSystem) not found",
        "input.no_file_system",
        "this Spark has no file system for {0}: add its package, for s3a "
        "--conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION with the version of Spark's own hadoop-client jars",
    ),
    _Trouble(
        r"UnknownHostException: (?P<what>[^\s]+)|Connection refused|AccessDenied|Access denied|Permission denied",
        "input.unreadable",
        "the file system of the logs can't be reached or refuses: {line}",
    ),
    _Trouble(
        r"No space left on device",
        "spark.disk",
        "an executor has no disk left: lines and the traces of a bucket go to spark.local.dir and TMPDIR, "
        "which need about three times the log together",
    ),
    _Trouble(
        r"OutOfMemoryError|exit code:? ?137|exitCode: ?137|OOMKilled|exceeding memory limits|Container killed",
        "spark.memory",
        "an executor ran out of memory: more of --conf spark.executor.memory=... (Java) or spark.executor.memoryOverhead=... "
        f"(Python, at least 1.5 times spark.tracekit.memoryMb for each core); {_HELP}",
    ),
    _Trouble(
        r"ExecutorLostFailure|MetadataFetchFailed|Worker exited prematurely|Python worker exited unexpectedly",
        "spark.executor_lost",
        f"executors were lost again and again, most often for want of memory outside Java: spark.executor.memoryOverhead; {_HELP}",
    ),
)


@contextmanager
def carried(memory_mb: int) -> Iterator[None]:
    """Context, on an executor, whose errors of ours are known again on the driver."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        message = (
            f"the work of one task, with a trace that is never cut, did not fit into {memory_mb} MB, although what can goes to disk: "
            f"--conf spark.tracekit.memoryMb={2 * memory_mb} or more; {_first_line(str(error))}"
        )
        raise RuntimeError(_said("spark.memory", message)) from error
    except TracekitError as error:
        raise RuntimeError(_said(error.code, str(error))) from error


def _said(code: str, message: str) -> str:
    return _SAID + json.dumps([code, message])


def understood(error: BaseException) -> TracekitError:
    """What *error*, as Spark, Java or an executor told it, means."""
    text = str(error)
    _, said, rest = text.partition(_SAID)
    if said:
        (code, message), _ = json.JSONDecoder().raw_decode(rest)
        return TracekitError(code, message)
    for trouble in _KNOWN:
        found = re.search(trouble.pattern, text)
        if found is not None:
            named = next((group for group in found.groups() if group), "")
            told = trouble.message.format(named, line=_line_around(text, found.start()))
            return TracekitError(trouble.code, told)
    return TracekitError(
        "spark.failed",
        f"Spark gave up: {_last_error(text)}; --conf spark.log.level=ERROR shows what it says itself",
    )


def _line_around(text: str, at: int) -> str:
    begin = text.rfind("\n", 0, at) + 1
    return _first_line(text[begin:])[:300]


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _last_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if re.match(r"(Caused by: )?[\w.]*(Error|Exception)\b", line)]
    return (told or lines or ["no reason told"])[-1][:500]

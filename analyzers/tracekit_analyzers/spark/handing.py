"""
What a bucket needs of other traces: messages and contexts are written once per file, by the first trace that has them.

The contexts of a file are followed on one executor; then the messages that a bucket names, and that stand in the lines of
another, are copied to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow as pa

from tracekit_analyzers.contexts import Contexts
from tracekit_analyzers.spark import rows

NEEDS = "what string, bucket int, file string, hash string, hashes string, n bigint"
"""One row: a message (by hash; its file null when only the text matters) or a whole context that a bucket needs."""

_FORM = pa.schema(
    [
        ("what", pa.string()),
        ("bucket", pa.int32()),
        ("file", pa.string()),
        ("hash", pa.string()),
        ("hashes", pa.string()),
        ("n", pa.int64()),
    ]
)
_CONTEXTS = """
select bucket, file, context ->> '$.digest', context ->> '$.base', coalesce(try_cast(context ->> '$.keep' as integer), 0),
  coalesce(try_cast(context -> '$.hashes' as varchar[]), []), n
from (select bucket, file, n, cast(context as json) as context from arrived_contexts) order by n
"""


@dataclass(frozen=True, slots=True)
class _Sent:
    bucket: int
    file: str
    digest: str
    base: str | None
    keep: int
    hashes: list[str]
    n: int


def needs_of_a_file(limits: rows.Limits) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The task over the context lines of one file: `bucket`, `n`, `file`, `context`."""

    def needs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with rows.scratch(limits) as (con, _):
            con.execute("create table arrived_contexts (bucket int, n bigint, file varchar, context varchar)")
            rows.insert(con, "arrived_contexts", batches, ("bucket", "n", "file", "context"))
            found = con.execute(_CONTEXTS).fetchall()
        sent = [_Sent(*row) for row in found if row[2] is not None]
        yield from _batched(_needs(sent))

    return needs


def _needs(sent: list[_Sent]) -> Iterator[dict[str, Any]]:
    """Each need once."""
    contexts = Contexts()
    for step in sent:
        contexts.learn_base(step.digest, step.base, step.keep, tuple(step.hashes))
    own = {(step.bucket, step.digest) for step in sent}
    told: set[tuple[Any, ...]] = set()
    for step in sent:
        for mark, need in _of_step(step, contexts, own):
            if mark not in told:
                told.add(mark)
                yield need


def _of_step(
    step: _Sent, contexts: Contexts, own: set[tuple[int, str]]
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    base = step.base if step.keep else None
    if base is not None and (step.bucket, base) not in own:
        whole = contexts.whole(base)
        row = {"what": "context", "bucket": step.bucket, "hash": base, "n": step.n}
        yield (step.bucket, base), row | {"hashes": orjson.dumps(whole).decode()}
    if base is not None:
        for name in contexts.whole(base)[: step.keep] if (step.bucket, base) not in own else ():
            yield (step.bucket, None, name), {"what": "message", "bucket": step.bucket, "hash": name}
    for name in step.hashes:
        row = {"what": "message", "bucket": step.bucket, "file": step.file, "hash": name}
        yield (step.bucket, step.file, name), row


def _batched(needs: Iterable[dict[str, Any]]) -> Iterator[Any]:
    batch: list[dict[str, Any]] = []
    for need in needs:
        batch.append(need)
        if len(batch) == rows.BATCH_ROWS:
            yield pa.RecordBatch.from_pylist(batch, schema=_FORM)
            batch = []
    yield pa.RecordBatch.from_pylist(batch, schema=_FORM)


def handed(lines: Any, limits: rows.Limits, columns: tuple[str, ...]) -> Any:
    """The rows that go to other buckets than their own, as a data frame of the shape of *lines*."""
    from pyspark.sql import functions as f

    contexts = lines.where("record = 'step' and context is not null").select("bucket", "n", "file", "context")
    needs = contexts.groupBy("file").applyInArrow(needs_of_a_file(limits), NEEDS).persist()
    whole = needs.where("what = 'context'").select(
        "bucket", "n", *(_context_column(name, f).alias(name) for name in columns)
    )
    return whole.unionByName(_copies(lines, needs.where("what = 'message'"), columns, f))


def _context_column(name: str, f: Any) -> Any:
    values = {"record": f.lit(rows.CONTEXT), "hash": f.col("hash"), "message": f.col("hashes")}
    return values.get(name, f.lit(None).cast("string"))


def _copies(lines: Any, wanted: Any, columns: tuple[str, ...], f: Any) -> Any:
    """Of each message that a bucket wants: the first line in the file of the step, and the first one anywhere."""
    messages = lines.where("record = 'message' and hash is not null")
    in_file = messages.groupBy("file", "hash").agg(f.min("n").alias("n"))
    anywhere = messages.groupBy("hash").agg(f.min("n").alias("n"))
    chosen = (
        wanted.join(in_file.withColumnRenamed("n", "place"), ["file", "hash"]).select("bucket", "place")
    ).union(
        wanted.select("bucket", "hash")
        .distinct()
        .join(anywhere.withColumnRenamed("n", "place"), "hash")
        .select("bucket", "place")
    )
    homes = messages.select(f.col("n").alias("place"), f.col("bucket").alias("home"))
    away = (
        chosen.distinct()
        .join(homes, "place")
        .where("home is null or home <> bucket")
        .select("place", f.col("bucket").alias("to"))
    )
    return messages.join(away, messages.n == away.place).select(
        f.col("to").alias("bucket"), "n", *(f.col(f"`{name}`") for name in columns)
    )

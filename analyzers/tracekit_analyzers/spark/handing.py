"""
What a bucket needs of other traces: messages and contexts are written once per file, by the first trace that has them.

The contexts of a file are followed on one executor, which also knows where the messages of the file stand; then the
messages that a bucket names, and that stand in the lines of another, are copied to it out of their parcels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from tracekit_analyzers.relations.contexts import Contexts
from tracekit_analyzers.spark import parcels, rows

_COPY, _WANTED = "copy", "wanted"
"""What a row of needs is beside a context: a message (`n`, in parcel `at`) to copy; one of which only the text matters."""

_INDEX = """
create table index (what varchar, bucket int, n bigint, "at" bigint, file varchar, hash varchar, text varchar)
"""
_CONTEXTS = """
select bucket, file, context ->> '$.digest', context ->> '$.base', coalesce(try_cast(context ->> '$.keep' as integer), 0),
  coalesce(try_cast(context -> '$.hashes' as varchar[]), []), n
from (select bucket, file, n, cast(text as json) as context from index where what = 'context') order by n
"""
_FIRST_MESSAGES = """
select hash, arg_min(bucket, n), min(n), arg_min("at", n) from index where what = 'message' group by hash
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


@dataclass(frozen=True, slots=True)
class _Home:
    """The first line of a message in its file."""

    bucket: int
    n: int
    at: int


def needs_of_a_file(limits: rows.Limits) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The task over the `CONTEXT` and `MESSAGE` rows of one file."""

    def needs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with rows.scratch(limits) as (con, _):
            con.execute(_INDEX)
            for batch in batches:
                con.register("arrived", pa.Table.from_batches([batch]))
                con.execute('insert into index select what, bucket, n, "at", file, hash, text from arrived')
                con.unregister("arrived")
            found = con.execute(_CONTEXTS).fetchall()
            homes = {name: _Home(*home) for name, *home in con.execute(_FIRST_MESSAGES).fetchall()}
        sent = [_Sent(*row) for row in found if row[2] is not None]
        yield from _batched(_needs(sent, homes))

    return needs


def _needs(sent: list[_Sent], homes: dict[str, _Home]) -> Iterator[dict[str, Any]]:
    """Each need once."""
    contexts = Contexts()
    for step in sent:
        contexts.learn_base(step.digest, step.base, step.keep, tuple(step.hashes))
    own = {(step.bucket, step.digest) for step in sent}
    told: set[tuple[Any, ...]] = set()
    for step in sent:
        for need in _of_step(step, contexts, own, homes):
            mark = (need["what"], need["bucket"], need.get("hash"), need.get("n"))
            if mark not in told:
                told.add(mark)
                yield need


def _of_step(
    step: _Sent, contexts: Contexts, own: set[tuple[int, str]], homes: dict[str, _Home]
) -> Iterator[dict[str, Any]]:
    base = step.base if step.keep else None
    if base is not None and (step.bucket, base) not in own:
        whole = contexts.whole(base)
        yield {
            "what": rows.CONTEXT,
            "bucket": step.bucket,
            "hash": base,
            "text": orjson.dumps(whole).decode(),
        }
        for name in whole[: step.keep]:
            yield {"what": _WANTED, "bucket": step.bucket, "hash": name}
    for name in step.hashes:
        home = homes.get(name)
        if home is None:
            # A line of the same file goes before any other; where there is none, the first of the log counts.
            yield {"what": _WANTED, "bucket": step.bucket, "hash": name}
        elif home.bucket != step.bucket:
            yield {"what": _COPY, "bucket": step.bucket, "n": home.n, "at": home.at}


def _batched(needs: Iterable[dict[str, Any]]) -> Iterator[Any]:
    batch: list[dict[str, Any]] = []
    for need in needs:
        batch.append(need)
        if len(batch) == rows.BATCH_ROWS:
            yield pa.RecordBatch.from_pylist(batch, schema=rows.FORM)
            batch = []
    yield pa.RecordBatch.from_pylist(batch, schema=rows.FORM)


def needs(lines: Any, limits: rows.Limits) -> Any:
    """What buckets need of other traces, as a data frame, of the frame of all *lines*."""
    from pyspark.sql import functions as f

    index = lines.where(f.col("what").isin(rows.CONTEXT, rows.MESSAGE)).drop("parcel")
    return index.groupBy("file").applyInArrow(needs_of_a_file(limits), rows.DDL)


def handed(lines: Any, needed: Any) -> Any:
    """The rows that go to other buckets than their own, as a data frame of the shape of *lines*, by what is *needed*."""
    from pyspark.sql import functions as f

    chosen = needed.where(f.col("what") == _COPY).select("at", "n", f.col("bucket").alias("to"))
    wanted = needed.where(f.col("what") == _WANTED)
    if not wanted.isEmpty():
        chosen = chosen.union(_first_anywhere(lines, wanted, f))
    orders = chosen.distinct().groupBy("at").agg(f.collect_list(f.struct("to", "n")).alias("orders"))
    stocked = lines.where(f.col("what") == rows.LINES).select("at", "parcel").join(orders, "at")
    copies = stocked.select("orders", "parcel").mapInArrow(_copied, rows.DDL)
    return needed.where(f.col("what") == rows.CONTEXT).unionByName(copies)


def _first_anywhere(lines: Any, wanted: Any, f: Any) -> Any:
    """Of each message that is *wanted*, the first line in the whole log."""
    messages = lines.where(f.col("what") == rows.MESSAGE)
    firsts = messages.groupBy("hash").agg(
        f.min(f.struct("n", "at", f.col("bucket").alias("home"))).alias("first")
    )
    found = wanted.select(f.col("bucket").alias("to"), "hash").distinct().join(firsts, "hash")
    return found.where("first.home <> to").select("first.at", "first.n", "to")


def _copied(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The task that takes messages out of parcels: rows have `orders` (bucket and place of each) and `parcel`."""
    for batch in batches:
        for orders, parcel in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            lines = parcels.unpacked(parcel)
            by_bucket: dict[int, list[int]] = {}
            for order in orders:
                by_bucket.setdefault(order["to"], []).append(order["n"])
            for bucket, places in sorted(by_bucket.items()):
                wanted = pa.array(sorted(places), pa.int64())
                some = lines.filter(pc.is_in(lines["n"], value_set=wanted))
                yield rows.travelling(
                    rows.LINES, 1, bucket=bucket, n=wanted[0].as_py(), parcel=parcels.packed(some)
                )

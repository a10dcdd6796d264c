"""
The same analysis on Apache Spark, for logs that one machine can't hold: `tracekit analyze --engine spark`.

Traces are independent of one another, so Spark only moves lines: every file is read by the ingestion of one machine, lines
go into buckets by trace, and each bucket is folded, related and judged by the engine of one machine inside
`applyInArrow`. What a bucket can't know by itself is learned before and handed to it: the facts about tools, the
processes, and messages and contexts that lines of another trace brought into the log.

`job.py` runs on the driver; `reading.py`, `handing.py` and `judging.py` are what executors run.
"""

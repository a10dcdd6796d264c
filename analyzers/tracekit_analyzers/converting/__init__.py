"""A log in another format: native lines, OTLP, Parquet."""

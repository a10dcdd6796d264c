"""
One short file for each foreign client; each has `instrument()` and `uninstrument()`, and imports its client only then.

`tracekit.init` comes first or later, as you like: without it the clients work as always and nothing is written.
"""

"""A log that is being written: new lines taken in, only what they touch judged again; one trace looked at early."""

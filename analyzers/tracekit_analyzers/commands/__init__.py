"""One file for each command of the [analyzers] extra; each exports `COMMAND`."""

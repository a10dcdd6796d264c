"""Files in, steps out: which reader reads what, every line kept or told as damage, lines folded to steps."""

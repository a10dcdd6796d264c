"""From relations to what is said about a run: classes run, one verdict each, groups of like ones, where it may go on."""

"""Answers without the whole analysis: a query over the fields it names, the index beside a log, the first look of a screen."""

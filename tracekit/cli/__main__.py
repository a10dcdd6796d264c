"""`python -m tracekit.cli`: the command, by whichever Python runs it."""

import sys

from tracekit.cli import main

sys.exit(main())

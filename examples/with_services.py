"""
Run an example with its services: the world (orders, payments, mails) and a scripted model, each in a process of its own.

    python examples/with_services.py examples/openai_sdk.py [ARGUMENTS...]

Prints at the end what really happened outside, by the world's own list. Ends with the example's exit code.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tracekit.testing import ModelServer, World


def main() -> int:
    """Start the services, run the example, print the list."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with (
        tempfile.TemporaryDirectory() as folder,
        World(Path(folder) / "world.jsonl") as world,
        ModelServer() as model,
    ):
        env = os.environ | {"WORLD_URL": world.url, "MODEL_URL": model.base_url}
        done = subprocess.run([sys.executable, *sys.argv[1:]], env=env, check=False)
        print("what really happened:", *(world.happened() or ["nothing"]), sep="\n  ")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())

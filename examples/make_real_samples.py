"""
Make the samples of a real small model again: `text_tools.py` against a server that you started.

    llama-server -m SmolLM2-135M-Instruct.gguf --alias smollm2-135m-instruct --jinja -c 4096 --port 8080
    MODEL_URL=http://127.0.0.1:8080/v1 python examples/make_real_samples.py

Nothing is planted: what the model wrote and what the server answered is what stands in the log. Other builds of the
server may round differently, so that another text comes out. The host's name and folders are replaced.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from refund_agent.make_samples import TARGET, clean

from tracekit.testing import World

AGENT = Path(__file__).with_name("text_tools.py")
LAMP = "The lamp of order A-1024 came broken."
SMALL_TALK = " You wrote that the parcel would come on Monday, and it did not come."

SAMPLES: dict[str, tuple[str, dict[str, str]]] = {
    "real_free_text": (LAMP, {"JSON_MODE": "off"}),
    "real_cut_off": (LAMP, {"JSON_MODE": "loose", "MAX_TOKENS": "18"}),
    "real_bad_arguments": ("My lamp came broken, please refund it.", {"JSON_MODE": "loose"}),
    "real_circle": (LAMP, {"JSON_MODE": "strict"}),
    "real_too_long": (LAMP + SMALL_TALK * 260, {"JSON_MODE": "off"}),
}
"""Name of the sample: what the customer wrote, and how the agent is set."""


def make(name: str) -> None:
    """Run one sample and write its log."""
    ticket, settings = SAMPLES[name]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with World(home / "world.jsonl") as world:
            env = os.environ | settings | {"TRACEKIT_HOME": folder, "WORLD_URL": world.url}
            env["TASK"] = name.replace("_", "-")
            subprocess.run([sys.executable, AGENT.name, ticket], cwd=AGENT.parent, env=env, check=False)
        [log] = (home / "traces").glob("*.jsonl")
        (TARGET / f"{name}.jsonl").write_text("".join(clean(line) for line in log.read_text().splitlines()))


if __name__ == "__main__":
    for sample in sys.argv[1:] or SAMPLES:
        print(sample, file=sys.stderr)
        make(sample)

"""The example on its stage: world and model in their processes, the agent in one of its own for each go."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tracekit.testing.loopback import Fault
from tracekit.testing.model_server import ModelServer
from tracekit.testing.world import World

EXAMPLES = Path(__file__).parents[2] / "examples" / "refund_agent"
TICKET = "The lamp of order A-1024 came broken."
TASK = "ticket-77"


@dataclass(frozen=True)
class Stage:
    """Where one test plays; every go of the agent is a new process."""

    home: Path
    world: World
    model: ModelServer
    agent: Path

    def env(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TRACEKIT_")}
        return (
            kept
            | {
                "TRACEKIT_HOME": str(self.home),
                "WORLD_URL": self.world.url,
                "MODEL_URL": self.model.base_url,
            }
            | more
        )

    def start(self, **env: str) -> subprocess.CompletedProcess[str]:
        return self._go("start", TICKET, "--task", TASK, **env)

    def resume(self, **env: str) -> subprocess.CompletedProcess[str]:
        return self._go("resume", TASK, **env)

    def tracekit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run(sys.executable, "-m", "tracekit", *arguments)

    def start_and_kill_once_booked(self, **env: str) -> None:
        """The world books the payment and keeps its answer back; the agent gets SIGKILL while it waits."""
        self.world.misbehave(Fault("POST /refunds", "delay", when="after", seconds=60))
        agent = subprocess.Popen(
            [sys.executable, str(self.agent), "start", TICKET, "--task", TASK],
            env=self.env(**env),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        until = time.monotonic() + 60
        while not self.world.happened("refund") and agent.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        assert agent.poll() is None, agent.communicate()[1]
        agent.kill()
        agent.communicate()
        self.world.misbehave()

    def _go(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return self._run(sys.executable, str(self.agent), *arguments, **env)

    def _run(self, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env=self.env(**env), capture_output=True, text=True, check=False, timeout=120
        )


@pytest.fixture(scope="session")
def model() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path / "world.jsonl") as running:
        yield running


@pytest.fixture(params=["agent.py", "openai_agent.py"])
def stage(request: pytest.FixtureRequest, tmp_path: Path, world: World, model: ModelServer) -> Stage:
    return Stage(tmp_path / "home", world, model, EXAMPLES / request.param)


@pytest.fixture
def plain_stage(tmp_path: Path, world: World, model: ModelServer) -> Stage:
    return Stage(tmp_path / "home", world, model, EXAMPLES / "agent.py")

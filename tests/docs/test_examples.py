"""Every example runs with the official clients against services on loopback, and the world's list holds what it should."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.running import reader_env

EXAMPLES = ROOT / "examples"
TICKET = "The lamp of order A-1024 came broken."
REFUND_AND_MAIL = ["refund", "notification"]


def go(
    folder: Path, *arguments: str, services: bool = True, code: int = 0, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run the example that *arguments* begin with; *code* is the exit code that it has to end with."""
    script = [str(EXAMPLES / "with_services.py")] if services else []
    command = [sys.executable, *script, str(EXAMPLES / arguments[0]), *arguments[1:]]
    done = subprocess.run(
        command,
        cwd=folder,
        env=reader_env(folder) | env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
    return done


def tracekit(folder: Path, *arguments: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "tracekit", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=reader_env(folder), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def kinds(output: str) -> list[str]:
    """What the world's list says in the order in which it happened."""
    return re.findall(r"'kind': '(\w+)'", output)


@pytest.mark.parametrize(
    ("example", "package"),
    [
        ("plain_loop.py", "tracekit"),
        ("openai_sdk.py", "openai"),
        ("anthropic_sdk.py", "anthropic"),
        ("langgraph_agent.py", "langgraph"),
        ("openai_agents_sdk.py", "agents"),
    ],
)
def test_an_agent_pays_once_and_its_log_has_every_call(example: str, package: str, tmp_path: Path) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")

    done = go(tmp_path, example, TICKET)

    counted = tracekit(
        tmp_path, "sql", ".tracekit", "select kind, count(*) n from steps where kind in ('model', 'tool') group by 1 order by 1",
        "--format", "csv",
    )  # fmt: skip
    assert kinds(done.stdout) == REFUND_AND_MAIL
    assert counted.split() == ["kind,n", "model,5", "tool,4"]


def test_the_graph_started_anew_after_a_kill_pays_nothing_again(tmp_path: Path) -> None:
    pytest.importorskip("langgraph", reason="langgraph is not installed")

    killed = go(tmp_path, "langgraph_agent.py", TICKET, code=256 - 9, DIE="1")
    again = go(tmp_path, "langgraph_agent.py", TICKET)

    assert kinds(killed.stdout) == ["refund"]
    assert kinds(again.stdout) == ["notification"]


def test_parallel_payments_are_each_made_once(tmp_path: Path) -> None:
    pytest.importorskip("httpx", reason="httpx is not installed")

    done = go(tmp_path, "parallel_tools.py")

    assert kinds(done.stdout) == ["refund", "refund"]
    assert sorted(re.findall(r"'order_id': '([^']+)'", done.stdout)) == ["A-1024", "A-1025"]


@pytest.mark.parametrize(("answer", "paid"), [("yes", ["refund"]), ("no", [])])
def test_nothing_is_paid_before_a_person_has_answered(answer: str, paid: list[str], tmp_path: Path) -> None:
    waiting = go(tmp_path, "human_approval.py", "start", code=5)
    [review] = re.findall(r"rev-[0-9a-f]+", tracekit(tmp_path, "review", "list", code=5))
    tracekit(tmp_path, "review", "decide", review, answer)
    resumed = go(tmp_path, "human_approval.py", "resume")

    assert kinds(waiting.stdout) == []
    assert kinds(resumed.stdout) == paid


@pytest.mark.postgres
def test_many_workers_deliver_each_parcel_once_though_one_is_killed(
    postgres_url: str, tmp_path: Path
) -> None:
    done = go(tmp_path, "many_workers.py", services=False, STORE=postgres_url)

    assert "24 of 24 parcels delivered, the most often 1 time(s)" in done.stdout


def test_every_example_is_short_enough_to_be_read() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in EXAMPLES.glob("*.py")}

    assert {name: lines for name, lines in lengths.items() if lines > 100} == {}

"""The commands about tasks, run as a person runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

AGENT = '''
import os, signal, tracekit

@tracekit.tool(effect="payment")
def pay(amount: int) -> str:
    with open("world.txt", "a") as world:
        world.write("paid\\n")
    if os.environ.get("DIE"):
        os.kill(os.getpid(), signal.SIGKILL)
    return "receipt"

@tracekit.task
def refund(run, amount):
    """Pay it back."""
    if os.environ.get("BREAK"):
        raise ValueError("\\x1b[31mred\\x1b[0m")
    receipt = run.tool(pay, amount)
    if os.environ.get("BREAK_AFTER"):
        raise ValueError("after")
    return receipt

if __name__ == "__main__":
    tracekit.init(service="agent")
    print(refund.start(5, task_id="t"))
'''


class Shell:
    """A folder with an agent in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        (folder / "agent.py").write_text(AGENT)

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            *(("agent.py",) if words == ("start",) else ("-m", "tracekit.cli", *words)),
        ]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TRACEKIT")}
        return subprocess.run(
            command, cwd=self.folder, env={**clean, **env}, capture_output=True, text=True, timeout=60
        )


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_plan_review_decide_resume_after_a_kill(shell: Shell) -> None:
    assert shell.run("start", DIE="1").returncode == -signal.SIGKILL

    plan = shell.run("plan", "t", "--format", "json")
    found = json.loads(plan.stdout)
    assert (plan.returncode, found["action"], found["at_risk"][0]["tool"]) == (5, "review", "pay")
    waiting = shell.run("resume", "t")
    assert waiting.returncode == 5
    assert "pay was sent and no answer was recorded" in waiting.stderr
    listed = json.loads(shell.run("review", "list", "--format", "json").stdout)
    review = listed[0]["review_id"]
    shown = shell.run("review", "show", review).stdout
    assert "Pay it back." in shown
    assert '{"amount":5}' in shown.replace(" ", "").replace("'", '"')

    decided = shell.run("review", "decide", review, "done", "--result", '"receipt"', "--by", "ann")
    assert decided.returncode == 0
    again = shell.run("review", "decide", review, "abort", "--by", "bob")
    assert again.returncode != 0
    assert "ann" in again.stderr
    resumed = shell.run("resume", "t")
    assert (resumed.returncode, json.loads(resumed.stdout)) == (0, "receipt")
    assert (shell.folder / "world.txt").read_text() == "paid\n"


def test_a_claim_is_seen_taken_over_and_no_lock(shell: Shell) -> None:
    shell.run("start", DIE="1")
    shell.run("resume", "t")
    review = json.loads(shell.run("review", "list", "--format", "json").stdout)[0]["review_id"]

    assert "claimed by ann for 15 min" in shell.run("review", "claim", review, "--by", "ann").stdout
    assert "ann, since 0 min, 15 min left" in shell.run("review", "list").stdout
    refused = shell.run("review", "claim", review, TRACEKIT_PERSON="bob")
    assert refused.returncode != 0
    assert "claimed by ann since" in refused.stderr
    taken = shell.run("review", "claim", review, "--by", "bob", "--take-over", "ann", "--minutes", "60")
    assert "claimed by bob for 60 min" in taken.stdout
    assert "bob, since 0 min, 60 min left" in shell.run("review", "show", review).stdout
    assert "ann has no claim" in shell.run("review", "claim", review, "--back", "--by", "ann").stdout

    decided = shell.run("review", "decide", review, "abort", "--by", "cid")
    assert decided.returncode == 0
    assert "bob had claimed this question" in decided.stderr


def test_a_plan_changes_nothing(shell: Shell) -> None:
    shell.run("start", DIE="1")
    before = shell.run("ls", "--format", "json").stdout

    for _ in range(2):
        shell.run("plan", "t")

    assert shell.run("ls", "--format", "json").stdout == before
    assert not json.loads(shell.run("review", "list", "--format", "json").stdout)


def test_an_agents_own_exception_is_told_and_resume_tries_again(shell: Shell) -> None:
    broke = shell.run("start", BREAK="1")
    assert "ValueError" in broke.stderr

    still = shell.run("resume", "t", BREAK="1")
    assert (still.returncode, "ValueError" in still.stderr) == (1, True)
    plan = shell.run("plan", "t")
    assert "\x1b" not in plan.stdout
    assert "ValueError" in plan.stdout
    assert shell.run("resume", "t").stdout == '"receipt"\n'


def test_ls_lists_tasks_and_those_that_are_stuck(shell: Shell) -> None:
    shell.run("start", DIE="1")

    [_, row] = shell.run("ls").stdout.splitlines()
    assert (row.split()[1], row.endswith(" (gone)")) == ("running", True)
    stuck = shell.run("ls", "--stuck").stdout
    assert "no worker of this store lives" in stuck
    assert json.loads(shell.run("ls", "--format", "json").stdout)[0]["task_id"] == "t"


def test_a_store_that_is_not_there_is_not_created_by_looking(shell: Shell) -> None:
    for words in (("plan", "t"), ("ls",), ("review", "list"), ("prune",)):
        answer = shell.run(*words)
        assert answer.returncode == 4
        assert "there is no store" in answer.stderr
    assert not (shell.folder / ".tracekit" / "state.db").exists()


def test_an_unknown_task_and_an_unknown_option_are_told(shell: Shell) -> None:
    shell.run("start")

    assert "no task 'x'" in shell.run("plan", "x").stderr
    assert shell.run("review", "decide", "rev-x", "retry").returncode == 4
    assert shell.run("ls", "--status", "sleeping").returncode == 2


def test_a_worker_runs_what_was_submitted(shell: Shell) -> None:
    code = "import agent; agent.refund.submit(7, task_id='w')"
    subprocess.run([sys.executable, "-c", code], cwd=shell.folder, check=True, timeout=60)

    worker = shell.run("worker", "--app", "agent.py", "--until-idle")

    assert worker.stdout.split("\t")[:2] == ["w", "done"]
    assert shell.run("prune", "--older-than-days", "0").returncode == 0
    assert "ok" in shell.run("doctor").stdout


def test_a_worker_says_which_tasks_wait_that_it_does_not_declare(shell: Shell) -> None:
    there = Shell(shell.folder / "elsewhere")
    agent = (there.folder / "agent.py").read_text()
    (there.folder / "agent.py").write_text(
        agent.replace('print(refund.start(5, task_id="t"))', "refund.submit(5)")
    )
    subprocess.run([sys.executable, "elsewhere/agent.py"], cwd=shell.folder, check=True, timeout=60)

    worker = shell.run("worker", "--app", "agent.py", "--until-idle")
    right = shell.run("worker", "--app", "elsewhere/agent.py", "--until-idle")

    told = f"1 task of {there.folder / 'agent.py'}:refund waiting, which agent.py does not declare; a script goes by its path"
    assert (worker.stdout, told in worker.stderr) == ("", True), worker.stderr
    assert (right.stdout.split("\t")[1], "waiting" in right.stderr) == ("done", False), right.stderr


def test_going_back_to_a_step_shows_what_was_done_since_and_asks(shell: Shell) -> None:
    assert shell.run("start").returncode == 0

    told = shell.run("plan", "t", "--from", "1", "--format", "json")
    assert told.returncode == 0
    plan = json.loads(told.stdout)
    assert (plan["action"], plan["effects"][0]["tool"], plan["again"]) == ("restore", "pay", ["call 1 (pay)"])
    judged = shell.run("plan", "t", "--from", "1", "--failure", "context.truncated", "--format", "json")
    assert json.loads(judged.stdout)["rule_id"] == "context.restore"
    looped = shell.run("plan", "t", "--from", "1", "--failure", "orchestration.loop")
    assert looped.returncode == 5

    asked = shell.run("fork", "t", "--at", "1", "--run", "--app", "agent.py")
    assert asked.returncode == 5
    assert "call 1 (pay), payment, success" in asked.stderr
    kept = shell.run(
        "fork", "t", "--at", "1", "--id", "t2", "--run", "--effects", "keep", "--app", "agent.py"
    )
    assert (kept.returncode, json.loads(kept.stdout)) == (0, "receipt")
    assert (shell.folder / "world.txt").read_text() == "paid\n"


def test_resume_from_a_step_ends_the_task_and_names_the_one_that_goes_on(shell: Shell) -> None:
    assert shell.run("start", BREAK_AFTER="1").returncode == 1

    done = shell.run("resume", "t", "--from", "1", "--effects", "keep", "--app", "agent.py")

    assert (done.returncode, json.loads(done.stdout)) == (0, "receipt")
    assert "goes on in its place" in done.stderr
    assert (shell.folder / "world.txt").read_text() == "paid\n"
    states = {row["task_id"]: row["status"] for row in json.loads(shell.run("ls", "--format", "json").stdout)}
    assert states.pop("t") == "cancelled"
    assert list(states.values()) == ["done"]


def test_a_question_says_by_what_the_service_finds_the_request_and_how_to_decide(shell: Shell) -> None:
    shell.run("start", DIE="1")
    shell.run("resume", "t")
    question = json.loads(shell.run("review", "list", "--format", "json").stdout)[0]
    review = question["review_id"]

    shown = shell.run("review", "show", review).stdout
    bare = shell.run("review", "decide", review, "done")

    assert f"key sent        {question['effect_key']}" in shown
    assert "1 time(s) in all" in shown
    assert f"tracekit review decide {review} done --result JSON" in shown
    assert "the call is sent again under the same key" in shown
    assert (bare.returncode, "--result null" in bare.stderr) == (2, True)
    assert shell.run("review", "decide", review, "done", "--result", "null").returncode == 0
    assert "tracekit review decide" not in shell.run("review", "show", review).stdout


def test_an_answer_that_is_called_done_is_an_answer_like_any_other(shell: Shell) -> None:
    agent = shell.folder / "agent.py"
    agent.write_text(AGENT.replace("run.tool(pay, amount)", "run.ask('Ready?', ['done', 'not yet'])"))
    shell.run("start")
    review = json.loads(shell.run("review", "list", "--format", "json").stdout)[0]["review_id"]

    decided = shell.run("review", "decide", review, "done")

    assert decided.returncode == 0, decided.stderr
    assert shell.run("resume", "t").stdout.strip() == '"done"'


def test_a_plan_says_that_the_script_was_found_and_could_not_be_loaded(shell: Shell) -> None:
    shell.run("start", DIE="1")
    script = shell.folder / "agent.py"
    script.write_text("import os\nos.environ['NO_SUCH_SETTING']\n" + script.read_text())

    told = shell.run("plan", "t")

    assert "could not be loaded: KeyError: 'NO_SUCH_SETTING'" in told.stdout
    assert "tool 'pay' is not declared here; the task's code could not be loaded" in told.stdout
    assert "give --app" not in told.stdout
    script.unlink()
    assert "there is no script" in shell.run("plan", "t").stdout


def test_going_back_to_a_call_that_is_not_there_says_what_a_call_is_named_by(shell: Shell) -> None:
    shell.run("start", BREAK_AFTER="1")

    told = shell.run("plan", "t", "--from", "7")

    assert told.returncode == 4
    assert (
        "no call '7'; expected the number of a call in the task (1), as `tracekit plan` shows it"
        in told.stderr
    )


def test_starting_a_task_again_whose_process_died_says_how_to_go_on_with_it(shell: Shell) -> None:
    shell.run("start", DIE="1")

    again = shell.run("start")

    assert "nobody works on it; go on with it by `tracekit resume t`" in again.stderr
    assert (shell.folder / "world.txt").read_text() == "paid\n"


def test_a_question_that_nobody_answered_in_time_offers_no_answers_and_says_who_asks_anew(
    shell: Shell,
) -> None:
    agent = shell.folder / "agent.py"
    agent.write_text(AGENT.replace("@tracekit.task\n", "@tracekit.task(review_expires_s=0.001)\n"))
    shell.run("start", DIE="1")
    shell.run("resume", "t")

    listed = shell.run("review", "list").stdout
    shown = shell.run("review", "show", listed.splitlines()[1].split()[0]).stdout

    assert "  expired  " in listed
    assert "`tracekit resume t` asks anew" in shown
    assert "tracekit review decide" not in shown
    assert "resume it to be asked anew" in shell.run("ls", "--stuck").stdout


def test_a_replay_that_would_take_another_way_ends_with_the_code_of_waiting(shell: Shell) -> None:
    shell.run("start", DIE="1")
    shell.run("resume", "t")
    review = json.loads(shell.run("review", "list", "--format", "json").stdout)[0]["review_id"]
    shell.run("review", "decide", review, "retry")
    agent = shell.folder / "agent.py"
    agent.write_text(AGENT.replace("run.tool(pay, amount)", "run.tool(pay, amount + 1)"))

    diverged = shell.run("resume", "t")

    assert (diverged.returncode, "waits for review" in diverged.stderr) == (5, True)

"""
Plants one fault each into clean runs and prints how many are found: per class found, missed and false, macro F1, the
share of right cause steps, and false alarms on the clean runs themselves.

    python benchmarks/mutate.py [--rounds 3] [--seed 7] [--ours 60] [--show]

Everything runs through the readers, the relations and the classes, as for a user's own log.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plant_chat
import plant_log
from clean_runs import CleanRun, from_corpus, ours

from tracekit_analyzers.engine import Engine
from tracekit_analyzers.model import Diagnosis, InputFile, TraceVerdict
from tracekit_analyzers.readers.openai_chat import READER
from tracekit_analyzers.reading.damage import Damage

NOTHING = "(none)"


@dataclass(frozen=True, slots=True)
class Label:
    """What was planted into a trace; no code for a clean one."""

    fault: str
    origin: str
    code: str | None = None
    cause: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What analysis made of a trace."""

    label: Label
    primary: Diagnosis | None

    @property
    def code(self) -> str:
        return self.primary.code if self.primary else NOTHING

    @property
    def cause_right(self) -> bool:
        source = self.primary.cause_source if self.primary else None
        return self.code == self.label.code and source is not None and source.index == self.label.cause


def build(folder: Path, *, runs: list[CleanRun], rounds: int, seed: int) -> dict[str, Label]:
    """Write the clean and the faulty runs as native logs into *folder*; the label of each trace."""
    rng = random.Random(seed)
    chats: list[tuple[list[plant_chat.Message], Label]] = []
    log_faults: dict[int, str] = {}
    names = list(plant_chat.FAULTS) + list(plant_log.FAULTS)
    for number, run in enumerate(runs):
        chats.append((run.messages, Label("clean", run.origin)))
        for step in range(rounds):
            name = names[(number + step * (len(names) // max(1, rounds))) % len(names)]
            if name in plant_log.FAULTS:
                log_faults[len(chats)] = name
                chats.append((run.messages, Label(name, run.origin)))
            elif planted := plant_chat.FAULTS[name](run.messages, rng):
                chats.append((planted.messages, Label(name, run.origin, planted.code, planted.cause)))
    return _write(folder, chats, log_faults, rng)


def _write(
    folder: Path, chats: list[tuple[list[Any], Label]], log_faults: dict[int, str], rng: random.Random
) -> dict[str, Label]:
    labels: dict[str, Label] = {}
    with (folder / "runs.jsonl").open("w", encoding="utf-8") as alive:
        for number, records in enumerate(_translated(folder, [messages for messages, _ in chats])):
            label = chats[number][1]
            if number in log_faults:
                planted = plant_log.FAULTS[log_faults[number]](records, rng)
                if planted is None:
                    continue
                label = Label(label.fault, label.origin, planted.code, planted.cause)
                records = planted.records
                if planted.killed:
                    _write_killed(folder / f"killed-{number}.jsonl", records, number)
                    labels[records[0]["trace_id"]] = label
                    continue
            alive.writelines(json.dumps(record) + "\n" for record in records)
            labels[records[0]["trace_id"]] = label
    return labels


def _translated(folder: Path, chats: list[list[Any]]) -> list[list[plant_log.Record]]:
    """Native records of each run, by the reader of chat logs."""
    path = folder / "chats.json"
    path.write_text(json.dumps([{"messages": messages} for messages in chats]), encoding="utf-8")
    grouped: dict[int, list[plant_log.Record]] = defaultdict(list)
    with path.open("rb") as stream:
        file = InputFile(path, path.name, stream.read(65536))
    for record in READER.read(file, Damage()):
        grouped[record["source"]["trace_index"]].append(record)
    path.unlink()
    return [grouped[number] for number in range(len(chats))]


def _write_killed(path: Path, records: list[plant_log.Record], number: int) -> None:
    """A log whose process is gone: it opens with a `process` line and has no closing one."""
    process_id = f"{number:016x}"
    opening = {
        "record": "process", "event": "start", "schema": "tracekit.log/1", "service": "mutate", "host": "localhost",
        "boot_id": "0", "pid": 1, "process_id": process_id, "started_at": "2026-01-01T00:00:00.000000Z",
        "at": "2026-01-01T00:00:00.000000Z",
    }  # fmt: skip
    for record in records:
        if "process_id" in record:
            record["process_id"] = process_id
    path.write_text("".join(json.dumps(line) + "\n" for line in (opening, *records)), encoding="utf-8")


def outcomes(verdicts: dict[str, TraceVerdict], labels: dict[str, Label]) -> list[Outcome]:
    """Label and primary diagnosis of every trace."""
    found = []
    for trace_id, label in labels.items():
        verdict = verdicts[trace_id]
        primary = None if verdict.primary is None else verdict.diagnoses[verdict.primary]
        found.append(Outcome(label, primary))
    return found


def f1_by_class(results: list[Outcome]) -> dict[str, tuple[int, int, int, float]]:
    """Found, missed, false and F1 of each planted class, over faulty and clean runs alike."""
    codes = sorted({r.label.code for r in results if r.label.code})
    table = {}
    for code in codes:
        found = sum(r.label.code == code == r.code for r in results)
        missed = sum(r.label.code == code != r.code for r in results)
        false = sum(r.code == code != r.label.code for r in results)
        table[code] = (found, missed, false, 2 * found / max(1, 2 * found + missed + false))
    return table


def report(results: list[Outcome], *, show: bool) -> None:
    """Print the figures."""
    faulty = [r for r in results if r.label.code]
    clean = [r for r in results if not r.label.code]
    table = f1_by_class(results)
    print(f"{len(faulty)} planted faults, {len(clean)} clean runs")
    print(f"{'class':32}{'found':>7}{'missed':>8}{'false':>7}{'F1':>7}{'cause right':>13}")
    for code, (found, missed, false, f1) in table.items():
        mine = [r for r in faulty if r.label.code == code]
        right = sum(r.cause_right for r in mine) / len(mine)
        print(f"{code:32}{found:7}{missed:8}{false:7}{f1:7.3f}{right:13.3f}")
    alarms = [r for r in clean if r.primary]
    print(f"macro F1 {sum(row[3] for row in table.values()) / len(table):.3f} (target 0.95)")
    print(f"cause step right {sum(r.cause_right for r in faulty) / len(faulty):.3f} (target 0.90)")
    print(f"false alarms per 100 clean runs {100 * len(alarms) / len(clean):.1f} (target at most 2)")
    if show:
        for (fault, origin, code), count in Counter(
            (r.label.fault, r.label.origin, r.code)
            for r in results
            if r.label.code not in (None, r.code) or (not r.label.code and r.primary)
        ).items():
            print(f"  wrong: {fault} in {origin} -> {code} x {count}")
        for r in results:
            if r.code != (r.label.code or NOTHING) or (r.label.code and not r.cause_right):
                print(
                    "   ",
                    r.label,
                    "->",
                    r.primary
                    and (
                        r.primary.trace_id,
                        r.primary.rule,
                        r.primary.message,
                        r.primary.source,
                        r.primary.cause_source,
                    ),
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="faults planted into each run")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--ours", type=int, default=60, help="runs of our own agent; those of the corpus come on top"
    )
    parser.add_argument("--show", action="store_true", help="list what was wrong")
    options = parser.parse_args()
    runs = [*ours(options.ours, options.seed), *from_corpus()]
    with tempfile.TemporaryDirectory() as name:
        labels = build(Path(name), runs=runs, rounds=options.rounds, seed=options.seed)
        with Engine([name]) as engine:
            engine.load()
            report(outcomes(engine.verdicts, labels), show=options.show)


if __name__ == "__main__":
    main()

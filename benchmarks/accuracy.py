"""
Prints how right the diagnoses are on labelled logs: found, missed and false for what is a fact, false alarms on successful
runs, and the cause steps that people named, with trivial rows and published figures beside ours.

    make accuracy                     TRACEKIT_CORPUS names the folder of labelled logs; what is absent is skipped
    python benchmarks/accuracy.py --show
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator

import cause_steps
import corpus
import objective

from tracekit_analyzers.model import TraceVerdict

TARGET_RECALL, TARGET_PRECISION = 0.98, 0.95


def print_objective(show: bool) -> None:
    """Facts: recall and precision of each class with ground truth."""
    print(f"\nFacts (targets: recall {TARGET_RECALL}, precision {TARGET_PRECISION})")
    print(f"  {'class':44}{'found':>7}{'missed':>8}{'false':>7}{'recall':>9}{'precision':>11}")
    for folder in objective.FOLDERS:
        for score in folder():
            print(
                f"  {score.name:44}{score.found:7}{len(score.missed):8}{len(score.false):7}"
                f"{score.recall:9.3f}{score.precision:11.3f}  {score.note}"
            )
            if show:
                for word, places in (("missed", score.missed), ("false", score.false)):
                    for at in places:
                        print(f"      {word} {at}")


def successful_runs() -> Iterator[tuple[str, list[TraceVerdict]]]:
    """Verdicts over the successful runs of each folder that says which ones succeeded."""
    for name in ("taubench_airline", "agentrx_tau_retail", "miniswe_gemini3"):
        path = corpus.folder(name)
        if path is None:
            continue
        good = {(str(path / row["file"]), row.get("trace_index", 0)) for row in corpus.rows(path / "labels.jsonl") if row.get("task_success")}  # fmt: skip
        if good:
            verdicts = objective.analysed(path / file for file in sorted({file for file, _ in good}))
            yield name, [v for v in verdicts if (v.source.file, v.source.trace_index) in good]


def print_false_alarms(show: bool) -> None:
    """Primary verdicts on runs that succeeded: each is a false alarm, or a slip that did no harm."""
    print("\nPrimary verdicts on successful runs")
    for name, verdicts in successful_runs():
        alarms = [(v, v.diagnoses[v.primary]) for v in verdicts if v.primary is not None]
        share = 100 * len(alarms) / max(1, len(verdicts))
        print(f"  {name:44}{len(alarms):4} in {len(verdicts):4} runs, {share:5.1f} per 100")
        if show:
            for verdict, primary in alarms:
                print(f"      run {verdict.source.trace_index}: {primary.rule}: {primary.message}")


def print_cause_steps(show: bool) -> None:
    """The human labels."""
    print("\nCause steps that people labelled (exact; two labellings of the same runs agree in 35 %)")
    for labelled in cause_steps.SETS:
        found = cause_steps.runs(labelled)
        if not found:
            continue
        print(f"  {labelled.name}: {len(found)} runs")
        for name, share in cause_steps.table(found).items():
            print(f"    {name:46}{share:7.3f}")
        if labelled.published:
            print(f"    {labelled.published}")
        if show:
            for run in found:
                print(f"      {run.known['trace_id']}: label {run.label}, ours {run.ours}")


def print_calibration() -> None:
    """Confidence against the share that was right, per rule, over the labelled chat logs."""
    hits: dict[str, list[bool]] = defaultdict(list)
    said: dict[str, float] = {}
    for name, files in (
        ("taubench_airline", ("gpt-4o-airline.json",)),
        ("agentrx_tau_retail", ("tau_dataset_failed.json", "tau_dataset_full.json")),
    ):
        path = corpus.folder(name)
        if path is None:
            continue
        wanted = {
            (row["file"], row["trace_index"], row["message_index"])
            for row in corpus.rows(path / "tool_errors.jsonl")
        }
        wanted |= {(row["file"], row["trace_index"], row["call_message_index"] + 1) for row in corpus.rows(path / "unseen_ids.jsonl")}  # fmt: skip
        for verdict in objective.analysed(path / file for file in files):
            for diagnosis in verdict.diagnoses:
                if diagnosis.family in ("tool", "parameter"):
                    said[diagnosis.rule] = diagnosis.confidence
                    hits[diagnosis.rule].append(objective.place(verdict, diagnosis) in wanted)
    if hits:
        print("\nCalibration on labelled chat logs: confidence, share right, verdicts")
        for rule in sorted(hits):
            print(f"  {rule:44}{said[rule]:6.2f}{sum(hits[rule]) / len(hits[rule]):7.2f}{len(hits[rule]):5}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--show", action="store_true", help="list every place that was missed or false")
    options = parser.parse_args()
    if not corpus.ROOT.is_dir():
        print(
            f"No labelled logs at {corpus.ROOT}: set TRACEKIT_CORPUS. Planted faults need none: benchmarks/mutate.py"
        )
        return
    print_objective(options.show)
    print_false_alarms(options.show)
    print_cause_steps(options.show)
    print_calibration()


if __name__ == "__main__":
    main()

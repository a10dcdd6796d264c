"""
Prints how right the diagnoses are on labelled logs: found, missed and false for what is a fact, false alarms on successful
runs, and the cause steps that people named, with trivial rows and published figures beside ours.

    make accuracy                     TRACEKIT_CORPUS names the folder of labelled logs; what is absent is skipped
    python benchmarks/accuracy.py --show
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator

import cause_steps
import corpus
import held_out
import objective

from tracekit_analyzers.model import TraceVerdict

TARGET_RECALL, TARGET_PRECISION = 0.98, 0.95


def print_objective(show: bool) -> list[objective.Judged]:
    """Facts: recall and precision of each class with ground truth; gives back the verdicts that the labels judged."""
    judged: list[objective.Judged] = []
    print(f"\nFacts (targets: recall {TARGET_RECALL}, precision {TARGET_PRECISION})")
    print(f"  {'class':44}{'found':>7}{'missed':>8}{'false':>7}{'recall':>9}{'precision':>11}")
    for folder in objective.FOLDERS:
        for score in folder():
            judged += score.judged
            print(
                f"  {score.name:44}{score.found:7}{len(score.missed):8}{len(score.false):7}"
                f"{score.recall:9.3f}{score.precision:11.3f}  {score.note}"
            )
            if show:
                for word, places in (("missed", score.missed), ("false", score.false)):
                    for at in places:
                        print(f"      {word} {at}")
    return judged


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


def print_cause_steps(show: bool) -> list[objective.Judged]:
    """The human labels; gives back the verdicts that they judged."""
    print("\nCause steps that people labelled (exact; two labellings of the same runs agree in 35 %)")
    sets = {labelled: cause_steps.runs(labelled) for labelled in cause_steps.SETS}
    for labelled, found in sets.items():
        if not found:
            continue
        right = sum(run.ours == run.label for run in found)
        low, high = interval(right, len(found))
        print(f"  {labelled.name}: {len(found)} runs, {right} right, 95 % interval {low:.2f} to {high:.2f}")
        for name, share in cause_steps.table(found).items():
            print(f"    {name:46}{share:7.3f}")
        if labelled.published:
            print(f"    {labelled.published}")
        if show:
            for run in found:
                print(f"      {run.known['trace_id']}: label {run.label}, ours {run.ours} by {run.rule}")
    talks = {labelled.name: found for labelled, found in sets.items() if any(run.claims for run in found)}
    print_held_out(talks)
    return [(run.rule, run.confidence, run.ours == run.label) for found in sets.values() for run in found if run.rule]  # fmt: skip


def print_held_out(talks: dict[str, list[cause_steps.Run]]) -> None:
    """What the weights of the rule about talks are worth on runs that they were not chosen on."""
    if not talks:
        return
    print(
        "\nThe same for talks, weights chosen on other tasks (five-fold, ten times); the other sets have no weights"
    )
    seen, unseen = held_out.in_use(talks), held_out.shares(talks)
    print(f"  {'set':46}{'in sample':>10}{'held out':>10}")
    for name in talks:
        print(f"  {name:46}{seen[name]:10.3f}{unseen[name]:10.3f}")


def interval(right: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval for a share of *right* among *count*."""
    z, share = 1.96, right / count
    middle = share + z * z / (2 * count)
    spread = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return (middle - spread) / (1 + z * z / count), (middle + spread) / (1 + z * z / count)


def print_calibration(judged: list[objective.Judged]) -> None:
    """Confidence against the share that was right, per rule, over everything that a label judges."""
    if not judged:
        return
    hits: dict[str, list[bool]] = defaultdict(list)
    said: dict[str, float] = {}
    for rule, confidence, right in judged:
        said[rule] = confidence
        hits[rule].append(right)
    print(
        "\nCalibration over all labelled logs (facts: the failed step is labelled; human causes: it is the same step)"
    )
    print(f"  {'rule':44}{'says':>6}{'right':>7}{'verdicts':>10}")
    for rule in sorted(hits):
        few = "  few" if len(hits[rule]) < 10 else ""
        print(
            f"  {rule:44}{said[rule]:6.2f}{sum(hits[rule]) / len(hits[rule]):7.2f}{len(hits[rule]):10}{few}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--show", action="store_true", help="list every place that was missed or false")
    options = parser.parse_args()
    if not corpus.ROOT.is_dir():
        print(
            f"No labelled logs at {corpus.ROOT}: set TRACEKIT_CORPUS. Planted faults need none: benchmarks/mutate.py"
        )
        return
    judged = print_objective(options.show)
    print_false_alarms(options.show)
    print_calibration(judged + print_cause_steps(options.show))


if __name__ == "__main__":
    main()

"""Labels that are facts: tool errors, outcome codes and a harness's own sentences. One function for each labelled folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import corpus

from tracekit_analyzers.engine import Engine
from tracekit_analyzers.model import Diagnosis, TraceVerdict

Place = tuple[str, int, int]
"""File, run in the file, position of the outcome."""

Judged = tuple[str, float, bool]
"""Rule, its confidence, whether the labels say that the verdict was right."""


@dataclass(slots=True)
class Score:
    """Found, missed and false of one class on one folder."""

    name: str
    found: int = 0
    missed: list[Any] = field(default_factory=list)
    false: list[Any] = field(default_factory=list)
    note: str = ""
    judged: list[Judged] = field(default_factory=list)
    """Every verdict that the labels can judge: what the calibration rests on."""

    @property
    def recall(self) -> float:
        return self.found / max(1, self.found + len(self.missed))

    @property
    def precision(self) -> float:
        return self.found / max(1, self.found + len(self.false))


def compare(name: str, wanted: Iterable[Any], got: Iterable[Any], note: str = "") -> Score:
    """The score of *got* against *wanted*."""
    want, have = set(wanted), set(got)
    return Score(name, len(want & have), sorted(want - have), sorted(have - want), note)


def judged(pairs: Iterable[tuple[TraceVerdict, Diagnosis]], right: Iterable[Any]) -> list[Judged]:
    """Each diagnosis with whether its failed step stands among the places in *right*."""
    places = set(right)
    return [(d.rule, d.confidence, place(v, d) in places) for v, d in pairs]


def analysed(paths: Iterable[Path]) -> list[TraceVerdict]:
    """Verdicts over *paths*."""
    with Engine([str(path) for path in paths]) as engine:
        engine.load()
        return list(engine.verdicts.values())


def place(verdict: TraceVerdict, diagnosis: Diagnosis) -> Place:
    """Where the outcome of the failed step stands."""
    source = diagnosis.source or verdict.source
    index = source.index if source.index is not None else -1
    return (Path(verdict.source.file).name, verdict.source.trace_index, index)


def chat_errors(name: str, files: tuple[str, ...]) -> list[Score]:
    """Tool errors and invented ids of a chat log."""
    path = corpus.folder(name)
    if path is None:
        return []
    verdicts = analysed(path / file for file in files)
    pairs = [(verdict, d) for verdict in verdicts for d in verdict.diagnoses]
    errors = {
        (row["file"], row["trace_index"], row["message_index"])
        for row in corpus.rows(path / "tool_errors.jsonl")
    }
    ids = {(row["file"], row["trace_index"], row["call_message_index"] + 1) for row in corpus.rows(path / "unseen_ids.jsonl")}  # fmt: skip
    shown = {place(v, d) for v, d in pairs if _shows_error(d)}
    invented = {place(v, d) for v, d in pairs if d.code == "parameter.unknown_reference"}
    scores = [compare(f"{name}: tool errors", errors, shown), compare(f"{name}: invented ids", ids, invented)]
    scores[0].judged = judged(((v, d) for v, d in pairs if d.family in ("tool", "parameter")), errors | ids)
    return scores


def _shows_error(diagnosis: Diagnosis) -> bool:
    """Whether it rests on an error that the tool itself gave."""
    return any("error" in fact.what or "failure" in fact.what or "answered" in fact.what for fact in diagnosis.evidence if fact.step == diagnosis.failed_step) and diagnosis.family in ("tool", "parameter", "timeout")  # fmt: skip


def toolbench() -> list[Score]:
    """
    ToolBench's own outcome codes, and calls with a good code around a failing body.

    The latter are listed by a regular expression, which knows some wordings only. An unlisted answer of under 250
    characters is therefore left unjudged and counted in the note (read by hand, all of them were failures: "Forbidden",
    "An API key is required", "unknown service"); an unlisted longer one, which holds data, counts as false.
    """
    path = corpus.folder("toolbench_dfs")
    if path is None:
        return []
    labels = corpus.rows(path / "labels.jsonl")
    with Engine([str(path / row["file"]) for row in labels]) as engine:
        engine.load()
        verdicts = list(engine.verdicts.values())
        short = {
            (Path(file).name, 0, index)
            for file, index in engine.con.execute(
                "select file, record_index from steps where kind = 'tool' and length(output_text) < 250"
            ).fetchall()
        }
    failing: dict[str, set[Place]] = {"hard": set(), "soft": set()}
    for row in labels:
        file = Path(row["file"]).name
        for item in row["all_failures"]:
            if item["category"] not in ("gave_up", "final_answer"):
                failing["hard"].add((file, 0, item["step"]))
        failing["soft"] |= {(file, 0, item["step"]) for item in row["suspected_soft_failures"]}
    pairs = [(v, d) for v in verdicts for d in v.diagnoses if d.family in ("tool", "parameter", "timeout") or d.code == "output.unknown_tool"]  # fmt: skip
    got = {place(v, d) for v, d in pairs}
    hard, soft = failing["hard"], failing["soft"] - failing["hard"]
    unjudged = (got & short) - hard - soft
    note = f"and {len(unjudged)} that the list of labels lacks; read by hand, all of them are failures"
    scores = [
        compare("toolbench_dfs: error codes", hard, got - soft - unjudged, note),
        compare("toolbench_dfs: good code, failing body", soft, got - hard - unjudged, note),
    ]
    scores[0].judged = judged(((v, d) for v, d in pairs if place(v, d) not in unjudged), hard | soft)
    return scores


def mini_swe() -> list[Score]:
    """Time-outs, unreadable answers and exit codes by the harness's own sentences."""
    path = corpus.folder("miniswe_gemini3")
    if path is None:
        return []
    labels = corpus.rows(path / "labels.jsonl")
    verdicts = analysed(path / row["file"] for row in labels)
    scores = []
    for category, codes in (
        ("tool_timeout", ("timeout.no_answer",)),
        ("unparseable_model_output", ("output.unparseable",)),
        ("nonzero_exit", ("tool.exit_code",)),
    ):
        wanted = {(Path(row["file"]).name, 0, item["step"]) for row in labels for item in row["all_failures"] if item["category"] == category}  # fmt: skip
        # The harness complains one message after the answer that it could not read.
        shift = 1 if category == "unparseable_model_output" else 0
        pairs = [(v, d) for v in verdicts for d in v.diagnoses if d.code in codes]
        got = {(f, t, n + shift) for v, d in pairs for f, t, n in [place(v, d)]}
        score = compare(f"miniswe_gemini3: {category}", wanted, got)
        score.judged = judged(pairs, {(f, t, n - shift) for f, t, n in wanted})
        scores.append(score)
    return scores


def trail() -> list[Score]:
    """Tool errors of span trees, each counted once at the lowest span."""
    path = corpus.folder("trail_gaia")
    if path is None:
        return []
    wanted = {(Path(row["file"]).name, row["span_id"]) for row in corpus.rows(path / "tool_errors.jsonl")}
    verdicts = analysed(path / row["file"] for row in corpus.rows(path / "labels.jsonl"))
    with_errors = {file for file, _ in wanted}
    pairs = [(v, d) for v in verdicts for d in v.diagnoses if d.family in ("tool", "parameter", "timeout") and d.rule.endswith("/status")]  # fmt: skip
    spans = [(Path(v.source.file).name, d.failed_step) for v, d in pairs]
    score = compare("trail_gaia: tool errors, once each", wanted, spans, note=f"{len(with_errors)} traces")
    score.judged = [(d.rule, d.confidence, at in wanted) for (_, d), at in zip(pairs, spans, strict=True)]
    return [score]


FOLDERS: tuple[Callable[[], list[Score]], ...] = (
    lambda: chat_errors("taubench_airline", ("gpt-4o-airline.json",)),
    lambda: chat_errors("agentrx_tau_retail", ("tau_dataset_failed.json", "tau_dataset_full.json")),
    toolbench,
    mini_swe,
    trail,
)

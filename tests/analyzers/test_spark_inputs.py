"""Every kind of file and path gives on Spark what it gives on one machine, and a judge is asked the same questions."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.analyzers import spark_help
from tests.analyzers.spark_help import here, report
from tests.analyzers.spark_log import write_log
from tests.analyzers.webhdfs import serving
from tracekit.cli import main
from tracekit.errors import TracekitError
from tracekit_analyzers.spark.cluster import analyze
from tracekit_analyzers.verdicts import judging

spark_help.skip_without_spark()


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[Any]:
    # Pieces of 64 KB: files are cut as large ones are on a cluster.
    with spark_help.running_session(**{"spark.sql.files.maxPartitionBytes": "65536"}) as session:
        yield session


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one file of each kind, and files that are no logs."""
    folder = tmp_path_factory.mktemp("kinds") / "agents at home"
    (folder / "deep er").mkdir(parents=True)
    for kind in ("plain", "gz", "zst", "otlp", "parquet"):
        made = folder.parent / kind
        write_log(made, steps=300, files=1, salt=kind)
        lines = made / "agents-0.jsonl"
        if kind == "plain":
            (folder / "deep er" / "plain {1}.jsonl").write_bytes(lines.read_bytes())
        elif kind == "gz":
            (folder / "packed.jsonl.gz").write_bytes(gzip.compress(lines.read_bytes()))
        elif kind == "zst":
            (folder / "packed.jsonl.zst").write_bytes(zstandard.compress(lines.read_bytes()))
        elif kind == "otlp":
            assert main(["convert", str(lines), str(folder / "steps.otlp.jsonl")]) == 0
        else:
            assert main(["convert", str(lines), str(folder / "steps.parquet")]) == 0
    (folder / ".hidden.jsonl").write_text("{}")
    (folder / "notes.md").write_text("no log")
    return folder


def test_every_kind_of_file_is_read_as_on_one_machine(log: Path, session: Any) -> None:
    one = here([log])
    assert {Path(trace["source"]["file"]).name for trace in one["traces"]} == {
        "plain {1}.jsonl", "packed.jsonl.gz", "packed.jsonl.zst", "steps.otlp.jsonl", "steps.parquet",
    }  # fmt: skip
    before = session.conf.get("spark.sql.shuffle.partitions")

    assert report(analyze([str(log)])) == one
    assert session.conf.get("spark.sql.shuffle.partitions") == before
    assert session.sparkContext._jsc.getPersistentRDDs().size() == 0


def test_a_file_system_that_only_spark_can_read_gives_the_same(log: Path) -> None:
    one = here([log])
    with serving(log.parent) as address:
        top = f"{address}/{log.name}"

        far = report(analyze([top]))
        some = report(analyze([f"{top}/packed.jsonl.*", f"{top}/{{steps.parquet,steps.otlp.jsonl}}"]))

        with pytest.raises(TracekitError, match="found nothing at") as caught:
            analyze([f"{top}/*.txt"])
    assert json.loads(json.dumps(far).replace(top, str(log))) == one
    assert caught.value.code == "input.missing"
    assert sorted({Path(trace["source"]["file"]).name for trace in some["traces"]}) == [
        "packed.jsonl.gz", "packed.jsonl.zst", "steps.otlp.jsonl", "steps.parquet",
    ]  # fmt: skip


def test_patterns_of_this_machine_are_those_of_one_machine(log: Path) -> None:
    pattern = str(log / "**" / "*[1}].jsonl")

    assert report(analyze([pattern, pattern])) == here([Path(pattern)])


def test_a_judge_is_asked_the_same_in_the_same_order(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = here([log], judge=judging.named("tests.analyzers.spark_help:critic"))
    asked = list(spark_help.ASKED)
    spark_help.ASKED.clear()
    capsys.readouterr()

    main(["analyze", str(log), "--engine", "spark", "--judge", "tests.analyzers.spark_help:critic", "--format", "json"])  # fmt: skip

    told = json.loads(capsys.readouterr().out)
    assert len(asked) > 100
    assert asked == spark_help.ASKED
    assert {"summary": told["summary"], "traces": told["traces"]} == one
    rules = [found["rule"] for trace in told["traces"] for found in trace["diagnoses"]]
    assert rules.count("judge:critic") == len(asked) // 3


def test_a_judge_that_fails_is_named(log: Path) -> None:
    def broken(run: judging.JudgedRun) -> list[judging.Opinion]:
        raise ValueError("no answer from the model")

    with pytest.raises(TracekitError, match="broken raised ValueError at trace") as caught:
        analyze([str(log)], judge=broken)
    assert caught.value.code == "judge.failed"


def test_files_that_spark_passes_over_are_named(log: Path, tmp_path: Path) -> None:
    for name in ("good.jsonl.gz", "_mine.jsonl.gz"):
        (tmp_path / name).write_bytes((log / "packed.jsonl.gz").read_bytes())

    with pytest.raises(TracekitError, match=r"_mine\.jsonl\.gz") as caught:
        analyze([str(tmp_path)])
    assert caught.value.code == "input.unreadable"


def test_a_file_that_can_not_be_cut_and_is_too_large_is_named(tmp_path: Path) -> None:
    large = tmp_path / "large.jsonl.gz"
    large.write_bytes(gzip.compress(b'{"record": "step"}\n' * 10_000))
    with large.open("r+b") as file:
        file.truncate(1 << 31)

    with pytest.raises(TracekitError, match=r"large\.jsonl\.gz has 2048 MB") as caught:
        analyze([str(large)])
    assert caught.value.code == "input.too_large"


def test_a_broken_file_is_told_as_on_one_machine(log: Path, tmp_path: Path) -> None:
    whole = (log / "steps.parquet").read_bytes()
    (tmp_path / "torn.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TracekitError) as one:
        here([tmp_path])

    with pytest.raises(TracekitError) as far:
        analyze([f"file://{tmp_path}"])
    assert far.value.code == one.value.code == "input.unreadable"
    assert "torn.parquet" in str(far.value)

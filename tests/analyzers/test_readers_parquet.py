"""Steps that `convert` wrote as Parquet, read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analyzers.spark_log import write_log
from tracekit.cli import main
from tracekit_analyzers.engine import Engine

COLUMNS = "* exclude (file, bucket, first_n, last_n)"


def test_steps_come_back_from_parquet_as_they_were(tmp_path: Path) -> None:
    write_log(tmp_path / "log", steps=300)
    assert main(["convert", str(tmp_path / "log"), str(tmp_path / "steps.parquet")]) == 0
    query = f"select {COLUMNS} from log.steps order by trace_id, seq"
    with Engine([tmp_path / "log"], diagnose=False) as before, Engine([tmp_path / "steps.parquet"]) as after:
        before.load()
        after.load()

        assert after.con.execute(query).fetchall() == before.con.execute(query).fetchall()
        assert any(verdict.diagnoses for verdict in after.verdicts.values())
        assert after.damage.bad_count == 0


def test_a_cut_parquet_file_is_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_log(tmp_path / "log", steps=300)
    main(["convert", str(tmp_path / "log"), str(tmp_path / "steps.parquet")])
    data = (tmp_path / "steps.parquet").read_bytes()
    (tmp_path / "steps.parquet").write_bytes(data[: len(data) // 2])
    capsys.readouterr()

    assert main(["analyze", str(tmp_path / "steps.parquet"), "--format", "json"]) == 3
    assert '"reason":"parquet: ' in capsys.readouterr().out

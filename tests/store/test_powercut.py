"""A sample of the power cuts of benchmarks/powercut.py, and proof that its check can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.powercut import MODELS, cut_power, record_work


@pytest.mark.parametrize("model", MODELS)
def test_no_power_cut_breaks_a_promise(tmp_path: Path, model: str) -> None:
    operations = record_work(tmp_path / "recorded", steps=20)
    outcomes = cut_power(operations, tmp_path / "image", images=150, model=model, seed=7)

    assert outcomes == {"kept": 150}


def test_a_store_that_does_not_sync_breaks_promises(tmp_path: Path) -> None:
    operations = record_work(tmp_path / "recorded", steps=20, is_careless=True)
    outcomes = cut_power(operations, tmp_path / "image", images=60, model="ordered", seed=7)

    assert outcomes["an effect was dispatched and is not in the ledger"] > 0
    assert outcomes["an acknowledged outcome is gone"] > 0

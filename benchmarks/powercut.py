"""
Power cuts under the real SQLite store: which promises hold when the machine stops at any write?

A small agent works on a store whose disk is recorded. Then many disks are rebuilt, each as a power cut at a random
point could have left it: everything up to the last sync of a file is there; each later write is there, lost, or torn
into sectors. Each disk is opened by the store itself, and every promise is checked.

Run: python -m benchmarks.powercut [--images 10000] [--seed 5]

Deletes follow one of two models: `ordered`, safe after the next sync of any file, as on journalling file systems; and
`pessimistic`, safe only when the folder was synced. `--careless` syncs nothing: a check that the check can fail.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.disk_shim import Operation, Recording, RecordingVFS
from benchmarks.store_step import started, step_writes
from tracekit.errors import TracekitError
from tracekit.model import EffectStatus
from tracekit.store.rows import Lease
from tracekit.store.sqlite import SqliteStore

NAME = "state.db"
MODELS = ("ordered", "pessimistic")
SECTOR = 512


def record_work(folder: Path, *, steps: int, is_careless: bool = False) -> list[Operation]:
    """What reaches the disk while an agent does *steps* tool steps, leaves, comes back and does as many more."""
    recording = Recording()
    vfs = RecordingVFS(recording)
    store = SqliteStore(folder / NAME, vfs=vfs.name)
    recording.mark("opened")
    lease = started(store)
    recording.mark("acquired 1")
    _work(store, lease, recording, range(1, steps + 1), is_durable=not is_careless)
    store.close()

    store = SqliteStore(folder / NAME, vfs=vfs.name)
    again = store.acquire("t1", owner="w2", ttl_s=60, dead=["w1"])
    assert again is not None
    recording.mark("acquired 2")
    _work(store, again, recording, range(steps + 1, 2 * steps + 1), is_durable=not is_careless)
    operations = list(recording.operations)
    store.close()
    return operations


def _work(
    store: SqliteStore, lease: Lease, recording: Recording, numbers: Sequence[int], *, is_durable: bool
) -> None:
    for number in numbers:
        light, before_tool, after_tool = step_writes(number)
        store.commit(lease, light, durable=False)
        store.commit(lease, before_tool, durable=is_durable)
        recording.mark(f"dispatched {number}")  # the outside world changes here
        store.commit(lease, after_tool, durable=is_durable)
        recording.mark(f"acknowledged {number}")


class Disk:
    """Files as the recorded operations leave them; what is not synced is pending."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._files: dict[str, bytearray] = {}
        self._pending: list[Operation] = []
        self.marks: list[str] = []

    def do(self, operation: Operation) -> None:
        """One more recorded operation."""
        if operation.kind == "mark":
            self.marks.append(operation.name)
        elif operation.kind == "sync":
            self._sync(operation.name)
        elif operation.kind == "delete" and operation.is_synced:
            self._pending = [each for each in self._pending if each.name != operation.name]
            _apply(self._files, operation)
        else:
            self._pending.append(operation)

    def _sync(self, name: str) -> None:
        later = []
        for operation in self._pending:
            # A file that was deleted and made anew is synced together with its folder by SQLite.
            is_safe = operation.name == name
            is_safe |= operation.kind == "delete" and self._model == "ordered"
            if is_safe:
                _apply(self._files, operation)
            else:
                later.append(operation)
        self._pending = later

    def after_power_cut(self, chance: random.Random) -> dict[str, bytearray]:
        """The files as a power cut now could leave them."""
        files = {name: bytearray(data) for name, data in self._files.items()}
        for operation in self._pending:
            luck = chance.random()
            if luck < 0.4:
                _apply(files, operation)
            elif luck < 0.6 and operation.kind == "write":
                for part in _sectors(operation):
                    if chance.random() < 0.5:
                        _apply(files, part)
        return files


def _apply(files: dict[str, bytearray], operation: Operation) -> None:
    if operation.kind == "delete":
        files.pop(operation.name, None)
        return
    data = files.setdefault(operation.name, bytearray())
    if operation.kind == "truncate":
        del data[operation.offset :]
        return
    end = operation.offset + len(operation.data)
    data.extend(bytes(max(0, end - len(data))))
    data[operation.offset : end] = operation.data


def _sectors(operation: Operation) -> Iterator[Operation]:
    """The parts of a write that a disk writes whole."""
    start = 0
    while start < len(operation.data):
        size = SECTOR - (operation.offset + start) % SECTOR
        part = operation.data[start : start + size]
        yield Operation("write", operation.name, operation.offset + start, part)
        start += size


def broken_promise(folder: Path, marks: Sequence[str]) -> str | None:
    """The first promise that the store in *folder* does not keep, given how far its program had come."""
    try:
        store = SqliteStore(folder / NAME)
        try:
            return _broken_in(store, marks)
        finally:
            store.close()
    except TracekitError as error:
        return f"{error.code}: {error}"


def _broken_in(store: SqliteStore, marks: Sequence[str]) -> str | None:
    reached = {tuple(mark.split()) for mark in marks}
    state = store.load("t1", with_bodies=True)
    if state is None:
        return "the admitted task is gone" if ("acquired", "1") in reached else None
    fences = [int(mark[1]) for mark in reached if mark[0] == "acquired"]
    if state.task.fence < max(fences, default=0):
        return "a lease that was given is gone"
    ledger = {effect.key: effect for effect in state.effects}
    for what, *numbers in reached:
        effect = ledger.get(f"t1:{numbers[0]}") if numbers else None
        if what == "dispatched" and effect is None:
            return "an effect was dispatched and is not in the ledger"
        if what == "acknowledged" and (effect is None or effect.status is not EffectStatus.SUCCESS):
            return "an acknowledged outcome is gone"
    events = store.events("t1", limit=100_000)
    if [event.seq for event in events] != list(range(1, state.task.next_seq)):
        return "the history has gaps"
    return None


def cut_power(
    operations: Sequence[Operation], folder: Path, *, images: int, model: str, seed: int
) -> Counter[str]:
    """How *images* power cuts ended: `kept`, or the promise that was broken."""
    chance = random.Random(seed)
    cuts = Counter(chance.randrange(1, len(operations) + 1) for _ in range(images))
    disk, outcomes = Disk(model), Counter[str]()
    for number, operation in enumerate(operations, start=1):
        disk.do(operation)
        for _ in range(cuts[number]):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for name, data in disk.after_power_cut(chance).items():
                (folder / name).write_bytes(data)
            outcomes[broken_promise(folder, disk.marks) or "kept"] += 1
    return outcomes


def main() -> int:
    """Print one line of JSON for each model; 1 when a promise was broken."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=10_000, help="power cuts, half of them with each model")
    parser.add_argument(
        "--steps", type=int, default=40, help="tool steps before and after the store is reopened"
    )
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--careless", action="store_true", help="sync nothing: promises must break")
    parser.add_argument("--folder", type=Path, help="where disks are rebuilt; memory is fastest")
    options = parser.parse_args()
    broken = 0
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        operations = record_work(folder / "recorded", steps=options.steps, is_careless=options.careless)
        for model in MODELS:
            begun_s = time.monotonic()
            outcomes = cut_power(
                operations, folder / "image", images=options.images // 2, model=model, seed=options.seed
            )
            broken += sum(outcomes.values()) - outcomes["kept"]
            figures = {"deletes": model, "operations": len(operations), "outcomes": dict(outcomes)}
            print(json.dumps(figures | {"seconds": round(time.monotonic() - begun_s, 1)}), flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

"""
Our recorder as one more peer under the load of an outside benchmark: cost of a span, delivery, memory, all in one run.

Usage: python benchmarks/bench_recording.py [SPANS] [ROUNDS]

The load is `span_cost.py` in the folder that TRACEKIT_BENCH names (default ../shared/bench beside this repository): traces of
20 spans, ten attributes each, one of them 2 KB. Peers are the OpenTelemetry SDK alone, with an exporter in memory, with the
batching exporter over HTTP to a server on loopback, and ours. They take turns; each is a process of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BENCH = Path(os.environ.get("TRACEKIT_BENCH", ROOT.parent / "shared" / "bench"))
OURS = "tracekit"
BARE = "otel_noop"
PEERS = (BARE, "otel_simple_memory", "otel_batch_otlp_http", OURS)


class Backend:
    """What `span_cost.py` wants of a peer."""

    def __init__(self, work: Path) -> None:
        import tracekit
        from tracekit.recording.recorder import recorder

        tracekit.init(service="bench", home=work / "home")
        self._recorder = recorder()
        self._traces = work / "home" / "traces"
        self.finish = tracekit.shutdown

    @contextlib.contextmanager
    def root(self, number: int) -> Iterator[None]:
        step = self._recorder.begin("agent", "demo")
        with step.active():
            yield
        step.finish()

    def step(self, number: int, given: dict[str, Any]) -> None:
        rest = dict(given)
        step = self._recorder.begin(
            "tool",
            rest.pop("gen_ai.tool.name"),
            call_id=rest.pop("gen_ai.tool.call.id"),
            input=rest.pop("gen_ai.tool.call.arguments"),
            attributes=rest,
        )
        with step.active():
            pass
        step.finish()

    def delivered(self) -> int:
        """Steps whose end is in the log, without those of the warm-up."""
        logs = (path.read_bytes() for path in self._traces.glob("*.jsonl"))
        return sum(data.count(b'"status":"ok"') for data in logs) - 20


def as_peer(peer: str, spans: str, work: str, sink: str) -> None:
    """Run the load with our recorder added to its peers; it prints one line of JSON and leaves."""
    sys.argv = ["span_cost.py", peer, spans, work, sink]
    source = (BENCH / "span_cost.py").read_text().replace("\nmain()\n", "\n")
    names: dict[str, Any] = {"__name__": "span_cost", "__file__": str(BENCH / "span_cost.py")}
    exec(compile(source, "span_cost.py", "exec"), names)
    theirs = names["make"]
    names["make"] = lambda name: (Backend(Path(work)), "tracekit-agents") if name == OURS else theirs(name)
    names["main"]()


def run(peer: str, spans: int) -> dict[str, Any]:
    """The figures of one peer in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="bench-") as work, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        stored = Path(work) / "sink.bin"
        server = [sys.executable, str(BENCH / "sink_server.py"), str(port), str(stored)]
        with subprocess.Popen(server, stdout=subprocess.PIPE, text=True) as sink:
            assert sink.stdout is not None
            sink.stdout.readline()
            arguments = [
                sys.executable,
                __file__,
                "--peer",
                peer,
                str(spans),
                work,
                f"http://127.0.0.1:{port}",
            ]
            done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=600)
            sink.terminate()
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if not lines:
            raise SystemExit(f"{peer} ended with {done.returncode}: {done.stderr[-500:]}")
        found: dict[str, Any] = json.loads(lines[-1])
        if "delivered" not in found and stored.exists() and stored.stat().st_size:
            counter = [sys.executable, str(BENCH / "count_sink.py"), str(stored)]
            counted = subprocess.run(counter, capture_output=True, text=True, check=True)
            found["delivered"] = json.loads(counted.stdout)["distinct"]
        return found


def table(rows: dict[str, list[dict[str, Any]]], spans: int) -> None:
    def middle(peer: str, name: str) -> float:
        return statistics.median(row[name] for row in rows[peer])

    print(f"{'peer':<22}{'median us':>10}{'over bare':>10}{'p99 us':>9}{'delivered':>11}{'memory MB':>11}")
    for peer in PEERS:
        over = statistics.median(
            row["median_us"] - bare["median_us"] for row, bare in zip(rows[peer], rows[BARE], strict=True)
        )
        grown = statistics.median(row["peak_rss_mb"] - row["peak_before_mb"] for row in rows[peer])
        told = min((row.get("delivered", 0) for row in rows[peer]), default=0)
        arrived = "-" if peer == BARE else f"{min(told / spans, 1):.0%}"
        print(
            f"{peer:<22}{middle(peer, 'median_us'):>10.1f}{over:>10.1f}{middle(peer, 'p99_us'):>9.1f}"
            f"{arrived:>11}{grown:>11.0f}"
        )


def main() -> None:
    spans = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    if not (BENCH / "span_cost.py").exists():
        print(f"no outside benchmark at {BENCH} (set TRACEKIT_BENCH); recording_cost.py measures without it")
        return
    rows: dict[str, list[dict[str, Any]]] = {peer: [] for peer in PEERS}
    for _ in range(rounds):
        for peer in PEERS:
            rows[peer].append(run(peer, spans))
    table(rows, spans)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        as_peer(*sys.argv[2:])
    else:
        main()

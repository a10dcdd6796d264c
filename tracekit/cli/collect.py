"""`tracekit collect`: receive OTLP over HTTP and write the native log."""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
import threading
from typing import Any

from tracekit.cli._store import at_least, print_json
from tracekit.cli.command import Command, Exit, UsageError

COUNTED = ("spans", "duplicates", "rejected", "refused_batches", "undecodable", "log_records", "metrics")


TOKEN_VARIABLE = "TRACEKIT_COLLECT_TOKEN"


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Receive OTLP over HTTP (protobuf and JSON) and write the same log that the SDK writes. Point any "
        "OpenTelemetry exporter at it: OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318. Ctrl-C ends it and prints "
        "what was received."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=4318, help="0 takes a free one (default 4318)")
    parser.add_argument("--home", help="folder to write to (default .tracekit, or TRACEKIT_HOME)")
    parser.add_argument("--service", default="collect", help="names the log files (default collect)")
    parser.add_argument(
        "--limit-mib", type=at_least(1), default=64, help="largest body, also unpacked (default 64)"
    )


def _run(options: argparse.Namespace) -> int:
    from tracekit import config
    from tracekit.collect import otlp_proto
    from tracekit.collect.gate import is_loopback
    from tracekit.collect.inlet import Inlet
    from tracekit.collect.server import Collector

    settings = config.configure(home=options.home, service=options.service, log_enabled=True)
    inlet = Inlet(settings)
    try:
        given = os.environ.get(TOKEN_VARIABLE)
        token = given or (None if is_loopback(options.host) else secrets.token_urlsafe(24))
        server = Collector(
            inlet, options.host, options.port, limit_bytes=options.limit_mib << 20, token=token
        )
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"can't listen on {options.host}:{options.port} ({error}); choose another one with --port"
        ) from error
    host, port = server.server_address[:2]
    _say(f"receiving OTLP on http://{host!s}:{port}, writing to {settings.home / 'traces'}")
    if not otlp_proto.is_there():
        _say("application/json only: protobuf needs pip install 'tracekit-agents[collect]'")
    if token and not given:
        _say(
            f"clients need OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20{token} (or set {TOKEN_VARIABLE})"
        )
    if not is_loopback(options.host):
        _say(
            "what is sent here is not encrypted: over a network that others use, put a proxy with TLS in front"
        )
    _serve(server)
    inlet.close()
    print_json({name: inlet.counts[name] for name in COUNTED} | {"log": str(inlet.log.batch.path or "")})
    return Exit.CLEAN


def _serve(server: Any) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    asked_to_end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked_to_end.set())
    threading.Thread(target=server.serve_forever, name="tracekit-collect", daemon=True).start()
    asked_to_end.wait()
    server.shutdown()
    server.server_close()


def _say(text: str) -> None:
    print(f"tracekit collect: {text}", file=sys.stderr, flush=True)


COMMAND = Command("collect", "receive OTLP over HTTP on loopback and write the log", _configure, _run)

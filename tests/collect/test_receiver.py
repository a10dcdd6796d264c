"""The receiver speaks OTLP/HTTP as the specification wants it, to any client."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

PROTOBUF = "application/x-protobuf"


def protobuf(*ids: bytes) -> ExportTraceServiceRequest:
    made = ExportTraceServiceRequest()
    spans = made.resource_spans.add().scope_spans.add().spans
    for each in ids:
        spans.add(trace_id=b"\x01" * 16, span_id=each, name="p", start_time_unix_nano=5, end_time_unix_nano=9)
    return made


def test_a_span_becomes_a_step_of_the_log(receive: Any, make: Any) -> None:
    receiver = receive()
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
        {"key": "gen_ai.tool.name", "value": {"stringValue": "refund"}},
        {
            "key": "gen_ai.tool.call.arguments",
            "value": {"kvlistValue": {"values": [{"key": "amount", "value": {"intValue": "12"}}]}},
        },
    ]

    status, _, answer = receiver.post("/v1/traces", make.request(make.span(7, attributes=attributes)))

    assert (status, answer) == (200, {})
    (step,) = receiver.steps()
    assert step["kind"] == "tool"
    assert step["tool_name"] == "refund"
    assert step["input_snapshot"] == {"amount": 12}
    assert step["attributes"]["service.name"] == "shop"
    assert step["started_at"] == "2023-11-14T22:13:20.000000Z"


def test_ids_in_capitals_are_the_same_ids(receive: Any, make: Any) -> None:
    receiver = receive()
    shouted = make.span(0xABC, traceId="0AF7651916CD43DD8448EB211C80319C", spanId="0000000000000ABC")

    receiver.post("/v1/traces", make.request(shouted))
    receiver.post("/v1/traces", make.request(make.span(0xABC)))

    assert [step["step_id"] for step in receiver.steps()] == ["0000000000000abc"]


def test_a_span_that_is_sent_again_is_written_once(receive: Any, make: Any) -> None:
    receiver = receive()

    receiver.post("/v1/traces", make.request(make.span(1), make.span(2)))
    status, _, answer = receiver.post("/v1/traces", make.request(make.span(2), make.span(3), make.span(3)))

    assert (status, answer) == (200, {})
    assert sorted(step["step_id"][-1] for step in receiver.steps()) == ["1", "2", "3"]
    assert receiver.end()["duplicates"] == 1


@pytest.mark.parametrize(
    "pack", [gzip.compress, lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])]
)
def test_gzip_is_unpacked_also_in_several_members(receive: Any, make: Any, pack: Any) -> None:
    receiver = receive()
    body = pack(json.dumps(make.request(make.span(1))).encode())

    status, _, _ = receiver.post("/v1/traces", body, Content_Encoding="gzip")

    assert status == 200
    assert len(receiver.steps()) == 1


def test_a_chunked_body_is_read(receive: Any, make: Any) -> None:
    receiver = receive()
    data = json.dumps(make.request(make.span(1))).encode()
    connection = receiver.connection()

    connection.request(
        "POST",
        "/v1/traces",
        iter([data[:10], data[10:]]),
        {"Content-Type": "application/json"},
        encode_chunked=True,
    )

    assert connection.getresponse().status == 200
    assert len(receiver.steps()) == 1


def test_a_connection_serves_many_requests(receive: Any, make: Any) -> None:
    receiver = receive()
    connection = receiver.connection()
    connection.connect()
    socket = connection.sock

    for number in range(1, 4):
        body = json.dumps(make.request(make.span(number)))
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/json"})
        connection.getresponse().read()
        assert connection.sock is socket

    assert len(receiver.steps()) == 3


def test_a_body_over_the_limit_is_refused_before_and_after_unpacking(receive: Any, make: Any) -> None:
    receiver = receive("--limit-mib", "1")
    large = b'{"resourceSpans": [' + b" " * (5 << 20) + b"]}"

    assert receiver.post("/v1/traces", large)[0] == 413
    status, _, answer = receiver.post("/v1/traces", large, packed=True)

    assert status == 413
    assert "1048576 bytes" in answer["message"]
    assert receiver.post("/v1/traces", make.request(make.span(1)))[0] == 200


def test_a_span_without_right_ids_is_rejected_alone(receive: Any, make: Any) -> None:
    receiver = receive()
    bad = [
        make.span(2, traceId="0" * 32),
        make.span(3, spanId="xyz"),
        "no span",
        make.span(4, kind=["client"]),
    ]

    status, _, answer = receiver.post("/v1/traces", make.request(make.span(1), *bad))

    assert status == 200
    assert answer["partialSuccess"]["rejectedSpans"] == "4"
    assert "traceId" in answer["partialSuccess"]["errorMessage"]
    assert [step["name"] for step in receiver.steps()] == ["span 1"]


def test_a_partial_success_in_protobuf_is_what_the_official_class_reads(receive: Any) -> None:
    receiver = receive()
    body = protobuf(b"\x02" * 8, b"", b"\x00" * 8).SerializeToString()

    status, headers, answer = receiver.post("/v1/traces", body, Content_Type=PROTOBUF)

    said = ExportTraceServiceResponse.FromString(answer)
    assert (status, headers["Content-Type"]) == (200, PROTOBUF)
    assert said.partial_success.rejected_spans == 2
    assert "spanId" in said.partial_success.error_message
    assert [step["step_id"] for step in receiver.steps()] == ["02" * 8]


def test_a_full_success_in_protobuf_leaves_partial_success_unset(receive: Any) -> None:
    status, _, answer = receive().post(
        "/v1/traces", protobuf(b"\x02" * 8).SerializeToString(), Content_Type=PROTOBUF
    )

    assert status == 200
    assert not ExportTraceServiceResponse.FromString(answer).HasField("partial_success")


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b'{"resourceSpans": {}}', {}, 400),
        (b"\xff\xff\xff", {"Content_Type": PROTOBUF}, 400),
        (b"not gzip", {"Content_Encoding": "gzip"}, 400),
        (gzip.compress(b"{}" * 500, mtime=0)[:-9], {"Content_Encoding": "gzip"}, 400),
        (b"{}", {"Content_Encoding": "br"}, 415),
        (b"{}", {"Content_Type": "text/plain"}, 415),
        (b"[" * 100_000, {}, 400),
    ],
    ids=[
        "cut",
        "a_list",
        "no_list",
        "no_protobuf",
        "no_gzip",
        "cut_gzip",
        "other_encoding",
        "other_type",
        "deep",
    ],
)
def test_what_can_not_be_decoded_is_told_with_a_status(
    receive: Any, body: bytes, headers: dict[str, str], expected: int
) -> None:
    receiver = receive()

    status, got, answer = receiver.post("/v1/traces", body, **headers)

    assert status == expected
    assert "Retry-After" not in got
    if isinstance(answer, bytes):
        from google.rpc.status_pb2 import Status

        assert Status.FromString(answer).message
    else:
        assert answer["message"]
    assert receiver.steps() == []


def test_deflate_an_empty_request_and_a_charset_are_fine(receive: Any) -> None:
    receiver = receive()

    packed = receiver.post("/v1/traces", zlib.compress(b"{}"), Content_Encoding="deflate")
    plain = receiver.post("/v1/traces", b"{}", Content_Type="application/json; charset=utf-8")

    assert (packed[0], packed[2], plain[0], plain[2]) == (200, {}, 200, {})


def test_logs_and_metrics_are_taken_and_counted(receive: Any) -> None:
    receiver = receive()
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{}, {}]}]}]}
    metrics = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m"}]}]}]}

    assert receiver.post("/v1/logs", logs)[0] == 200
    assert receiver.post("/v1/metrics", metrics)[0] == 200

    told = receiver.end()
    assert (told["log_records"], told["metrics"], told["spans"]) == (2, 1, 0)


def test_other_paths_and_methods_are_told_what_is_there(receive: Any) -> None:
    receiver = receive()
    connection = receiver.connection()

    connection.request("GET", "/v1/traces")
    get = connection.getresponse()
    get.read()

    assert get.status == 405
    assert receiver.post("/v2/traces", {})[0] == 404


def test_values_that_json_can_not_hold_are_marked_in_the_log(receive: Any, make: Any) -> None:
    receiver = receive()
    body = (
        json.dumps(
            make.request(
                make.span(
                    1,
                    attributes=[
                        {"key": "nan", "value": {"doubleValue": "NaN"}},
                        {"key": "half", "value": {"stringValue": "a\ud83e"}},
                        {"key": "raw", "value": {"bytesValue": "aGk="}},
                        {"key": "empty", "value": {}},
                    ],
                )
            )
        )
    ).encode()

    assert receiver.post("/v1/traces", body)[0] == 200
    (step,) = receiver.steps()
    assert step["attributes"]["nan"] == {"$tk": {"type": "float", "value": "NaN"}}
    assert step["attributes"]["raw"]["$tk"]["type"] == "bytes"
    assert "$tk" in str(step["attributes"]["half"])


def test_secrets_of_other_languages_are_marked_too(receive: Any, make: Any) -> None:
    receiver = receive()
    attributes = [{"key": "header", "value": {"stringValue": "Bearer abcdefghijklmnopqrstuvwxyz012345"}}]

    receiver.post("/v1/traces", make.request(make.span(1, attributes=attributes)))

    assert "abcdefghijklmnopqrstuvwxyz012345" not in json.dumps(receiver.lines())


def test_the_log_is_ended_cleanly_and_counted(receive: Any, make: Any) -> None:
    receiver = receive()
    receiver.post("/v1/traces", make.request(*(make.span(number) for number in range(1, 101))))

    told = receiver.end()

    assert told["spans"] == 100
    last = receiver.lines()[-1]
    assert (last["record"], last["event"], last["counts"]["steps_finished"]) == ("process", "exit", 100)


def test_a_taken_port_is_told_in_words(receive: Any) -> None:
    import subprocess
    import sys

    port = receive().url.rpartition(":")[2]

    done = subprocess.run(
        [sys.executable, "-m", "tracekit", "collect", "--port", port],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_extra_json_works_and_protobuf_is_told_what_to_install(
    tmp_path: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from tracekit import config
    from tracekit.collect import otlp_proto
    from tracekit.collect.inlet import Inlet
    from tracekit.collect.server import answer

    for name in [each for each in sys.modules if each.startswith("opentelemetry.proto.collector")]:
        monkeypatch.setitem(sys.modules, name, None)
    config.reset()
    inlet = Inlet(config.configure(home=tmp_path, service="c"))

    plain = answer(inlet, "/v1/traces", "application/json", json.dumps(make.request(make.span(1))).encode())
    packed = answer(inlet, "/v1/traces", PROTOBUF, protobuf(b"\x02" * 8).SerializeToString())

    assert plain.status == 200
    assert packed.status == 415
    assert b"tracekit-agents[collect]" in packed.body
    assert not otlp_proto.is_there()
    config.reset()

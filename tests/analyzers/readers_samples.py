"""
One small log of each format, made by hand: a question, a call of a tool, its result, an answer where the format has them.

A tuple stands for JSON Lines.
"""

from __future__ import annotations

import json
from typing import Any

TRACE, ROOT, CALL = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b173", "eee19b7ec3c1b174"
UUID = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"
ARGUMENTS = '{"city": "Ulm"}'
FUNCTION = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": ARGUMENTS}}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief"},
    {"role": "user", "content": "Weather in Ulm?"},
    {"role": "assistant", "content": None, "tool_calls": [FUNCTION]},
    {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": "rain"},
    {"role": "assistant", "content": "It rains."},
]
USE = {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Ulm"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "rain", "is_error": False}


def claude(uuid: str, second: int, kind: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
    at = f"2026-01-01T00:00:{second:02d}Z"
    return {
        "sessionId": UUID,
        "uuid": uuid,
        "parentUuid": None,
        "type": kind,
        "timestamp": at,
        "message": message,
        **more,
    }


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {
        "timestamp": "2026-01-01T00:00:01Z",
        "type": "response_item",
        "payload": {"type": kind, **payload},
    }


def openhands(number: int, **more: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": f"2026-01-01T00:00:0{number}.5", "source": "agent", **more}


def tape(kind: str, prompt: str = "", **more: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "metadata": {"id": "s", "prompt_id": prompt, "node": "act", "agent": "a", "other": {}},
        **more,
    }


def tree(kind: str, description: str, children: list[Any], **more: Any) -> dict[str, Any]:
    return {"node_type": kind, "description": description, "children": children, **more}


def langfuse(name: str, kind: str, **more: Any) -> dict[str, Any]:
    times = {"startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-01T00:00:01Z"}
    return {"id": CALL, "traceId": TRACE, "type": kind, "name": name, "level": "DEFAULT", **times, **more}


OTLP_SPAN = {
    "traceId": TRACE,
    "spanId": ROOT,
    "name": "chat",
    "startTimeUnixNano": "1544712660000000000",
    "endTimeUnixNano": "1544712661000000000",
    "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}],
    "events": [
        {"name": "exception", "attributes": [{"key": "exception.type", "value": {"stringValue": "E"}}]}
    ],
    "status": {"code": 2, "message": "boom"},
}
SAMPLES: dict[str, Any] = {
    "openai_chat": [{"task_id": 1, "trial": 0, "traj": CHAT}, {"task_id": 1, "trial": 1, "traj": CHAT}],
    "otlp": (
        {
            "resourceSpans": [
                {
                    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
                    "scopeSpans": [{"scope": {"name": "lib"}, "spans": [OTLP_SPAN]}],
                }
            ]
        },
    ),
    "otel_console": {
        "name": "chat",
        "context": {"trace_id": "0x" + TRACE, "span_id": "0x" + ROOT},
        "kind": "SpanKind.INTERNAL",
        "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:00:01Z",
        "status": {"status_code": "OK"},
        "attributes": {"openinference.span.kind": "TOOL", "tool.name": "weather"},
        "events": [{"name": "e", "timestamp": "2026-01-01T00:00:00Z", "attributes": {}}],
        "resource": {"attributes": {"service.name": "shop"}},
    },
    "jaeger": {
        "data": [
            {
                "traceID": TRACE,
                "spans": [
                    {
                        "traceID": TRACE,
                        "spanID": ROOT,
                        "operationName": "execute_tool weather",
                        "references": [{"refType": "CHILD_OF", "spanID": CALL}],
                        "startTime": 1771237534577907,
                        "duration": 5510,
                        "tags": [{"key": "gen_ai.tool.name", "type": "string", "value": "weather"}],
                        "logs": [{"timestamp": 1, "fields": [{"key": "event", "value": "exception"}]}],
                        "processID": "p1",
                    }
                ],
                "processes": {"p1": {"serviceName": "shop", "tags": []}},
            }
        ]
    },
    "phoenix": [
        {
            "name": "weather",
            "context": {"trace_id": TRACE, "span_id": ROOT},
            "span_kind": "TOOL",
            "parent_id": None,
            "start_time": "2026-01-01T00:00:00+00:00",
            "end_time": "2026-01-01T00:00:01+00:00",
            "status_code": "OK",
            "attributes": {"input": {"value": ARGUMENTS}, "tool": {"name": "weather"}},
            "events": [{"name": "e", "timestamp": "2026-01-01T00:00:00+00:00", "attributes": {}}],
        }
    ],
    "js_spans": [
        {
            "name": "ai.toolCall",
            "spanContext": {"traceId": TRACE, "spanId": ROOT},
            "attributes": {
                "ai.operationId": "ai.toolCall",
                "ai.toolCall.name": "weather",
                "ai.toolCall.args": ARGUMENTS,
            },
            "status": {"code": 0},
            "startTime": [1770132000, 598000000],
            "endTime": [1770132005, 984307375],
            "events": [{"name": "e", "time": [1770132001, 1], "attributes": {}}],
        }
    ],
    "openinference_tree": {
        "trace_id": TRACE,
        "spans": [
            {
                "timestamp": "2026-01-01T00:00:00Z",
                "trace_id": TRACE,
                "span_id": ROOT,
                "parent_span_id": None,
                "span_name": "main",
                "span_attributes": {"openinference.span.kind": "TOOL", "tool.name": "weather"},
                "duration": "PT1.5S",
                "status_code": "Error",
                "events": [{"Name": "exception", "Attributes": {"exception.type": "E"}}],
                "child_spans": [],
            }
        ],
    },
    "agentops": {
        "trace": {"trace_id": TRACE},
        "spans": [
            {
                "span_id": ROOT,
                "parent_span_id": "",
                "span_name": "chat",
                "span_type": "request",
                "start_time": "2026-01-01T00:00:00Z",
                "duration": 1000000,
                "span_attributes": {"gen_ai": {"prompt": [{"role": "user", "content": "hi"}]}},
                "event_names": ["e"],
                "event_timestamps": ["2026-01-01T00:00:00Z"],
            }
        ],
    },
    "span_samples": {"scopeName": "codex", "spanName": "turn", "attributes": {"model": "m"}},
    "langfuse": {
        "trace": {"id": TRACE, "projectId": "p", "observations": []},
        "observations": [
            langfuse(
                "model",
                "GENERATION",
                input=json.dumps(CHAT[:2]),
                output='"{\\"content\\": \\"rain\\"}"',
                usageDetails={"input": 3, "output": 1},
            ),
            langfuse(
                "weather",
                "TOOL",
                id=ROOT,
                input='{"city": "Ulm"}',
                output="rain",
                metadata='{"attributes": {"gen_ai.tool.call.id": "c1"}}',
            ),
        ],
    },
    "langsmith": {
        "post": [
            {
                "id": UUID,
                "name": "m",
                "run_type": "llm",
                "start_time": 1728803137170,
                "trace_id": UUID,
                "inputs": {"messages": CHAT[:2]},
            }
        ],
        "patch": [
            {
                "id": UUID,
                "trace_id": UUID,
                "end_time": 1728803138285,
                "outputs": {
                    "choices": [{"message": CHAT[4]}],
                    "usage_metadata": {"input_tokens": 3, "output_tokens": 1},
                },
            }
        ],
    },
    "mlflow": {
        "info": {"trace_id": "tr-" + TRACE, "experiment_id": "0"},
        "data": {
            "spans": [
                {
                    "trace_id": "W47/95gDgQPSabYzgT/GDA==",
                    "span_id": "7uGbfsPBsXM=",
                    "parent_span_id": "",
                    "name": "weather",
                    "start_time_unix_nano": 1544712660000000000,
                    "end_time_unix_nano": 1544712661000000000,
                    "status": {"code": "STATUS_CODE_ERROR", "message": "boom"},
                    "attributes": {
                        "mlflow.spanType": '"TOOL"',
                        "mlflow.spanInputs": ARGUMENTS,
                        "mlflow.spanOutputs": '"rain"',
                    },
                    "events": [{"name": "exception", "attributes": {"exception.type": '"E"'}}],
                }
            ]
        },
    },
    "opik": {
        "trace": {
            "id": UUID,
            "name": "run",
            "start_time": "2026-01-01T00:00:00Z",
            "end_time": "2026-01-01T00:00:02Z",
            "input": {},
        },
        "spans": [
            {
                "id": "0190c0de-0000-7000-8000-000000000001",
                "trace_id": UUID,
                "parent_span_id": None,
                "name": "weather",
                "type": "tool",
                "start_time": "2026-01-01T00:00:00Z",
                "end_time": "2026-01-01T00:00:01Z",
                "input": {"city": "Ulm"},
                "output": None,
                "usage": {"prompt_tokens": 3, "completion_tokens": 1},
                "error_info": {"exception_type": "E", "message": "boom", "traceback": "..."},
            }
        ],
    },
    "claude_code": (
        {"type": "summary", "summary": "s", "leafUuid": "x"},
        claude("u1", 1, "user", {"role": "user", "content": "Weather?"}),
        claude(
            "u2",
            2,
            "assistant",
            {
                "role": "assistant",
                "id": "m1",
                "model": "m",
                "content": [USE],
                "usage": {"input_tokens": 3, "output_tokens": 1},
            },
        ),
        claude("u3", 3, "user", {"role": "user", "content": [RESULT]}, toolUseResult={"durationMs": 4}),
    ),
    "agent_sdk_stream": {
        "metadata": {},
        "messages": [
            {
                "direction": "send",
                "message": {"type": "user", "session_id": UUID, "message": {"role": "user", "content": "hi"}},
            },
            {
                "direction": "recv",
                "message": {
                    "type": "assistant",
                    "session_id": UUID,
                    "message": {"role": "assistant", "id": "m1", "content": [USE]},
                },
            },
            {
                "direction": "recv",
                "message": {
                    "type": "user",
                    "session_id": UUID,
                    "message": {"role": "user", "content": [RESULT]},
                },
            },
            {
                "direction": "recv",
                "message": {"type": "result", "session_id": UUID, "is_error": False, "result": "done"},
            },
        ],
    },
    "codex": (
        codex("message", role="user", content=[{"type": "input_text", "text": "Weather?"}]),
        codex("function_call", name="weather", arguments=ARGUMENTS, call_id="c1"),
        codex(
            "function_call_output", call_id="c1", output='{"output": "rain", "metadata": {"exit_code": 0}}'
        ),
    ),
    "gemini_cli": {
        "sessionId": UUID,
        "projectHash": "h",
        "messages": [
            {"id": "1", "timestamp": "2026-01-01T00:00:00Z", "type": "user", "content": "Weather?"},
            {
                "id": "2",
                "timestamp": "2026-01-01T00:00:01Z",
                "type": "gemini",
                "content": "",
                "tokens": {"input": 3, "output": 1, "thoughts": 1},
                "toolCalls": [
                    {
                        "id": "c1",
                        "name": "weather",
                        "args": {"city": "Ulm"},
                        "status": "success",
                        "result": [{"functionResponse": {"id": "c1", "response": {"output": "rain"}}}],
                    }
                ],
            },
        ],
    },
    "cline": {
        "version": 1,
        "sessionId": "s",
        "agent": "a",
        "system_prompt": "Be brief",
        "messages": [
            {"id": "1", "role": "user", "content": "Weather?", "ts": 1750000000000},
            {
                "id": "2",
                "role": "assistant",
                "content": [USE],
                "ts": 1750000001000,
                "metrics": {"inputTokens": 3},
            },
            {"id": "3", "role": "user", "content": [RESULT], "ts": 1750000002000},
        ],
    },
    "openclaw": (
        {"type": "agent.start", "sessionKey": "k", "prompt": "Weather?"},
        {
            "type": "tool.start",
            "sessionKey": "k",
            "toolName": "weather",
            "params": {"city": "Ulm"},
            "ts": 1772830700681,
        },
        {
            "type": "tool.end",
            "sessionKey": "k",
            "toolName": "weather",
            "success": True,
            "durationMs": 4,
            "ts": 1772830700685,
        },
    ),
    "sweagent": {
        "environment": "e",
        "trajectory": [
            {
                "action": "ls -l",
                "observation": "a.txt",
                "response": "I list",
                "execution_time": 0.5,
                "state": "{}",
            }
        ],
        "history": [
            {"role": "system", "content": "s"},
            {"role": "assistant", "content": "I list", "action": "ls -l"},
        ],
        "info": {"exit_status": "exit_cost"},
    },
    "miniswe": {
        "info": {
            "mini_version": "1.15.0",
            "exit_status": "Submitted",
            "config": {"model": {"model_name": "m"}},
        },
        "messages": [
            {"role": "user", "content": "List"},
            {
                "role": "assistant",
                "content": "```bash\nls\n```",
                "extra": {"response": {"usage": {"prompt_tokens": 3}}},
            },
            {"role": "user", "content": "<returncode>0</returncode>\n<output>\na.txt\n</output>"},
        ],
        "trajectory_format": "mini-swe-agent-1",
    },
    "openhands": [
        openhands(0, source="user", action="message", args={"content": "List"}),
        openhands(
            1,
            action="run",
            args={"command": "ls"},
            tool_call_metadata={
                "function_name": "bash",
                "tool_call_id": "c1",
                "model_response": {
                    "id": "r1",
                    "choices": [{"message": {"content": "I list", "tool_calls": [FUNCTION]}}],
                },
            },
        ),
        openhands(2, cause=1, observation="run", content="a.txt", extras={"metadata": {"exit_code": 0}}),
    ],
    "openhands_llm": {
        "messages": CHAT[:2],
        "tools": [],
        "response": {
            "model": "m",
            "choices": [{"finish_reason": "stop", "message": CHAT[2]}],
            "usage": {"prompt_tokens": 3},
        },
        "raw_response": {"choices": [{"message": {"content": "<function=weather>"}}]},
        "latency_sec": 1.5,
        "timestamp": 1757015040.5,
        "cost": 0.1,
    },
    "inspect_ai": {
        "version": 2,
        "status": "success",
        "eval": {"task": "t"},
        "samples": [
            {
                "id": 1,
                "epoch": 1,
                "uuid": "u",
                "messages": [
                    *CHAT[:2],
                    {
                        "role": "assistant",
                        "id": "m1",
                        "content": "",
                        "tool_calls": [{"id": "c1", "function": "weather", "arguments": {"city": "Ulm"}}],
                    },
                    {
                        "role": "tool",
                        "tool_call_id": "c1",
                        "function": "weather",
                        "content": "attachment://h",
                        "error": {"type": "timeout", "message": "slow"},
                    },
                ],
                "events": [
                    {
                        "event": "model",
                        "timestamp": "2026-01-01T00:00:00Z",
                        "completed": "2026-01-01T00:00:01Z",
                        "input": [],
                        "output": {
                            "model": "m",
                            "choices": [{"message": {"id": "m1"}, "stop_reason": "stop"}],
                            "usage": {"input_tokens": 3, "output_tokens": 1},
                        },
                    },
                    {
                        "event": "tool",
                        "id": "c1",
                        "timestamp": "2026-01-01T00:00:01Z",
                        "completed": "2026-01-01T00:00:03Z",
                    },
                ],
                "attachments": {"h": "rain"},
                "limit": {"type": "message", "limit": 4},
            }
        ],
    },
    "atif": {
        "schema_version": "ATIF-v1.7",
        "session_id": "s",
        "agent": {"name": "a", "model_name": "m"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Weather?"},
            {
                "step_id": 2,
                "source": "agent",
                "message": "I ask",
                "tool_calls": [
                    {"tool_call_id": "c1", "function_name": "weather", "arguments": {"city": "Ulm"}}
                ],
                "observation": {
                    "results": [
                        {
                            "source_call_id": "c1",
                            "content": "rain",
                            "subagent_trajectory_ref": [{"trajectory_id": "inner"}],
                        }
                    ]
                },
                "metrics": {"prompt_tokens": 3, "completion_tokens": 1},
            },
        ],
        "subagent_trajectories": [
            {
                "trajectory_id": "inner",
                "agent": {"name": "b"},
                "steps": [{"step_id": 1, "source": "agent", "message": "hm"}],
            }
        ],
    },
    "tapeagents": {
        "metadata": {"id": UUID, "error": None},
        "context": None,
        "steps": [
            tape("user", content="Weather?"),
            tape("search_action", "p1", query="Ulm"),
            tape("search_results_observation", serp=["rain"], error=None),
            tape("assistant", "p2", content="It rains."),
        ],
    },
    "runstate": {
        "$schemaVersion": "1.17",
        "original_input": "Weather?",
        "context": {},
        "generated_items": [
            {
                "agent": {"name": "a"},
                "raw_item": {
                    "type": "function_call",
                    "name": "weather",
                    "arguments": ARGUMENTS,
                    "call_id": "c1",
                },
            },
            {
                "agent": {"name": "a"},
                "raw_item": {"type": "function_call_output", "call_id": "c1", "output": "rain"},
            },
            {
                "agent": {"name": "a"},
                "raw_item": {"type": "function_call", "name": "pay", "arguments": "{}", "call_id": "c2"},
            },
        ],
        "model_responses": [
            {
                "output": [{"call_id": "c1", "type": "function_call"}],
                "usage": {"input_tokens": 3, "output_tokens": 1},
            }
        ],
        "current_step": {
            "type": "next_step_interruption",
            "data": {"interruptions": [{"raw_item": {"name": "pay", "call_id": "c2"}}]},
        },
    },
    "adk": {
        "id": "s",
        "events": [
            {
                "invocation_id": "i",
                "author": "user",
                "timestamp": 1734292270.9,
                "content": {"parts": [{"text": "Weather?"}]},
            },
            {
                "invocation_id": "i",
                "author": "a",
                "timestamp": 1734292271.9,
                "content": {"parts": [{"function_call": {"name": "weather", "args": {"city": "Ulm"}}}]},
            },
            {
                "invocation_id": "i",
                "author": "a",
                "timestamp": 1734292272.9,
                "content": {
                    "parts": [{"function_response": {"name": "weather", "response": {"sky": "rain"}}}]
                },
            },
        ],
    },
    "autogen": [
        {
            "mode": "create",
            "messages": [
                {"type": "SystemMessage", "content": "Be brief"},
                {"type": "UserMessage", "content": "Weather?", "source": "User"},
            ],
            "response": {
                "finish_reason": "function_calls",
                "content": [{"id": "c1", "name": "weather", "arguments": ARGUMENTS}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 1},
            },
        },
        {
            "mode": "create",
            "messages": [
                {
                    "type": "FunctionExecutionResultMessage",
                    "content": [{"call_id": "c1", "content": "rain", "is_error": True}],
                }
            ],
            "response": {"finish_reason": "stop", "content": "It rains."},
        },
    ],
    "toolbench": {
        "win": True,
        "tree": {
            "tree": tree(
                "Action Input",
                "",
                [
                    tree(
                        "Thought",
                        "I ask",
                        [
                            tree(
                                "Action",
                                "weather",
                                [tree("Action Input", ARGUMENTS, [], observation="slow", observation_code=5)],
                            )
                        ],
                    ),
                    tree(
                        "Action",
                        "weather",
                        [tree("Action Input", ARGUMENTS, [], observation="rain", observation_code=0)],
                    ),
                ],
            )
        },
        "answer_generation": {"query": "Weather?", "train_messages": [CHAT[:2]]},
    },
}

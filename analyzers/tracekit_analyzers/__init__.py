"""Any agent log in, verdicts out: `analyze` gives tables and reports, `Engine` reads and judges, `Session` answers many threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracekit_analyzers.engine import Engine
    from tracekit_analyzers.findings import Findings, analyze
    from tracekit_analyzers.model import (
        BadLine,
        DamageReport,
        Diagnosis,
        Evidence,
        FailureClass,
        InputFile,
        Reader,
        Resumable,
        Source,
        TraceVerdict,
    )
    from tracekit_analyzers.session import Session
    from tracekit_analyzers.verdicts.judging import Judge, JudgedRun, JudgedStep, Opinion
    from tracekit_analyzers.views import (
        Analysis,
        MessageLine,
        OriginLine,
        Page,
        Progress,
        StepDetail,
        StepLine,
        Table,
        TraceRow,
    )
else:
    from tracekit.lazy import lazily

    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Analysis": "tracekit_analyzers.views",
            "BadLine": "tracekit_analyzers.model",
            "DamageReport": "tracekit_analyzers.model",
            "Diagnosis": "tracekit_analyzers.model",
            "Engine": "tracekit_analyzers.engine",
            "Evidence": "tracekit_analyzers.model",
            "FailureClass": "tracekit_analyzers.model",
            "Findings": "tracekit_analyzers.findings",
            "InputFile": "tracekit_analyzers.model",
            "Judge": "tracekit_analyzers.verdicts.judging",
            "JudgedRun": "tracekit_analyzers.verdicts.judging",
            "JudgedStep": "tracekit_analyzers.verdicts.judging",
            "MessageLine": "tracekit_analyzers.views",
            "Opinion": "tracekit_analyzers.verdicts.judging",
            "OriginLine": "tracekit_analyzers.views",
            "Page": "tracekit_analyzers.views",
            "Progress": "tracekit_analyzers.views",
            "Reader": "tracekit_analyzers.model",
            "Resumable": "tracekit_analyzers.model",
            "Session": "tracekit_analyzers.session",
            "Source": "tracekit_analyzers.model",
            "StepDetail": "tracekit_analyzers.views",
            "StepLine": "tracekit_analyzers.views",
            "Table": "tracekit_analyzers.views",
            "TraceRow": "tracekit_analyzers.views",
            "TraceVerdict": "tracekit_analyzers.model",
            "analyze": "tracekit_analyzers.findings",
        },
    )

__all__ = [
    "Analysis",
    "BadLine",
    "DamageReport",
    "Diagnosis",
    "Engine",
    "Evidence",
    "FailureClass",
    "Findings",
    "InputFile",
    "Judge",
    "JudgedRun",
    "JudgedStep",
    "MessageLine",
    "Opinion",
    "OriginLine",
    "Page",
    "Progress",
    "Reader",
    "Resumable",
    "Session",
    "Source",
    "StepDetail",
    "StepLine",
    "Table",
    "TraceRow",
    "TraceVerdict",
    "analyze",
]

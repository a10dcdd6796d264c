"""For tests of your own agent: faults, a settable clock, captured steps, services that misbehave, a scripted model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracekit.testing.captured import CapturedSteps
    from tracekit.testing.faults import POINTS, Faults, RateLimited, killing
    from tracekit.testing.loopback import Answer, App, Fault, Request, serve
    from tracekit.testing.model_server import ModelServer, Turn
    from tracekit.testing.service import Service
    from tracekit.testing.settable_clock import SettableClock
    from tracekit.testing.world import World
else:
    from tracekit.lazy import lazily

    __getattr__, __dir__ = lazily(
        __name__,
        {
            "POINTS": "tracekit.testing.faults",
            "Answer": "tracekit.testing.loopback",
            "App": "tracekit.testing.loopback",
            "CapturedSteps": "tracekit.testing.captured",
            "Fault": "tracekit.testing.loopback",
            "Faults": "tracekit.testing.faults",
            "ModelServer": "tracekit.testing.model_server",
            "RateLimited": "tracekit.testing.faults",
            "Request": "tracekit.testing.loopback",
            "Service": "tracekit.testing.service",
            "SettableClock": "tracekit.testing.settable_clock",
            "Turn": "tracekit.testing.model_server",
            "World": "tracekit.testing.world",
            "killing": "tracekit.testing.faults",
            "serve": "tracekit.testing.loopback",
        },
    )

__all__ = [
    "POINTS",
    "Answer",
    "App",
    "CapturedSteps",
    "Fault",
    "Faults",
    "ModelServer",
    "RateLimited",
    "Request",
    "Service",
    "SettableClock",
    "Turn",
    "World",
    "killing",
    "serve",
]

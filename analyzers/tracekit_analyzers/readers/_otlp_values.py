"""OTLP's attribute values as the log writes them, and whatever stands in their place in a file as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracekit.snapshot import marker, to_log


def attributes_of(pairs: Any) -> dict[str, Any]:
    """A list of `{key, value}` as a plain dict."""
    if isinstance(pairs, Mapping):
        return {str(key): plain(value) for key, value in pairs.items()}
    return {
        str(pair["key"]): plain(pair.get("value"))
        for pair in pairs or ()
        if isinstance(pair, Mapping) and "key" in pair
    }


def plain(value: Any) -> Any:
    """The plain value of an OTLP `AnyValue`; one that is plain already stays as it is."""
    if not isinstance(value, Mapping) or len(value) > 1:
        return value
    if not value:
        return None
    ((kind, inner),) = value.items()
    if kind == "intValue":
        return int(inner) if isinstance(inner, str) and inner.lstrip("-").isdigit() else inner
    if kind == "arrayValue":
        return [plain(item) for item in (inner or {}).get("values") or ()]
    if kind == "kvlistValue":
        return attributes_of((inner or {}).get("values"))
    if kind == "doubleValue":
        return _number(inner)
    if kind == "bytesValue" and isinstance(inner, str):
        return marker("bytes", base64=inner)
    return inner if kind in ("stringValue", "boolValue", "bytesValue") else value


def _number(inner: Any) -> Any:
    """A double, which comes as text where JSON has no word for it; a text that is no number stays one."""
    if not isinstance(inner, str):
        return inner
    try:
        return to_log(float(inner))
    except ValueError:
        return inner

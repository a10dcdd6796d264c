"""OTLP's attribute values as plain ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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
    if kind in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        return inner
    return value

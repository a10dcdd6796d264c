"""The texts about one step, as lines for a width: raw beside received, output, context, raw, attributes, lineage."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

from tracekit_analyzers.views import MessageLine, OriginLine, Page, StepDetail
from tracekit_tui.marks import duration, glyph, moment, money, state_words
from tracekit_tui.text import Ink, Line, Run, fit, visible, wrap, wrapped

ALIGN_LINES = 2000
"""Longer texts are set side by side as they are: aligning costs the square of the lines."""

TABS = ("diff", "output", "context", "raw", "attributes", "lineage")


def laid_out(text: str | None) -> str:
    """JSON text indented with its own words and order kept; any other text as it is."""
    if text is None:
        return ""
    if len(text) > 2_000_000:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, dict | list):
        return text
    # A number is shown as it was written: 99.50 is not 99.5 to a person who looks for a difference.
    exact = json.loads(text, parse_float=_Written, parse_int=_Written)
    return _indent(exact, "")


def one_line(text: str) -> str:
    """JSON text as a person reads it, on one line, typed markers short."""
    return " ".join(line.strip() for line in laid_out(text).split("\n"))


class _Written(str):
    """A number in the digits that the text has."""


def _indent(value: object, margin: str) -> str:
    inner = margin + "  "
    if isinstance(value, _Written):
        return str(value)
    if isinstance(value, dict) and set(value) == {"$tk"} and isinstance(value["$tk"], dict):
        return _marker(value["$tk"])
    if isinstance(value, dict) and value:
        rows = [f"{inner}{_text(key)}: {_indent(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{margin}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(inner + _indent(item, inner) for item in value) + f"\n{margin}]"
    return _text(value)


def _marker(known: dict[str, object]) -> str:
    """A typed marker of the log on one line, such as `⟨decimal 99.50⟩`."""
    words = [str(known.get("type", "?")), *(str(value) for name, value in known.items() if name != "type")]
    return f"⟨{' '.join(words)}⟩"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def head(detail: StepDetail, *, ended: bool = False) -> list[Line]:
    """
    Two or three lines that say what the step is and how it ended.

    Args:
        ended: No process works on the trace any more: an open step was left by a killed one.
    """
    line = detail.line
    left = ended and line.status == "running"
    sign, ink = glyph("killed" if left else line.status)
    state = "never ended: its process is gone" if left else line.status
    facts = [duration(line.duration_ms), f"attempt {detail.attempt}"]
    if detail.tries > 1:
        facts.append(f"{detail.tries} tries")
    if detail.model:
        facts.append(detail.model)
    if detail.input_tokens is not None or detail.output_tokens is not None:
        facts.append(f"{detail.input_tokens or 0}+{detail.output_tokens or 0} tokens")
    if detail.cost is not None:
        facts.append(money(detail.cost))
    found: list[Line] = [
        ((f"{sign} ", ink), (visible(line.name), "strong"), (f"  step {line.seq} · {state}", ink)),
        ((visible(" · ".join(facts)), "dim"),),
    ]
    if line.code:
        found.append((("✗ ", "error"), (line.code, "error"), (" fails here", "dim")))
    if line.cause_of:
        found.append((("→ ", "warn"), (f"cause of {line.cause_of}", "warn")))
    if detail.effect:
        found.append((("effect ", "dim"), (_effect_words(detail.effect), "warn")))
    if detail.error_type or detail.error_message:
        message = f"{detail.error_type or 'error'}: {detail.error_message or ''}"
        found.append(((visible(message[:2000]), "error"),))
    return found


def _effect_words(effect: str) -> str:
    try:
        known = json.loads(effect)
    except ValueError:
        return visible(effect)
    words = [state_words(str(known.get(name))) for name in ("risk", "status") if known.get(name)]
    if known.get("idempotent"):
        words.append("the server honours the key")
    return visible(" · ".join([*words, f"key {known.get('key')}"]))


def diff(detail: StepDetail, width: int) -> list[Line]:
    """What the model wrote beside what the tool received, with each difference named."""
    if detail.asked_arguments is None and (detail.received_input is None or detail.line.kind == "model"):
        return _no_call(detail, width)
    if detail.asked_arguments is None:
        return _unasked(detail, width)
    left = laid_out(detail.asked_arguments)
    right = laid_out(detail.received_input) if detail.received_input is not None else "(nothing received)"
    both = detail.received_input is not None
    other: Run = (" ≠ ", "warn") if detail.differences or not both else (" ≈ ", "dim")
    lines = side_by_side(left, right, width, "model wrote", "tool received", other=other)
    lines.append((("", "plain"),))
    if not detail.differences:
        text = "the same in meaning" if both else "one side is not in the log"
        lines.append(((text, "dim"),))
    for difference in detail.differences:
        lines += wrapped(f"≠ {difference.path}", width, "warn")
        lines += wrapped(f"    wrote     {_absent(difference.left)}", width, "error")
        lines += wrapped(f"    received  {_absent(difference.right)}", width, "accent")
    return lines


def _unasked(detail: StepDetail, width: int) -> list[Line]:
    """What a step received that no model asked for by a call: a task's own input, a call made by code."""
    words = "what it received; no model wrote these arguments"
    return [((words, "dim"),), (("", "plain"),), *wrapped(laid_out(detail.received_input), width)]


def _absent(value: str | None) -> str:
    return "(absent)" if value is None else value


def _no_call(detail: StepDetail, width: int) -> list[Line]:
    answer = detail.raw if detail.raw is not None else detail.output
    who = "the model" if detail.line.kind == "model" else "it"
    if not answer:
        return [((f"no tool call here, and {who} answered nothing that was recorded", "dim"),)]
    head_line: Line = ((f"what {who} answered:", "dim"),)
    return [head_line, (("", "plain"),), *wrapped(laid_out(answer), width)]


def side_by_side(
    left: str, right: str, width: int, left_title: str, right_title: str, *, other: Run = (" ≠ ", "warn")
) -> list[Line]:
    """Two texts in two columns, their equal lines on one height; *other* stands between lines that differ."""
    half = max(8, (width - 3) // 2)
    rows: list[Line] = [
        ((fit(left_title, half), "title"), ("   ", "plain"), (fit(right_title, half), "title"))
    ]
    for old, new, same in _aligned(left.split("\n"), right.split("\n")):
        between: Run = (" │ ", "dim") if same else other
        plain = same or other[1] == "dim"
        inks: tuple[Ink, Ink] = ("plain", "plain") if plain else ("error", "accent")
        old_lines, new_lines = _halves(old, half), _halves(new, half)
        for position in range(max(len(old_lines), len(new_lines))):
            first = old_lines[position] if position < len(old_lines) else ""
            second = new_lines[position] if position < len(new_lines) else ""
            rows.append(((fit(first, half), inks[0]), between, (fit(second, half), inks[1])))
    return rows


def _halves(text: str | None, half: int) -> list[str]:
    return [] if text is None else list(wrap(text, half))


def _aligned(left: Sequence[str], right: Sequence[str]) -> list[tuple[str | None, str | None, bool]]:
    if max(len(left), len(right)) > ALIGN_LINES:
        longest = max(len(left), len(right))
        pairs = [(_at(left, position), _at(right, position)) for position in range(longest)]
        return [(old, new, old == new) for old, new in pairs]
    bare = [[line.rstrip(",") for line in side] for side in (left, right)]
    rows: list[tuple[str | None, str | None, bool]] = []
    for tag, a, b, c, d in SequenceMatcher(None, bare[0], bare[1], autojunk=False).get_opcodes():
        for position in range(max(b - a, d - c)):
            old = left[a + position] if a + position < b else None
            new = right[c + position] if c + position < d else None
            rows.append((old, new, tag == "equal"))
    return rows


def _at(lines: Sequence[str], position: int) -> str | None:
    return lines[position] if position < len(lines) else None


def output(detail: StepDetail, width: int) -> list[Line]:
    """What the step answered, or the error with its stack."""
    lines: list[Line] = []
    if detail.output is None:
        lines.append((("no output: no answer is in the log", "warn"),))
    else:
        lines += wrapped(laid_out(detail.output), width)
    if detail.error_stack:
        lines += [(("", "plain"),), (("stack", "title"),), *wrapped(detail.error_stack, width, "error")]
    return lines


def raw(detail: StepDetail, width: int) -> list[Line]:
    """The model's exact text, before any parsing."""
    lines: list[Line] = []
    for title, text in (("model's exact text", detail.raw), ("arguments as written", detail.asked_arguments)):
        if text is None:
            continue
        lines += [((title, "title"), (f"  {len(text):,} characters", "dim")), *wrapped(text, width)]
        lines.append((("", "plain"),))
    return lines or [(("no model text belongs to this step", "dim"),)]


def attributes(detail: StepDetail, width: int) -> list[Line]:
    """Ids, times, source and every attribute."""
    line, source = detail.line, detail.source
    place = f"{source.file}" + (f":{source.line}" if source.line is not None else "")
    facts = {
        "step": line.step_id,
        "trace": detail.trace_id,
        "parent": line.parent_step_id,
        "kind": line.kind,
        "tool": line.tool_name,
        "call id": detail.call_id,
        "agent": detail.agent,
        "model": detail.model,
        "finish reason": detail.finish_reason,
        "started": moment(line.started_at),
        "finished": moment(detail.finished_at),
        "source": place
        + (f" run {source.trace_index} record {source.index}" if source.index is not None else ""),
    }
    lines: list[Line] = []
    for name, value in facts.items():
        if value is not None:
            first, *rest = wrap(str(value), max(8, width - 15))
            lines.append(((fit(name, 14), "dim"), (" " + first, "plain")))
            lines += [((" " * 15 + more, "plain"),) for more in rest]
    return [*lines, (("", "plain"),), *wrapped(laid_out(detail.attributes), width)]


def context(page: Page[MessageLine], width: int) -> list[Line]:
    """The messages that the model was sent; `+` came since the model step before, `−` were dropped."""
    if not page.total:
        return [(("no context is in the log for this step", "dim"),)]
    lines: list[Line] = [((f"{len(page.rows):,} of {page.total:,} messages shown", "dim"),)]
    signs: dict[str, tuple[str, Ink]] = {"added": ("+", "ok"), "dropped": ("−", "error")}
    for message in page.rows:
        sign, ink = signs.get(message.change, (" ", "plain"))
        who = message.role if message.agent is None else f"{message.role} {message.agent}"
        lines.append(((f"{sign} {message.pos:>3} ", ink), (visible(who), "title")))
        lines += [(("      ", "plain"), (text, ink)) for text in wrap(message.text, max(8, width - 6))]
    return lines


def lineage(origins: Sequence[OriginLine], width: int) -> list[Line]:
    """Where each argument came from: an earlier output, the user, the system text, or nowhere."""
    if not origins:
        return [(("this step received no arguments", "dim"),)]
    lines: list[Line] = []
    for origin in origins:
        lines += wrapped(f"{origin.path} = {origin.value}", width, "strong")
        lines += wrapped("    " + _came_from(origin), width, "plain" if origin.origin_side else "error")
        if origin.newer_value is not None:
            lines += wrapped(f"    stale: the same place later said {origin.newer_value}", width, "warn")
    return lines


def _came_from(origin: OriginLine) -> str:
    if origin.origin_side is None:
        return "found nowhere before: invented, or computed by code"
    step = f"step {origin.origin_seq} " if origin.origin_seq is not None else ""
    return f"from {step}{origin.origin_side} {origin.origin_path or ''}".rstrip()


PLAIN_TABS: dict[str, Callable[[StepDetail, int], list[Line]]] = {
    "diff": diff,
    "output": output,
    "raw": raw,
    "attributes": attributes,
}

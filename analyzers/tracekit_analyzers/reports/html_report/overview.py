"""The parts of the report over all runs: sums, groups of like failures, failures over time, by class and by tool, damage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.reports.html_report import charts
from tracekit_analyzers.reports.html_report.words import (
    esc,
    moment,
    money,
    number,
    share,
    shortened,
    table,
)
from tracekit_analyzers.reports.result import Result, primary
from tracekit_analyzers.reports.text import plural, took
from tracekit_analyzers.verdicts.groups import Group

_MOST_GROUPS = 50
_MOST_TOOLS = 20
_MOST_BAD = 100


def cards(result: Result) -> str:
    """The sums that come first."""
    failed = result.failed
    lost_ms = sum(trace.duration_ms or 0.0 for trace in failed)
    all_ms = sum(trace.duration_ms or 0.0 for trace in result.traces)
    shown = [
        _card("runs", number(len(result.traces)), plural(result.steps, "step")),
        _card(
            "failed",
            number(len(failed)),
            f"{share(len(failed), len(result.traces))} of all runs",
            bad=bool(failed),
        ),
    ]
    if result.waiting:
        shown.append(_card("waiting for a person", number(len(result.waiting)), "neither failed nor done"))
    if failed and all_ms:
        shown.append(
            _card("time in failed runs", took(lost_ms), f"{share(lost_ms, all_ms)} of {took(all_ms)}")
        )
    shown += _spent(result, failed)
    points = [trace.resumable for trace in failed if trace.resumable is not None]
    if points:
        kept = plural(sum(point.kept_calls for point in points), "call")
        shown.append(_card("can go on from a clean step", number(len(points)), f"which keeps {kept}"))
    _, _, recovered = result.counts()
    if recovered:
        shown.append(_card("errors got over", number(recovered), "the agent went on; never blamed"))
    told = f"in {number(result.lines)} lines or records"
    shown.append(_card("damaged pieces", number(result.bad_count), told, bad=bool(result.bad_count)))
    return f'<ul class="cards">{"".join(shown)}</ul>'


def _spent(result: Result, failed: Sequence[TraceVerdict]) -> list[str]:
    """Money where the log tells it, else tokens."""
    cost = sum(trace.cost or 0.0 for trace in result.traces)
    lost = sum(trace.cost or 0.0 for trace in failed)
    if cost and failed:
        return [_card("cost of failed runs", money(lost), f"{share(lost, cost)} of {money(cost)}")]
    tokens = sum(trace.tokens or 0 for trace in result.traces)
    used = sum(trace.tokens or 0 for trace in failed)
    if tokens and failed:
        return [_card("tokens in failed runs", number(used), f"{share(used, tokens)} of {number(tokens)}")]
    return []


def _card(name: str, value: str, told: str, *, bad: bool = False) -> str:
    return f'<li{" class=bad" if bad else ""}>{name}<b>{value}</b><span class="dim">{told}</span></li>'


def groups(made: Sequence[Group], links: Mapping[str, int]) -> str:
    """What fails alike; *links* says which run of the list is the example of which trace id."""
    if not made:
        return ""
    timed = any(group.first_seen for group in made)
    rows = [_group(group, links.get(group.example), timed=timed) for group in made[:_MOST_GROUPS]]
    times = (("time lost", "num"), ("seen (UTC)", "")) if timed else ()
    heads = (
        ("runs", "num"),
        ("share", "num"),
        ("class", ""),
        ("tool", ""),
        ("in words", ""),
        *times,
        ("example", ""),
    )
    more = len(made) - _MOST_GROUPS
    left = (
        f'<p class="dim">{plural(more, "smaller group")} left out; <code>--table groups</code> has all.</p>'
        if more > 0
        else ""
    )
    return f'<h2 id="groups">Failures that are alike</h2>{table(heads, rows, caption="Failures that are alike", kind="stack")}{left}'


def _group(group: Group, place: int | None, *, timed: bool) -> str:
    new = ' <span class="tag new">new</span>' if group.is_new else ""
    short_id = esc(group.example[:8])
    example = f"<code>{short_id}</code>" if place is None else f'<a href="#run-{place}">{short_id}</a>'
    times = (
        ("num", "time lost", took(group.lost_ms) if group.lost_ms else "–"),
        ("when", "seen", _seen(group)),
    )
    cells = (
        ("num", "runs", number(group.traces)),
        ("num", "share", f"{100 * group.share:.1f} %"),
        ("", "", f'<code class="name">{esc(group.code)}</code>{new}'),
        ("any", "", shortened(group.tool or "", 60)),
        ("words", "", shortened(group.wording, 140)),
        *(times if timed else ()),
        ("", "example", example),
    )
    return f"<tr>{''.join(_cell(*cell) for cell in cells)}</tr>"


def _cell(kind: str, name: str, value: str) -> str:
    """A cell that says its own name where the screen is too narrow for a head."""
    return f"<td{f' class={kind!r}' if kind else ''}{f' data-is={name!r}' if name else ''}>{value}</td>"


def _seen(group: Group) -> str:
    first, last = moment(group.first_seen), moment(group.last_seen)
    return first if first == last else f"{first}<br>to {last}"


def over_time(result: Result) -> str:
    """Runs and failed runs in each hour, day or week, as a picture and as a table."""
    name, buckets = charts.over_time(result.traces)
    if not buckets:
        return ""
    timed = sum(bucket.runs for bucket in buckets)
    without = len(result.traces) - timed
    untold = f" {plural(without, 'run')} without a time left out." if without else ""
    rows = [
        f'<tr><td class="when">{moment(bucket.began)}</td><td class="num">{bucket.runs}</td><td class="num">{bucket.failed}</td>'
        f'<td class="num">{share(bucket.failed, bucket.runs)}</td></tr>'
        for bucket in buckets
        if bucket.runs
    ]
    heads = (("from (UTC)", ""), ("runs", "num"), ("failed", "num"), ("share", "num"))
    return (
        f'<h2>Over time</h2><p class="keys"><span>{key("bad")}failed</span><span>{key("ok")}others</span>'
        f'<span class="dim">runs for each {name}, UTC.{untold}</span></p>{charts.timeline(name, buckets)}'
        f"<details><summary>The same as a table</summary>{table(heads, rows, caption='Runs over time')}</details>"
    )


def key(kind: str) -> str:
    """A square in the colour of *kind*, for a legend."""
    return f'<svg class="key" width="11" height="11" aria-hidden="true"><rect width="11" height="11" rx="2" class="f-{kind}"/></svg>'


def by_class(result: Result, titles: Mapping[str, str]) -> str:
    """How many runs failed by each class, and how often it was found besides."""
    first = Counter(found.code for found in map(primary, result.failed) if found is not None)
    _, codes, _ = result.counts()
    untold = len(result.failed) - sum(first.values())
    order = sorted(codes, key=lambda code: (-first[code], -codes[code], code))
    most = max([*first.values(), 1])
    rows = [
        f'<tr><td><code class="name">{esc(code)}</code><br><span class="dim">{esc(titles.get(code, ""))}</span></td><td class="num">{number(first[code])}</td>'
        f'<td class="num">{number(codes[code])}</td><td class="barcell">{charts.bar(first[code], most)}</td></tr>'
        for code in order
    ]
    if untold:
        rows.append(
            f'<tr><td>no verdict</td><td class="num">{number(untold)}</td><td></td><td class="barcell">{charts.bar(untold, most)}</td></tr>'
        )
    heads = (("class", ""), ("failed runs", "num"), ("found", "num"), ("", "barcell"))
    return (
        f"<section><h2>By class</h2>{table(heads, rows, caption='Failed runs by class')}</section>"
        if rows
        else ""
    )


def by_tool(result: Result) -> str:
    """At which tool the failed runs failed."""
    tools = Counter(found.tool or "(no tool)" for found in map(primary, result.failed) if found is not None)
    if not tools:
        return ""
    order = sorted(tools.items(), key=lambda item: (-item[1], item[0]))
    most = order[0][1]
    rows = [
        f'<tr><td class="any">{shortened(tool, 60)}</td><td class="num">{number(count)}</td><td class="barcell">{charts.bar(count, most)}</td></tr>'
        for tool, count in order[:_MOST_TOOLS]
    ]
    left = len(order) - _MOST_TOOLS
    more = f'<p class="dim">{plural(left, "more tool")}.</p>' if left > 0 else ""
    heads = (("tool of the failed step", ""), ("failed runs", "num"), ("", "barcell"))
    return f"<section><h2>By tool</h2>{table(heads, rows, caption='Failed runs by tool')}{more}</section>"


def damage(result: Result) -> str:
    """What could not be read, and files in no known format."""
    parts = []
    if result.bad:
        rows = [
            f'<tr><td class="words">{shortened(bad.file, 120)}{f":{bad.line}" if bad.line else ""}</td><td>{shortened(bad.reason, 200)}</td>'
            f"<td><code>{shortened(bad.head, 80)}</code></td></tr>"
            for bad in result.bad[:_MOST_BAD]
        ]
        heads = (("where", ""), ("what", ""), ("begins with", ""))
        more = result.bad_count - len(rows)
        left = (
            f'<p class="dim">{plural(more, "more piece")} left out; <code>--table damage</code> has them.</p>'
            if more > 0
            else ""
        )
        lost = f"<p>{plural(result.lost, 'line')} never reached the log.</p>" if result.lost else ""
        parts.append(f'<h2 id="damage">Damage</h2>{lost}{table(heads, rows, caption="Damaged pieces")}{left}')
    if result.skipped:
        names = "".join(
            f"<li><code>{shortened(name, 200)}</code></li>" for name in result.skipped[:_MOST_BAD]
        )
        more = len(result.skipped) - _MOST_BAD
        left = f'<p class="dim">{plural(more, "more file")}.</p>' if more > 0 else ""
        parts.append(f"<h2>Not read: in no known format</h2><ul>{names}</ul>{left}")
    return "".join(parts)

"""Like failures over all traces, from the traces screen: how many, since when, and Enter shows only those traces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import ClassVar

from textual.app import ComposeResult

from tracekit_analyzers.verdicts.groups import Group
from tracekit_tui.frame import Copyable, ExplorerScreen
from tracekit_tui.list import Column, VirtualList, fixed_page, text_column
from tracekit_tui.marks import age, counted, duration, moment
from tracekit_tui.screens.traces import TracesScreen
from tracekit_tui.text import Ink, Line, Run, flow
from tracekit_tui.textpane import TextPane


class GroupsScreen(ExplorerScreen):
    """One row for each class, tool and wording of what failed."""

    place: ClassVar[str] = "groups"
    enter: ClassVar[str] = "show its traces"

    def __init__(self) -> None:
        super().__init__()
        self.groups: Sequence[Group] = ()

    def body(self) -> ComposeResult:
        yield VirtualList(
            id="groups",
            title="like failures, those in most traces first",
            empty="nothing failed in what was read",
        )
        yield TextPane(id="summary")

    def start(self) -> None:
        self.query_one("#summary", TextPane).can_focus = False
        self.query_one(VirtualList).focus()
        self.changed()

    def changed(self) -> None:
        controller = self.explorer.controller
        if controller is None:
            return
        if controller.from_store:
            self.query_one(VirtualList).empty_text = "no log is open: groups are made of what a log shows"
            self._show(())
            return
        self.in_thread(controller.analysis.groups, self._show, group="groups")

    def _show(self, groups: Sequence[Group]) -> None:
        self.groups = groups
        self.query_one(VirtualList).feed(
            _columns(), fixed_page(groups), keep_cursor=True, key=lambda group: group.id
        )
        self.tell()

    def crumb(self) -> list[Run]:
        return [(counted(len(self.groups), "group"), "error" if self.groups else "dim")]

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        group: Group = event.row
        self.explorer.look_at(group.example, None)
        self.query_one("#summary", TextPane).show(lambda width: group_lines(group, width))

    def on_virtual_list_opened(self, event: VirtualList.Opened) -> None:
        group: Group = event.row
        self.explorer.go("traces")
        if isinstance(self.explorer.screen, TracesScreen):
            self.explorer.screen.set_filter(f"group={group.id}")

    def action_example(self) -> None:
        self._open("trace")

    def action_verdict(self) -> None:
        self._open("verdict")

    def _open(self, name: str) -> None:
        group: Group | None = self.query_one(VirtualList).current
        if group is not None:
            self.explorer.look_at(group.example, None)
            self.explorer.go(name)

    def copyable(self) -> list[Copyable]:
        group: Group | None = self.query_one(VirtualList).current
        if group is None:
            return []
        return [
            ("filter of its traces", lambda: f"group={group.id}"),
            ("wording", lambda: group.wording),
            ("trace id of the first", lambda: group.example),
            ("group as JSON", lambda: json.dumps(asdict(group), default=str, ensure_ascii=False, indent=2)),
        ]


def group_lines(group: Group, width: int) -> list[Line]:
    """The whole wording, and since when."""
    where: list[Run] = [(group.code, "error"), (f"  {group.tool}" if group.tool else "", "strong")]
    counts = (
        f"{counted(group.failures, 'failure')} in {counted(group.traces, 'trace')}, {_share(group)} of all"
    )
    seen = f"first {moment(group.first_seen)} · last {moment(group.last_seen)}"
    lost = f" · {duration(group.lost_ms)} of runs that ended so" if group.lost_ms else ""
    facts: list[tuple[str, Ink]] = [(group.wording, "plain"), (f"{counts}{lost}", "dim"), (seen, "dim")]
    return [*flow(where, width, 2), *(line for fact in facts for line in flow([fact], width, 2))]


def _share(group: Group) -> str:
    percent = 100 * group.share
    return f"{percent:.0f} %" if percent >= 1 else f"{percent:.2g} %"


def _columns() -> list[Column[Group]]:
    return [
        text_column("traces", lambda group: f"{group.traces:,}", width=7, right=True),
        text_column("share", _share, width=6, right=True, from_width=90),
        Column("class", lambda group, width: [(group.code, "error")], width=27),
        text_column("tool", lambda group: group.tool or "–", width=18),
        Column("wording", lambda group, width: [(group.wording, "plain")]),
        text_column("first", lambda group: age(group.first_seen), width=5, right=True, from_width=120),
        text_column("last", lambda group: age(group.last_seen), width=5, right=True),
    ]

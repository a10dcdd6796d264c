"""Names of a conversation: the shared head is found again, and never where anything in it changed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.durable.message_names import MessageNames
from tracekit.snapshot import message_hash

MESSAGE = st.fixed_dictionaries({"role": st.sampled_from(["user", "tool"]), "content": st.text(max_size=3)})


@given(st.lists(st.lists(MESSAGE, max_size=6), min_size=1, max_size=6))
def test_names_are_those_of_the_messages_whatever_was_named_before(talks: list[list[dict[str, Any]]]) -> None:
    names = MessageNames()
    for talk in talks:
        for end in range(len(talk) + 1):
            found = names.name_all(talk[:end])
            assert [each.message_hash for each in found] == [message_hash(each) for each in talk[:end]]


def test_a_message_changed_in_place_gets_another_name() -> None:
    names = MessageNames()
    talk: list[dict[str, Any]] = [{"role": "user", "content": str(number)} for number in range(5)]
    before = names.name_all(talk)
    talk[2]["content"] = "changed"

    after = names.name_all([*talk, {"role": "user", "content": "more"}])

    assert [one.message_hash == two.message_hash for one, two in zip(before, after, strict=False)] == [
        True,
        True,
        False,
        True,
        True,
    ]


def test_a_time_is_not_taken_for_the_text_that_it_looks_like() -> None:
    names = MessageNames()
    at = datetime(2026, 1, 2, tzinfo=UTC)
    talk = [{"role": "user", "content": at.isoformat()}]
    (text,) = names.name_all(talk)

    (time,) = names.name_all([{"role": "user", "content": at}])

    assert time.message_hash != text.message_hash


def test_what_is_no_data_is_refused() -> None:
    with pytest.raises(Exception, match="object"):
        MessageNames().name_all([{"role": "user", "content": object()}])

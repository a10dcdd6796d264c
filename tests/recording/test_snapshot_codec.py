from __future__ import annotations

import enum
import math
from collections import namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tracekit.errors import NotStorable
from tracekit.snapshot import canonical, check_storable, context_digest, decode, digest, encode, message_hash


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclass(frozen=True, slots=True)
class Order:
    order_id: str
    amount: Decimal
    lines: tuple[int, ...] = ()
    total: Decimal = field(init=False, default=Decimal(0))


class Ticket(BaseModel):
    ticket_id: str
    opened_at: datetime
    order: dict[str, int] = {}


def make_here(name: str, **members: object) -> None:
    """Puts a class of this module under another name, as an older version of the code would have had it."""
    globals()[name] = type(name, (), members)


EXACT = [
    None,
    True,
    0,
    2**64,
    -(2**70),
    1.5,
    math.inf,
    "café",
    "",
    b"\x00\xff",
    bytearray(b"ab"),
    datetime(2026, 11, 30, 8, 21, 3, 112345, tzinfo=UTC),
    datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Paris")),
    datetime(2026, 11, 30),  # noqa: DTZ001  a time without a zone has to stay without one
    date(2026, 11, 30),
    time(8, 21),
    timedelta(days=-1, microseconds=7),
    Decimal("99.50"),
    UUID(int=7),
    complex(1, -2),
    Colour.RED,
    Level.LOW,
    (1, (2, [3])),
    {1, 2},
    frozenset({"a"}),
    {1: "a", (2, 3): "b"},
    {"$tk": ["decimal", 1, "5"]},
    {"$tk": 1, "b": [{"$tk": {}}]},
    Order("A-1024", Decimal("99.50"), (1, 2)),
    Ticket(ticket_id="t", opened_at=datetime(2026, 1, 1, tzinfo=UTC), order={"a": 1}),
]


@pytest.mark.parametrize("value", EXACT, ids=lambda value: f"{type(value).__name__}-{value!r}"[:40])
def test_a_stored_value_comes_back_equal_and_of_the_same_type(value: object) -> None:
    back = decode(encode({"x": [value]}))["x"][0]

    assert back == value
    assert type(back) is type(value)


def test_a_stored_nan_comes_back_as_nan() -> None:
    assert math.isnan(decode(encode(math.nan)))


def test_a_zone_keeps_its_name_and_its_fold() -> None:
    back = decode(encode(datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Paris"))))

    assert back.tzinfo.key == "Europe/Paris"
    assert back.fold == 1


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.decimals(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(json_values)
def test_every_value_made_of_plain_parts_round_trips(value: object) -> None:
    assert decode(encode(value)) == value


@pytest.mark.parametrize(
    ("bad", "path"),
    [
        ({"order": {"items": [1, 2, 3, object()]}}, "$.order.items[3]"),
        ([lambda: None], "$[0]"),
        ({"a": (x for x in "ab")}, "$.a"),
        (["\ud83e"], "$[0]"),
        ({"p": namedtuple("P", "x")(1)}, "$.p"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_its_path(bad: object, path: str) -> None:
    with pytest.raises(NotStorable) as caught:
        check_storable(bad)

    assert f"at {path}," in str(caught.value)
    assert caught.value.code == "snapshot.not_storable"


def test_a_circle_is_refused_and_not_followed_for_ever() -> None:
    loop: list[object] = []
    loop.append(loop)

    with pytest.raises(NotStorable, match="holding itself"):
        encode(loop)
    with pytest.raises(NotStorable, match="holding itself"):
        canonical(loop)


def test_a_class_inside_a_function_is_refused_when_stored_not_when_loaded() -> None:
    @dataclass
    class Local:
        x: int

    with pytest.raises(NotStorable, match="local to a function"):
        encode(Local(1))


def test_an_unknown_tag_or_version_fails_loudly() -> None:
    for data in (b'{"$tk":["quaternion",1,"x"]}', b'{"$tk":["decimal",2,"5"]}', b'{"$tk":{"type":"bytes"}}'):
        with pytest.raises(NotStorable) as caught:
            decode(data)
        assert caught.value.code == "snapshot.unknown_tag"


def test_damaged_bytes_fail_loudly() -> None:
    with pytest.raises(NotStorable) as caught:
        decode(encode({"a": 1})[:-1])

    assert caught.value.code == "snapshot.not_ours"


def test_only_dataclasses_enums_and_models_are_ever_made_from_stored_bytes() -> None:
    with pytest.raises(NotStorable) as caught:
        decode(b'{"$tk":["dataclass",1,"subprocess:Popen",{"args":["true"]}]}')

    assert caught.value.code == "snapshot.class_refused"


def test_a_class_that_is_gone_or_has_lost_a_field_fails_loudly() -> None:
    stored = encode(Order("A", Decimal(1)))

    for changed, code in ((b":Ordre", "snapshot.class_not_found"), (b":Order", "snapshot.fields_changed")):
        with pytest.raises(NotStorable) as caught:
            decode(stored.replace(b":Order", changed).replace(b'"order_id"', b'"order_no"'))
        assert caught.value.code == code


def test_numbers_that_are_equal_have_one_canonical_form() -> None:
    assert canonical([10, 10.0, Decimal("10.0"), Decimal("1E1")]) == b"[10,10,10,10]"
    assert canonical(0.1) == canonical(Decimal("0.10"))
    assert canonical(10**22) == canonical(1e22) == canonical(Decimal("1e22")) == b"1" + b"0" * 22
    assert canonical(Decimal("0.1000000000000000055")) != canonical(0.1)
    assert canonical(1) != canonical(True)
    assert canonical(Decimal("1e900000")) != canonical(Decimal("2e900000"))


def test_key_order_unicode_form_and_tuples_do_not_change_the_canonical_form() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"

    assert canonical({"b": (1,), "a": composed}) == canonical({"a": decomposed, "b": [1]})


def test_a_date_is_not_its_text_and_an_instant_is_one_in_every_zone() -> None:
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)

    assert canonical(date(2026, 7, 1)) != canonical("2026-07-01")
    assert canonical(noon) == canonical(noon.astimezone(ZoneInfo("Asia/Tokyo")))


@pytest.mark.parametrize(
    "bad", [math.nan, math.inf, Decimal("NaN"), object(), "\ud83e", {"caf\u00e9": 1, "cafe\u0301": 2}]
)
def test_what_has_no_canonical_form_is_refused(bad: object) -> None:
    with pytest.raises(NotStorable):
        canonical({"a": bad})


def test_digests_have_32_digits_and_follow_content_and_order() -> None:
    first, second = (
        message_hash({"role": "user", "content": "a"}),
        message_hash({"content": "b", "role": "user"}),
    )

    assert len(digest(b"")) == len(first) == 32
    assert first == message_hash({"content": "a", "role": "user"})
    assert context_digest([first, second]) != context_digest([second, first])
    assert context_digest([first, second]) != context_digest([first + second])


@given(json_values)
def test_the_quick_way_to_the_canonical_form_gives_the_same_bytes(value: object) -> None:
    try:
        quick = canonical(value)
    except NotStorable:
        return

    # a text beyond ASCII beside it forces the careful way
    assert canonical([value, "é"]) == b"[" + quick + ',"é"]'.encode()


def test_a_number_longer_than_python_writes_is_refused_with_its_path() -> None:
    for form in (encode, canonical, check_storable):
        with pytest.raises(NotStorable, match=r"\$\.n.*more than 4,200 digits"):
            form({"n": 10**5000})
    assert decode(encode(10**4000)) == 10**4000


@pytest.mark.parametrize(
    "damaged",
    [
        b'{"$tk": ["dict", 1, 5]}',
        b'{"$tk": ["decimal", 1, "x"]}',
        b'{"$tk": ["set", 1, [[], {}]]}',
        b'{"$tk": ["datetime", 1, "yesterday"]}',
        b"[" * 1000 + b"]" * 1000,
    ],
)
def test_damage_under_a_tag_is_told_as_damage(damaged: bytes) -> None:
    with pytest.raises(NotStorable, match="restore it from a backup") as refused:
        decode(damaged)

    assert refused.value.code == "snapshot.not_ours"

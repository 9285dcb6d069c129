"""The schema of messages: its errors, and that the page and the seeds are generated from it."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

MAINT = Path(__file__).resolve().parents[2] / "maint"
sys.path.insert(0, str(MAINT))
import message_code  # noqa: E402
import message_samples  # noqa: E402
import message_schema  # noqa: E402
import message_tables  # noqa: E402
import messages  # noqa: E402
from message_schema import SchemaError  # noqa: E402

GROUP = "bound MAX 9: items\ngroup Any of kinds: Title\n  Meaning.\n"
ONE = "1 A_MESSAGE Message\n  Do it.\n"


def test_the_tables_are_current() -> None:
    page = message_tables.PAGE.read_text(encoding="utf-8")
    assert page == message_tables.update(page, message_schema.load()), "run maint/generate-messages --tables"


def test_a_page_without_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="bounds"):
        message_tables.update("", message_schema.load())


def test_fields_bounds_and_reply() -> None:
    schema = message_schema.parse(GROUP + ONE + "  n u32 <= MAX - 1 = 2 : how many,\n      in all\n  -> nothing\n")
    message = schema.groups[0].messages[0]
    assert (message.meaning, message.reply) == ("Do it.", "nothing")
    field = message.fields[0]
    assert (field.name, field.max, field.default, field.meaning) == ("n", "MAX - 1", "2", "how many, in all")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("  n u32\n", "nothing that this line belongs to"),
        ("1 A_MESSAGE Message\n", "a group, a message, a bound or an item expected"),
        (GROUP + "1 A_MESSAGE Message\n", "a sentence about its meaning is missing"),
        (GROUP + ONE + "  n u33\n", "no type u33"),
        (GROUP + ONE + "  n list members <= MAX\n", "no type members of elements"),
        (GROUP + ONE + "  n text\n", "n needs a bound"),
        (GROUP + ONE + "  n list u32\n", "n needs a bound"),
        (GROUP + ONE + "  n list text <= MAX\n", "n needs a bound"),
        (GROUP + ONE + "  n u32 <= MANY\n", "no bound MANY"),
        (GROUP + ONE + "  n list item <= MAX\n", "are not described once"),
        (GROUP + "1 A_MESSAGE -\n  Do it.\n  n u32\n", "its fields need a type"),
        (GROUP + ONE + "1 ANOTHER Another\n  Do it.\n", "appears twice"),
        (GROUP + ONE + "2 A_MESSAGE Another\n  Do it.\n", "appears twice"),
        (GROUP + ONE + "2 ANOTHER Message\n  Do it.\n", "appears twice"),
    ],
)
def test_what_is_no_schema(text: str, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        message_schema.parse(text)


def test_every_generated_header_lands_in_the_tree() -> None:
    schema = message_schema.load()
    assert messages.code(schema).keys() == messages.LANDING.keys()


def test_seeds_have_every_call_on_sets() -> None:
    schema = message_schema.load()
    seed = next(iter(message_samples.seeds(schema).values()))
    numbers = set()
    while seed:
        length, seed = 2 * seed[0], seed[1:]
        numbers.add(struct.unpack_from("=I", seed)[0])
        seed = seed[length:]
    assert numbers == {m.number for g in schema.calls() if g.type != "TaskCall" for m in g.messages}


def test_reports_have_a_writer_of_what_precedes_their_lists() -> None:
    reports = {message.name: message for message in message_schema.load().reports()}
    started = reports["REPORT_STARTED"]
    assert [f.name for f in started.fields] == ["number", "ranks"] and started.fields[1].is_array
    assert [f.name for f in message_code.fixed(started)] == ["number"]
    assert not message_code.fixed(reports["REPORT_SET_SHARED"])

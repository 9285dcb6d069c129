"""src/pmi/messages.txt, read into objects and checked: which messages there are, with their fields and bounds.

Imported by maint/generate-messages and its sisters.  The file itself explains its format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

SCHEMA = Path(__file__).resolve().parent.parent / "src" / "pmi" / "messages.txt"
TYPES = {
    "u32", "u64", "i32", "wide", "flag", "text", "name", "members", "process", "operand", "data", "program", "command",
    "bytes", "line", "host",
}  # fmt: skip
NEEDS_MAX = {"text", "command", "bytes", "line"}
ELEMENTS = {"u32", "text", "name", "operand", "item"}

GROUP = re.compile(r"group (\w+) of (\w+): (.+)")
BOUND = re.compile(r"bound (\w+) (\d+)(?: = (\S+))?: (.+)")
MESSAGE = re.compile(r"(\d+) ([A-Z][A-Z0-9_]+) ([A-Z]\w+|-)")
ITEM = re.compile(r"item ([A-Z]\w+) in (\w+)")
REQUIRE = re.compile(r"require (.+?) : (.+)")
FIELD = re.compile(
    r"(?P<name>[a-z]\w*) (?P<list>list |array )?(?:enum (?P<enum>\w+)|(?P<type>\w+))"
    r"(?: >= (?P<min>\w+))?(?: <= (?P<max>\w+(?: - 1)?))?(?: of (?P<each>\w+))?(?: = (?P<default>\w+))?"
    r"(?: like (?P<like>\w+))?(?P<optional> optional)?(?: : (?P<meaning>.+))?"
)


class SchemaError(Exception):
    """What is wrong in the schema, with its line."""


@dataclass
class Bound:
    """A limit that fields refer to."""

    name: str
    value: int
    header: str  # that defines it; "": the generated one
    meaning: str


@dataclass
class Field:
    """A field of a message, or of an element of a list."""

    name: str
    type: str  # one of TYPES, "enum", or "item" for elements with fields of their own
    enum: str
    is_list: bool  # of u32 n and n elements
    is_array: bool  # of elements up to the end
    min: str  # of a list: elements
    max: str  # of a number: its value; of a text: bytes; of a list: elements
    each: str  # bytes of each text of a list
    default: str
    like: str
    optional: bool
    meaning: str


@dataclass
class Message:
    """A message, or an element of a list in one (number 0)."""

    number: int
    name: str
    type: str
    meaning: str = ""
    reply: str = ""
    payload: str = ""  # in words, where there are no fields
    fields: list[Field] = field(default_factory=list)
    requires: list[tuple[str, str]] = field(default_factory=list)  # condition, meaning
    item: Message | None = None
    item_of: str = ""


@dataclass
class Group:
    """Messages that one decoder reads."""

    type: str
    enum: str
    title: str
    meaning: str = ""
    messages: list[Message] = field(default_factory=list)

    def is_variant(self) -> bool:
        """Whether the number of a message is in its first bytes, and one decoder reads any of them."""
        return self.type[0].isupper()

    def typed(self) -> list[Message]:
        """Those of which more than the number is generated."""
        return [message for message in self.messages if message.type != "-"]


@dataclass
class Schema:
    """The whole file."""

    bounds: list[Bound] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)

    def calls(self) -> list[Group]:
        return [group for group in self.groups if group.is_variant()]

    def reports(self) -> list[Message]:
        """Messages of a proxy with fields."""
        return [message for group in self.groups if not group.is_variant() for message in group.typed()]


def read_field(line: str, where: str) -> Field:
    match = FIELD.fullmatch(line)
    if not match:
        raise SchemaError(f"{where}: `FIELD TYPE [<= BOUND] ... [: meaning]` expected: {line}")
    parts = {key: value or "" for key, value in match.groupdict().items()}
    kind = "enum" if parts["enum"] else parts["type"]
    is_list, is_array = parts["list"] == "list ", parts["list"] == "array "
    if kind not in (ELEMENTS if is_list or is_array else TYPES | {"enum"}):
        raise SchemaError(f"{where}: no type {kind}{' of elements' if parts['list'] else ''}")
    if (is_list or kind in NEEDS_MAX) and not parts["max"] or is_list and kind == "text" and not parts["each"]:
        raise SchemaError(f"{where}: {parts['name']} needs a bound")
    return Field(
        parts["name"], kind, parts["enum"], is_list, is_array, parts["min"], parts["max"], parts["each"], parts["default"],
        parts["like"], bool(parts["optional"]), parts["meaning"],
    )  # fmt: skip


def check(schema: Schema) -> None:
    """What no single line shows."""
    numbers: set[tuple[str, int]] = set()
    names: set[str] = set()
    for group in schema.groups:
        for message in group.messages:
            if (group.enum, message.number) in numbers or {message.name, message.type} & names:
                raise SchemaError(f"{message.name}: its number, name or type appears twice")
            numbers.add((group.enum, message.number))
            names |= {message.name, message.type} - {"-"}
            if message.type == "-" and message.fields:
                raise SchemaError(f"{message.name}: its fields need a type")
            lists = [f.name for f in message.fields if f.type == "item"]
            if lists != ([message.item_of] if message.item else []):
                raise SchemaError(f"{message.name}: the elements of {lists or message.item_of} are not described once")
            if not message.meaning:
                raise SchemaError(f"{message.name}: a sentence about its meaning is missing")
    bounds = {bound.name for bound in schema.bounds}
    for group in schema.groups:
        for message in group.messages:
            for f in message.fields + (message.item.fields if message.item else []):
                used = [] if f.type == "enum" else [f.max.partition(" ")[0], f.each]
                for bound in used:
                    if bound and not bound.isdigit() and bound not in bounds:
                        raise SchemaError(f"{message.name}: no bound {bound}")


def parse(text: str, name: str = "messages.txt") -> Schema:
    """The schema in `text`; raises SchemaError on what is none."""
    schema = Schema()
    owner: Group | Message | None = None
    for number, raw in enumerate(re.sub(r"\n {6}(?=\S)", " ", text).splitlines(), 1):
        line, where = raw.strip(), f"{name}:{number}"
        if not line or line.startswith("#"):
            continue
        if not raw.startswith(" "):
            owner = read_top(line, where, schema)
        elif owner is None:
            raise SchemaError(f"{where}: nothing that this line belongs to")
        elif isinstance(owner, Group) or not owner.meaning:
            owner.meaning = f"{owner.meaning} {line}".strip()
        elif line.startswith("payload "):
            owner.payload = line.removeprefix("payload ")
        elif line.startswith("-> "):
            owner.reply = line[3:]
        elif match := REQUIRE.fullmatch(line):
            owner.requires.append((match[1], match[2]))
        else:
            owner.fields.append(read_field(line, where))
    check(schema)
    return schema


def read_top(line: str, where: str, schema: Schema) -> Group | Message | None:
    """A line that begins something, which the indented lines after it belong to."""
    if match := BOUND.fullmatch(line):
        schema.bounds.append(Bound(match[1], int(match[2]), match[3] or "", match[4]))
        return None
    if match := GROUP.fullmatch(line):
        schema.groups.append(Group(match[1], match[2], match[3]))
        return schema.groups[-1]
    messages = schema.groups[-1].messages if schema.groups else []
    if (match := MESSAGE.fullmatch(line)) and schema.groups:
        messages.append(Message(int(match[1]), match[2], match[3]))
        return messages[-1]
    if (match := ITEM.fullmatch(line)) and messages:
        messages[-1].item = Message(0, match[1], match[1], meaning="element")
        messages[-1].item_of = match[2]
        return messages[-1].item
    raise SchemaError(f"{where}: a group, a message, a bound or an item expected: {line}")


def load() -> Schema:
    """The messages of this repository."""
    return parse(SCHEMA.read_text(encoding="utf-8"))

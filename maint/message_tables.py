"""The tables of doc/spec/protocol.md, of the messages in src/pmi/messages.txt.

The page is committed; a table lies between `<!-- table NAME -->` and `<!-- end -->`, the rest is written by hand.
"""

from __future__ import annotations

import re
from pathlib import Path

from message_schema import Field, Group, Message, Schema

PAGE = Path(__file__).resolve().parent.parent / "doc" / "spec" / "protocol.md"
TABLE = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.S)


def limit(f: Field) -> str:
    """ "at most N", with the name of the bound."""
    return f" ≤ {f.max if f.max.isdigit() else f'`{f.max}`'}" if f.max else ""


def describe(f: Field, item: Message | None) -> str:
    """A field: type, name, bounds, meaning."""
    kind = "u32" if f.type == "enum" else f.type
    if f.type == "item" and item:
        kind = "(" + ", ".join(describe(e, None) for e in item.fields) + ")"
    elif f.each:
        kind = f"{kind} ≤ `{f.each}`"
    about = f"`enum {f.enum}`" if f.enum else ""
    about = ": ".join(part for part in (about, f.meaning) if part)
    least = f", at least {f.min}" if f.min else ""
    at_end = ", may be absent" if f.optional else ""
    if f.is_array:
        return f"{kind} *{f.name}*, ...{f' ({about})' if about else ''}"
    if f.is_list:
        return f"u32 n{limit(f)}{least}, n * {kind} *{f.name}*{at_end}{f' ({about})' if about else ''}"
    return f"{kind} *{f.name}*{limit(f)}{at_end}{f' ({about})' if about else ''}"


def group_table(group: Group) -> list[str]:
    is_call = group.is_variant()
    lines = ["| number | message | fields |", "|---|---|---|"]
    if is_call:
        lines = ["| number | call | fields | reply |", "|---|---|---|---|"]
    for message in sorted(group.messages, key=lambda m: m.number):
        fields = message.payload or ", ".join(describe(f, message.item) for f in message.fields) or "none"
        fields = "; ".join([fields, *(meaning for _, meaning in message.requires)])
        reply = f" {message.reply} |" if is_call else ""
        lines.append(f"| {message.number} | `{message.name}`: {message.meaning} | {fields} |{reply}")
    return lines


def bounds_table(schema: Schema) -> list[str]:
    return ["| bound | value | of |", "|---|---|---|"] + [f"| `{b.name}` | {b.value} | {b.meaning} |" for b in schema.bounds]


def update(page: str, schema: Schema) -> str:
    """The page with its tables made anew."""
    tables = {group.type: group_table(group) for group in schema.groups} | {"bounds": bounds_table(schema)}
    missing = tables.keys() - {match[2] for match in TABLE.finditer(page)}
    if missing:
        raise ValueError(f"{PAGE.name} has no `<!-- table NAME -->` for {', '.join(sorted(missing))}")
    return TABLE.sub(lambda match: match[1] + "\n".join(tables[match[2]]) + "\n" + match[3], page)

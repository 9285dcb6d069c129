"""Samples of each message in src/pmi/messages.txt, at its bounds: for proto/messages_test.cpp, and seeds for fuzzers.

A sample is written in two ways that know nothing of the codecs: as an expression of C++ over the functions of that test
(`u32`, `text`, ...), and, of the shortest one, as bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import message_code
from message_schema import Field, Message, Schema

SEED = "fuzz/stepmgr/psets/pset_call_fuzz.seed"


@dataclass
class Sample:
    """A field at a bound."""

    bytes: str  # C++: its bytes
    arguments: list[str]  # C: the same for its encoder


def text(length: str) -> Sample:
    return Sample(f"text({length})", [f"longest({length})"])


def u32(value: str) -> Sample:
    return Sample(f"u32({value})", [value])


def scalar(f: Field, kind: str, most: bool) -> Sample:
    """One value, or one element of a list: the least or the greatest one."""
    limit = "PMI_SET_NAME_MAX" if kind == "name" else f.each or f.max
    if f.like:
        value = {"text": f'text("{f.like}")', "u64": f"u64({f.like})"}[kind]
        return Sample(value, [f'"{f.like}"' if kind == "text" else f.like])
    greatest: dict[str, Callable[[], Sample]] = {
        "u32": lambda: u32(limit if limit and not f.is_list else "UINT32_MAX"),
        "enum": lambda: u32(limit or "UINT32_MAX"),
        "flag": lambda: Sample("u32(1)", ["true"]),
        "i32": lambda: Sample("u32(0x80000000)", ["INT32_MIN"]),
        "u64": lambda: Sample("u64(UINT64_MAX)", ["UINT64_MAX"]),
        "wide": lambda: Sample("wide(UINT64_MAX - 1)", ["UINT64_MAX - 1"]),
        "bytes": lambda: Sample(f"std::string({limit}, 'x')", []),
        "line": lambda: Sample(f"std::string({limit}, 'x')", []),
        "host": lambda: Sample("host('y')", ["host_of('y')"]),
        "text": lambda: text(limit),
        "name": lambda: text(limit),
        "members": lambda: Sample("u32(1) + u32(0) + u32(PMI_ADAPT_SIZE_LARGEST)", ["NULL", "PMI_ADAPT_SIZE_LARGEST"]),
        "process": lambda: Sample("u32(1) + u32(INT32_MAX) + u32(1)", ["INT32_MAX"]),
        "operand": lambda: Sample("text(PMI_SET_NAME_MAX) + u32(1) + u32(1) + u32(0) + u32(3)", ["longest(PMI_SET_NAME_MAX)"]),
        "data": lambda: Sample("u32(1) + text(PMI_SET_KEY_MAX) + text(PMI_SET_VALUE_MAX)", ["&longest_info"]),
        "program": lambda: command("PMI_TASK_ARGUMENTS_MAX"),
        "command": lambda: command(limit),
    }
    least: dict[str, Callable[[], Sample]] = {
        "flag": lambda: Sample("u32(0)", ["false"]),
        "u64": lambda: Sample("u64(0)", ["0"]),
        "wide": lambda: Sample("wide(0)", ["0"]),
        "bytes": lambda: Sample("std::string()", []),
        "line": lambda: Sample("std::string()", []),
        "host": lambda: Sample("host(0)", ["host_of(0)"]),
        "text": lambda: text("0"),
        "name": lambda: text("0"),
        "members": lambda: Sample("u32(0)", ["NULL", "0"]),
        "process": lambda: Sample("u32(1) + u32(0) + u32(1)", ["0"]),
        "operand": lambda: Sample("text(0) + u32(0)", ["longest(0)"]),
        "data": lambda: Sample("u32(0)", ["NULL"]),
        "program": lambda: command("0"),
        "command": lambda: command("0"),
    }
    return (greatest if most else least).get(kind, lambda: u32("0"))()


def command(arguments: str) -> Sample:
    argv = f"same<char *>({arguments}, longest(1)).data()"
    return Sample(f"text(1) + many({arguments}, text(1))", ["longest(1)", argv, arguments])


def sample(f: Field, message: Message, most: bool) -> Sample:
    """The field with as few elements as it may have, or as many."""
    if f.is_array:
        return Sample(f"repeat({3 if most else 0}, {list_element(f, message).bytes})", [])
    if not f.is_list:
        return scalar(f, f.type, most)
    n = f.max if most else f.min or "0"
    element = list_element(f, message)
    if f.type == "item":
        return Sample(f"many({n}, {element.bytes})", [n])
    return Sample(f"many({n}, {element.bytes})", [f"same<{ELEMENT[f.type]}>({n}, {element.arguments[0]}).data()", n])


def list_element(f: Field, message: Message) -> Sample:
    """A short one: there may be many."""
    if f.type == "item" and message.item:
        return Sample(" + ".join(sample(e, message, False).bytes for e in message.item.fields), [])
    return text("1") if f.type == "text" else scalar(f, f.type, False)


ELEMENT = {"u32": "uint32_t", "text": "const char *", "name": "const char *", "operand": "const char *"}


def wrong(f: Field, message: Message) -> list[str]:
    """Bytes that no decoder takes for this field."""
    limit = "PMI_SET_NAME_MAX" if f.type == "name" else f.max
    if f.is_list:
        found = [f"many({f.max} + 1, {list_element(f, message).bytes})"]
        if f.type in ("text", "name"):
            found.append(f"many(1, text({f.each or 'PMI_SET_NAME_MAX'} + 1))")
        return found
    bytes_of_type = {
        "flag": ["u32(2)"],
        "members": [
            "u32(2) + u32(5) + u32(1) + u32(5) + u32(1)", "u32(1) + u32(0) + u32(PMI_ADAPT_SIZE_LARGEST + 1)",
            "u32(UINT32_MAX)",
        ],
        "process": ["u32(0)", "u32(1) + u32(0) + u32(2)"],
        "operand": ["text(PMI_SET_NAME_MAX + 1) + u32(0)", "text(1) + u32(2)"],
        "data": [
            "many(PMI_SET_KEYS_MAX + 1, text(1) + text(0))", "u32(1) + text(PMI_SET_KEY_MAX + 1) + text(0)",
            "u32(1) + text(1) + text(PMI_SET_VALUE_MAX + 1)",
        ],
        "program": [
            "text(0) + u32(0)", "text(1) + many(PMI_TASK_ARGUMENTS_MAX + 1, text(0))",
            "text(PMI_TASK_TEXT_MAX + 1) + u32(0)",
        ],
        "command": ["text(0) + u32(0)", f"text(1) + many({limit} + 1, text(0))"],
    }  # fmt: skip
    if f.is_array:
        return []
    if f.type in ("bytes", "line"):
        return [f"std::string({limit} + 1, 'x')"]
    if f.type in ("text", "name"):
        return [f"text({limit} + 1)", "u32(1) + std::string(1, '\\0')", "u32(UINT32_MAX)"]
    return bytes_of_type.get(f.type, [f"u32({limit} + 1)"] if limit and f.type in ("u32", "enum") else [])


def calls(message: Message, most: bool) -> list[str]:
    """Statements of C that encode the sample."""
    arguments = ["&call"] + [a for f in message.fields for a in sample(f, message, most).arguments]
    lines = [f"{message_code.c_name(message)}({', '.join(arguments)});"]
    if message.item:
        members = next(f for f in message.fields if f.type == "item")
        element = ["&call"] + [a for e in message.item.fields for a in sample(e, message, False).arguments]
        name = f"{message_code.c_name(message)}_{message.item.type.lower()}"
        count = sample(members, message, most).arguments[0]
        lines += [f"for (int i = 0; i < {count}; i++)", f"    {name}({', '.join(element)});"]
    return lines


def header(schema: Schema) -> str:
    """message_samples.h: what the test calls for each message."""
    lines = ["template <class Group> void check_samples();"]
    for group in schema.calls():
        lines += ["", f"template <> void check_samples<elastic::{group.type}>()", "{"]
        for message in group.messages:
            for most in (False, True):
                bytes_of = [f"u32({message.name})"] + [sample(f, message, most).bytes for f in message.fields]
                lines += ["    {", "        MPIR_Session_call call;", *(f"        {line}" for line in calls(message, most))]
                optional = "true" if any(f.optional for f in message.fields) else "false"
                arguments = f'"{message.name}", {" + ".join(bytes_of)}, call, {optional}'
                lines += [f"        check<elastic::{group.type}>({arguments});", "    }"]
            for name, fields in refused(message):
                lines.append(f'    check_refused<elastic::{group.type}>("{name}", u32({message.name}) + {fields});')
        lines.append("}")
    lines += ["", "void check_reports()", "{"]
    for message in schema.reports():
        lines += report_checks(message)
    return "\n".join([*lines, "}"]) + "\n"


def refused(message: Message) -> list[tuple[str, str]]:
    """Bytes with one field that no decoder takes, and the name of that field."""
    least = [sample(f, message, False).bytes for f in message.fields]
    return [
        (f"{message.name}, {f.name}", " + ".join([*least[:i], bad, *least[i + 1 :]]))
        for i, f in enumerate(message.fields)
        for bad in wrong(f, message)
    ]


def report_checks(message: Message) -> list[str]:
    """Statements that compare the fixed part with the encoder in C, and all with the codec in C++."""
    lines = []
    fixed = message_code.fixed(message)
    kind = f"elastic::{message.type}"
    for most in (False, True):
        bytes_of = " + ".join(sample(f, message, most).bytes for f in message.fields)
        arguments = ", ".join(["bytes", *(a for f in fixed for a in sample(f, message, most).arguments)])
        writer = f"HYD_write_{message_code.short_name(message)}({arguments})" if fixed else "0"
        written = f"[](void *{'bytes' if fixed else ''}) -> size_t {{ return {writer}; }}"
        is_fixed = "true" if len(fixed) == len(message.fields) else "false"
        lines.append(f'    check_report<{kind}>("{message.name}", {bytes_of}, {written}, {is_fixed});')
    lines += [f'    check_report_refused<{kind}>("{name}", {fields});' for name, fields in refused(message)]
    return lines


# ---------------------------------------------------------------- seeds


def word(value: int) -> bytes:
    return struct.pack("=I", value)


def seed_field(f: Field, message: Message) -> bytes:
    """A short value: a process, a text of one character, a list of one element."""
    element = {
        "wide": word(1) * 2, "text": word(1) + b"a", "name": word(1) + b"a", "members": word(1) + word(1) + word(2),
        "process": word(1) * 3, "operand": word(1) + b"a" + word(0), "data": word(1) + 2 * (word(1) + b"a"),
        "program": word(1) + b"a" + word(0), "command": word(1) + b"a" + word(0),
    }.get(f.type, word(1))  # fmt: skip
    if f.like:
        element = word(len(f.like)) + f.like.encode()
    if f.type == "item" and message.item:
        element = b"".join(seed_field(e, message) for e in message.item.fields)
    return word(1) + element if f.is_list else element


def seeds(schema: Schema) -> dict[str, bytes]:
    """By the path of a fuzzer: pset_call_fuzz.cpp takes calls with half their length in front, and skips the byte after
    one of an odd length."""
    found = b""
    for message in (m for group in schema.calls() if group.type != "TaskCall" for m in group.messages):
        call = word(message.number) + b"".join(seed_field(f, message) for f in message.fields)
        call += b"\0" * (len(call) % 2)
        found += bytes([len(call) // 2]) + call
    return {SEED: found}

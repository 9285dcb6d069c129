"""The generated code of messages, by where it belongs: for maint/overlay.py and maint/generate-messages."""

from __future__ import annotations

import message_code
import message_schema
from message_schema import Schema, SchemaError

__all__ = ["SchemaError", "code", "landing"]

# Where a generated file lands in an MPICH tree.  Hydra is configured and built on its own.
LANDING = {
    "pmi_messages.h": ("src/pmi/include/pmi_messages.h", "src/pm/hydra/elastic/pmi_messages.h"),
    "session_calls.h": ("src/include/session_calls.h",),
    "messages/calls.h": ("src/pm/hydra/elastic/messages/calls.h",),
    "messages/kinds.h": ("src/pm/hydra/elastic/messages/kinds.h",),
    "messages/report_writers.h": ("src/pm/hydra/elastic/messages/report_writers.h",),
    "messages/reports.h": ("src/pm/hydra/elastic/messages/reports.h",),
}


def code(schema: Schema) -> dict[str, str]:
    """The generated headers, by their names in an #include."""
    return {
        "pmi_messages.h": message_code.numbers_header(schema),
        "session_calls.h": message_code.encoders_header(schema),
        "messages/calls.h": message_code.structs_header(schema),
        "messages/kinds.h": message_code.kinds_header(schema),
        "messages/report_writers.h": message_code.writers_header(schema),
        "messages/reports.h": message_code.reports_header(schema),
    }


def landing() -> dict[str, bytes]:
    """The generated files of an MPICH tree, by path."""
    texts = code(message_schema.load())
    return {path: text.encode() for name, text in texts.items() for path in LANDING[name]}

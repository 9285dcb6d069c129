"""Which MPI functions are given objects that may be of two sessions, or groups that their session has left, and how that
is refused (SX7, session_objects.c, adapt_stale.c);
which ones need no initialisation beside those on info objects (SX10, session_life.c); and whose errors go to the
handler of a session, or to the one that they are given (SX3, session_open.c).

The generator of the C bindings asks.
"""

from __future__ import annotations

import re

ANYTIME = re.compile(
    r"mpi_((comm|win|file|session)_create_errhandler|errhandler_free|(comm|type|win)_(create|free)_keyval)", re.IGNORECASE
)
HANDLED = re.compile(
    r"mpix?_(session_(?!create)|group_from_session|(inter)?comm_create_from_group|(win|file)_.*_from_group)", re.IGNORECASE
)
PLACES = {"GROUP": 2, "COMMUNICATOR": 2, "WINDOW": 1}


def objects(func: dict) -> dict[str, list[str]]:
    """The arguments that know their session, by kind: the names of the variables that point to them."""
    found: dict[str, list[str]] = {kind: [] for kind in PLACES}
    for p in func.get("_handle_ptr_list", []):
        if p["kind"] in PLACES and p["param_direction"] == "in" and not p["length"]:
            found[p["kind"]].append(p["name"] + "_ptr")
    return found if sum(map(len, found.values())) > 1 else {}


def requests(func: dict) -> dict | None:
    """The argument that is a list of requests."""
    return next((p for p in func["c_parameters"] if p["kind"] == "REQUEST" and p["length"]), None)


def includes(func: dict) -> list[str]:
    """Before the handles are known: of all functions that have a group, or may have two objects."""
    given = [p["kind"] for p in func["c_parameters"] if p["kind"] in PLACES and p["param_direction"] == "in"]
    needed = len(given) > 1 or "GROUP" in given or requests(func) or is_anytime(func)
    return ['#include "session.h"'] if needed else []


def is_anytime(func: dict) -> bool:
    return ANYTIME.fullmatch(func["name"]) is not None


def enter_anytime(func: dict) -> list[str]:
    return ["", "bool is_initialized = MPIR_Session_enter_anytime();"] if is_anytime(func) else []


def leave_anytime(func: dict) -> list[str]:
    return ["MPIR_Session_leave_anytime(is_initialized);"] if is_anytime(func) else []


def check(func: dict) -> list[str]:
    """The statements that refuse groups that a session has left, and objects of two sessions, after each of them is
    known to be valid."""
    found, several = objects(func), requests(func)
    left = [
        line
        for p in func.get("_handle_ptr_list", [])
        if p["kind"] == "GROUP" and p["param_direction"] == "in" and not p["length"]
        for line in (f"mpi_errno = MPIR_Session_check_group({p['name']}_ptr);", "MPIR_ERR_CHECK(mpi_errno);")
    ]
    if several:
        return [
            "if (unlikely(MPIR_CVAR_SESSION_CHECK)) {",
            "INDENT",
            f"mpi_errno = MPIR_Session_check_requests({several['length']}, {several['name']});",
            "MPIR_ERR_CHECK(mpi_errno);",
            "DEDENT",
            "}",
        ]
    if not found:
        return left
    pointers = [name for kind, n in PLACES.items() for name in (found[kind] + n * ["NULL"])[:n]]
    return left + [f"mpi_errno = MPIR_Session_check_objects({', '.join(pointers)});", "MPIR_ERR_CHECK(mpi_errno);"]


def has_handler(func: dict) -> bool:
    return HANDLED.match(func["name"]) is not None


def return_error(func: dict) -> list[str]:
    """How it ends with an error: by handles, because there are no pointers if another handle is a wrong one."""
    given = {p["kind"]: p for p in func["c_parameters"] if p["param_direction"] != "out"}
    session, handler = "MPI_SESSION_NULL", "MPI_ERRHANDLER_NULL"
    if "SESSION" in given:
        name = given["SESSION"]["name"]
        session = name if given["SESSION"]["param_direction"] == "in" else f"{name} ? *{name} : MPI_SESSION_NULL"
    elif "ERRHANDLER" in given:
        handler = given["ERRHANDLER"]["name"]
    group = any(p["name"] == "newgroup" for p in func["c_parameters"])
    return (["if (newgroup)", "    *newgroup = MPI_GROUP_EMPTY;"] if group else []) + [
        f"mpi_errno = MPIR_Session_return_error({session}, {handler}, __func__, mpi_errno);"
    ]

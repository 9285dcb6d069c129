"""Which MPI functions are given objects that may be of two sessions, and how that is refused (SX7, session_objects.c).

The generator of the C bindings asks.
"""

PLACES = {"GROUP": 2, "COMMUNICATOR": 2, "WINDOW": 1}


def objects(func: dict) -> dict[str, list[str]]:
    """The arguments that know their session, by kind: the names of the variables that point to them."""
    found: dict[str, list[str]] = {kind: [] for kind in PLACES}
    for p in func.get("_handle_ptr_list", []):
        if p["kind"] in PLACES and p["param_direction"] == "in" and not p["length"]:
            found[p["kind"]].append(p["name"] + "_ptr")
    return found if sum(map(len, found.values())) > 1 else {}


def includes(func: dict) -> list[str]:
    """Before the handles are known: of all functions that may have two."""
    given = [p for p in func["c_parameters"] if p["kind"] in PLACES and p["param_direction"] == "in"]
    return ['#include "session.h"'] if len(given) > 1 else []


def check(func: dict) -> list[str]:
    """The statements that refuse objects of two sessions, after each of them is known to be valid."""
    found = objects(func)
    if not found:
        return []
    pointers = [name for kind, n in PLACES.items() for name in (found[kind] + n * ["NULL"])[:n]]
    return [f"mpi_errno = MPIR_Session_check_objects({', '.join(pointers)});", "MPIR_ERR_CHECK(mpi_errno);"]

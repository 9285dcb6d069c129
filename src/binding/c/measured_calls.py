"""Which MPI functions are measured in adaptive programs, and as what (src/include/mpir_measure.h).

The generator of the C bindings asks.  All calls that can communicate are steps of the program.  Those that poll are
none (ASIDE): how often a program polls, and whether it finds something, differs each time, but their time is MPI's.
Local calls are not measured; nor are file operations, which are no generated functions: what they communicate is seen.
"""

import re

ASIDE = r"MPIX?_(Test(all|any|some)?|Iprobe|Improbe|Request_get_status|Win_test|Parrived)$"
LOCAL = (
    r"MPIX?_(Buffer_.*|.*([Ss]end|[Rr]ecv)_init|Cancel|Request_free|Status_.*|Test_cancelled|Grequest_.*|Reduce_local"
    r"|(Alloc|Free)_mem|Win_((get|set)_.*|attach|detach|shared_query|call_errhandler)"
    r"|Comm_(compare|get_.*|set_.*|group|rank|size|remote_.*|test_inter|failure_.*|revoke)"
    r"|(Open|Close)_port|Lookup_name|(Unp|P)ublish_name"
    r"|Cart(_coords|_get|_map|_rank|_shift|dim_get)|Dims_create|Dist_graph_neighbors.*"
    r"|Graph(_get|_map|_neighbors.*|dims_get)|Topo_test)$"
)
WINDOWS = r"MPIX?_Win_(allocate(_shared)?|create(_dynamic)?|free)$"
KINDS = {
    "pt2pt": "P2P",
    "part": "P2P",
    "request": "P2P",
    "coll": "COLLECTIVE",
    "rma": "RMA",
    "comm": "MANAGE",
    "spawn": "MANAGE",
    "topo": "MANAGE",
}


def kind_of(name: str, folder: str) -> str:
    """How a function is measured, or '' if it is not."""
    if re.match(ASIDE, name):
        return "ASIDE"
    if re.match(LOCAL, name):
        return ""
    return "MANAGE" if re.match(WINDOWS, name) else KINDS.get(folder, "")


def includes(func: dict) -> list[str]:
    return ['#include "mpir_measure.h"'] if kind_of(func["name"], func["dir"]) else []


def prototype(func: dict, declaration: str) -> str:
    """Of the function that does the work: a part of the entry point, as where it is called once."""
    measured = kind_of(func["name"], func["dir"])
    return declaration.replace("static int", "static MPIR_MEASURED_PART int", 1) if measured else declaration


def measured_twin(func: dict, declaration: str, call: str) -> list[str]:
    """What the entry point with this declaration goes on to in a measured iteration."""
    kind = kind_of(func["name"], func["dir"])
    if not kind:
        return []
    twin = re.sub(r"MPI(X?)_", r"measured\1_", declaration, count=1)
    return [f"static MPIR_MEASURED_TWIN {twin}", "{", f"    MPIR_MEASURE({kind}, {call});", "}", ""]


def branch(func: dict, call: str) -> list[str]:
    """The statement of the entry point before it does what `call` does."""
    if not kind_of(func["name"], func["dir"]):
        return []
    return ["    if (MPIR_MEASURE_IS_ON)", f"        return {call.replace('internal', 'measured', 1)};"]

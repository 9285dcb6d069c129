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


def return_call(func: dict, call: str) -> str:
    """The statement of the entry point of `func` that returns what `call` does."""
    kind = kind_of(func["name"], func["dir"])
    return f"MPIR_MEASURED({kind}, {call});" if kind else f"return {call};"

"""Fortran bindings of the operations on process sets (pset_api.txt), for binding_f77.py and binding_f08.py.

Names have any length in Fortran, MPI_MAX_PSET_NAME_LEN characters in C.  Arrays of names, and texts that are given and
delivered, are passed as they are, with the length of an element behind the other arguments, to functions in C
(src/include/mpir_pset_fortran.h) that take the place of the operations.  Windows and files over groups have no Fortran,
and what v2a's module has by its own names (src/dynres) has none of these names.
"""

ROOM = "256"  # MPI_MAX_PSET_NAME_LEN
RAW = {
    "MPIX_Session_pset_op": ("input", "output"),
    "MPIX_Session_get_pset_data": ("keys",),
    "MPIX_Session_iget_pset_data": ("keys",),
    "MPIX_Session_bcast_pset_info": ("text",),
}
WITHOUT = ("MPIX_Session_get_pset_op", "MPIX_Session_ipset_op", "MPIX_Session_iget_pset_op")


def mark(func):
    """Before its bindings are made: which parameters are passed as they are."""
    if not func["name"].startswith("MPIX_Session_") or func["name"] in WITHOUT:
        func["_skip_fortran"] = 1
    for p in func["parameters"]:
        if p["name"] in raw(func):
            p["_raw"] = True
        elif p["kind"] == "STRING" and p["param_direction"] == "out":
            p["_room"] = ROOM


def raw(func):
    return RAW.get(func["name"], ())


def c_name(func):
    """The function in C that takes raw parameters."""
    return func["name"].replace("MPIX_", "MPIR_") + "_fortran"


def f77_parameter(name, c_parameters, c_ends, c_arguments):
    c_parameters.append("char *%s FORT_MIXED_LEN(%s_len)" % (name, name))
    c_ends.append("FORT_END_LEN(%s_len)" % name)
    for arguments in c_arguments:
        arguments.append(name)


def f77_lengths(func):
    return ["(int) %s_len" % name for name in raw(func)]


def f08_declaration(p):
    array = "(*)" if p["name"] != "text" else ""
    return "CHARACTER(len=*), INTENT(%s), TARGET :: %s%s" % (p["param_direction"], p["name"], array)


def f08_cut(p):
    """What is copied to Fortran afterwards is not longer than there is room."""
    return "%s_c(len(%s) + 1) = char(0)" % (p["name"], p["name"])


def f08_lengths(func):
    return ["%s_len" % name for name in raw(func)]

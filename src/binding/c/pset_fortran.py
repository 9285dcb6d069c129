"""Fortran bindings of the operations on process sets and of dynamic process management (pset_api.txt, dynproc_api.txt),
for binding_f77.py and binding_f08.py.

Texts that are delivered have any length in Fortran, a fixed one in C.  Arrays of texts, and texts that are given and
delivered, are passed as they are, with the length of an element after the other arguments, to functions in C
(src/include/mpir_pset_fortran.h, mpir_dynproc_fortran.h) that take the place of the operations.  In dynamic process
management MPI_ARGV_NULL is such an array, NULL in C.  A blank name of a set that may be NULL is
passed so as well.  What v2a's module has by its own names (src/dynres) has none of these names.
"""

TEXT_BYTES = {"pset": "256", "dynproc": "1024"}  # MPI_MAX_PSET_NAME_LEN; the longest text, MPI_MAX_INFO_VAL
# Arguments that are passed as they are, of operations that another function replaces.
RAW = {
    "MPIX_Session_pset_op": ("input", "output"),
    "MPIX_Session_get_pset_op": ("output",),
    "MPIX_Session_get_pset_data": ("keys",),
    "MPIX_Session_iget_pset_data": ("keys",),
    "MPIX_Session_bcast_pset_info": ("text",),
    "MPIX_Spawn": ("array_of_names", "argvector"),
    "MPIX_Iallocate": ("array_of_local_js_dep_strings", "array_of_nodenames"),
    "MPIX_Set_args": ("args",),
    "MPIX_Iaccept_keyed": (),
    "MPIX_Session_rc_test": ("pset_name",),
    "MPIX_Session_rc_get": ("pset_name",),
}
WITH = ("MPIX_Session_", "MPIX_Win_", "MPIX_File_")
WITHOUT = ("MPIX_Session_ipset_op", "MPIX_Session_iget_pset_op")


def mark(func):
    """Before its bindings are made: which parameters are passed as they are."""
    is_dynproc = func["dir"] == "dynproc"
    if not (is_dynproc or func["name"].startswith(WITH)) or func["name"] in WITHOUT:
        func["_skip_fortran"] = 1
    for p in func["parameters"]:
        if p["name"] in raw(func):
            p["_raw"] = True
            p["_may_be_null"] = is_dynproc
        elif p["kind"] == "STRING" and p["param_direction"] == "out":
            p["_text_bytes"] = text_bytes(func)


def text_bytes(func):
    return TEXT_BYTES.get(func.get("dir"), "1")


def is_replaced(func):
    return func["name"] in RAW


def raw(func):
    return RAW.get(func["name"], ())


def c_name(func):
    """The function in C that takes raw parameters."""
    return func["name"].replace("MPIX_", "MPIR_") + "_fortran"


def f77_parameter(p, c_parameters, c_ends, c_arguments):
    name = p["name"]
    c_parameters.append("char *%s FORT_MIXED_LEN(%s_len)" % (name, name))
    c_ends.append("FORT_END_LEN(%s_len)" % name)
    for arguments in c_arguments:
        arguments.append("(%s == MPI_F_ARGV_NULL) ? NULL : %s" % (name, name) if p["_may_be_null"] else name)


def f77_lengths(func):
    return ["(int) %s_len" % name for name in raw(func)]


def f08_declaration(p):
    array = "(*)" if p["name"] not in ("text", "pset_name") else ""
    return "CHARACTER(len=*), INTENT(%s), TARGET :: %s%s" % (p["param_direction"], p["name"], array)


def f08_pointer(p):
    """The variable that is NULL for MPI_ARGV_NULL (process_array_check)."""
    if not p["_may_be_null"]:
        return None
    p["_array_length"], p["_array_convert"] = None, "c_ptr_check"
    return "TYPE(c_ptr) :: %s_cptr" % p["name"]


def f08_cut(p):
    """What is copied to Fortran afterwards is not longer than the buffer."""
    return "%s_c(len(%s) + 1) = char(0)" % (p["name"], p["name"])


def f08_lengths(func):
    return ["%s_len" % name for name in raw(func)]

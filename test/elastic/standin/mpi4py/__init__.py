"""A stand-in for mpi4py, for tests on machines that have none of this MPI: the few calls that our examples make, by ctypes.

It is not mpi4py, and shows nothing about mpi4py but that its calls, so called, do what the example expects of them.
"""


class rc:  # noqa: N801 (mpi4py's name)
    initialize = True
    finalize: bool | None = None

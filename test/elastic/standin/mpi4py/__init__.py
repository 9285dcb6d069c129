"""A stand-in for mpi4py, for tests on machines that have none of this MPI: the few calls that our examples make, by ctypes.

It is not mpi4py. It only shows that the calls of an example have the effects that the example expects.
"""


class rc:  # noqa: N801 (mpi4py's name)
    initialize = True
    finalize: bool | None = None

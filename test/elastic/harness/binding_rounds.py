"""Rounds of MPI calls through ctypes, where all functions are called from one call site; until the file "stop" exists.

    mpiexec -n P python3 binding_rounds.py LIBMPI
"""

import ctypes
import os
import sys
import time

COMM_WORLD, INT, IN_PLACE, MAX = 0x44000000, 0x4C000405, ctypes.c_void_p(-1), 0x58000001  # of MPICH's ABI


def main() -> None:
    mpi = ctypes.CDLL(sys.argv[1])
    status, pending, rank, stop = (ctypes.c_int() for _ in range(4))
    mpi.MPI_Init_adapt(None, None, ctypes.byref(status))
    mpi.MPI_Comm_rank(COMM_WORLD, ctypes.byref(rank))
    if rank.value == 0:
        print("READY", flush=True)
    while not stop.value:
        time.sleep(0.02 if rank.value == 0 else 0.001)
        mpi.MPI_Barrier(COMM_WORLD)
        stop.value = os.path.exists("stop")
        mpi.MPI_Allreduce(IN_PLACE, ctypes.byref(stop), 1, INT, MAX, COMM_WORLD)
        mpi.MPI_Probe_adapt(ctypes.byref(pending), ctypes.byref(status), None)
    mpi.MPI_Finalize()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Jacobi's method for the temperature of a plate, with NumPy, mpi4py and elastic_mpi: the world grows and shrinks.

    export PYTHONPATH=PREFIX/lib/python3
    mpiexec -n 2 --adapt-schedule 4,1 python3 jacobi.py [SIZE [SWEEPS [ADAPTATIONS [MILLISECONDS]]]]   (128 1000 0 0)

It sweeps over SIZE x SIZE points at least so often, and until so many adaptations have been seen; a sweep takes the
milliseconds longer.  One side of the plate is hot, the others are cold.  Each process has some rows, which move by themselves in
the window.  The temperatures have the same bits for any history of the world.
"""

import sys
import time

import numpy

import elastic_mpi as elastic


class Plate:
    """Some rows of the plate, and what is the same on all processes."""

    def __init__(self, side: int, joining: bool) -> None:
        self.side, self.sweeps, self.adaptations, self.change = side, 0, 0, 0.0
        self.rows = elastic.block(side)
        self.data = elastic.Data()
        mine = 0 if joining else len(self.rows.range(elastic.rank(), elastic.size()))
        self.data.add("temperature", numpy.zeros((mine, side)), self.rows)

    def adapt(self) -> None:
        with elastic.window() as w:  # a process that leaves ends here
            self.data.move(w)
            self.sweeps, self.adaptations, self.change = w.share((self.sweeps, self.adaptations + 1, self.change))

    def sweep(self) -> None:
        """One step for all points."""
        world = MPI.COMM_WORLD
        rank, size = world.Get_rank(), world.Get_size()
        up = rank - 1 if rank > 0 else MPI.PROC_NULL
        down = rank + 1 if rank < size - 1 else MPI.PROC_NULL
        before = self.data["temperature"]
        around = numpy.zeros((len(before) + 2, self.side + 2))
        around[1:-1, 1:-1] = before
        above, below = numpy.ones(self.side), numpy.zeros(self.side)
        world.Sendrecv(before[0], dest=up, recvbuf=below, source=down)
        world.Sendrecv(before[-1], dest=down, recvbuf=above, source=up)
        around[0, 1:-1], around[-1, 1:-1] = above, below
        after = 0.25 * ((around[:-2, 1:-1] + around[2:, 1:-1]) + (around[1:-1, :-2] + around[1:-1, 2:]))
        self.data["temperature"] = after
        self.sweeps += 1
        self.change = world.allreduce(float(abs(after - before).max()), op=MPI.MAX)

    def digest(self) -> int:
        """Of the bits of all temperatures."""
        first = self.rows.range(elastic.rank(), elastic.size()).start * self.side
        bits = self.data["temperature"].view("u8").ravel()
        weights = 2 * numpy.arange(first, first + len(bits), dtype="u8") + numpy.uint64(1)
        return int(MPI.COMM_WORLD.allreduce(int((bits * weights).sum(dtype="u8")), op=MPI.SUM)) % 2**64


def main() -> None:
    side, sweeps, adaptations, milliseconds = (int(word) for word in (sys.argv[1:] + ["128", "1000", "0", "0"][len(sys.argv) - 1 :]))
    elastic.sizes(f"1-{side}")  # a row for each process
    plate = Plate(side, joining)
    if joining:
        plate.adapt()
    while plate.sweeps < sweeps or plate.adaptations < adaptations:
        plate.sweep()
        time.sleep(milliseconds / 1000)
        if elastic.probe():
            plate.adapt()
    digest = plate.digest()
    if elastic.rank() == 0:
        print(f"jacobi: {plate.adaptations} adaptations")
        print(f"jacobi: after {plate.sweeps} sweeps the largest change is {plate.change:.3e}, and the temperatures {digest:016x}")


joining = elastic.init()
MPI = elastic.load_mpi4py()
main()

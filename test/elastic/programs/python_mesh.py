"""elastic_mpi: rows of a graph with an irregular partition, ghosts, and items in cells, with array.array and NumPy.

Each process also computes the whole problem alone and compares bit by bit.  A wrong call raises Error on all processes,
and the window continues.  Argument: the number of adaptations.  SPEC-epop D4, V1, F1.
"""

import array
import sys
import time
from typing import Any

import elastic_mpi as elastic

numpy: Any
try:
    import numpy
except ImportError:
    numpy = None

VERTICES, MOST, SLOTS, ATOMS = 90, 6, 4, 50


def mixed(a, b):
    return ((a * 7919 + b * 104729 + 12345) ** 2 + a) % 2147483647 % 1000003


def number_of(vertex):
    return 3 * vertex + 7


def neighbours(vertex):
    return [] if vertex == 5 else [mixed(vertex, k + 10) % VERTICES for k in range(1 + mixed(vertex, 1) % MOST)]


def partition(vertex, size):
    return mixed(vertex, size) % (size - 1 if size > 3 else size)


def weight(vertex, k):
    return 0.25 + 0.001 * vertex + 0.01 * k


def step_whole(whole):
    following = []
    for vertex in range(VERTICES):
        value = 0.125 * whole[vertex]
        for k, other in enumerate(neighbours(vertex)):
            value += weight(vertex, k) * 0.1 * whole[other]
        following.append(value)
    return following


class Graph:
    """The rows of this process."""

    def __init__(self, joining):
        self.whole = [1 + 0.01 * vertex for vertex in range(VERTICES)]
        self.numbers, self.first, self.column = array.array("q"), array.array("q"), array.array("q")
        self.value, self.x = array.array("d"), array.array("d")
        self.pairs = numpy.zeros((0, 2)) if numpy else None
        self.halo: Any = None
        if joining:
            return
        self.first.append(0)
        for vertex in reversed(range(VERTICES)):
            if partition(vertex, elastic.size()) != elastic.rank():
                continue
            self.numbers.append(number_of(vertex))
            self.x.append(self.whole[vertex])
            for k, other in enumerate(neighbours(vertex)):
                self.column.append(number_of(other))
                self.value.append(weight(vertex, k))
            self.first.append(len(self.column))
        if numpy:
            self.pairs = numpy.array([[float(number), -float(number)] for number in self.numbers]).reshape(-1, 2)

    def move(self, window):
        mine: Any = self.numbers if window.old_rank >= 0 else []
        if self.halo:
            self.x = self.x[: len(self.numbers)]
            self.halo.restore(self.column)
            self.halo.free()
        to = [partition((number - 7) // 3, window.new_size) for number in mine]
        self.refuse(window, to)
        more: list[Any] = [self.x, self.pairs] if numpy else [self.x]
        self.numbers, self.first, (self.column, self.value), *more = elastic.move_rows(
            window, to, self.numbers, self.first, [self.column, self.value], *more
        )
        self.x = more[0]
        if numpy:
            self.pairs = more[1]
        self.whole = window.share(self.whole)

    def refuse(self, window, to):
        """Wrong on old rank 0 alone."""
        is_wrong = window.old_rank == 0
        cases = (
            ("the destination of a row is no rank", [99] * len(to) if is_wrong and to else to, self.first),
            ("first has one number more", to, self.first[:-1] if is_wrong else self.first),
        )
        for words, destination, first in cases:
            try:
                elastic.move_rows(window, destination, self.numbers, first, [self.column])
                raise SystemExit(f"not refused: {words}")
            except elastic.Error as error:
                assert f"elastic_mpi.move_rows: {words}" in str(error) and "old rank 0" in str(error), error

    def begin(self, has_moved):
        self.halo = elastic.Ghosts(self.numbers, self.column)
        self.x.extend([0.0] * self.halo.count)
        self.check(has_moved)
        for _ in range(2):
            self.step()
        self.check(has_moved)

    def step(self):
        self.halo.update(self.x)
        following = []
        for i in range(len(self.numbers)):
            value = 0.125 * self.x[i]
            for k in range(self.first[i], self.first[i + 1]):
                value += self.value[k] * 0.1 * self.x[self.column[k]]
            following.append(value)
        self.x[: len(following)] = array.array("d", following)
        self.whole = step_whole(self.whole)

    def check(self, has_moved):
        assert not has_moved or list(self.numbers) == sorted(self.numbers)
        for i, number in enumerate(self.numbers):
            vertex, entries = (number - 7) // 3, range(self.first[i], self.first[i + 1])
            assert partition(vertex, elastic.size()) == elastic.rank()
            assert self.x[i] == self.whole[vertex], (number, self.x[i], self.whole[vertex])
            assert [self.number_at(self.column[k]) for k in entries] == [number_of(other) for other in neighbours(vertex)]
            assert [self.value[k] for k in entries] == [weight(vertex, k) for k in range(len(entries))]
            assert self.pairs is None or list(self.pairs[i]) == [number, -number]
        every = sorted(number_of(v) for v in range(VERTICES) if partition(v, elastic.size()) == elastic.rank())
        assert sorted(self.numbers) == every

    def number_at(self, local):
        if local < len(self.numbers):
            return self.numbers[local]
        ghost = local - len(self.numbers)
        assert self.halo.owner[ghost] == partition((self.halo.numbers[ghost] - 7) // 3, elastic.size())
        return self.halo.numbers[ghost]


class Cells:
    """Atoms of this process in cells with gaps (NumPy)."""

    def __init__(self, joining):
        self.clear(0 if joining else 20)
        for atom in range(0 if joining else ATOMS):
            if atom * 5 % elastic.size() == elastic.rank():
                self.put(atom, [float(atom), -float(atom)])

    def clear(self, cells):
        self.count = [0] * cells
        self.atom, self.point = numpy.full((cells, SLOTS), -1), numpy.full((cells, SLOTS, 2), -1.0)

    def put(self, atom, point):
        cell = int(atom) % len(self.count)
        while self.count[cell] == SLOTS:
            cell = (cell + 1) % len(self.count)
        self.atom[cell, self.count[cell]], self.point[cell, self.count[cell]] = atom, point
        self.count[cell] += 1

    def move(self, window):
        if window.old_rank >= 0:
            self.put(1, [-3, -3])  # a copy of another process' item
        to = numpy.where(self.point[:, :, 0] == -3, -1, self.atom * 5 % window.new_size)
        atoms, points = elastic.move_cells(window, self.count, to, self.atom, self.point)
        self.clear(20 + max(window.new_rank, 0))
        for atom, point in zip(atoms, points):
            self.put(atom, point)

    def check(self):
        found = [(int(self.atom[c, j]), *self.point[c, j]) for c in range(len(self.count)) for j in range(self.count[c])]
        mine = [atom for atom in range(ATOMS) if atom * 5 % elastic.size() == elastic.rank()]
        assert sorted(found) == [(atom, atom, -atom) for atom in mine], found


def main():
    adaptations = int(sys.argv[1])
    joining = elastic.init()
    graph, cells = Graph(joining), Cells(joining) if numpy else None
    epoch = 0

    def moves(window):
        nonlocal epoch
        epoch = window.share(epoch) + 1
        graph.move(window)
        if cells:
            cells.move(window)

    def after(_rank, _size):
        graph.begin(True)
        if cells:
            cells.check()

    if joining:
        elastic.adapt(moves, after)
    else:
        graph.begin(False)
    deadline = time.monotonic() + 90
    while epoch < adaptations:
        assert time.monotonic() < deadline, "no adaptation"
        elastic.barrier()
        if elastic.adapt(moves, after):
            deadline = time.monotonic() + 90
    graph.halo.free()
    if elastic.rank() == 0:
        print(f"PASS epoch={adaptations} size={elastic.size()}", flush=True)


main()

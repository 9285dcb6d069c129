"""elastic_mpi: initialisation, probe, window, shared values, sums, files, layouts, arrays, boxes and items, with and without
NumPy.

Every element encodes its number.  A wrong call raises Error on all processes, and the window continues.  Argument: the
number of adaptations.  SPEC-epop D1 to D4, D6, F1, F3.
"""

import array
import ctypes
import os
import sys
import time
from typing import Any

import elastic_mpi as elastic

numpy: Any
try:
    import numpy
except ImportError:
    numpy = None

N, COLUMNS, ITEMS = 1003, 3, 300


def split(old_lengths, new_size):
    assert sum(old_lengths) == N
    return [1] * (new_size - 1) + [N - new_size + 1]


def pieces(rank, size):
    return [(first, min(first + 4, N)) for first in range(4 * rank, N, 4 * size)]


def owned(rank, size):
    """Elements by name, as in the layouts."""
    mine = list(elastic.block(N).range(rank, size))
    return {
        "block": mine,
        "bytes": mine,
        "cyclic": [i for i in range(N) if i // 7 % size == rank],
        "user": [i for low, high in pieces(rank, size) for i in range(low, high)],
        "same": list(range(10)),
    }


def matrix(rows):
    return numpy.array([[100.0 * i + c for c in range(COLUMNS)] for i in rows]).reshape(len(rows), COLUMNS)


def fill(data, joining):
    empty: dict[str, list[int]] = {name: [] for name in ("block", "bytes", "cyclic", "user", "same")}
    mine = empty if joining else owned(elastic.rank(), elastic.size())
    layouts = {
        "block": elastic.block(N), "bytes": elastic.block(N), "cyclic": elastic.block_cyclic(N, 7),
        "user": elastic.user(pieces), "same": elastic.same(10),
    }  # fmt: skip
    for name, layout in layouts.items():
        if name == "bytes":
            data.add(name, bytearray(i % 251 for i in mine[name]), layout)
        else:
            data.add(name, array.array("q", mine[name]), layout)
    data.add("uneven", array.array("d", mine["block"]), elastic.irregular(split))
    if numpy:
        data.add("matrix", matrix(mine["block"]), elastic.block(N))


def home(item, size):
    return item * 7919 // 3 % size


line = elastic.even([5], [5 + N])
plate = elastic.even([0, -3], [17, 20])


def stripes(rank, size):
    return [0, N * rank // size], [2, N * (rank + 1) // size]


class Pieces:
    """Boxes and items of this process."""

    def __init__(self, joining):
        rank, size = (0, 1) if joining else (elastic.rank(), elastic.size())
        self.items = array.array("q", [] if joining else [i for i in range(ITEMS) if home(i, size) == rank])
        self.marks = bytearray(i % 251 for i in self.items)
        self.windows = [0.0]  # over all ranks: how many there have been
        low, high = line(rank, size)
        self.line = array.array("d", [] if joining else [-1.0, *range(low[0], high[0] + 1), -1.0])
        if numpy:
            self.vectors = numpy.array([[i, 2.0 * i] for i in self.items]).reshape(len(self.items), 2)
            self.plate = numpy.zeros((0, 0)) if joining else self.cells(rank, size)
            self.stripes = numpy.zeros((0, 0), dtype="i4")
            if not joining:
                self.stripes = numpy.array([[r * N + c for c in range(*self.columns(rank, size))] for r in range(2)], dtype="i4")

    @staticmethod
    def columns(rank, size):
        low, high = stripes(rank, size)
        return low[1], high[1]

    @staticmethod
    def cells(rank, size):
        low, high = plate(rank, size)
        cells = numpy.zeros((high[0] - low[0] + 2, high[1] - low[1] + 4))
        cells[1:-1, 2:-2] = [[100.0 * i + j for j in range(low[1], high[1])] for i in range(low[0], high[0])]
        return cells

    def move(self, w):
        to = [home(i, w.new_size) for i in self.items]
        before = list(self.items)
        surplus = [*to, 0] if w.old_rank == 0 else to
        expect_error("elastic_mpi.move_items: there are not as many", elastic.move_items, w, surplus, self.items)
        expect_error("nothing has moved", elastic.move_items, w, [w.new_size] * len(to), self.items, self.marks)
        short = array.array("d", [1.0])
        expect_error("elastic_mpi.move_box: field 'short': part 0, of box [", elastic.move_box, w, "short", short, line, [1], [1])
        expect_error("needed with nodes and ghost layers is", elastic.move_box, w, "short", short, line, [1], [1])
        assert list(self.items) == before
        arrays = [self.items, self.marks] + ([self.vectors] if numpy else [])
        self.items, self.marks, *vectors = elastic.move_items(w, to, *arrays)
        self.line = elastic.move_box(w, "line", self.line, line, ghost=[1], nodes=[1])
        if numpy:
            self.vectors = vectors[0]
            self.plate = elastic.move_box(w, "plate", self.plate, plate, ghost=[1, 2])
            self.stripes = elastic.move_box(w, "stripes", self.stripes, stripes)
        assert w.status != elastic.LEAVING or (len(self.items) == 0 and len(self.line) == 0)

    def check(self):
        rank, size = elastic.rank(), elastic.size()
        assert sorted(self.items) == [i for i in range(ITEMS) if home(i, size) == rank], "items"
        assert list(self.marks) == [i % 251 for i in self.items], "marks"
        low, high = line(rank, size)
        assert list(self.line)[1:-1] == list(range(low[0], high[0] + 1)), "line"
        if numpy:
            assert (self.vectors == [[i, 2.0 * i] for i in self.items]).all() and len(self.vectors) == len(self.items)
            expected = self.cells(rank, size)
            assert self.plate.shape == expected.shape and (self.plate[1:-1, 2:-2] == expected[1:-1, 2:-2]).all(), "plate"
            first, end = self.columns(rank, size)
            assert self.stripes.tolist() == [[r * N + c for c in range(first, end)] for r in range(2)], "stripes"


class Logs:
    """Two output files, text and bytes, which the last rank continues when their owner leaves."""

    def __init__(self, joining):
        has = not joining and elastic.rank() == 0
        self.text = open("log", "x", encoding="utf-16", buffering=1) if has else None
        self.raw = open("raw_log", "ab", buffering=0) if has else None
        self.lines = 0

    def move(self, w):
        successor = w.new_size - 1
        expect_error("no rank of the new world", w.file, None, w.new_size)
        expect_error("several processes", w.file, sys.stderr)
        if w.new_rank_of[0] < 0:
            ended = open("ended", "w") if w.old_rank == 0 else None
            if ended:
                os.unlink("ended")
            expect_error("cannot be", w.file, ended, successor)
            assert ended is None or ended.closed
        self.text, self.raw = w.file(self.text, successor), w.file(self.raw, successor)
        assert w.status != elastic.LEAVING or self.text is None and self.raw is None

    def write(self, epoch):
        self.lines += 1
        if self.text and self.raw:
            self.text.write(f"after window {epoch}: ü\n")
            self.raw.write(b"%d\n" % epoch)
            assert self.text.line_buffering
            with open("log", encoding="utf-16") as text:
                assert text.read() == "".join(f"after window {k + 1}: ü\n" for k in range(epoch)), "text"
            with open("raw_log", "rb") as raw:
                assert raw.read() == b"".join(b"%d\n" % (k + 1) for k in range(epoch)), "bytes"


def check(data):
    mine = owned(elastic.rank(), elastic.size())
    for name in ("block", "cyclic", "user", "same"):
        assert list(data[name]) == mine[name], name
    assert list(data["bytes"]) == [i % 251 for i in mine["bytes"]]
    first = elastic.rank()
    length = 1 if first < elastic.size() - 1 else N - elastic.size() + 1
    assert list(data["uneven"]) == list(range(first, first + length)), "uneven"
    if numpy:
        assert (data["matrix"] == matrix(mine["block"])).all() and data["matrix"].shape == (len(mine["block"]), COLUMNS)


def expect_error(word, call, *words):
    try:
        call(*words)
    except elastic.Error as failure:
        assert word in str(failure), f"{word} is not in: {failure}"
    else:
        raise AssertionError(f"no error: {word}")


def adapt(data, parts, logs, epoch):
    """The next epoch, or None: there was no window."""
    leaves = is_as_reported = False

    def moves(w):
        nonlocal epoch, leaves
        assert w.new_size == w.staying + w.joining and len(w.new_rank_of) == w.old_size
        assert (w.old_rank < 0) == (w.status == elastic.JOINING)
        epoch, text = w.share([epoch, "x" * 5000])
        assert len(text) == 5000
        wrong = elastic.Data()
        wrong.add("short", array.array("d", [] if w.status == elastic.JOINING else [1.0]), elastic.block(N))
        expect_error("elastic_mpi.Data.move: array 'short'", wrong.move, w)
        expect_error("is invalid", wrong.add, "x", bytearray(), elastic.block(-1))
        expect_error("not writable", wrong.add, "x", b"constant", elastic.block(8))
        expect_error("'short' is registered already", wrong.add, "short", bytearray(), elastic.block(8))
        if numpy:
            expect_error("Python objects", wrong.add, "x", numpy.array([{}] * 8), elastic.block(8))
        other = elastic.Data()
        length = 0 if w.old_rank < 0 else len(elastic.block(N).range(w.old_rank, w.old_size))
        other.add("other", array.array("d", [1.0] * length), elastic.block(N))
        other["other"] = array.array("f", [1.0] * length)
        expect_error("items of 4 bytes, but was registered with items of 8", other.move, w)
        data.start(w)
        expect_error("'block'", w.close)
        while not data.test():
            time.sleep(0.001)
        data.wait()
        expect_error("it has moved in this window already", data.move, w)
        parts.move(w)
        logs.move(w)
        parts.windows = w.sums(parts.windows)
        if w.new_rank == w.new_size - 1:
            parts.windows[0] += 1
        leaves = w.status == elastic.LEAVING
        assert not leaves or len(data["block"]) == 0

    def after(rank, size):
        nonlocal is_as_reported
        is_as_reported = (rank, size) == (elastic.rank(), elastic.size())

    if not elastic.adapt(moves, after):
        return None
    assert is_as_reported, "after was not called with the new rank and size"
    assert not leaves, "a leaving process goes on"
    check(data)
    parts.check()
    logs.write(epoch + 1)
    assert [data.rank("block", rank) for rank in range(elastic.size())] == list(range(elastic.size()))
    assert elastic.block(N).owner(N - 1, elastic.size()) == elastic.size() - 1
    square = elastic.grid(4, 6)
    assert len(square.range(1, 4)) == 6 and square.owner(3, 4) == 1, "grid"
    expect_error("out of range", square.owner, 24, 4)
    assert elastic.size() > 1 or parts.windows == [epoch + 1], "sums"
    return epoch + 1


def main():
    epochs, epoch = int(sys.argv[1]), 0
    joining = elastic.init()
    data = elastic.Data()
    fill(data, joining)
    parts, logs = Pieces(joining), Logs(joining)
    if joining:
        epoch = adapt(data, parts, logs, epoch)
    expect_error("no probe", elastic.window().__enter__)
    expect_error("call it once", elastic.init)
    deadline = time.monotonic() + 90
    while epoch < epochs:
        assert time.monotonic() < deadline, "no adaptation"
        elastic.barrier()
        found = adapt(data, parts, logs, epoch)
        if found is not None:
            epoch = found
            deadline = time.monotonic() + 90
    if elastic.rank() == 0:
        print(f"PASS epoch={epoch} size={elastic.size()}{'' if numpy else ' without NumPy'}")


try:
    main()
except Exception:
    import traceback

    traceback.print_exc()
    sys.stderr.flush()
    ctypes.CDLL(None)._exit(99)

"""elastic_mpi: initialisation, probe, window, shared values, layouts and arrays, with and without NumPy.

Every element tells its number.  What is wrong raises Error on all processes, and the window goes on.  Argument: the
number of adaptations.  SPEC-epop D1 to D4, D6, F1, F3.
"""

import array
import ctypes
import sys
import time

import elastic_mpi as elastic

try:
    import numpy
except ImportError:
    numpy = None

N, COLUMNS = 1003, 3


def split(old_lengths, new_size):
    assert sum(old_lengths) == N
    return [1] * (new_size - 1) + [N - new_size + 1]


def pieces(rank, size):
    return [(first, min(first + 4, N)) for first in range(4 * rank, N, 4 * size)]


def owned(rank, size):
    """Elements by name, as the layouts say."""
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
    empty = {name: [] for name in ("block", "bytes", "cyclic", "user", "same")}
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


def adapt(data, epoch):
    with elastic.window() as w:
        assert w.new_size == w.staying + w.joining and len(w.new_rank_of) == w.old_size
        assert (w.old_rank < 0) == (w.status == elastic.JOINING)
        epoch, text = w.share([epoch, "x" * 5000])
        assert len(text) == 5000
        wrong = elastic.Data()
        wrong.add("short", array.array("d", [] if w.status == elastic.JOINING else [1.0]), elastic.block(N))
        expect_error("'short'", wrong.move, w)
        expect_error("no sense", wrong.add, "x", bytearray(), elastic.block(-1))
        expect_error("not writable", wrong.add, "x", b"constant", elastic.block(8))
        data.start(w)
        expect_error("'block'", w.close)
        data.wait()
        leaves = w.status == elastic.LEAVING
        assert not leaves or len(data["block"]) == 0
    assert not leaves, "a leaving process goes on"
    check(data)
    return epoch + 1


def main():
    epochs, epoch = int(sys.argv[1]), 0
    joining = elastic.init()
    data = elastic.Data()
    fill(data, joining)
    if joining:
        epoch = adapt(data, epoch)
    expect_error("no probe", elastic.window().__enter__)
    deadline = time.monotonic() + 90
    while epoch < epochs:
        assert time.monotonic() < deadline, "no adaptation"
        elastic.barrier()
        if elastic.probe():
            epoch = adapt(data, epoch)
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

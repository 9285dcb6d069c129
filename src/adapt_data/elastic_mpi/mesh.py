"""Rows of a mesh or sparse matrix, ghosts, and items in cells: adapt_mesh.h and adapt_items.h for Python.

Part of elastic_mpi, which has these names, too.  Indices are arrays of integers of 4 or 8 bytes.
"""

from __future__ import annotations

import array as _array
import ctypes
from collections.abc import Sequence
from typing import Any

import elastic_mpi as _elastic

_library = _elastic._library
_library.adapt_python_ghosts_count.restype = ctypes.c_int64


_ROWS, _CELLS = 0, 1


def _agree(window: Any, kind: int, function: str, wrong: str) -> None:
    """The first step: an error of one process is reported by all, before anything moves."""
    error = wrong.encode() if wrong else None
    _elastic._check(_library.adapt_python_agree(window._handle, kind, f"elastic_mpi.{function}".encode(), error))


def _select(values: Any, chosen: Sequence[int]) -> Any:
    """A new array as `values`, of these elements of it."""
    if isinstance(values, bytearray):
        return bytearray(values[i] for i in chosen)
    if isinstance(values, _array.array):
        return _array.array(values.typecode, (values[i] for i in chosen))
    import numpy

    return values[numpy.asarray(chosen, dtype=numpy.intp)]


def _wrong_lists(count: int, first: Any, entries: Sequence[Any]) -> str:
    if first is None:
        return "there are entries, but first is None" if entries else ""
    begins = [int(begin) for begin in first]
    if not (len(begins) == count + 1 and begins[0] == 0) and not (count == 0 and not begins):
        return "first has one number more than there are rows, and begins with 0"
    if any(b < a for a, b in zip(begins, begins[1:])):
        return "first of the rows decreases"
    if any(len(each) != (begins[-1] if begins else 0) for each in entries):
        return "there are not as many entries as in first"
    return ""


def move_rows(
    window: Any, destination: Sequence[int], numbers: Any, first: Any = None, entries: Sequence[Any] = (), *values: Any
) -> tuple[Any, ...]:
    """Row i, with its entries, goes to the rank destination[i] of the new world.

    numbers: the global number of each row.  first: its entries are first[i] <= k < first[i + 1] of each array in `entries`
    (None: there are none).  values: arrays with one element for each row.  A joining process gives arrays of length 0.  Returns
    the new (numbers, first, entries, *values), with the rows in the order of their numbers.
    """
    wrong = "" if window.old_rank < 0 else _wrong_lists(len(numbers), first, entries)
    if len(destination) != len(numbers) or any(len(each) != len(numbers) for each in values):
        wrong = "there are not as many destinations, or values, as rows"
    elif any(not 0 <= rank < window.new_size for rank in destination):
        wrong = "the destination of a row is no rank of the new world"
    _agree(window, _ROWS, "move_rows", wrong)
    begins = [0] if first is None or window.old_rank < 0 or len(first) == 0 else [int(begin) for begin in first]
    rows = len(numbers) if window.old_rank >= 0 else 0
    has_lists = first is not None
    lengths = _array.array("q", (begins[i + 1] - begins[i] if has_lists else 0 for i in range(rows)))
    to_entry = [rank for rank, length in zip(destination, lengths) for _ in range(length)]
    numbers, lengths, *values_now = _elastic.move_items(window, list(destination), numbers, lengths, *values)
    order = sorted(range(len(numbers)), key=lambda i: int(numbers[i]))
    entries_now: tuple[Any, ...] = tuple(entries)
    if entries_now:
        entries_now = _elastic.move_items(window, to_entry, *entries_now)
        begin, at = [], 0
        for length in lengths:
            begin.append(at)
            at += length
        each = [k for i in order for k in range(begin[i], begin[i] + lengths[i])]
        entries_now = tuple(_select(entry, each) for entry in entries_now)
    new_first = None
    if first is not None:
        new_first = _elastic._of_length(first, len(order) + 1)
        at = 0
        new_first[0] = 0
        for k, i in enumerate(order):
            at += lengths[i]
            new_first[k + 1] = at
    return (_select(numbers, order), new_first, entries_now, *(_select(value, order) for value in values_now))


class Ghosts:
    """The rows of other processes that the entries of this one name.

    Replaces the global numbers in `entry` by local ones: those of ghosts follow those of the rows.  Of one world: freed, or
    restored, before the window.  Collective.
    """

    def __init__(self, numbers: Any, entry: Any, comm: int | None = None) -> None:
        self._handle = ctypes.c_void_p()
        sizes = {memoryview(each).itemsize for each in (numbers, entry)}
        if sizes not in ({4}, {8}):
            raise _elastic.Error(_elastic._ERR_ARG, "elastic_mpi.Ghosts: indices have 4 or 8 bytes, the same in both arrays")
        self._bytes, self.rows = sizes.pop(), len(numbers)
        world = _elastic._world()[2] if comm is None else comm
        with _elastic._Call("Ghosts"):
            _elastic._check(
                _library.adapt_python_ghosts_create(
                    world, self._bytes, ctypes.c_int64(len(numbers)), ctypes.c_void_p(_elastic._address(numbers)),
                    ctypes.c_int64(len(entry)), ctypes.c_void_p(_elastic._address(entry)), ctypes.byref(self._handle),
                )
            )  # fmt: skip
        self.count = int(_library.adapt_python_ghosts_count(self._handle))
        global_numbers, owners = (ctypes.c_int64 * max(self.count, 1))(), (ctypes.c_int * max(self.count, 1))()
        _library.adapt_python_ghosts_get(self._handle, global_numbers, owners)
        self.numbers, self.owner = tuple(global_numbers[: self.count]), tuple(owners[: self.count])

    def update(self, values: Any) -> None:
        """values: of all rows, then of all ghosts; those of ghosts become their owners'."""
        needed = self.rows + self.count
        if len(values) < needed:
            raise _elastic.Error(_elastic._ERR_ARG, "elastic_mpi.Ghosts.update: there are fewer values than rows and ghosts")
        width = ctypes.c_int64(_elastic._item_bytes(values))
        with _elastic._Call("Ghosts.update"):
            _elastic._check(
                _library.adapt_python_ghosts_update(self._handle, ctypes.c_void_p(_elastic._address(values)), width)
            )  # fmt: skip

    def restore(self, entry: Any) -> None:
        """Back to global numbers."""
        with _elastic._Call("Ghosts.restore"):
            _elastic._check(
                _library.adapt_python_ghosts_restore(
                    self._handle, self._bytes, ctypes.c_int64(len(entry)), ctypes.c_void_p(_elastic._address(entry))
                )
            )  # fmt: skip

    def free(self) -> None:
        """Before the commit that ends the world; collective."""
        _elastic._check(_library.MPIX_Ghosts_free(ctypes.byref(self._handle)))


def move_cells(window: Any, count: Sequence[int], destination: Any, *arrays: Any) -> tuple[Any, ...]:
    """Items in cells with gaps: item j of cell c is array[c][j] of each (NumPy) array, for j < count[c].

    destination[c][j]: a rank of the new world; negative where the item is a copy of another process', which is dropped.  Returns
    the items of this process without cells, side by side; the program puts them into its new cells.  A joining process gives
    arrays with 0 cells.
    """
    used, to = [], []
    wrong = "" if all(len(each) == len(count) == len(destination) for each in arrays) else "arrays have not as many cells as count"
    for cell, many in enumerate(count if not wrong else ()):
        if not 0 <= many <= len(destination[cell]):
            wrong = "a cell has a negative number of items, or more than slots"
            break
        for slot in range(many):
            if destination[cell][slot] >= 0:
                used.append((cell, slot))
                to.append(int(destination[cell][slot]))
    _agree(window, _CELLS, "move_cells", wrong)
    cells, slots = [cell for cell, _ in used], [slot for _, slot in used]
    packed = [each[cells, slots] for each in arrays]
    return _elastic.move_items(window, to, *packed)

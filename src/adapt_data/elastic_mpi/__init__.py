"""Elastic MPI programs in Python: MPI.COMM_WORLD grows and shrinks while they run.

    import elastic_mpi as elastic

    joining = elastic.init()                    # instead of mpi4py's own MPI_Init
    data = elastic.Data()
    data.add("u", numpy.zeros((0 if joining else mine, columns)), elastic.block(rows))
    step = 0

    def adapt():
        global step
        with elastic.window() as w:             # a process that leaves ends here, by SystemExit
            data.move(w)                        # data["u"] is the new part
            step = w.share(step)                # of rank 0 of the old world

    if joining:
        adapt()
    while step < steps:
        ...
        step += 1
        if elastic.probe():
            adapt()

Arrays are whatever has a writable C-contiguous buffer and is made anew for another length: NumPy arrays, array.array,
bytearray.  The first dimension is split; an element is what one index of it has.  Messages between windows are mpi4py's:
`MPI = elastic.load_mpi4py()`.  Errors are exceptions of type Error.  Not for several threads at once.
"""

from __future__ import annotations

import array as _array
import atexit
import contextlib
import ctypes
import io
import os
import pickle
import re
import sys
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

_library: ctypes.CDLL = ctypes.CDLL(str(Path(__file__).resolve().parent / "_adapt_data.so"))
_library.MPIX_Adapt_data_message.restype = ctypes.c_char_p
_library.MPIX_Adapt_data_call_as.restype = ctypes.c_char_p

_classes = (ctypes.c_int * 4)()
_library.adapt_python_classes(_classes)
_ERR_ARG, _ERR_IO, _ERR_NO_MEM, _ERR_OTHER = _classes  # of these the library has a message
ALL_ARRAYS = -1


class Error(Exception):
    """A call has failed; `error_class` is the error class of MPI."""

    def __init__(self, error_class: int, message: str) -> None:
        super().__init__(message)
        self.error_class = error_class


def _check(code: int) -> None:
    if code == 0:
        return
    if code in (_ERR_ARG, _ERR_IO, _ERR_NO_MEM):
        raise Error(code, _library.MPIX_Adapt_data_message().decode("utf-8", "replace"))
    text = ctypes.create_string_buffer(_library.adapt_python_error_length() + 1)
    error_class = _library.adapt_python_error(code, text)
    raise Error(error_class, text.value.decode("utf-8", "replace"))


class _Call:
    """While it exists, errors name the function that the program has called, and why a part does not fit."""

    def __init__(self, function: str) -> None:
        self._name = ctypes.create_string_buffer(f"elastic_mpi.{function}".encode())
        self._misfit: Any = None

    def __enter__(self) -> _Call:
        _library.MPIX_Adapt_data_call_as(self._name)
        return self

    def __exit__(self, *_failure: object) -> None:
        _library.MPIX_Adapt_data_call_as(None)
        _library.MPIX_Adapt_data_misfit(None)

    def misfit(self, why: str) -> None:
        self._misfit = ctypes.create_string_buffer(why.encode())
        _library.MPIX_Adapt_data_misfit(self._misfit)


# ---- initialisation and probe -----------------------------------------------------------------

_statuses = (ctypes.c_int * 3)()
_library.adapt_python_statuses(_statuses)
JOINING, STAYING, LEAVING = _statuses

_status: int | None = None  # of this process, for the next window; None: there is none to open


def init() -> bool:
    """Initialises MPI; returns whether this process joins: then its first action is the window."""
    global _status
    is_initialized = ctypes.c_int()
    _check(_library.MPI_Initialized(ctypes.byref(is_initialized)))
    if is_initialized.value or "mpi4py.MPI" in sys.modules:
        raise Error(_ERR_OTHER, "elastic_mpi.init: call it once, and before `from mpi4py import MPI`")
    # A process that leaves returns from commit and ends as Python programs do.
    os.environ["MPIR_CVAR_ADAPT_LEAVERS_RETURN"] = "1"
    try:
        import mpi4py
    except ImportError:
        pass
    else:
        mpi4py.rc.initialize = mpi4py.rc.finalize = False
    status = ctypes.c_int()
    _check(_library.adapt_python_init(ctypes.byref(status)))
    atexit.register(finalize)
    _status = status.value if status.value == JOINING else None
    return status.value == JOINING


def _mpicc() -> str:
    beside = Path(__file__).resolve().parents[3] / "bin" / "mpicc"
    return str(beside) if beside.is_file() else "mpicc"


def load_mpi4py() -> Any:
    """mpi4py's module MPI, after init().

    An mpi4py that is linked with another MPI knows nothing of this job, and ends it at its first call; here it raises Error.
    """
    try:
        from mpi4py import MPI

        version = MPI.Get_library_version().splitlines()[0]
        problem = "" if MPI.Is_initialized() else f"it is linked with another MPI, {version}"
    except ImportError as failure:
        problem = str(failure)
    if problem:
        advice = f"MPICC={_mpicc()} python3 -m pip install --no-binary=mpi4py mpi4py"
        raise Error(_ERR_OTHER, f"elastic_mpi: mpi4py cannot be used: {problem}. Compile one with this MPI: {advice}")
    return MPI


_all_data: weakref.WeakSet[Data] = weakref.WeakSet()
_is_finalized = False


def finalize() -> None:
    """Calls MPI_Finalize, if that has not been called; called automatically at the end of the program."""
    global _is_finalized
    if _is_finalized or getattr(sys, "last_type", None) is not None:  # after an exception the others do not come to it
        return
    for data in list(_all_data):
        data.free()
    _is_finalized = True
    _check(_library.adapt_python_finalize())


def probe() -> bool:
    """Returns whether the window is to be opened now; all processes call it equally often."""
    global _status
    pending, status = ctypes.c_int(), ctypes.c_int()
    _check(_library.adapt_python_probe(ctypes.byref(pending), ctypes.byref(status)))
    _status = status.value if pending.value else None
    return bool(pending.value)


def _world() -> tuple[int, int, int]:
    values = (ctypes.c_int(), ctypes.c_int(), ctypes.c_int())
    _check(_library.adapt_python_world(*map(ctypes.byref, values)))
    return values[0].value, values[1].value, values[2].value


def rank() -> int:
    return _world()[0]


def size() -> int:
    return _world()[1]


def sizes(rule: str) -> None:
    """Sets the numbers of processes that the program can use, as "square" or "1,2-64&multiple:2"; after init()."""
    _check(_library.adapt_python_sizes(rule.encode()))


def barrier() -> None:
    """Of MPI_COMM_WORLD."""
    _check(_library.adapt_python_barrier(_world()[2]))


# ---- the window -------------------------------------------------------------------------------


class _Numbers(ctypes.Structure):
    """struct fortran_window"""

    _fields_ = [
        (name, ctypes.c_int)
        for name in ("status", "staying", "leaving", "joining", "old_size", "new_size", "old_rank", "new_rank",
                     "old_world", "intercomm", "new_world", "all")
    ]  # fmt: skip


class Window:
    """An open window: counts, ranks, and communicators as integers (mpi4py: `comm`)."""

    def __init__(self, status: int) -> None:
        self._numbers = _Numbers()
        self._handle = ctypes.c_void_p()
        with _Call("window"):
            _check(_library.adapt_fortran_open(status, ctypes.byref(self._numbers), ctypes.byref(self._handle)))
        ranks = (ctypes.c_int * max(self._numbers.old_size, 1))()
        _library.adapt_fortran_new_ranks(self._handle, ranks)
        self.new_rank_of = tuple(ranks[: self._numbers.old_size])

    status: int
    staying: int
    leaving: int
    joining: int
    old_size: int
    new_size: int
    old_rank: int
    new_rank: int
    old_world: int
    intercomm: int
    new_world: int
    all: int  # old processes by old rank, then the joining ones

    def __getattr__(self, name: str) -> int:
        if name.startswith("_"):
            raise AttributeError(name)
        return int(getattr(self._numbers, name))

    def comm(self, handle: int) -> Any:
        """mpi4py's communicator of one of these integers."""
        return load_mpi4py().Comm.f2py(handle)

    def _broadcast(self, value: Any, teller: int) -> Any:
        """Sends the value of the process of that old rank to all."""
        text = pickle.dumps(value) if self.old_rank == teller else b""
        with _Call("Window.share"):
            _check(_library.MPIX_Adapt_data_agree(self._handle, ctypes.c_int64(-1)))
        length = ctypes.c_int64(len(text))
        _check(_library.adapt_python_bcast(ctypes.byref(length), ctypes.c_int64(8), teller, self.all))
        buffer = ctypes.create_string_buffer(text, length.value) if text else ctypes.create_string_buffer(length.value)
        _check(_library.adapt_python_bcast(buffer, length, teller, self.all))
        return pickle.loads(buffer.raw)

    def share(self, value: Any) -> Any:
        """The value of rank 0 of the old world, which can be pickled; collective over all processes."""
        return self._broadcast(value, 0)

    def sums(self, values: Sequence[float]) -> list[float]:
        """Adds the values of leaving processes to those of new rank 0: the sums over all ranks are preserved."""
        numbers = (ctypes.c_double * len(values))(*values)
        with _Call("Window.sums"):
            _check(_library.MPIX_Adapt_sums(self._handle, len(values), numbers))
        return list(numbers)

    def file(self, file: Any, successor: int = 0) -> Any:
        """If the process that has an output file open leaves, that of new rank `successor` continues it.

        Its process gives it, as open() has made it, all others None; what comes back is theirs from then on.  If it
        cannot be closed or opened, Error on all processes, of class MPI_ERR_IO, and nobody has it.
        """
        owner = ctypes.c_int()
        _check(_library.adapt_python_file_owner(self._handle, file is not None, successor, ctypes.byref(owner)))
        if owner.value < 0:
            return file
        handed, failure = (None, None) if file is None else _close_for_successor(file)
        handed = self._broadcast(handed, owner.value)
        opened = None
        if handed is not None and self.new_rank == successor:
            opened, failure = _open_as_successor(handed)
        code = _library.adapt_python_file_end(self._handle, failure is not None)
        if code and failure is not None:
            print(f"elastic_mpi.Window.file: {failure}", file=sys.stderr)
        if code and opened is not None:
            opened.close()
        _check(code)
        return opened

    def close(self) -> None:
        """Commit.  If it fails the window is open as before."""
        _check(_library.adapt_fortran_close(ctypes.byref(self._numbers), ctypes.byref(self._handle)))


def _close_for_successor(file: Any) -> tuple[dict[str, Any] | None, Exception | None]:
    """How another process opens it and where it continues, or what has failed."""
    try:
        is_text = isinstance(file, io.TextIOBase)
        mode = ("a" if "a" in file.mode else "r+") + ("" if is_text else "b")
        words: dict[str, Any] = {"file": os.path.abspath(os.fsdecode(file.name)), "mode": mode}
        if is_text:
            words |= {"encoding": file.encoding, "errors": file.errors, "buffering": 1 if file.line_buffering else -1}
        elif isinstance(file, io.RawIOBase):
            words["buffering"] = 0
        position = file.tell()
        file.close()
    except (OSError, AttributeError, TypeError, ValueError) as failure:
        with contextlib.suppress(Exception):
            file.close()
        return None, failure
    return {"words": words, "position": position}, None


def _open_as_successor(handed: dict[str, Any]) -> tuple[Any, Exception | None]:
    try:
        file = open(**handed["words"])
        file.seek(handed["position"])
    except (OSError, LookupError, ValueError) as failure:
        return None, failure
    return file, None


class window:  # noqa: N801 (used as a function)
    """`with elastic.window() as w:`; after a probe that was true, or on a joining process."""

    def __enter__(self) -> Window:
        global _status
        if _status is None:
            raise Error(_ERR_ARG, "elastic_mpi.window: no probe has returned TRUE")
        status, _status = _status, None
        self._window = Window(status)
        return self._window

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:  # a window cannot be undone
            import traceback

            traceback.print_exception(kind, value, trace)
            sys.stderr.flush()
            _library.MPI_Abort(_world()[2], 1)
        self._window.close()
        if self._window.status == LEAVING:
            finalize()
            raise SystemExit(0)


def adapt(moves: Callable[[Window], None], after: Callable[[int, int], None] | None = None) -> bool:
    """The line for the main loop: a probe and, where it is TRUE, a window with moves(window).

    Then after(rank, size) is called, in the new world: for communicators, neighbours and what else follows from them.  True: the
    world has changed.  A joining process calls it before the loop.
    """
    if _status is None and not probe():
        return False
    with window() as opened:
        moves(opened)
    if after is not None:
        after(opened.new_rank, opened.new_size)
    return True


# ---- layouts ----------------------------------------------------------------------------------

_SPLIT = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_int64), ctypes.c_int, ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p
)
_PIECES = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64),
    ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p,
)  # fmt: skip


class _Layout(ctypes.Structure):
    """MPIX_Adapt_layout"""

    _fields_ = [
        ("kind", ctypes.c_int), ("n", ctypes.c_int64), ("block", ctypes.c_int64), ("rows", ctypes.c_int64),
        ("columns", ctypes.c_int64), ("mine", ctypes.c_int64), ("split", ctypes.c_void_p),
        ("pieces", ctypes.c_void_p), ("state", ctypes.c_void_p),
    ]  # fmt: skip


class Layout:
    """The owners of elements."""

    def __init__(self, function: str, *numbers: int, callback: Any = None, irregular: bool = False) -> None:
        made = getattr(_library, function)
        made.restype = _Layout
        words: list[Any] = [ctypes.c_int64(number) for number in numbers]
        if callback is not None:
            words += [callback, ctypes.c_void_p(None)]
        self.it: _Layout = made(*words)
        self.irregular = irregular
        self._callback = callback  # lives as long as the layout does

    def range(self, position: int, of: int) -> range:
        """The elements of a position, where parts are consecutive."""
        first = ctypes.c_int64()
        query = _library.MPIX_Layout_range
        query.restype = ctypes.c_int64
        count = query(ctypes.byref(self.it), position, of, ctypes.byref(first))
        if count < 0:
            raise Error(_ERR_ARG, "elastic_mpi.Layout.range: out of range, or not known of this layout")
        return range(first.value, first.value + count)

    def owner(self, element: int, of: int) -> int:
        """The position, of so many, that an element is in."""
        position = int(_library.MPIX_Layout_owner(ctypes.byref(self.it), of, ctypes.c_int64(element)))
        if position < 0:
            raise Error(_ERR_ARG, "elastic_mpi.Layout.owner: out of range, or not known of this layout")
        return position


def block(n: int) -> Layout:
    return Layout("MPIX_Layout_block", n)


def block_free(n: int) -> Layout:
    return Layout("MPIX_Layout_block_free", n)


def block_cyclic(n: int, block: int) -> Layout:
    return Layout("MPIX_Layout_block_cyclic", n, block)


def grid(rows: int, columns: int) -> Layout:
    """Blocks of a matrix on a square of positions; an element is an entry, and a part is stored by rows, in one dimension."""
    return Layout("MPIX_Layout_grid", rows, columns)


def same(n: int) -> Layout:
    return Layout("MPIX_Layout_same", n)


def irregular(split: Callable[[Sequence[int], int], Sequence[int]]) -> Layout:
    """A part is as long as its array; split(old_lengths, new_size) returns the new lengths."""

    def call(old_size: int, old: Any, new_size: int, new: Any, _state: Any) -> int:
        try:
            lengths = list(split(old[:old_size], new_size))
            if len(lengths) != new_size:
                return 1
            for k, length in enumerate(lengths):
                new[k] = length
        except Exception as failure:  # no exception crosses C: the window refuses the array
            print(f"elastic_mpi: split: {failure!r}", file=sys.stderr)
            return 1
        return 0

    return Layout("MPIX_Layout_irregular", 0, callback=_SPLIT(call), irregular=True)


def user(pieces: Callable[[int, int], Sequence[tuple[int, int]]]) -> Layout:
    """pieces(rank, size): its elements as intervals (low, high), in increasing order."""

    def call(rank: int, size: int, most: int, low: Any, high: Any, _state: Any) -> int:
        try:
            found = list(pieces(rank, size))
            for k, (first, end) in enumerate(found[:most]):
                low[k], high[k] = first, end
            return len(found)
        except Exception as failure:
            print(f"elastic_mpi: pieces: {failure!r}", file=sys.stderr)
            return -1

    return Layout("MPIX_Layout_user", callback=_PIECES(call))


# ---- data -------------------------------------------------------------------------------------

_GROW = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
_RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class _Memory(ctypes.Structure):
    """MPIX_Adapt_memory"""

    _fields_ = [("grow", _GROW), ("release", _RELEASE), ("state", ctypes.c_void_p)]


def _address(array: Any) -> int | None:
    """Of a buffer that can be written; None: it is empty."""
    view = memoryview(array)
    if view.readonly or not view.c_contiguous:
        raise Error(_ERR_ARG, "elastic_mpi.Data: an array is not writable, or not contiguous")
    if "O" in re.sub(":[^:]*:", "", view.format):  # without the names of a structure's members
        raise Error(_ERR_ARG, "elastic_mpi.Data: an array holds Python objects (dtype=object): only their addresses would move")
    if view.nbytes == 0:
        return None
    return ctypes.addressof((ctypes.c_char * view.nbytes).from_buffer(array))


def _of_length(like: Any, count: int) -> Any:
    """A new array as `like`, with another first dimension."""
    if isinstance(like, bytearray):
        return bytearray(count)
    if isinstance(like, _array.array):
        return _array.array(like.typecode, bytes(count * like.itemsize))
    import numpy

    return numpy.empty((count, *like.shape[1:]), dtype=like.dtype)


class _Entry:
    def __init__(self, array: Any, layout: Layout) -> None:
        view = memoryview(array)
        if view.ndim < 1:
            raise Error(_ERR_ARG, "elastic_mpi.Data.add: an array has a first dimension")
        _address(array)
        self.array, self.layout = array, layout
        self.bytes = _item_bytes(array)
        self.base = ctypes.c_void_p(_address(array))
        self.former = self.base.value
        self.fresh: Any = None
        self.number = -1
        self.memory = _Memory(_GROW(self._grow), _RELEASE(self._release), None)

    def _grow(self, count: int, _state: Any) -> int | None:
        try:
            self.fresh = _of_length(self.array, count)
            return _address(self.fresh)
        except (MemoryError, ValueError):
            return None

    def _release(self, part: int, _state: Any) -> None:
        if self.fresh is not None and part == _address(self.fresh):
            self.fresh = None

    def complete(self) -> None:
        if self.base.value is None:
            self.array = _of_length(self.array, 0)
        elif self.base.value != self.former:
            self.array = self.fresh
        self.fresh = None


class Data:
    """The arrays that make up a program's distributed state; data[name] is this process' part of one."""

    def __init__(self) -> None:
        self._handle = ctypes.c_void_p()
        self._entries: dict[str, _Entry] = {}
        _check(_library.MPIX_Adapt_data_create(ctypes.byref(self._handle)))
        _all_data.add(self)

    def free(self) -> None:
        """The arrays remain; called automatically when the object is deleted, and before MPI_Finalize."""
        if self._handle.value and not _is_finalized:
            _check(_library.MPIX_Adapt_data_free(ctypes.byref(self._handle)))

    def __del__(self) -> None:
        try:
            self.free()
        except Error:  # an array has been started and not waited for
            pass

    def add(self, name: str, array: Any, layout: Layout) -> None:
        """A joining process gives an array of length 0 of the same type and shape."""
        if name in self._entries:
            raise Error(_ERR_ARG, f"elastic_mpi.Data.add: {name!r} is registered already")
        entry = _Entry(array, layout)
        number = ctypes.c_int()
        _check(
            _library.adapt_python_add(
                self._handle, name.encode(), ctypes.byref(entry.base), entry.bytes, ctypes.byref(layout.it),
                ctypes.byref(entry.memory), ctypes.byref(number),
            )
        )  # fmt: skip
        entry.number = number.value
        self._entries[name] = entry

    def __getitem__(self, name: str) -> Any:
        return self._entries[name].array

    def __setitem__(self, name: str, array: Any) -> None:
        """The program's own new array instead of the old one."""
        self._entries[name].array = array

    def start(self, window: Window) -> None:
        """Until wait() the arrays are not touched."""
        with _Call("Data.move") as call:
            for name, entry in self._entries.items():
                length = len(entry.array)
                count = ctypes.c_int64(length)
                if entry.layout.irregular:
                    _check(_library.MPIX_Adapt_data_set_count(self._handle, entry.number, count))
                elif window.status != JOINING:
                    _check(_library.MPIX_Adapt_data_count(self._handle, entry.number, ctypes.byref(count)))
                # another length than the layout has is refused by all processes, like a part that is missing
                item = _item_bytes(entry.array)
                fits = count.value == length and item == entry.bytes
                entry.base.value = entry.former = _address(entry.array) if fits else None
                if item != entry.bytes:
                    call.misfit(f"{name!r} has items of {item} bytes, but was registered with items of {entry.bytes}")
                elif not fits:
                    call.misfit(f"{name!r} has length {length}, its layout {count.value} for this process")
            _check(_library.MPIX_Adapt_data_start(self._handle, window._handle, ALL_ARRAYS))

    def test(self) -> bool:
        """Makes progress with started moves; returns whether they are complete, so that wait() returns at once."""
        done, all_done = ctypes.c_int(), True
        for entry in self._entries.values():
            _check(_library.MPIX_Adapt_data_test(self._handle, entry.number, ctypes.byref(done)))
            all_done = all_done and bool(done.value)
        return all_done

    def wait(self) -> None:
        _check(_library.MPIX_Adapt_data_wait(self._handle, ALL_ARRAYS))
        for entry in self._entries.values():
            entry.complete()

    def move(self, window: Window) -> None:
        self.start(window)
        self.wait()

    def position(self, name: str, rank: int) -> int:
        """Of a rank in the present world: the same number, but for block_free and grid."""
        position = ctypes.c_int()
        _check(_library.MPIX_Adapt_data_position(self._handle, self._entries[name].number, rank, ctypes.byref(position)))
        return position.value

    def rank(self, name: str, position: int) -> int:
        """The rank that has this position."""
        rank = ctypes.c_int()
        _check(_library.MPIX_Adapt_data_rank(self._handle, self._entries[name].number, position, ctypes.byref(rank)))
        return rank.value


# ---- boxes ------------------------------------------------------------------------------------

_AXES = 3

Box = tuple[Sequence[int], Sequence[int]]  # cells low[a] <= i < high[a] of each axis


class _Box(ctypes.Structure):
    """MPIX_Box"""

    _fields_ = [("low", ctypes.c_int64 * _AXES), ("high", ctypes.c_int64 * _AXES)]


_BOXES = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.POINTER(_Box), ctypes.c_void_p)


def _box(low: Sequence[int], high: Sequence[int]) -> _Box:
    unused = _AXES - len(low)
    return _Box((ctypes.c_int64 * _AXES)(*low, *[0] * unused), (ctypes.c_int64 * _AXES)(*high, *[1] * unused))


def even(low: Sequence[int], high: Sequence[int]) -> Callable[[int, int], Box]:
    """A function for move_box: the domain from low to before high, cut evenly, one box for each rank."""
    domain = _box(low, high)

    def cut(rank: int, size: int) -> Box:
        found = _Box()
        _library.MPIX_Boxes_even(rank, size, 1, ctypes.byref(found), ctypes.byref(domain))
        return tuple(found.low[: len(low)]), tuple(found.high[: len(low)])

    return cut


def _zeros(like: Any, shape: Sequence[int]) -> Any:
    if isinstance(like, (bytearray, _array.array)):
        return _of_length(like, shape[0])
    import numpy

    return numpy.zeros(shape, dtype=like.dtype)


def move_box(
    window: Window, name: str, array: Any, boxes: Callable[[int, int], Box],
    ghost: Sequence[int] | None = None, nodes: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """The new part of a field of which each rank has one box: boxes(rank, size) returns its bounds.

    An array has as many dimensions as the boxes have axes, on a joining process with any shape; `ghost` layers are stored
    around, and where `nodes` is 1 there are values on the sides of cells, too.  New ghost layers are 0.
    """
    axes = memoryview(array).ndim
    if not 1 <= axes <= _AXES:
        raise Error(_ERR_ARG, "elastic_mpi.move_box: an array has one to three dimensions")
    around, sides = list(ghost or [0] * axes), list(nodes or [0] * axes)
    fresh: list[Any] = []

    def shape_of(rank: int, size: int) -> tuple[int, ...]:
        low, high = boxes(rank, size)
        empty = any(low[a] >= high[a] for a in range(axes))
        return tuple(0 if empty else high[a] - low[a] + sides[a] + 2 * around[a] for a in range(axes))

    def call(rank: int, size: int, most: int, found: Any, _state: Any) -> int:
        try:
            if most > 0:
                found[0] = _box(*boxes(rank, size))
            return 1
        except Exception as failure:  # no exception crosses C: all processes refuse it
            print(f"elastic_mpi: boxes: {failure!r}", file=sys.stderr)
            return -1

    def grow(_count: int, _state: Any) -> int | None:
        try:
            fresh.append(_zeros(array, shape_of(window.new_rank, window.new_size)))
            return _address(fresh[0])
        except (MemoryError, ValueError):
            return None

    fits, misfit = False, "nodes and ghost have as many numbers as the array has dimensions"
    if window.old_rank >= 0 and len(around) == len(sides) == axes:
        shape, needed = memoryview(array).shape, shape_of(window.old_rank, window.old_size)
        fits, misfit = shape == needed, f"has the shape {shape}, needed with nodes and ghost layers is {needed}"
    part = ctypes.c_void_p(_address(array) if fits else None)  # what does not fit is refused by all, like what is missing
    former = part.value
    memory = _Memory(_GROW(grow), _RELEASE(lambda _part, _state: None), None)
    numbers = [(ctypes.c_int * _AXES)(*(each + [0] * _AXES)[:_AXES]) for each in (sides, around)]
    with _Call("move_box") as now:
        if not fits:
            now.misfit(misfit)
        _check(
            _library.adapt_python_box_move(
                window._handle, name.encode(), axes, memoryview(array).itemsize, _BOXES(call), *numbers,
                ctypes.byref(memory), ctypes.byref(part),
            )
        )  # fmt: skip
    if part.value is None:
        return _zeros(array, (0,) * axes)
    return array if part.value == former else fresh[0]


# ---- items ------------------------------------------------------------------------------------


def _item_bytes(array: Any) -> int:
    view = memoryview(array)
    product = view.itemsize
    for length in (view.shape or ())[1:]:
        product *= length
    return product


def move_items(window: Window, destination: Sequence[int], *arrays: Any) -> tuple[Any, ...]:
    """Item i, array[i] of each array, goes to the rank destination[i] of the new world; the new arrays.

    Staying items come first, then received ones, in the same order in all of them.  The old arrays are used up.
    """
    columns, count = len(arrays), ctypes.c_int64(len(destination))
    ranks = (ctypes.c_int * max(count.value, 1))(*destination)
    fits = all(len(array) == count.value for array in arrays)
    if not fits:
        count.value = max(count.value, 1)  # refused by all, for there are no destinations
    bases = (ctypes.c_void_p * max(columns, 1))(*map(_address, arrays))
    sizes = (ctypes.c_int * max(columns, 1))(*map(_item_bytes, arrays))
    come, items = ctypes.c_int64(), (ctypes.c_void_p * max(columns, 1))()
    try:
        with _Call("move_items") as call:
            if not fits:
                call.misfit("there are not as many destinations as items")
            _check(
                _library.adapt_python_items_move(
                    window._handle, ctypes.byref(count), ranks if fits else None, columns, bases, sizes, items, ctypes.byref(come)
                )
            )
        fresh = []
        for k, array in enumerate(arrays):
            made = _of_length(array, count.value + come.value)
            to, retained = _address(made), count.value * sizes[k]
            if to is not None and retained > 0:
                ctypes.memmove(to, ctypes.c_void_p(bases[k]), retained)
            if to is not None and come.value > 0:
                ctypes.memmove(to + retained, ctypes.c_void_p(items[k]), come.value * sizes[k])
            fresh.append(made)
        return tuple(fresh)
    finally:
        for part in items:
            _library.adapt_python_free(ctypes.c_void_p(part))


from elastic_mpi.mesh import Ghosts, move_cells, move_rows  # noqa: E402 (it needs what is above)

"""See __init__.py.  STANDIN_FOREIGN in the environment: as an mpi4py that is linked with another MPI."""

import ctypes
import operator
import os
import pickle
from collections.abc import Callable
from typing import Any

import mpi4py

_library = ctypes.CDLL("libmpi.so.12")  # the one that elastic_mpi has loaded

# of MPICH's ABI
_COMM_WORLD, _BYTE, _INT, _STATUS_IGNORE = 0x44000000, 0x4C00010D, 0x4C000405, ctypes.c_void_p(1)
PROC_NULL, ANY_SOURCE = -1, -2
SUM: Callable[[Any, Any], Any] = operator.add
MAX: Callable[[Any, Any], Any] = max


def _check(code: int) -> None:
    if code:
        raise RuntimeError(f"MPI error {code}")


def _bytes(array: Any) -> tuple[Any, int]:
    view = memoryview(array)
    assert view.c_contiguous
    return ctypes.c_void_p(array.ctypes.data), view.nbytes


class Comm:
    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def f2py(cls, handle: int) -> "Comm":
        return cls(handle)

    def _number(self, call: str) -> int:
        number = ctypes.c_int()
        _check(getattr(_library, call)(self._handle, ctypes.byref(number)))
        return number.value

    def Get_rank(self) -> int:
        return self._number("MPI_Comm_rank")

    def Get_size(self) -> int:
        return self._number("MPI_Comm_size")

    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = ANY_SOURCE, recvtag: int = 0
    ) -> None:
        sent, come = _bytes(sendbuf), _bytes(recvbuf)
        _check(
            _library.MPI_Sendrecv(
                sent[0], sent[1], _BYTE, dest, sendtag, come[0], come[1], _BYTE, source, recvtag, self._handle, _STATUS_IGNORE
            )
        )

    def allgather(self, value: Any) -> list[Any]:
        text, size = pickle.dumps(value), self.Get_size()
        lengths = (ctypes.c_int * size)()
        mine = ctypes.c_int(len(text))
        _check(_library.MPI_Allgather(ctypes.byref(mine), 1, _INT, lengths, 1, _INT, self._handle))
        starts = (ctypes.c_int * size)(*(sum(lengths[:rank]) for rank in range(size)))
        whole = ctypes.create_string_buffer(sum(lengths))
        _check(_library.MPI_Allgatherv(text, len(text), _BYTE, whole, lengths, starts, _BYTE, self._handle))
        return [pickle.loads(whole.raw[start : start + length]) for start, length in zip(starts, lengths, strict=True)]

    def allreduce(self, value: Any, op: Callable[[Any, Any], Any] = SUM) -> Any:
        values = self.allgather(value)
        result = values[0]
        for each in values[1:]:
            result = op(result, each)
        return result


COMM_WORLD = Comm(_COMM_WORLD)


def Is_initialized() -> bool:
    flag = ctypes.c_int()
    _check(_library.MPI_Initialized(ctypes.byref(flag)))
    return bool(flag.value) and "STANDIN_FOREIGN" not in os.environ


def Get_library_version() -> str:
    return "Another MPI 1.0\nof nobody"


if mpi4py.rc.initialize:  # as mpi4py does it when it is imported
    _check(_library.MPI_Init(None, None))

"""Loops of a job as an elasticd of the tests' own reports them."""

from __future__ import annotations

import time
from typing import Any


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def measured_loops(history: list[tuple[int, int, float, float | None]]) -> dict[str, Any]:
    """The answer to GET /v1/jobs/ID/loops for a job of two processes; each interval of its history: end time, size,
    probes per second, MPI share."""
    probe = {
        "key": "probe", "parent": None, "ranks": "0-1", "processes": 2, "iterations": 40, "measured_every": 1, "loop_us": 8_000_000,
        "mpi_us": 2_000_000, "ratio_min": 0.1, "ratio_max": 0.4, "slowest": [{"rank": 1, "host": "n1", "mpi_ratio": 0.1}],
    }  # fmt: skip
    inner = {
        "key": "0123456789abcdef", "parent": "probe", "name": "heat2d+0x393e", "ranks": "0-1", "processes": 2, "iterations": 800,
        "loop_us": 7_200_000, "mpi_us": 1_800_000, "ratio_min": 0.1, "ratio_max": 0.4, "slowest": [], "items": ["p2p", "collective"],
        "items_total": 3,
    }  # fmt: skip
    return {
        "available": True, "epoch": 1, "size": 2, "processes": 2, "stale": 0, "sampled_ms": now_ms(),
        "progress": {"probes": 20, "ms": 4000, "per_second": 5.0, "recent_per_second": 4.5}, "loops": [probe, inner],
        "history": [{"until_ms": until, "ms": 30_000, "size": size, "per_second": rate, "mpi_share": share}
                    for until, size, rate, share in history],
        "scaling": {"size": 2, "end": 8, "error": 0.1, "hinted": False,
                    "curve": [{"size": size, "speedup": float(size)} for size in (2, 4, 8)],
                    "points": [{"size": 2, "intervals": 3, "per_second": 5.0, "speedup": 2.0}]},
    }  # fmt: skip

"""How much slower a processor gets beside other programs: they take its caches, so that the same work takes more of its time."""

from __future__ import annotations

import json
import time


class ProcessorSpeed:
    """The same small work, timed between the questions of a test."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def sample(self) -> None:
        """Some milliseconds of work with as much memory as a turn of elasticd's loop has."""
        begin = time.thread_time()
        json.dumps([{"number": number, "name": f"n{number}"} for number in range(5000)])
        self.times.append(time.thread_time() - begin)

    @property
    def slowdown(self) -> float:
        """The longest of these times by the shortest one: 1 if no other load has run."""
        return max(self.times) / min(self.times)

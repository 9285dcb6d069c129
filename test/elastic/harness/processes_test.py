"""Exit codes are not missing when tests run at the same time: a test that ends collects orphans only."""

from __future__ import annotations

import subprocess
import sys
import time
import unittest

from support import procfs

from . import processes

LEAVES_AN_ORPHAN = """
import os, sys
if os.fork() == 0:
    os.setsid()
    sys.stdin.read()
    os._exit(0)
"""


def state(pid: int) -> str:
    process = processes._lookup_process(pid)
    return process.state if process else ""


def await_state(pid: int, wanted: str) -> bool:
    end = time.monotonic() + 60
    while state(pid) != wanted and time.monotonic() < end:
        time.sleep(0.01)
    return state(pid) == wanted


def children() -> set[int]:
    mine = (processes._lookup_process(pid) for pid in procfs.pids())
    return {process.pid for process in mine if process and process.parent == processes.os.getpid()}


class Orphans(unittest.TestCase):
    def test_exit_codes_of_what_the_harness_started_remain(self) -> None:
        command = [sys.executable, "-c", "raise SystemExit(3)"]
        job = processes.start(command)
        tool = subprocess.Popen(command)
        self.assertTrue(await_state(job.pid, "Z") and await_state(tool.pid, "Z"))
        processes.collect_orphans()
        self.assertEqual([job.wait(), tool.wait()], [3, 3])

    def test_orphans_are_collected(self) -> None:
        processes.become_reaper()
        before = children()
        job = processes.start([sys.executable, "-c", LEAVES_AN_ORPHAN], stdin=subprocess.PIPE)
        self.assertEqual(job.wait(), 0)
        (orphan,) = children() - before
        job.communicate()
        self.assertTrue(await_state(orphan, "Z"))
        processes.collect_orphans()
        self.assertEqual(state(orphan), "")

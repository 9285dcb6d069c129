"""mpiexec is killed, or its time limit is reached: nothing remains."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

from launcher import HERE, Bench
from support.checks import expect, wait_for


def test_mpiexec_killed(bench: Bench) -> None:
    job = bench.start(
        "-launcher",
        "ssh",
        "-launcher-exec",
        bench.ssh,
        "-hosts",
        "aa,bb",
        "-n",
        2,
        "--adapt-schedule",
        "4",
        "--adapt-log",
        bench.log,
        program=[bench.process, "seconds=50"],
    )
    wait_for("the adaptation", lambda: bench.events("committed"))
    job.kill()
    job.wait()
    wait_for("all processes to end", lambda: not bench.processes(), 10)


# Requests a slot, and starts a shell there that starts something else.
STARTS_A_SHELL = r"""
import os, struct, sys, time
pmi = int(os.environ["PMI_FD"])
allocate, start = int(sys.argv[1]), int(sys.argv[2])
def text(word):
    return struct.pack("=I", len(word)) + word
def call(number, bytes):
    os.write(pmi, f"cmd=adapt_set_call id={number} more=0 answer=1 call={bytes.hex()}\n".encode())
os.write(pmi, b"cmd=init pmi_version=1 pmi_subversion=1\n")
call(1, struct.pack("=IIII", allocate, 1, 1, 1) + text(b"*") + text(b"") + struct.pack("=II", 0, 0))
call(2, struct.pack("=II", start, 1) + text(b"/bin/sh") + struct.pack("=I", 2) + text(b"-c") + text(b"trap '' TERM; sleep 1000; :"))
time.sleep(1000)
"""


def number_of_call(name: str) -> int:
    """As a process sends it to mpiexec."""
    schema = (HERE.parents[1] / "src/pmi/messages.txt").read_text(encoding="utf-8")
    found = re.search(rf"^(\d+) {name} ", schema, re.M)
    assert found
    return int(found[1])


def test_mpiexec_killed_with_started_processes(bench: Bench) -> None:
    """Processes that a program has started on a slot, and their descendants, end with mpiexec."""
    script = bench.folder / "starts.py"
    script.write_text(STARTS_A_SHELL)
    numbers = [number_of_call("PMI_TASK_ALLOCATE"), number_of_call("PMI_TASK_START")]
    job = bench.start("-n", 1, program=[sys.executable, script, *numbers])
    sleep = Path(os.path.realpath(shutil.which("sleep") or "/bin/sleep"))
    wait_for("the child of the shell", lambda: bench.running(sleep))
    job.kill()
    job.wait()
    wait_for("all processes to end", lambda: not bench.processes(), 10)


def test_socket_of_a_killed_mpiexec(bench: Bench) -> None:
    """A proxy on the same host removes it, and no other file."""
    job = bench.start("-n", 2, program=[bench.process, "seconds=50"])
    socket = wait_for("the socket", lambda: next(bench.runtime.glob("*/step-*.sock"), None))
    other = socket.with_name(f"step-{job.pid}.socket")
    other.touch()
    job.kill()
    job.wait()
    wait_for("all processes to end", lambda: not bench.processes(), 10)
    expect(list(socket.parent.iterdir()) == [other], f"left: {list(socket.parent.iterdir())}")

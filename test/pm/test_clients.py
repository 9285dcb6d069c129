"""Last output of aborting processes; rigid jobs; clients that violate PMI."""

from __future__ import annotations

import os
import socket
import time

from launcher import Bench
from support.checks import expect, wait_for

LAST_WORDS = 'kill -STOP $PPID; echo last words >&2; echo cmd=abort exitcode=7 >&"$PMI_FD"; kill -CONT $PPID; sleep 60'


def test_last_words(bench: Bench) -> None:
    """What a process prints right before it aborts is printed, though its daemon finds both at the same time."""
    result = bench.run("-n", 1, program=["bash", "-c", LAST_WORDS])
    expect("last words" in result.err, f"missing: {result}")
    expect(result.code == 7, f"exit code {result.code}")


def test_rigid_jobs_leave_no_trace(bench: Bench) -> None:
    job = bench.start("-n", 2, program=[bench.process, "mode=rigid", "seconds=1"])
    time.sleep(0.5)
    expect(not list(bench.runtime.iterdir()), "a rigid job has made a socket")
    expect(bench.finish(job).code == 0, "the job failed")


def test_clients_that_misbehave(bench: Bench) -> None:
    job = bench.start("-n", 1, program=[bench.process, "seconds=12"])
    path = bench.runtime / f"elastic-mpich-{os.geteuid()}" / f"step-{job.pid}.sock"
    wait_for("the socket", path.exists)
    with socket.socket(socket.AF_UNIX) as long_line, socket.socket(socket.AF_UNIX) as garbage, socket.socket(
        socket.AF_UNIX
    ) as silent:
        for client in (long_line, garbage, silent):
            client.settimeout(5)
            client.connect(str(path))
        try:
            long_line.sendall(b"x" * (5 << 20))  # a line has at most 4 MiB
            while long_line.recv(65536):
                pass
        except ConnectionError:
            pass  # cut off
        garbage.sendall(b'\x00\xff{"\n[]\n{"type":7}\n\n')
        expect(garbage.recv(65536), "no answer to garbage")
    expect(bench.finish(job).code == 0, "the job suffered")

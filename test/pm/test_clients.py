"""Last output of aborting processes; rigid jobs; clients that violate PMI."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path

from launcher import Bench
from support.checks import expect, wait_for

LAST_WORDS = 'kill -STOP $PPID; echo last words >&2; echo cmd=abort exitcode=7 >&"$PMI_FD"; kill -CONT $PPID; sleep 60'


def test_last_words(bench: Bench) -> None:
    """Output of a process right before its abort is printed, though its proxy receives both at the same time."""
    result = bench.run("-n", 1, program=["bash", "-c", LAST_WORDS])
    expect("last words" in result.err, f"missing: {result}")
    expect(result.code == 7, f"exit code {result.code}")


def test_last_words_of_another_host(bench: Bench) -> None:
    """Output of a process before another host's process aborts is printed, though its proxy has not read it yet."""
    printed, aborted = bench.folder / "printed", bench.folder / "aborted"
    prints = f"kill -STOP $PPID; echo last words >&2; echo $PPID >{printed}.new; mv {printed}.new {printed}; sleep 60"
    aborts = f'until [ -e {printed} ]; do sleep 0.1; done; echo $$ >{aborted}; echo cmd=abort exitcode=7 >&"$PMI_FD"; sleep 60'
    job = bench.start(
        *("-launcher", "fork", "-hosts", "aa,bb", "-ppn", 1, "-n", 1, "bash", "-c", aborts, ":", "-n", 1),
        program=["bash", "-c", prints],
    )
    wait_for("the abort", lambda: printed.exists() and aborted.exists() and aborted.read_text().endswith("\n"))
    aborting = Path(f"/proc/{aborted.read_text().strip()}")
    wait_for("the end of the process that aborts", lambda: not aborting.exists())
    os.kill(int(printed.read_text()), signal.SIGCONT)
    result = bench.finish(job)
    expect("last words" in result.err, f"missing: {result}")
    expect(result.code == 7, f"exit code {result.code}")


def test_rigid_jobs_leave_no_trace(bench: Bench) -> None:
    job = bench.start("-n", 2, program=[bench.process, "mode=rigid", "seconds=1"])
    time.sleep(0.5)
    expect(not list(bench.runtime.iterdir()), "a rigid job has made a socket")
    expect(bench.finish(job).code == 0, "the job failed")


def test_commands_without_their_words(bench: Bench) -> None:
    """The job ends, because its client does not know PMI; mpiexec names the missing argument."""
    for command, missing in (
        ("publish_name port=p", "service"),
        ("publish_name service=s", "port"),
        ("unpublish_name", "service"),
        ("lookup_name", "service"),
    ):
        program = (
            "exec 9<&$PMI_FD 8>&$PMI_FD; echo cmd=init pmi_version=1 pmi_subversion=1 >&8; read answer <&9; "
            f"echo cmd={command} >&8; read answer <&9"
        )
        result = bench.run("-n", 1, program=["sh", "-c", program])
        expect(result.code > 0 and f"cannot find token: {missing}" in result.err, f"{command}: {result}")
        bench.expect_nothing_left()


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

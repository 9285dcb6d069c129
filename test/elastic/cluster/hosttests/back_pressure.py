"""A component that does not read blocks its senders, and ends nothing: readers of mpiexec's output that pause, mpiexec
and proxies that are stopped. Hosts that fail meanwhile are still detected (src/pm/hydra/elastic/wire/keepalive.h)."""

from __future__ import annotations

import os
import re
import shlex
import signal
import time

from harness.job import Job
from testbed import hosts

from .cases import FAULT_S, case, ends_within, resize, serve, stop
from .hostrun import HostRun

KB = 24000
ENDLESS_KB = 1 << 40
PAUSE_S = 45  # longer than it takes to find a silent host


def printing(run: HostRun, n: int, on: str, kb: int, then: str, *arguments: str) -> Job:
    """A job whose output goes to the shell command `then`; the shell ends with mpiexec's exit code."""
    mpiexec = [f"{run.setting.prefix}/bin/mpiexec", "-launcher", "ssh", "-hosts", on, "-n", str(n)]
    mpiexec += ["--adapt-log", str(run.log_path), run.program("prints"), "--epochs", "0", "--kb", str(kb), *arguments]
    return run.start(["bash", "-c", f"set -o pipefail; {shlex.join(mpiexec)} | {then}"])


def control_timers(run: HostRun) -> list[str]:
    """The timers of h1's kernel for the connections between mpiexec and its proxies."""
    listed = run.on("h1", "ss", "-tnopH", "state", "established").stdout.splitlines()
    return [line for line in listed if "mpiexec" in line]


def whole(run: HostRun, job: Job, n: int) -> None:
    run.check(job.wait() == 0, f"exit code {job.process.returncode}: {job.err[-400:]}")
    run.check(f"{n * KB} lines" in job.out, f"of {n * KB} lines came {job.out[-200:]}")


COUNT = "grep -c ^PRINTED | sed s/$/\\ lines/"


@case("I3", nodes=2)
def rigid_sockets_are_stock(run: HostRun) -> None:
    """No keep-alive on a rigid job's connections, and on those of an adaptive one."""
    reader = run.work / "read"
    then = f"(until [ -e {reader} ]; do sleep 0.1; done; {COUNT})"
    for adaptive in (True, False):
        reader.unlink(missing_ok=True)
        job = printing(run, 1, "h2", KB, then, "--rigid", "0" if adaptive else "1")
        run.await_event("adaptive" if adaptive else "rigid")
        run.await_value(lambda: control_timers(run), "control connection")
        time.sleep(1)
        timers = run.await_value(lambda: control_timers(run), "control connection a second later")
        probes = ["keepalive" in line for line in timers]
        run.check(timers and all(probes) == adaptive and any(probes) == adaptive, f"adaptive: {adaptive}, connections: {timers}")
        reader.touch()
        whole(run, job, 1)


@case("I3", nodes=2)
def reader_pauses_over_hosts(run: HostRun) -> None:
    """The reader pauses for a while, when all processes are adaptive: mpiexec replies meanwhile.  (Until then a proxy
    whose processes are not may have to wait for the reader, as stock's do, and its processes in MPI_Init.)"""
    reader, go = run.work / "read", run.work / "go"
    job = printing(run, 2, "h1,h2", KB, f"(until [ -e {reader} ]; do sleep 0.1; done; {COUNT})", "--after", str(go))
    run.await_event("adaptive")
    go.touch()
    time.sleep(2)
    run.check(run.step()["size"] == 2, "no answer of the step")
    reader.touch()
    whole(run, job, 2)


@case("I3", nodes=2, full=True, deadline_s=240)
def reader_pauses_long(run: HostRun) -> None:
    """Longer than it takes to find a silent host, adaptive and rigid."""
    then = f"(sleep {PAUSE_S}; {COUNT})"
    both = [printing(run, 1, "h2", KB, then), printing(run, 1, "h2", KB, then, "--rigid", "1")]
    for job in both:
        whole(run, job, 1)


@case("I3", nodes=2, full=True, deadline_s=240)
def mpiexec_stopped_long(run: HostRun) -> None:
    """Ctrl-Z, with processes that continue to print."""
    job = printing(run, 2, "h1,h2", KB, COUNT)
    run.await_event("adaptive")
    (mpiexec,) = run.pids("h1", "mpiexec")
    os.kill(mpiexec, signal.SIGSTOP)
    time.sleep(PAUSE_S)
    os.kill(mpiexec, signal.SIGCONT)
    whole(run, job, 2)


@case("I3", nodes=3, full=True, deadline_s=240)
def proxy_stopped_long(run: HostRun) -> None:
    """As by a debugger or scontrol suspend: a proxy, while mpiexec has much to send it."""
    job = serve(run, 2, "h1,h2")
    (proxy,) = run.pids("h2", "hydra_pmi_proxy")
    os.kill(proxy, signal.SIGSTOP)
    done = run.elastic("resize", str(run.step()["step"]), "3", "--hosts", "h3")
    run.check(done.returncode == 0, f"resize: {done.stderr}")
    time.sleep(PAUSE_S)
    run.check(job.process.poll() is None and run.step()["size"] == 2, "the job has not waited for its proxy")
    os.kill(proxy, signal.SIGCONT)
    run.await_event("committed")
    resize(run, "2")
    stop(run, job, 2, 2)


def fails_while_printing(run: HostRun, then: str, pause_s: float) -> None:
    """`then` may wait for the file "read": mpiexec does not end before its output has been taken."""
    go, reader = run.work / "go", run.work / "read"
    job = printing(run, 2, "h1,h2", ENDLESS_KB, then, "--after", str(go))
    run.await_event("adaptive")
    go.touch()
    time.sleep(pause_s)
    hosts.set_link(run.cluster, run.host("h2"), "down")
    began = time.monotonic()
    run.await_value(lambda: re.search("host h2 is lost", job.err), "the report of the failed host")
    took_s = time.monotonic() - began
    run.check(took_s < FAULT_S / 2, f"noticed after {took_s:.0f} s")
    for host in ("h1", "h2"):
        run.await_value(lambda: not run.pids(host, "prints"), f"end of the processes of {host}")
    reader.touch()
    ends_within(run, job, FAULT_S)


@case("E4", nodes=2, full=True, deadline_s=240)
def link_cut_in_output(run: HostRun) -> None:
    """With bytes under way keep-alive sends no probe."""
    fails_while_printing(run, "cat >/dev/null", 1)


@case("E4", nodes=2, full=True, deadline_s=240)
def link_cut_while_the_reader_pauses(run: HostRun) -> None:
    """The report of the failed host does not wait for the reader."""
    fails_while_printing(run, f"(until [ -e {run.work / 'read'} ]; do sleep 0.1; done; cat) >/dev/null", 5)

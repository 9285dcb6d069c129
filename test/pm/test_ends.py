"""Ends of processes: signals, exit codes, failures in each phase of an adaptation."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from launcher import Bench, children, expect_ok, finish_all_soon, finish_soon
from support.checks import expect, wait_for


def test_signals_reach_joined_processes(bench: Bench) -> None:
    job = bench.start(
        "-n", 1, "--adapt-schedule", "3", "--adapt-log", bench.log, program=[bench.process, "seconds=3", "usr1=1"]
    )
    wait_for("the adaptation", lambda: bench.events("committed"))
    job.send_signal(signal.SIGUSR1)
    result = bench.finish(job)
    expect(sorted(re.findall(r"uid (\d+) got signal", result.out)) == ["0", "1", "2"], f"got: {result.out}")


def test_exit_code_after_a_signal(bench: Bench) -> None:
    """A signal that is passed on is not the end of anything: not all that exits after it has done well."""
    here = bench.folder / "here"
    program = f"trap 'echo notified; exit 5' USR1; touch {here}; while :; do sleep 0.1; done"
    job = bench.start("-n", 1, program=["sh", "-c", program])
    wait_for("the program to run", here.exists)
    job.send_signal(signal.SIGUSR1)
    result = bench.finish(job)
    expect(result.code == 5 and "notified" in result.out, f"exit code {result.code}: {result.out}{result.err}")


def test_interrupt_ends_all(bench: Bench) -> None:
    job = bench.start("-n", 1, "--adapt-schedule", "3", "--adapt-log", bench.log, program=[bench.process, "seconds=30"])
    wait_for("the adaptation", lambda: bench.events("committed"))
    job.send_signal(signal.SIGINT)
    bench.finish(job)
    bench.expect_nothing_left()


def test_exit_code_of_joined_processes(bench: Bench) -> None:
    result = bench.adapt("-n", 1, "--adapt-schedule", "3,2", words=["probes=2", "end=5"])
    expect(result.code == 5, f"exit code {result.code}: {result.err}")


def test_launcher_fails_after_its_proxy_has_ended(bench: Bench) -> None:
    """The exit codes of all processes are known then: the job has them, elastic or not."""
    fails = bench.folder / "fails"
    fails.write_text(f'#!/bin/sh\n{bench.ssh} "$@"\nexit 3\n')
    fails.chmod(0o755)
    hosts = ("-launcher", "ssh", "-launcher-exec", fails, "-hosts", "aa,bb", "-ppn", 1, "-n", 2)
    for code in 0, 5:
        result = bench.run(*hosts, program=["sh", "-c", f"exit {code}"])
        expect(result.code == code, f"exit code {result.code}, not {code}: {result.err}")
    result = bench.run(*hosts, "--adapt-schedule", "1", "--adapt-log", bench.log, program=[bench.process, "probes=1"])
    expect(result.code == 0 and bench.sizes() == [1], f"exit code {result.code}: {result.err}")


def test_print_all_exitcodes(bench: Bench) -> None:
    result = bench.adapt("-print-all-exitcodes", "-n", 1, "--adapt-schedule", "3,2", words=["probes=2", "end=5"])
    expect(re.search(r"Exit codes: \[\S+\] 0\n\[\S+\] 1280,0", result.out), f"printed: {result.out}")


# ---- failures ------------------------------------------------------------------------------------


def job_goes_on(bench: Bench, words: list[object], hosts: str = "") -> None:
    result = bench.adapt("-n", 2, "--adapt-schedule", "4,1s:1", words=["probes=1", "seconds=15", *words], hosts=hosts)
    expect_ok(bench, result, [1])
    failed = bench.events("failed")
    expect(
        len(failed) == 1 and "BAD TERMINATION" not in result.out,
        f"one quiet failure expected: {result.out}{result.err}",
    )


def test_joining_process_killed_at_start(bench: Bench) -> None:
    job_goes_on(bench, ["fail=start"])


def test_joining_process_killed_in_begin(bench: Bench) -> None:
    job_goes_on(bench, ["fail=ready"])


def test_joining_process_exits_at_start(bench: Bench) -> None:
    job_goes_on(bench, ["fail=start", "code=3"])


def test_joining_process_exits_in_begin(bench: Bench) -> None:
    job_goes_on(bench, ["fail=ready", "code=3"])


def test_joining_process_killed_on_one_of_two_hosts(bench: Bench) -> None:
    job_goes_on(bench, ["fail=start"], hosts="aa,bb")
    bench.log.unlink()
    job_goes_on(bench, ["fail=ready"], hosts="aa,bb")


def job_ends(bench: Bench, words: list[object], code: int, hosts: str = "") -> None:
    result = bench.adapt("-n", 2, "--adapt-schedule", "4", words=["probes=1", "seconds=20", *words], hosts=hosts)
    expect(result.code == code, f"exit code {result.code}, expected {code}: {result.out}{result.err}")
    expect("assert" not in result.err, f"internal errors are shown: {result.err}")
    expect(
        re.search(r"joins as rank 2 on node \S+ (was killed by signal 9|ended with exit code 3).*adaptation 1", result.err),
        f"no report: {result.err}",
    )
    bench.expect_nothing_left()


def test_joining_process_killed_in_window(bench: Bench) -> None:
    job_ends(bench, ["fail=window"], 9)


def test_joining_process_exits_in_window(bench: Bench) -> None:
    job_ends(bench, ["fail=window", "code=3"], 3)


def test_joining_process_exits_in_window_alone_on_its_host(bench: Bench) -> None:
    job_ends(bench, ["fail=window", "code=3"], 3, hosts="aa,bb,cc,dd")


def test_expansion_proxy_killed(bench: Bench) -> None:
    job = bench.start(
        "-n",
        1,
        "--adapt-schedule",
        "0.3s:3,2s:2",
        "--adapt-log",
        bench.log,
        program=[bench.process, "seconds=15", "probes=1", "delay=1"],
    )

    victim = wait_for("the expansion", lambda: children(job.pid)[1:])
    os.kill(int(victim[0]), signal.SIGKILL)
    result = bench.finish(job)
    expect(result.code == 0 and bench.sizes() == [2], f"exit code {result.code}, sizes {bench.sizes()}: {result.err}")
    bench.expect_nothing_left()


def test_member_killed_while_hosts_start(bench: Bench) -> None:
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa:2"]
    job = bench.start(
        *launcher,
        "-n",
        2,
        "--adapt-schedule",
        "4/hosts=slow1+bb",
        "--adapt-log",
        bench.log,
        program=[bench.process, "seconds=50"],
    )
    wait_for("the expansion", lambda: bench.events("placed"))
    process = next(pid for pid in bench.processes() if os.readlink(f"/proc/{pid}/exe") == str(bench.process))
    os.kill(process, signal.SIGKILL)
    result = bench.finish(job)
    expect(result.code != 0 and "BAD TERMINATION" in result.out, f"exit code {result.code}: {result.out}")
    bench.expect_nothing_left()


def test_timeout_of_mpiexec(bench: Bench) -> None:
    script = ["/usr/bin/env", "MPIEXEC_TIMEOUT=2", str(bench.mpiexec)]
    job = subprocess.Popen(
        [*script, "-n", "1", "--adapt-schedule", "3", "--adapt-log", str(bench.log), str(bench.process), "seconds=50"],
        text=True,
        env=bench.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    bench.jobs.append(job)
    result = bench.finish(job)
    expect("APPLICATION TIMED OUT" in result.out and bench.sizes() == [3], f"{result.out} {bench.sizes()}")
    bench.expect_nothing_left()


def start_heeding(bench: Bench, count: int, *words: object, options: list[object] | None = None) -> subprocess.Popen[str]:
    """A job on two hosts whose processes have set their handlers."""
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]
    job = bench.start(*launcher, *(options or []), "-n", count, program=[bench.process, "seconds=50", *words])
    assert job.stdout
    for _ in range(count):
        line = job.stdout.readline()
        expect("heeds signals" in line, f"it prints: {line}")
    return job


def test_handlers_that_hang(bench: Bench) -> None:
    """Handlers as libinfinipath's, which hang if a signal interrupts MPI_Init at certain moments: rigid and adaptive,
    in MPI_Init and later."""
    kinds: list[list[str]] = [["mode=rigid", "term_at=init"], ["term_at=init"], ["mode=rigid"], []]
    jobs = [start_heeding(bench, 4, "term=hang", *words) for words in kinds]
    for job in jobs:
        job.send_signal(signal.SIGTERM)
    for words, result in zip(kinds, finish_all_soon(bench, jobs), strict=True):
        expect(result.code != 0, f"{words}: exit code {result.code}")
        expect("it is killed" in result.err, f"{words}: it prints {result.err}")


def test_checkpoint_before_the_end(bench: Bench) -> None:
    """A rigid program with a handler of its own gets the time that it needs, as under stock Hydra."""
    job = start_heeding(bench, 2, "mode=rigid", "term=8")
    job.send_signal(signal.SIGTERM)
    result = finish_soon(bench, job)
    expect(result.code == 0 and result.out.count("is ready") == 2, f"{result.code}: {result.out}{result.err}")


def test_adaptive_programs_that_do_not_end(bench: Bench) -> None:
    bench.extra["MPIEXEC_ADAPT_KILL"] = "2s"
    for number in (signal.SIGTERM, signal.SIGINT):
        job = start_heeding(bench, 2, "term=ignore")
        job.send_signal(number)
        result = finish_soon(bench, job)
        expect(result.code != 0 and "has not ended" in result.err, f"{result.code}: {result.err}")
    bench.extra["MPIEXEC_ADAPT_KILL"] = "0"
    job = start_heeding(bench, 2, "term=7")
    job.send_signal(signal.SIGTERM)
    result = finish_soon(bench, job)
    expect(result.code == 0 and result.out.count("is ready") == 2, f"{result.code}: {result.out}{result.err}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1])
def test_a_signal_that_ends_processes_is_the_exit_code(bench: Bench, number: signal.Signals) -> None:
    """As under stock Hydra, on one host and on two."""
    launches: list[list[object]] = [[], ["-launcher", "fork", "-hosts", "aa,bb", "-ppn", 1]]
    for hosts in launches:
        run = bench.folder / f"{number.name}-{len(hosts)}"
        run.mkdir()
        job = bench.start(*hosts, "-n", 2, program=["/bin/sh", "-c", f">{run}/$PMI_RANK; exec sleep 1000"])
        wait_for("both processes", lambda: len(list(run.iterdir())) == 2)  # noqa: B023  called at once
        job.send_signal(number)
        result = bench.finish(job)
        expect(result.code == number and "BAD TERMINATION" in result.out, f"exit code {result.code}: {result.out}{result.err}")


def test_second_interrupt_ends_at_once(bench: Bench) -> None:
    """In each state of processes and proxies."""
    kinds: list[list[str]] = [["mode=rigid"], []]
    for words in kinds:
        job = start_heeding(bench, 2, "term=ignore", *words)
        proxy = bench.running(bench.mpiexec.parent / "hydra_pmi_proxy")[0]
        os.kill(proxy, signal.SIGSTOP)
        job.send_signal(signal.SIGINT)
        time.sleep(0.2)
        before = time.monotonic()
        job.send_signal(signal.SIGINT)
        result = finish_soon(bench, job)
        expect(result.code == 1, f"exit code {result.code}: {result.err}")
        expect(time.monotonic() - before < 20, "that is not at once")


def test_end_signal_while_proxies_connect(bench: Bench) -> None:
    """Proxies that connect late get the signal; mpiexec does not wait for those that never connect."""
    jobs: list[subprocess.Popen[str]] = []
    for hosts in ("slow1,slow2", "aa,silent1"):
        for has_log in (False, True):
            options = ["--adapt-log", f"{bench.log}-{len(jobs)}"] if has_log else []
            launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", hosts, *options]
            job = bench.start(*launcher, "-n", 2, program=["/bin/sleep", "1000"])
            wait_for("the launchers", lambda: len(children(job.pid)) == 2)
            job.send_signal(signal.SIGTERM)
            jobs.append(job)
    finish_all_soon(bench, jobs)


def test_mpiexec_failure_is_not_blamed_on_joining_processes(bench: Bench) -> None:
    """A signal to mpiexec while processes join: no joining process is reported as the cause."""
    options = ["-n", 2, "--adapt-schedule", "4,1", "--adapt-log", bench.log]
    job = bench.start(*options, program=[bench.process, "seconds=50", "delay=50"])
    wait_for("the expansion", lambda: bench.events("placed"))
    job.send_signal(signal.SIGTERM)
    result = finish_soon(bench, job)
    expect("joins as rank" not in result.err and "adaptation" not in result.err, f"it prints: {result.err}")
    reasons = [event["reason"] for event in bench.events("withdrawn")]
    expect(reasons == ["mpiexec received a signal to end (SIGTERM)"], f"reasons: {reasons}")


def test_failed_changes_are_reported(bench: Bench) -> None:
    options = ["-n", 2, "--adapt-schedule", "4,1,100s:2", "--adapt-log", bench.log]
    result = bench.run(*options, program=[bench.process, "seconds=2", "delay=50"])
    reported = [line for line in result.err.splitlines() if line]
    expect(result.code == 0 and len(reported) == 2, f"exit code {result.code}: {result.err}")
    expect("the program ended first; 0 of 2 joining processes" in reported[0], f"it prints: {reported}")
    expect("entries 2 to 3 of the adaptation schedule were never offered" in reported[1], f"it prints: {reported}")


def test_a_process_is_killed_early(bench: Bench) -> None:
    """Before it has called MPI_Init, so that mpiexec knows nothing of adaptations: the job ends in order, too."""
    program = ["sh", "-c", "test $PMI_RANK -eq 1 || exec sleep 100; kill -9 $$"]
    result = bench.run("-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb", "-n", 3, program=program)
    expect(result.code == 9, f"exit code {result.code}: {result.err}")
    expect("[mpiexec@" not in result.err and "[proxy" not in result.err, f"it prints: {result.err}")
    bench.expect_nothing_left()


# PMI-2 of two ranks on two hosts: the first one queries a key that nobody has put, and exits; the second one puts it then.
QUERY_OF_AN_ENDED_PROCESS = """
import os, signal, sys, time

signal.signal(signal.SIGUSR1, signal.SIG_IGN)
pmi = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)

def send(text):
    pmi.write(f"{len(text):6d}{text}".encode())

def receive():
    return pmi.read(int(pmi.read(6)))

def call(text):
    send(text)
    return receive()

first = os.environ["PMI_RANK"] == "0"
pmi.write(b"cmd=init pmi_version=2 pmi_subversion=0\\n")
while pmi.read(1) != b"\\n":
    pass
call(f"cmd=fullinit;pmirank={os.environ['PMI_RANK']};threaded=FALSE;")
if first:
    call("cmd=kvs-fence;")
    send("cmd=kvs-get;key=late;")
    open(sys.argv[1], "w").close()
    time.sleep(0.5)
    os._exit(0)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
time.sleep(1.5)
print(call("cmd=kvs-put;key=late;value=1;").decode())
call("cmd=finalize;")
"""


def test_query_of_an_ended_process(bench: Bench) -> None:
    """Its answer is dropped, and the job continues."""
    script = bench.folder / "query.py"
    script.write_text(QUERY_OF_AN_ENDED_PROCESS)
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb", "-disable-auto-cleanup"]
    result = bench.run(*launcher, "-n", 2, program=[sys.executable, script, bench.folder / "sent"])
    expect("rc=0" in result.out, f"{result.code}: {result.out}{result.err}")
    expect("[mpiexec@" not in result.err and "[proxy" not in result.err, f"it prints: {result.err}")
    bench.expect_nothing_left()


# PMI of two ranks: the first one ends in a barrier, into which the second one comes then.
BARRIER_OF_AN_ENDED_PROCESS = """
import os, signal, sys, time

signal.signal(signal.SIGUSR1, signal.SIG_IGN)
pmi = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)
pmi.write(b"cmd=init pmi_version=1 pmi_subversion=1\\n")
pmi.readline()
if os.environ["PMI_RANK"] == "0":
    pmi.write(b"cmd=barrier_in\\n")
    open(sys.argv[1], "w").close()
    time.sleep(0.3)
    os._exit(0)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
time.sleep(1)
pmi.write(b"cmd=barrier_in\\n")
print(pmi.readline().decode())
pmi.write(b"cmd=finalize\\n")
pmi.readline()
"""


def test_barrier_of_an_ended_process(bench: Bench) -> None:
    """The end of the barrier is sent to those that are there."""
    script = bench.folder / "barrier.py"
    script.write_text(BARRIER_OF_AN_ENDED_PROCESS)
    for hosts in ("aa:2", "aa,bb"):
        entered = bench.folder / f"entered-{hosts}"
        launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", hosts, "-disable-auto-cleanup"]
        result = bench.run(*launcher, "-n", 2, program=[sys.executable, script, entered])
        expect("cmd=barrier_out" in result.out, f"{hosts}: {result.code}: {result.out}{result.err}")
        expect("[mpiexec@" not in result.err and "[proxy" not in result.err, f"{hosts}: it prints: {result.err}")
        bench.expect_nothing_left()

"""Output: readers that pause, stop or go; terminals; stopped and failed proxies."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from launcher import HOSTS, LIMIT_S, Bench, children, expect_ok, finish_soon, query_step
from support import procfs
from support.checks import Failure, expect, wait_for


# ---- who does not read, does not write, or stops -------------------------------------------------


def spilt(text: str, uids: int, lines: int) -> None:
    """All lines of test_process' spill=`lines` must be there, each process' own in their order."""
    numbers: dict[str, list[int]] = {}
    for uid, number in re.findall(r"^spilt (\d+) (\d+) +\.*$", text, re.M):
        numbers.setdefault(uid, []).append(int(number))
    got = {uid: len(found) for uid, found in numbers.items()}
    expect(all(found == list(range(lines)) for found in numbers.values()) and len(got) == uids, f"lines by uid: {got}")


def start_spilling(bench: Bench, *words: object, schedule: str = "4,2", **options: Any) -> subprocess.Popen[str]:
    args = ["-n", 2, "--adapt-schedule", schedule, "--adapt-log", bench.log]
    return bench.start(*args, program=[bench.process, "probes=2", "seconds=60", "spill=16000", *words], **options)


def test_reader_pauses(bench: Bench) -> None:
    """No process reads mpiexec's output: mpiexec adapts, answers, and its memory stays small; all output arrives
    later."""
    job = start_spilling(bench)
    wait_for("both adaptations", lambda: len(bench.sizes()) == 2)
    expect(query_step(bench, '{"id":1,"op":"status"}'), "no answer of the step")
    used_s = procfs.cpu_s(job.pid)
    time.sleep(1)
    expect(procfs.cpu_s(job.pid) - used_s < 0.1, "mpiexec spins")
    expect(procfs.resident_kb(job.pid) < 40000, f"mpiexec has grown to {procfs.resident_kb(job.pid)} KB")
    result = bench.finish(job)
    expect_ok(bench, result, [4, 2])
    spilt(result.out, 4, 16000)


def test_reader_comes_last(bench: Bench) -> None:
    """All processes have ended long before their output is read: mpiexec waits with it."""
    job = start_spilling(bench, "spill=300")
    wait_for("the processes to end", lambda: bench.events("ended") and bench.processes() == [job.pid])
    time.sleep(7)  # longer than mpiexec waits when it has failed
    expect(job.poll() is None, "mpiexec has not waited for its reader")
    result = bench.finish(job)
    expect_ok(bench, result, [4, 2])
    spilt(result.out, 4, 300)


def test_reader_pauses_and_interrupts(bench: Bench) -> None:
    """Ctrl-C while no process reads: all processes end, and mpiexec ends without its reader."""
    job = start_spilling(bench, "probes=0", schedule="4")
    wait_for("the adaptation", lambda: bench.sizes())
    job.send_signal(signal.SIGINT)
    try:
        job.wait(LIMIT_S)
    except subprocess.TimeoutExpired as expired:
        raise Failure("mpiexec waits for its reader") from expired
    bench.expect_nothing_left()


def test_mpiexec_learns_late(bench: Bench) -> None:
    """mpiexec is notified of the first adaptive process late: until then the proxy does not read output, and a reader
    that pauses does not delay the notification."""
    job = start_spilling(bench, "stop=1", "probes=0", schedule="4")
    wait_for("mpiexec to stop", lambda: re.search(r"^State:\s+T", Path(f"/proc/{job.pid}/status").read_text(), re.M))
    proxy = bench.running(bench.mpiexec.parent / "hydra_pmi_proxy")[0]
    time.sleep(1)
    expect(procfs.resident_kb(proxy) < 12000, f"the proxy has grown to {procfs.resident_kb(proxy)} KB")
    job.send_signal(signal.SIGCONT)
    wait_for("the adaptation", lambda: bench.sizes() == [4])
    job.send_signal(signal.SIGINT)
    finish_soon(bench, job)


def test_reader_goes(bench: Bench) -> None:
    """mpiexec ends, as each program of a pipeline does if its reader has ended."""
    job = start_spilling(bench, "probes=0", schedule="4")
    wait_for("the adaptation", lambda: bench.sizes())
    assert job.stdout
    job.stdout.close()
    expect(job.wait(LIMIT_S) != 0, "exit code 0")
    wait_for("all processes to end", lambda: not bench.processes(), 10)

SMALL_BUFFERS = [
    *["unshare", "--net", "sh", "-c"],
    "ip link set lo up && echo '4096 8192 16384' | tee /proc/sys/net/ipv4/tcp_[rw]mem >/dev/null; "
    'exec "$0" -localhost 127.0.0.1 "$@"',
]


def test_plans_and_output_at_the_same_time(bench: Bench) -> None:
    """Plans and output that are both larger than the buffers of the connections between mpiexec and its daemons."""
    if subprocess.run(["unshare", "--net", "true"], check=False, capture_output=True).returncode:
        prefix = []  # not permitted here: with buffers of the usual size
    else:
        prefix = SMALL_BUFFERS
    hosts = ",".join(f"{host}:12" for host in HOSTS.split(","))
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", hosts]
    words = ["probes=2", "seconds=60", "card=400", "probe_us=5000", "spill=1000"]
    options = ["-n", 48, "--adapt-schedule", "96,24", "--adapt-log", bench.log]
    job = bench.start(*launcher, *options, program=[bench.process, *words], prefix=prefix)
    result = bench.finish(job)
    expect_ok(bench, result, [96, 24])
    spilt(result.out, 96, 1000)


def test_mpiexec_stops(bench: Bench) -> None:
    """Ctrl-Z while processes print: they wait, and all continue afterwards."""
    job = start_spilling(bench, schedule="1s:4,2")
    wait_for("the launch", lambda: bench.events("launching") or len(children(job.pid)) > 0)
    for _ in range(3):
        job.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        job.send_signal(signal.SIGCONT)
        time.sleep(0.2)
    result = bench.finish(job)
    expect_ok(bench, result, [4, 2])
    spilt(result.out, 4, 16000)


def test_terminal_and_session(bench: Bench) -> None:
    """Processes have no terminal; where the kernel shares processors out among sessions, those of a job that may
    change share mpiexec's session, and a rigid job's have their own (wire/sessions.h)."""
    setting = Path("/proc/sys/kernel/sched_autogroup_enabled")
    autogroups = setting.exists() and setting.read_text().strip() == "1"
    program = ["sh", "-c", "(read x < /dev/tty) 2> /dev/null && echo terminal || cut -d ' ' -f 5,6,7 /proc/self/stat"]
    kinds: list[tuple[list[str], bool]] = [([], False), (["--adapt-schedule", "4"], autogroups)]
    for options, shared in kinds:
        ours, terminal = os.openpty()
        try:
            job = bench.start("-n", 2, *options, program=program, prefix=["setsid", "-c"], stdin=terminal)
            result = bench.finish(job)
        finally:
            os.close(ours)
            os.close(terminal)
        expect(result.code == 0 and "terminal" not in result.out, f"it ended with {result}")
        found = [list(map(int, line.split())) for line in result.out.splitlines()]
        expect(len(found) == 2 and found[0][0] != found[1][0], f"not a process group for each: {found}")
        expect(all(terminal == 0 for _, _, terminal in found), f"with a terminal: {found}")
        sessions = {session for _, session, _ in found}
        wanted = {job.pid} if shared else {group for group, _, _ in found}
        expect(sessions == wanted, f"{options}: sessions {sessions} instead of {wanted}")


def test_proxy_stops(bench: Bench) -> None:
    """A stopped proxy makes its adaptation wait, and not mpiexec."""
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]
    options = ["-n", 2, "--adapt-schedule", "4,2", "--adapt-log", bench.log]
    job = bench.start(*launcher, *options, program=[bench.process, "probes=2", "seconds=60", "delay=1"])
    wait_for("the launch", lambda: bench.events("launching"))
    stopped = int(children(job.pid)[1])
    os.kill(stopped, signal.SIGSTOP)
    for _ in range(3):
        expect(query_step(bench, '{"id":1,"op":"status"}'), "no answer of the step")
        time.sleep(0.5)
    expect(not bench.sizes(), "an adaptation without a proxy that stands still")
    os.kill(stopped, signal.SIGCONT)
    expect_ok(bench, bench.finish(job), [4, 2])


def test_proxy_dies_in_a_message(bench: Bench) -> None:
    """The last thing that mpiexec gets of a joining proxy is a part of a message: the growth fails, the job
    continues."""
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]
    options = ["-n", 1, "--adapt-schedule", "2,2s:1", "--adapt-log", bench.log]
    words = ["probes=0", "seconds=5", "delay=30", "spill=16000", "spill_from=1"]
    job = bench.start(*launcher, *options, program=[bench.process, *words])
    proxy = int(wait_for("the joining proxy", lambda: children(job.pid)[1:])[0])
    wait_for("its process", lambda: children(proxy))
    job.send_signal(signal.SIGSTOP)
    time.sleep(1)  # the spilt output fills all buffers
    os.kill(proxy, signal.SIGKILL)
    job.send_signal(signal.SIGCONT)
    result = bench.finish(job)
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    expect(len(bench.events("failed")) == 1, f"one failure expected: {bench.events('failed')}")
    bench.expect_nothing_left()

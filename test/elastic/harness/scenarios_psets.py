"""Scenarios: process sets."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

from . import checks, processes
from .job import Job, TestRun
from .scenarios import _serve, _stop, scenario


# ---- published interfaces of process sets --------------------------------------------------------------------


@scenario
def stairs(run: TestRun, times: str) -> None:
    """SM1: one more each time up to the greatest size of the range, then one fewer down to the least."""
    low, high = (int(size) for size in run.test.options[run.test.options.index("--adapt-range") + 1].split(":"))
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    checks.exit_code(run, job)
    sizes = [event["size"] for event in run.events() if event["event"] == "committed"]
    size, step, expected = run.test.processes, 1, []
    for _ in range(int(times)):
        step = -1 if size == high else 1 if size == low else step
        size += step
        expected.append(size)
    # one more may be under way when the program has seen enough
    run.check(sizes[: int(times)] == expected, f"sizes {sizes}, not {expected}")
    run.check(f"{times} changes, {size} processes at the end" in job.lines, "the program saw other changes")


def _proxies(job: Job) -> list[int]:
    """mpiexec's proxies."""
    command = ["ps", "-o", "pid=,comm=", "--ppid", str(job.process.pid)]
    rows = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    return [int(row.split()[0]) for row in rows if row.split()[1].startswith("hydra_pmi")]


@scenario
def sets_proxy_fails(run: TestRun) -> None:
    """SF4: a proxy is killed; the job ends with a report, and nothing is left."""
    job = run.mpiexec()
    job.await_line("^READY ", run.test.processes)
    os.kill(_proxies(job)[-1], signal.SIGKILL)
    checks.exit_code(run, job)
    checks.patterns(run, job.err, run.test.errors, "standard error")


@scenario
def failed_while_all_wait(run: TestRun, what: str) -> None:
    """SF4: each process waits without end in another call, a joining one for its acceptance, when mpiexec or a proxy is
    killed: all end, and nothing is left."""
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    job.await_line("^WAITS$", run.test.processes)
    run.await_event("ready")
    if what == "mpiexec":
        job.signal(signal.SIGKILL)
    else:
        os.kill(_proxies(job)[1], signal.SIGKILL)
    checks.exit_code(run, job)
    run.await_value(lambda: not processes.await_end_of_processes(run.marker, 1), "end of all processes")
    run.check("CAME" not in job.lines, "what did not come has come")


@scenario
def psets_listed(run: TestRun) -> None:
    """SM3: the sets can be observed from outside, and the log shows their beginning and end."""
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    job.await_line("^READY ", run.test.processes)
    listed = run.elastic("psets", str(run.step()["step"]))
    for uid in range(run.test.processes):
        found = re.search(rf"^mpix://op/{uid}\.1 +{run.test.processes} +running ", listed.stdout, re.MULTILINE)
        run.check(found, f"the set of process {uid} is not listed: {listed.stdout}")
    rows = [line.split("|") for line in run.elastic("psets", str(run.step()["step"]), "-P").stdout.splitlines()]
    run.check(rows[0] == ["SET", "SIZE", "STATE", "PROCESSES"], f"psets -P prints {rows[0]}")
    run.check(len(rows) == len(listed.stdout.splitlines()) and all(len(row) == 4 for row in rows), f"psets -P prints {rows}")
    (run.work / "go").touch()
    checks.exit_code(run, job)
    made = [event["name"] for event in run.events() if event["event"] == "set_made"]
    run.check(len(made) == run.test.processes, f"made: {made}")


def _queries(run: TestRun) -> int:
    """How often mpiexec has been queried for a set by its name."""
    sockets = run.await_value(lambda: list(run.runtime.glob("elastic-mpich-*/*.sock")), "the step's socket")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(run.time_left())
        client.connect(str(sockets[0]))
        client.sendall(b'{"id":1,"op":"psets"}\n')
        with client.makefile() as lines:
            for line in lines:
                answer = json.loads(line)
                if answer.get("id") == 1:
                    return int(answer["looks"])
    run.fail("mpiexec does not answer")


@scenario
def lookups_counted(run: TestRun, wanted: str) -> None:
    """Costs of Part A: a fresh name that all processes request at once is one question of each proxy."""
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    job.await_line("^READY$")
    before = _queries(run)
    (run.work / "go").touch()
    job.await_line("^LOOKED$")
    queried = _queries(run) - before
    (run.work / "end").touch()
    checks.result(run, job)
    run.check(queried == int(wanted), f"{queried} questions, not {wanted}")


@scenario
def psets_of_windows(run: TestRun) -> None:
    """SM3: a job with windows is queried for its sets, of which its program has made none; it continues."""
    job = _serve(run, 2)
    name = str(run.step()["step"])
    for _ in range(2):
        listed = run.elastic("psets", name)
        run.check(listed.returncode == 0 and "app://" not in listed.stdout, f"psets: {listed.stdout}{listed.stderr}")
        done = run.elastic("resize", name, "3" if run.step()["size"] == 2 else "2", "--wait")
        run.check(done.returncode == 0, f"resize: {done.stdout}{done.stderr}")
    _stop(run, job, 2, 2)


@scenario
def one_at_a_time(run: TestRun) -> None:
    """SR5: no change is requested before the one before has ended, and each is notified, accepted and committed in order."""
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    checks.result(run, job)
    names = [event["event"] for event in run.events()]
    steps = [name for name in names if name in ("requested", "told", "accepted", "committed")]
    wanted = ["requested", "told", "accepted", "committed"] * len(run.test.changes)
    run.check(steps == wanted, f"the changes went {steps}")


@scenario
def leaving_stays(run: TestRun) -> None:
    """SL3: a process that is to leave and does not end is reported, and nothing is ended."""
    run.environment["MPIEXEC_ADAPT_BEHIND"] = "500ms"
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])

    def names_leaving_process(event: dict[str, Any]) -> bool:
        return any(entry["kind"] == "leaving" for entry in event["ranks"])

    report = run.await_event("behind", where=names_leaving_process)
    run.check([entry["rank"] for entry in report["ranks"]] == [3], f"reported are {report['ranks']}")
    run.await_value(lambda: re.search(r"have not ended: rank 3 on node ", job.err), "report on standard error")
    run.check(job.process.poll() is None, "the job was ended")
    (run.work / "reported").touch()
    checks.result(run, job)


@scenario
def leaving_unnotified(run: TestRun) -> None:
    """SL3: a leaving process is killed before its proxy has received that it may exit; the others continue."""
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    (line,) = job.await_line(r"^LEAVER \d+$")
    job.await_line("^NOTIFIED$")
    proxy, leaving = _proxies(job)[-1], int(line.split()[1])
    os.kill(proxy, signal.SIGSTOP)
    (run.work / "accept").touch()
    run.await_event("accepted")
    run.await_value(lambda: not _lives(leaving), "end of the leaving process")
    os.kill(proxy, signal.SIGCONT)
    checks.exit_code(run, job)
    checks.patterns(run, job.out, run.test.expect, "standard output")
    checks.ends(run, ["committed"])


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


@scenario
def joining_dies(run: TestRun, stage: str) -> None:
    """SF2: a joining process is killed at this step of its addition; the job continues, and the next one works."""
    job = run.mpiexec(["--adapt-schedule", "4,3", "--adapt-log", str(run.log_path)], ["--stage", stage])
    number = "2" if stage == "joining" else "3"
    (started,) = job.await_line(rf"^STARTED {number} \d+$")
    pid = int(started.split()[2])
    if stage == "joining":
        job.await_line("^OPENING 2$")
    elif stage == "offered":
        run.await_event("ready", 2)
    elif stage != "launching":
        job.await_line("^NOTIFIED$")
    if stage in ("taken", "rendezvous"):
        os.kill(pid, signal.SIGSTOP)  # before it is let go
        (run.work / "accept").touch()
        run.await_event("accepted")
    if stage != "launching":
        os.kill(pid, signal.SIGKILL)
    run.await_event("failed")
    (run.work / "over").touch()
    checks.exit_code(run, job)
    checks.patterns(run, job.out, ["^PASS session_joining_dies$"], "standard output")
    checks.ends(run, ["failed", "committed"])

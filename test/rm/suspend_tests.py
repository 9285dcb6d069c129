"""Jobs that an administrator suspends: all their processes stop, and continue, with several events in between."""

from __future__ import annotations

import re
import time
from pathlib import Path

from daemon_under_test import Bench, Daemon, expect, wait_for
from hostile_tests import GOOD, run_as, two_users
from malleable_tests import CONFIG, finish_work, no_core_is_used_twice, submit_work, wait_size, work_program
from performance_tests import cancel, elastic
from support import procfs
from survival_tests import stepd_of


def processes_of_step(daemon: Daemon, number: int) -> list[int]:
    parents = {pid: int(stat[1]) for pid in procfs.pids() if (stat := procfs.stat(pid))}
    found = [stepd_of(daemon, number)]
    for parent in found:
        found += [pid for pid, its_parent in parents.items() if its_parent == parent]
    return [pid for pid in found[1:] if not procfs.has_ended(pid)]


def states_of(daemon: Daemon, number: int) -> dict[int, str]:
    return {pid: procfs.stat(pid)[0] for pid in processes_of_step(daemon, number) if procfs.stat(pid)}


def suspend(daemon: Daemon, number: int, processes: int) -> list[int]:
    """Returns its processes, of which there are so many at least, when all are stopped."""
    wait_for("its elastic-stepd to be connected", lambda: daemon.post(f"/v1/jobs/{number}/suspend").status == 200)

    def all_stopped() -> bool:  # the shell waits (D) for a process that it starts by vfork, and that is stopped
        states = states_of(daemon, number)
        return len(states) >= processes and {"T"} <= set(states.values()) <= {"T", "D"}

    wait_for("all its processes to stop", all_stopped)
    return sorted(states_of(daemon, number))


def resume(daemon: Daemon, number: int) -> None:
    reply = daemon.post(f"/v1/jobs/{number}/resume")
    expect(reply.status == 200 and reply.body["job"]["state"] in ("RUNNING", "ADAPTING"), f"resume: {reply.body}")
    wait_for("all its processes to continue", lambda: "T" not in states_of(daemon, number).values())


def a_suspended_job_stops_and_continues(bench: Bench) -> None:
    program = work_program(bench)
    daemon = bench.start(config=CONFIG, nodes=1, cores=2)
    number = submit_work(daemon, program, "mine", 2, 2)
    pids = suspend(daemon, number, 4)  # mpiexec, its proxy and two ranks
    job = daemon.job(number)
    expect((job["state"], job["code"], job["nodes"]) == ("SUSPENDED", "S", [{"name": "n0", "processes": 2}]), f"{job}")
    expect(job["reason"].startswith("suspended by "), f"the reason: {job['reason']}")
    expect([each["id"] for each in daemon.get("/v1/jobs", state="S").body["jobs"]] == [number], "the list")
    expect('elasticd_jobs{state="SUSPENDED"} 1' in daemon.get("/metrics").body, "the metrics")
    used = [procfs.cpu_s(pid) for pid in pids]
    daemon.kill()
    daemon.start()
    expect(daemon.job(number)["state"] == "SUSPENDED", "after a restart")
    daemon.post(f"/v1/jobs/{number}/signal", signal="CONT")  # elastic run passes it on
    waits = daemon.submit("true", output="/dev/null")
    time.sleep(1)  # for whatever would go on
    expect(set(states_of(daemon, number).values()) == {"T"}, "a signal of its user does not continue it")
    expect([procfs.cpu_s(pid) for pid in pids] == used, "it has used no processor")
    expect(daemon.job(waits)["state"] == "PENDING", "its cores stay booked")
    text = elastic(bench, daemon, "why", str(number), str(waits))
    expect(f"job {number}: SUSPENDED, 2 processes of 2: suspended by " in text, text)
    expect(re.search(rf"^suspended since \S+; job {waits} waits for its cores$", text, re.MULTILINE) is not None, text)
    expect(f"there is none; job {number} is suspended and keeps 2 cores" in text, text)
    resume(daemon, number)
    job = finish_work(daemon, number)
    expect(job["suspended_ms"] >= 1000, f"how long it was suspended: {job['suspended_ms']}")
    expect(daemon.wait_end(waits)["state"] == "DONE", "the next job")
    events = [record["event"] for record in daemon.records(job=number)]
    expect(events.count("suspended") == 1 and events.count("resumed") == 1, f"records: {events}")
    expect(f"JobId={number}" in elastic(bench, daemon, "show", str(number)), "elastic show")


def limit(daemon: Daemon, number: int, seconds: int) -> None:
    reply = daemon.post(f"/v1/jobs/{number}/update", time_limit_ms=seconds * 1000)
    expect(reply.status == 200, f"another time limit: {reply.body}")


def the_time_limit_of_a_suspended_job_stops(bench: Bench) -> None:
    """That of elasticd and that of elastic-stepd, which is later by three seconds."""
    daemon = bench.start()
    number = daemon.submit("sleep", "1000", time_limit_ms=3600000, output="/dev/null")
    daemon.wait_state(number, "RUNNING")
    suspend(daemon, number, 1)
    limit(daemon, number, 1)
    time.sleep(2)
    expect(daemon.job(number)["state"] == "SUSPENDED", "under elasticd")
    daemon.kill()
    time.sleep(4)
    daemon.start()
    expect(daemon.job(number)["state"] == "SUSPENDED", "under elastic-stepd alone")
    resume(daemon, number)
    job = daemon.wait_end(number)
    expect(job["state"] == "FAILED" and "time limit" in job["reason"], f"its end: {job}")
    expect(job["suspended_ms"] >= 6000, f"how long it was suspended: {job['suspended_ms']}")
    expect(job["end_ms"] - job["start_ms"] - job["suspended_ms"] >= 1000, f"how long it has run: {job}")


def elastic_stepd_keeps_the_time_limit_of_a_job_that_continues(bench: Bench) -> None:
    daemon = bench.start()
    number = daemon.submit("sleep", "1000", time_limit_ms=3600000, output="/dev/null")
    daemon.wait_state(number, "RUNNING")
    pids = suspend(daemon, number, 1)
    job = daemon.job(number)
    limit(daemon, number, 5 + (int(time.time() * 1000) - job["start_ms"] - job["suspended_ms"]) // 1000)
    resume(daemon, number)
    daemon.kill()
    wait_for("elastic-stepd to end it", lambda: all(procfs.has_ended(pid) for pid in pids))
    daemon.start()
    job = daemon.wait_end(number)
    expect(job["state"] == "FAILED" and "time limit" in job["reason"], f"its end: {job}")


def a_suspended_job_takes_the_signal_that_ends_it(bench: Bench) -> None:
    daemon = bench.start()
    note = daemon.folder / "note"
    script = f"#!/bin/sh\ntrap 'touch {note}; exit 0' TERM\ntouch {note}.runs\nwhile :; do sleep 0.01; done\n"
    number = daemon.submit("s", script=script, output="/dev/null")
    wait_for("the script to run", lambda: Path(f"{note}.runs").exists())
    suspend(daemon, number, 1)  # a script that starts one process after the other
    expect(not note.exists(), "it has not been ended")
    daemon.post(f"/v1/jobs/{number}/cancel")
    expect(daemon.wait_end(number)["state"] == "CANCELLED" and note.exists(), "it has taken the signal")
    number = daemon.submit("sh", "-c", "trap '' TERM; while :; do sleep 1; done", output="/dev/null")
    daemon.wait_state(number, "RUNNING")
    suspend(daemon, number, 1)
    daemon.post(f"/v1/jobs/{number}/signal", signal="KILL")
    job = daemon.wait_end(number)
    expect((job["state"], job["exit_code"]) == ("FAILED", 137), f"its end: {job}")


def the_size_of_a_suspended_job_changes_after_it_continues(bench: Bench) -> None:
    program = work_program(bench)
    daemon = bench.start(config=CONFIG, nodes=1, cores=4)
    number = submit_work(daemon, program, "elastic", 1, 4)
    wait_size(daemon, number, 4, 4)
    suspend(daemon, number, 6)
    reply = daemon.post(f"/v1/jobs/{number}/resize", size=2)
    expect(reply.error() == "state", f"resize: {reply.body}")
    stop = daemon.folder / "stop-rigid"
    rigid = daemon.submit("sh", "-c", f"while [ ! -e {stop} ]; do sleep 0.1; done", min=2, output="/dev/null")
    daemon.post(f"/v1/jobs/{number}/update", time_limit_ms=3600000)  # one more decision
    expect((daemon.job(number)["size"], daemon.job(rigid)["state"]) == (4, "PENDING"), "nothing changes")
    resume(daemon, number)
    daemon.wait_state(rigid, "RUNNING")
    no_core_is_used_twice(daemon)
    stop.touch()
    daemon.wait_end(rigid)
    finish_work(daemon, number)


def only_administrators_suspend_a_job(bench: Bench) -> None:
    daemon, work = two_users(bench)
    spec = daemon.spec("sleep", "1000", directory=str(work), output="/dev/null")
    number = run_as(GOOD, lambda: daemon.request("POST", "/v1/jobs", spec).body["job"]["id"])
    daemon.wait_state(number, "RUNNING")
    for verb in ("suspend", "resume"):
        path = f"/v1/jobs/{number}/{verb}"
        expect(run_as(GOOD, lambda: daemon.post(path).status) == 403, f"{verb} by its user")  # noqa: B023  called at once
    suspend(daemon, number, 1)
    expect(run_as(GOOD, lambda: daemon.job(number)["state"]) == "SUSPENDED", "its user sees it")
    cancel(daemon, number)

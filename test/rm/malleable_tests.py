"""Elastic jobs under a real mpiexec: they shrink for other jobs, grow again, and survive failures.  The program checks
its own result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

from daemon_under_test import Bench, Daemon, expect, wait_for
from support import procfs

HERE = Path(__file__).resolve().parent
# Pauses short enough for a test.
CONFIG = '[scheduling]\noffer_pause = "200ms"\nrefusal_pause = "500ms"\n'


def work_program(bench: Bench) -> Path:
    """elastic_loop.c: runs until a file is there; its last line states whether the result is right."""
    mpi = bench.needs_mpi()
    program = bench.folder / "elastic_loop"
    command: list[str | Path] = [mpi / "bin/mpicc", "-O1", "-std=gnu11", HERE / "elastic_loop.c", "-o", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"elastic_loop.c does not compile: {done.stderr}")
    return program


def submit_work(daemon: Daemon, program: Path, name: str, low: int, high: int, **fields: object) -> int:
    stop = str(daemon.folder / f"stop-{name}")
    number = daemon.submit(str(program), stop, min=low, max=high, name=name, output="work-%j.txt", **fields)
    daemon.wait_state(number, "RUNNING", "ADAPTING")
    wait_for("the program to be known as adaptive", lambda: daemon.job(number)["adaptive"])
    return number


def finish_work(daemon: Daemon, number: int) -> dict:
    (daemon.folder / f"stop-{daemon.job(number)['name']}").touch()
    job = daemon.wait_end(number)
    text = Path(job["output"]).read_text() if Path(job["output"]).exists() else "(no output)"
    expect(job["state"] == "DONE", f"job {number}: {json.dumps(job)}\n{text[-2000:]}")
    expect("which is right" in text, f"the result of job {number} is wrong: {text[-500:]}")
    return job


def resize(daemon: Daemon, number: int, size: int) -> None:
    """Requests until it is accepted, or until an adaptation that was under way has led to that size."""

    def accepted() -> bool:
        reply = daemon.post(f"/v1/jobs/{number}/resize", size=size)
        return reply.status == 200 or "has that size already" in json.dumps(reply.body)

    wait_for("the resize to be accepted", accepted)


def wait_size(daemon: Daemon, number: int, low: int, high: int) -> dict:
    def fits() -> dict | None:
        job = daemon.job(number)
        expect(job["state"] not in ("DONE", "FAILED", "CANCELLED"), f"job {number} has ended: {json.dumps(job)}")
        return job if low <= job["size"] <= high and not job["adaptation"] else None

    return wait_for(f"job {number} to have {low} to {high} processes", fits)


def no_core_is_used_twice(daemon: Daemon) -> None:
    nodes = daemon.get("/v1/nodes").body["nodes"]
    for node in nodes:
        expect(sum(job["cores"] for job in node["jobs"]) <= node["cores_used"] <= node["cores"], f"node: {node}")


def an_elastic_job_gives_way_and_grows_back(bench: Bench) -> None:
    program = work_program(bench)
    daemon = bench.start(config=CONFIG, nodes=2, cores=2)
    elastic = submit_work(daemon, program, "elastic", 1, 4)
    wait_size(daemon, elastic, 4, 4)
    stop = daemon.folder / "stop-rigid"
    rigid = daemon.submit("sh", "-c", f"while [ ! -e {stop} ]; do sleep 0.1; done", min=2, output="/dev/null")
    daemon.wait_state(rigid, "RUNNING")
    no_core_is_used_twice(daemon)
    expect(daemon.job(elastic)["size"] <= 2, "it must have given way")
    stop.touch()
    expect(daemon.wait_end(rigid)["state"] == "DONE", "the rigid job")
    wait_size(daemon, elastic, 4, 4)
    no_core_is_used_twice(daemon)
    job = finish_work(daemon, elastic)
    expect(job["counts"]["committed"] >= 2 and job["epoch"] >= 2, f"counts: {job}")


def a_user_resizes_his_job(bench: Bench) -> None:
    program = work_program(bench)
    daemon = bench.start(config=CONFIG, nodes=2, cores=2)
    number = submit_work(daemon, program, "mine", 1, 4)
    reply = daemon.post(f"/v1/jobs/{number}/resize", size=5)
    expect(reply.error() in ("range", "field"), f"5 of at most 4: {reply.body}")
    resize(daemon, number, 2)
    wait_size(daemon, number, 2, 2)
    step = daemon.job(number)["step_socket"]
    expect(step and Path(step).exists(), f"the step's socket: {step}")
    finish_work(daemon, number)


def a_running_job_gets_another_range_and_keeps_its_users_limit(bench: Bench) -> None:
    program = work_program(bench)
    daemon = bench.start(config=CONFIG + "[limits]\ncores_per_user = 6\n", nodes=2, cores=4)
    number = submit_work(daemon, program, "ranged", 1, 2)
    wait_size(daemon, number, 2, 2)

    def update(**fields: int) -> int:
        return daemon.post(f"/v1/jobs/{number}/update", **fields).status

    expect(update(max=1) == 400, "it has two processes")
    wait_for("another range", lambda: update(max=4) == 200)
    wait_size(daemon, number, 4, 4)
    wait_for("a wider range", lambda: update(min=2, max=8) == 200)
    wait_size(daemon, number, 6, 6)
    expect(daemon.post(f"/v1/jobs/{number}/resize", size=7).status == 400, "beyond the limit of its user")
    job = finish_work(daemon, number)
    expect((job["min"], job["max"], job["size"]) == (2, 8, 6), f"job: {job}")


def a_program_requests_sizes(bench: Bench) -> None:
    """Granted by the policy within the job's range, refused beyond it; known to the job's user, over a kill of elasticd."""
    program = work_program(bench)
    daemon = bench.start(config=CONFIG, nodes=2, cores=2)
    number = submit_work(daemon, program, "wishes", 1, 3)
    wait_size(daemon, number, 3, 3)
    stop = daemon.folder / "stop-wishes"

    def request_size(size: int) -> None:
        partial = Path(f"{stop}.new")
        partial.write_text(str(size))
        partial.rename(f"{stop}.wish")

    def ends() -> list[str]:
        return Path(f"{stop}.wished").read_text().splitlines() if Path(f"{stop}.wished").exists() else []

    def records(event: str) -> list[dict]:
        return [r["data"] for r in daemon.get(f"/v1/jobs/{number}/records").body["records"] if r["event"] == event]

    request_size(1)
    wait_for("the first request's end", lambda: len(ends()) == 1)
    expect(ends()[0] == "granted 1: ", f"ends: {ends()}")
    wait_for("its record", lambda: len(records("wish_ended")) == 1)
    job = daemon.job(number)
    expect(job["size"] == 1 and job["wish"]["granted"] and job["wish"]["reason"] == "the test wants it", f"job: {job}")
    expect(records("requested")[-1]["why"]["rule"] == "wish", f"{records('requested')[-1]}")
    request_size(4)
    wait_for("the second request's end", lambda: len(ends()) == 2)
    expect(ends()[1].startswith("refused 1: the job was submitted for 1 to 3"), f"ends: {ends()}")
    blocker = daemon.submit("sh", "-c", f"while [ ! -e {stop}-other ]; do sleep 0.1; done", min=3, output="/dev/null")
    daemon.wait_state(blocker, "RUNNING")
    request_size(2)
    wait_for("the third request", lambda: len(records("wished")) == 3)
    expect(daemon.job(number)["wish"]["target"] == 2 and not daemon.job(number)["wish"]["granted"], "it waits for cores")
    daemon.kill()
    daemon.start()
    Path(f"{stop}-other").touch()
    wait_for("the third request's end", lambda: len(ends()) == 3)
    expect(ends()[2] == "granted 2: ", f"ends: {ends()}")
    request_size(3)
    wait_size(daemon, number, 3, 3)
    wait_for("as many ends as requests", lambda: len(records("wish_ended")) == len(records("wished")) == 4)
    finish_work(daemon, number)


def elasticd_is_killed_while_a_job_adapts(bench: Bench) -> None:
    program = work_program(bench)
    daemon = bench.start(config=CONFIG, nodes=2, cores=2)
    number = submit_work(daemon, program, "adapts", 1, 4)
    for size in (1, 3, 2, 4) if bench.full else (1, 3):
        resize(daemon, number, size)
        daemon.kill()
        daemon.start()
        wait_size(daemon, number, size, size)
        no_core_is_used_twice(daemon)
    finish_work(daemon, number)


def a_script_with_two_elastic_steps(bench: Bench) -> None:
    """The second mpiexec of a script starts with the present allocation of the job, and its epochs continue."""
    program = work_program(bench)
    daemon = bench.start(config=CONFIG, nodes=2, cores=2)
    script = f"#!/bin/sh\nmpiexec {program} $PWD/stop-1\nmpiexec {program} $PWD/stop-2\n"
    number = daemon.submit("script", script=script, min=1, max=4, name="2", output="work-%j.txt")
    wait_for("the first to be known as adaptive", lambda: daemon.job(number)["adaptive"])
    first = daemon.job(number)["step_socket"]
    resize(daemon, number, 2)
    wait_size(daemon, number, 2, 2)
    (daemon.folder / "stop-1").touch()
    wait_for("the second mpiexec", lambda: daemon.job(number)["step_socket"] not in (None, first))
    daemon.kill()
    daemon.start()
    resize(daemon, number, 1)
    wait_size(daemon, number, 1, 1)
    job = finish_work(daemon, number)
    text = Path(job["output"]).read_text()
    expect(text.startswith("2 processes") and "\n1 processes" in text and job["epoch"] == 2, f"{job['epoch']} epochs, {text!r}")


def a_killed_process_ends_its_job_alone(bench: Bench) -> None:
    program = work_program(bench)
    daemon = bench.start(config=CONFIG, nodes=2, cores=2)
    victim, other = submit_work(daemon, program, "victim", 2, 2), submit_work(daemon, program, "other", 2, 2)
    started = json.loads((daemon.state / "steps" / f"{victim}.1" / "stepd.json").read_text())
    processes = wait_for("a process of the job", lambda: descendants(started["pid"], "elastic_loop"))
    os.kill(processes[-1], signal.SIGKILL)
    expect(daemon.wait_end(victim)["state"] == "FAILED", "the job of the killed process")
    finish_work(daemon, other)


def descendants(pid: int, name: str) -> list[int]:
    parents = {each: int(fields[1]) for each in procfs.pids() if (fields := procfs.stat(each))}
    found = {pid}
    while more := {each for each, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(each for each in found - {pid} if procfs.name(each) == name)

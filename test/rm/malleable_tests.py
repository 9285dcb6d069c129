"""Elastic jobs under a real mpiexec: they give way, grow back, and survive deaths.  The program checks its own result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

from daemon_under_test import Bench, Daemon, expect, wait_for

ROOT = Path(__file__).resolve().parents[2]
# Pauses short enough for a test.
CONFIG = '[scheduling]\noffer_pause = "200ms"\nrefusal_pause = "500ms"\n'


def work_program(bench: Bench) -> Path:
    """examples/elastic_work.c: CELLS STEPS MILLISECONDS; its last line tells whether the result is right."""
    mpi = bench.needs_mpi()
    program = bench.folder / "elastic_work"
    command = [mpi / "bin/mpicc", "-O1", "-std=gnu11", ROOT / "examples/elastic_work.c", "-o", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"elastic_work.c does not compile: {done.stderr}")
    return program


def submit_work(daemon: Daemon, program: Path, steps: int, low: int, high: int) -> int:
    return daemon.submit(str(program), "24", str(steps), "10", min=low, max=high, output="work-%j.txt")


def check_work(daemon: Daemon, number: int) -> dict:
    job = daemon.wait_end(number)
    text = Path(job["output"]).read_text() if Path(job["output"]).exists() else "(no output)"
    expect(job["state"] == "DONE", f"job {number}: {json.dumps(job)}\n{text[-2000:]}")
    expect("which is right" in text, f"the result of job {number} is wrong: {text[-500:]}")
    return job


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
    elastic = submit_work(daemon, program, 150, 1, 4)
    job = wait_size(daemon, elastic, 4, 4)
    wait_for("the program to be known as adaptive", lambda: daemon.job(elastic)["adaptive"])
    rigid = daemon.submit("sleep", "2", min=2, output="/dev/null")
    daemon.wait_state(rigid, "RUNNING")
    no_core_is_used_twice(daemon)
    expect(daemon.job(elastic)["size"] <= 2, "it must have given way")
    expect(daemon.wait_end(rigid)["state"] == "DONE", "the rigid job")
    wait_size(daemon, elastic, 3, 4)
    no_core_is_used_twice(daemon)
    job = check_work(daemon, elastic)
    expect(job["counts"]["committed"] >= 2 and job["epoch"] >= 2, f"counts: {job}")


def a_user_resizes_his_job(bench: Bench) -> None:
    program = work_program(bench)
    daemon = bench.start(config=CONFIG, nodes=2, cores=2)
    number = submit_work(daemon, program, 100, 1, 4)
    wait_size(daemon, number, 4, 4)
    wait_for("the program to be known as adaptive", lambda: daemon.job(number)["adaptive"])
    reply = daemon.post(f"/v1/jobs/{number}/resize", size=5)
    expect(reply.error() in ("range", "field"), f"5 of at most 4: {reply.body}")
    wait_for("the resize to be accepted", lambda: daemon.post(f"/v1/jobs/{number}/resize", size=2).status == 200)
    wait_size(daemon, number, 2, 2)
    step = daemon.job(number)["step_socket"]
    expect(step and Path(step).exists(), f"the step's socket: {step}")
    check_work(daemon, number)


def elasticd_is_killed_while_a_job_adapts(bench: Bench) -> None:
    program = work_program(bench)
    daemon = bench.start(config=CONFIG, nodes=2, cores=2)
    number = submit_work(daemon, program, 200, 1, 4)
    wait_size(daemon, number, 4, 4)
    wait_for("the program to be known as adaptive", lambda: daemon.job(number)["adaptive"])
    for size in (1, 3, 2):
        wait_for("the resize to be accepted", lambda: daemon.post(f"/v1/jobs/{number}/resize", size=size).status == 200)
        daemon.kill()
        daemon.start()
        wait_size(daemon, number, size, size)
        no_core_is_used_twice(daemon)
    check_work(daemon, number)


def a_killed_process_ends_its_job_alone(bench: Bench) -> None:
    program = work_program(bench)
    daemon = bench.start(config=CONFIG, nodes=2, cores=2)
    victim, other = submit_work(daemon, program, 1000, 2, 2), submit_work(daemon, program, 60, 2, 2)
    for number in (victim, other):
        daemon.wait_state(number, "RUNNING")
    wait_for("the program to be known", lambda: daemon.job(victim)["adaptive"] is not None)
    started = json.loads((daemon.state / "steps" / f"{victim}.1" / "stepd.json").read_text())
    processes = wait_for("a process of the job", lambda: descendants(started["pid"], "elastic_work"))
    os.kill(processes[-1], signal.SIGKILL)
    expect(daemon.wait_end(victim)["state"] == "FAILED", "the job of the killed process")
    check_work(daemon, other)


def descendants(pid: int, name: str) -> list[int]:
    parents: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                head, _, tail = (entry / "stat").read_text().rpartition(")")
            except OSError:
                continue
            parents.setdefault(int(tail.split()[1]), []).append(int(entry.name))
            names[int(entry.name)] = head.split("(", 1)[1]
    found, queue = [], [pid]
    while queue:
        for child in parents.get(queue.pop(), []):
            queue.append(child)
            if names[child] == name:
                found.append(child)
    return found


TESTS = [
    an_elastic_job_gives_way_and_grows_back,
    a_user_resizes_his_job,
    elasticd_is_killed_while_a_job_adapts,
    a_killed_process_ends_its_job_alone,
]

"""kill -9 of each participant of an adaptation, at each of its six steps (SPEC, "Six steps"): a table of the outcomes.

For each victim: elasticd answers (again), the job ends once, done with the right result or failed, its accepted
requests have one end each, its processes have ended, its cores are free, and the job beside it is not affected.
"""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from daemon_under_test import WAIT_S, Bench, Daemon, Failure, expect, processes_of, wait_for, wait_for_none
from malleable_tests import CONFIG, descendants, finish_work, resize, submit_work, wait_size, work_program

# The step protocol's event at which the victim is killed.  A change without joining processes has no steps 2 and 3.
EVENTS = {1: "requested", 2: "launching", 3: "plan", 4: "target", 5: "agent_committed", 6: "committed"}
SHRINK_STEPS = (1, 4, 5, 6)
GROW, SHRINK = (2, 4), (4, 2)

DONE, FAILED = {"DONE"}, {"FAILED"}
EITHER = DONE | FAILED  # the victim may be a member of the world, or not (any more), when the signal arrives

# victim -> step -> the states in which its job may end
EXPECTED: dict[str, dict[int, set[str]]] = {
    "elasticd": dict.fromkeys(EVENTS, DONE),
    "mpiexec": dict.fromkeys(EVENTS, FAILED),
    "elastic-stepd": dict.fromkeys(EVENTS, FAILED),
    "proxy": dict.fromkeys(EVENTS, FAILED),
    "staying process": dict.fromkeys(EVENTS, FAILED),
    # E3: before agreement staying processes never notice.
    "joining process": {2: DONE, 3: EITHER, 4: FAILED, 5: FAILED, 6: FAILED},
    "leaving process": {1: FAILED, 4: FAILED, 5: EITHER, 6: EITHER},
}
# What ./run test tries; --full tries all.
SAMPLE = [("elasticd", 4), ("mpiexec", 3), ("joining process", 2), ("leaving process", 4)]


class StepEvents:
    """The events of a step, read from its socket until it ends."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(WAIT_S)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        self.socket.sendall(b'{"id":1,"op":"events","since":0,"follow":true}\n')
        self.next = json.loads(self.file.readline())["next"]

    def close(self) -> None:
        self.file.close()
        self.socket.close()

    def lines(self) -> Iterator[dict[str, Any]]:
        for line in self.file:
            yield json.loads(line)

    def wait_for_new(self, name: str) -> None:
        """Returns at the first event of that name that is not older than this connection."""
        for event in self.lines():
            if event["seq"] >= self.next and event["event"] == name:
                return
        raise Failure(f"the step ended without the event {name}")


def stepd_file(daemon: Daemon, number: int) -> dict[str, int]:
    return json.loads((daemon.state / "steps" / f"{number}.1" / "stepd.json").read_text())


def rank_of(pid: int) -> int:
    """In its launch."""
    for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
        if entry.startswith(b"PMI_RANK="):
            return int(entry[9:])
    raise Failure(f"process {pid} has no PMI_RANK")


def kill(daemon: Daemon, program: Path, victim: str, started: dict[str, int], before: list[int]) -> None:
    """`before`: the processes of the old world, by rank."""
    mpiexec = started["pid"]
    if victim == "elasticd":
        daemon.kill()
        return
    if victim == "joining process":
        pids = wait_for("a joining process", lambda: set(descendants(mpiexec, program.name)) - set(before))
        pid = min(pids)
    elif victim == "proxy":
        pid = min(descendants(mpiexec, "hydra_pmi_proxy"))
    else:
        pid = {
            "mpiexec": mpiexec,
            "elastic-stepd": started["stepd_pid"],
            "staying process": before[0],
            "leaving process": before[-1],
        }[victim]
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        expect(victim == "leaving process", f"the {victim} has ended before it was killed")


def ends_of_requests(daemon: Daemon, number: int) -> list[str]:
    """How the accepted requests ended, in their order; each must have exactly one end."""
    records = daemon.get(f"/v1/jobs/{number}/records", limit=10000).body["records"]
    expect(sum(record["event"] == "ended" for record in records) == 1, f"job {number} must end once: {records}")
    requested = [record["data"]["request"] for record in records if record["event"] == "requested"]
    ends = [record for record in records if record["event"] in ("committed", "withdrawn", "failed")]
    expect(sorted(requested) == sorted(end["data"]["request"] for end in ends), f"requests {requested} and their ends {ends}")
    return [end["event"] for end in ends]


def one_death(daemon: Daemon, program: Path, victim: str, step: int, change: tuple[int, int]) -> str:
    old, new = change
    number = submit_work(daemon, program, f"{victim.replace(' ', '-')}-{step}-{old}", 1, 4)
    wait_size(daemon, number, 4, 4)
    if old != 4:
        resize(daemon, number, old)
        wait_size(daemon, number, old, old)
    started = stepd_file(daemon, number)
    processes = wait_for("the old world", lambda: exactly(old, descendants(started["pid"], program.name)))
    by_rank = sorted(processes, key=rank_of)
    events = StepEvents(daemon.job(number)["step_socket"])
    try:
        resize(daemon, number, new)
        events.wait_for_new(EVENTS[step])
        kill(daemon, program, victim, started, by_rank)
    finally:
        events.close()
    if victim == "elasticd":
        daemon.start()
    expected = EXPECTED[victim][step]
    if expected == DONE:
        wait_size(daemon, number, new, new)  # at once, or because the failed change is tried again
        job = finish_work(daemon, number)
    elif expected == FAILED:
        job = daemon.wait_end(number)
        expect(job["state"] == "FAILED", f"job {number} ended so: {json.dumps(job)}")
    else:
        job = fail_or_finish(daemon, number)
    ends = ends_of_requests(daemon, number)
    rest = wait_for_none(lambda: processes_of(program))
    expect(not rest, f"processes of job {number} are left: {rest}")
    return f"{job['state']}, exit code {job['exit_code']}, requests {' '.join(ends)}"


def fail_or_finish(daemon: Daemon, number: int) -> dict[str, Any]:
    """A job whose victim may or may not have left the world already."""

    def has_ended() -> bool:
        job = daemon.job(number)
        return job["state"] == "FAILED" or (job["state"] == "RUNNING" and not job["adaptation"])

    wait_for("the adaptation to end", has_ended)
    (daemon.folder / f"stop-{daemon.job(number)['name']}").touch()
    job = daemon.wait_end(number)
    return job if job["state"] == "FAILED" else finish_work(daemon, number)


def exactly(count: int, processes: list[int]) -> list[int] | None:
    return processes if len(processes) == count else None


def cases(full: bool) -> list[tuple[str, int, tuple[int, int]]]:
    chosen = [(victim, step) for victim, steps in EXPECTED.items() for step in steps] if full else SAMPLE
    found = [(victim, step, SHRINK if victim == "leaving process" else GROW) for victim, step in chosen]
    if full:
        others = ("elasticd", "mpiexec", "staying process")
        found += [(victim, step, SHRINK) for victim in others for step in SHRINK_STEPS]
    return found


def whoever_is_killed_while_a_job_adapts(bench: Bench) -> None:
    program = work_program(bench)
    daemon = bench.start(config=CONFIG, nodes=3, cores=2)
    beside = daemon.submit("sleep", "100000", min=2, output="/dev/null")
    daemon.wait_state(beside, "RUNNING")
    for victim, step, change in cases(bench.full):
        case = f"{victim} at step {step} ({EVENTS[step]}) from {change[0]} to {change[1]}"
        try:
            outcome = one_death(daemon, program, victim, step, change)
            wait_for("the cores to be free", lambda: daemon.get("/v1/nodes").body["cores_used"] == 2)
            expect(daemon.job(beside)["state"] == "RUNNING", "the job beside it has noticed")
        except Failure as failure:
            raise Failure(f"{case}: {failure}") from None
        print(f"# {case}: {outcome}", flush=True)
    daemon.post(f"/v1/jobs/{beside}/cancel")
    daemon.wait_end(beside)

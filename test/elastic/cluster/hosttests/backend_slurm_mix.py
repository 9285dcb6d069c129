"""Ten elastic jobs on Slurm's nodes, beside rigid Slurm jobs of others, for a given time.

ELASTIC_SLURM_MIX_S is the length in seconds (600), ELASTIC_SLURM_MIX_NODES the number of nodes (4).  Nodes are given as
a whole: with fewer nodes than jobs the others of the ten wait, and their number varies, so that the running ones grow
and shrink.  The run is checked in three ways: elasticd's records (each request ends once, no node is booked for two
jobs), Slurm's own record of jobs (no node was given to two at once), and the processes that were observed on the hosts
all the time (never processes of two jobs, elastic or not, on one host).
"""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from testbed import hosts
from support import procfs

from .backend_slurm import Slurm
from .cases import case
from .hostrun import HostRun

LENGTH_S = float(os.environ.get("ELASTIC_SLURM_MIX_S", "600"))
NODES = int(os.environ.get("ELASTIC_SLURM_MIX_NODES", "4"))
COMMITTED, OTHERS = LENGTH_S / 20, LENGTH_S / 60  # adaptations and jobs of others that make a mix; it goes on until then
JOBS = 10
ENDS = ("committed", "withdrawn", "failed")


class Watcher:
    """Polls the processes on each host, in a thread."""

    def __init__(self, run: HostRun) -> None:
        self.run, self.polls = run, 0
        self.wrong: list[str] = []
        self.seen: Counter[str] = Counter()
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self) -> None:
        while not self.stopped.wait(0.2):
            self.polls += 1
            for host in self.run.cluster.hosts:
                found = set(self.jobs_on(host.name))
                self.seen.update(found)
                if len(found) > 1:
                    self.wrong.append(f"on {host.name} at once: {sorted(found)}")

    def jobs_on(self, name: str) -> Iterator[str]:
        """`elastic N` or `slurm N`, of each process that belongs to a job."""
        for pid in hosts.processes(self.run.host(name)):
            if procfs.name(pid) not in ("serve", "sleep"):
                continue
            values = procfs.environment(pid)
            if "ELASTIC_JOB_ID" in values:
                yield f"elastic {values['ELASTIC_JOB_ID']}"
            elif "SLURM_JOB_ID" in values:
                yield f"slurm {values['SLURM_JOB_ID']}"

    def stop(self) -> None:
        self.stopped.set()
        self.thread.join()


class Mix:
    """Up to JOBS elastic jobs in the system, and always something of others."""

    def __init__(self, run: HostRun, daemon: Slurm) -> None:
        self.run, self.daemon = run, daemon
        self.random = random.Random(run.setting.seed)
        self.stop_at: dict[int, float] = {}
        self.submitted: list[int] = []
        self.others: list[str] = []
        self.wanted, self.change_at = JOBS, time.monotonic() + 5

    def submit(self) -> None:
        low = self.random.choice((1, 2, 4))
        size = f"{low}:{self.random.choice((8, 16))}"
        self.submitted.append(self.daemon.submit(f"job{len(self.submitted)}", size, "serve"))

    def turn(self) -> None:
        """Ends jobs that have run long enough, and starts new ones."""
        queue = {job["id"]: job for job in self.daemon.query("queue")}
        for number, job in queue.items():
            if job["state"] in ("RUNNING", "ADAPTING") and number not in self.stop_at:
                self.stop_at[number] = time.monotonic() + self.random.uniform(8, 30)
            if time.monotonic() > self.stop_at.get(number, float("inf")):
                (self.run.work / job["name"] / "stop").touch()
        if NODES <= JOBS and time.monotonic() > self.change_at:
            self.wanted = self.random.choice((1, 2, 2, 3, JOBS))
            self.change_at = time.monotonic() + self.random.uniform(5, 20)
        for _ in range(self.wanted - len(queue)):
            self.submit()
        if not self.daemon.rows("-u", "nobody", "-o", "%A"):
            nodes, seconds = self.random.choice((1, 1, 2, 3)), self.random.randint(3, 8)
            self.others.append(self.daemon.others(nodes, str(seconds)))

    def finish(self) -> None:
        for number in self.submitted:
            (self.run.work / self.daemon.show(number)["name"] / "stop").touch()
        self.run.await_value(lambda: not self.daemon.query("queue"), "end of all jobs")


def check_requests(run: HostRun, records: list[dict[str, Any]]) -> Counter[str]:
    """Each accepted change of size has exactly one end."""
    ends: Counter[tuple[int, int]] = Counter()
    kinds: Counter[str] = Counter()
    for row in records:
        key = (row["job"], (row["data"] or {}).get("request", 0))
        if row["event"] == "requested":
            ends[key] += 0
        elif row["event"] in ENDS:
            ends[key] += 1
            kinds[row["event"]] += 1
    wrong = {key: count for key, count in ends.items() if count != 1}
    run.check(not wrong, f"requests with another number of ends than 1: {wrong}")
    return kinds


def check_bookings(run: HostRun, records: list[dict[str, Any]]) -> None:
    """By elasticd's records no node belongs to two jobs."""
    owner: dict[str, int] = {}
    world: dict[int, set[str]] = {}
    joining: dict[int, set[str]] = {}

    def take(job: int, blocks: list[dict[str, Any]]) -> None:
        for block in blocks:
            other = owner.setdefault(block["node"], job)
            run.check(other == job, f"{block['node']} is booked for jobs {other} and {job}")

    def give(job: int, nodes: set[str]) -> None:
        for node in nodes:
            run.check(owner.pop(node, job) == job, f"{node} is given back by job {job} and belongs to another")

    for row in records:
        job, data = row["job"], row["data"] or {}
        if row["event"] == "placed":
            take(job, data["blocks"])
            world[job] = {block["node"] for block in data["blocks"]}
        elif row["event"] == "requested":
            take(job, data["joining"])
            joining[job] = {block["node"] for block in data["joining"]}
        elif row["event"] in ENDS:
            joining.pop(job, None)
            if row["event"] == "committed":
                world[job] = {block["node"] for block in data["blocks"]}
        elif row["event"] == "freed":
            give(job, {block["node"] for block in data["blocks"]} - world[job] - joining.get(job, set()))
        elif row["event"] in ("ended", "requeued"):
            give(job, {node for node, who in owner.items() if who == job})


def check_slurm(run: HostRun) -> int:
    """By Slurm's own record no node was given to two jobs at once; it counts in seconds.  How many jobs there were."""
    spans: dict[str, list[tuple[str, str, str]]] = {}
    lines = (run.cluster_folder / "log" / "jobs").read_text(encoding="utf-8").splitlines()
    for line in lines:
        values = dict(re.findall(r"(\S+?)=(\S*)", line))
        if values["StartTime"] == "Unknown" or values["NodeList"] in ("(null)", ""):
            continue
        listed = run.on("head", "scontrol", "show", "hostnames", values["NodeList"]).stdout.split()
        for node in listed:
            spans.setdefault(node, []).append((values["StartTime"], values["EndTime"], values["JobId"]))
    for node, all_of_it in spans.items():
        ordered = sorted(all_of_it)
        for first, second in zip(ordered, ordered[1:], strict=False):
            run.check(first[1] <= second[0], f"Slurm gave {node} to two at once: {first} and {second}")
    return len(lines)


@case("W6 W7 C7", nodes=NODES, with_slurm=True, full=True, deadline_s=3 * LENGTH_S + 300)
def rm_slurm_mix(run: HostRun) -> None:
    """See above."""
    daemon = Slurm(run)
    watcher = Watcher(run)
    mix = Mix(run, daemon)
    end = time.monotonic() + LENGTH_S

    def others() -> int:
        return sum(name.startswith("slurm") for name in watcher.seen)

    def enough() -> bool:
        committed = sum(row["event"] == "committed" for row in daemon.query("events"))
        return committed >= COMMITTED and others() >= OTHERS

    try:
        while time.monotonic() < end:
            mix.turn()
            time.sleep(0.3)
        while not enough():  # a busy machine gets to as much, later
            run.check(time.monotonic() < end + 2 * LENGTH_S, "too few adaptations, or too few jobs of others")
            for _ in range(10):
                mix.turn()
                time.sleep(0.3)
        mix.finish()
        daemon.await_empty()
    finally:
        watcher.stop()
    run.check(not watcher.wrong, f"{len(watcher.wrong)} times two jobs on a host: {watcher.wrong[:5]}")
    records = daemon.query("events")
    kinds = check_requests(run, records)
    check_bookings(run, records)
    slurm_jobs = check_slurm(run)
    for number in mix.submitted:
        daemon.good_end(number)
    print(
        f"# {LENGTH_S:.0f} s: {len(mix.submitted)} elastic jobs, {dict(kinds)}; {len(mix.others)} jobs of others, {others()} of them "
        f"seen; {slurm_jobs} Slurm jobs; {watcher.polls} polls of the hosts",
        flush=True,
    )
    daemon.finish()

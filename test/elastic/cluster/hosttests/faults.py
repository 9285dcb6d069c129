"""The fault matrix: the outcome of an adaptation when a participant is killed, is stopped for a while, receives garbage
or has no free descriptor, or a host's link is cut, at each of its six steps (SPEC, "Six steps"), under elasticd's back
ends *hosts* and *slurm*.

A cell has a testbed of its own: three hosts, an elastic job on two of them in turn, a rigid job beside it on the third.
The fault is injected when the step sends the event that stands for the number.  For each fault: the job continues, or
ends with a reason, within FAULT_S; each accepted request has exactly one end; no process, segment or Slurm job of it is
left; the job beside it is not affected; elasticd answers.  `table` returns the observed outcomes, as
doc/admin/reliability.md shows them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from testbed import hosts, slurm

from .backend_hosts import managed
from .backend_slurm import Slurm
from .cases import CASES, FAULT_S, Case
from .hostrun import HostRun
from .managed import ENDED, Managed

STEPS = {1: "requested", 2: "launching", 3: "plan", 4: "target", 5: "agent_committed", 6: "committed"}
GOES_ON, FAILS, EITHER = {"DONE"}, {"FAILED"}, {"DONE", "FAILED"}
# Before the processes have agreed (step 4) staying processes do not notice (E3); step 3 is when it may be either.
AS_JOINING = {2: GOES_ON, 3: EITHER, 4: FAILS, 5: FAILS, 6: FAILS}
HOST_OF_JOINING = {1: GOES_ON} | AS_JOINING
ALWAYS_FAILS, ALWAYS_GOES_ON = dict.fromkeys(STEPS, FAILS), dict.fromkeys(STEPS, GOES_ON)
SHRINKING = (1, 4, 5, 6)  # nobody is launched
RECORDS = "faults.jsonl"
STOPPED_S = 5.0
RUBBISH = """
import socket, sys
for port in sys.argv[1:]:
    for printed in (b"", b"\\0", b"\\0\\0\\0", b"GET / HTTP/1.0\\r\\n\\r\\n", bytes(range(256)) * 64):
        try:
            socket.create_connection(("localhost", int(port)), 5).sendall(printed)
        except OSError:
            pass  # the port has been closed meanwhile, or we are cut off
"""


@dataclass(frozen=True)
class Victim:
    """The victim of a fault, the steps, and the states in which the job may end because of it."""

    name: str
    strike: Callable[[Scene], None]
    expected: dict[int, set[str]]
    prepare: Callable[[Scene], None] = lambda scene: None  # before the change
    mend: Callable[[Scene], None] = lambda scene: None  # before anything else is queried
    heal: Callable[[Scene], None] = lambda scene: None  # after the job has ended, or the change has
    shrinks: bool = False
    slurm_only: bool = False


class Scene:
    """Two jobs and the known data of their slots."""

    def __init__(self, run: HostRun, backend: str, shrinks: bool) -> None:
        self.run = run
        run.environment |= {"MPIEXEC_ADAPT_LAUNCH": "60s"}  # within FAULT_S
        self.daemon: Managed
        if backend == "slurm":
            self.daemon, self.unit = Slurm(run), 4  # whole nodes
        else:
            self.daemon, self.unit = managed(run, "h1:2", "h2:2", "h3:2"), 2
        daemon, unit = self.daemon, self.unit
        self.backend = backend
        self.beside = daemon.submit("beside", str(unit), "serve")
        daemon.await_adaptive(self.beside)
        self.job = daemon.submit("elastic", f"{unit}:{2 * unit}", "serve")
        daemon.await_adaptive(self.job)
        daemon.await_size(self.job, 2 * unit)
        self.saved_at = time.time()
        order = [node["name"] for node in daemon.show(self.job)["nodes"]]
        self.staying_host, self.other_host = order[0], order[-1]
        if shrinks:
            self.target = unit
        else:
            daemon.resize(self.job, unit)
            daemon.await_size(self.job, unit)
            (self.staying_host,) = daemon.slots(self.job)
            (self.other_host,) = {"h1", "h2", "h3"} - {self.staying_host} - set(daemon.slots(self.beside))
            daemon.await_nothing_on(self.other_host)
            self.target = 2 * unit
        started = json.loads((daemon.state / "steps" / f"{self.job}.1" / "stepd.json").read_text(encoding="utf-8"))
        self.mpiexec, self.stepd = (self.outer(started[name]) for name in ("pid", "stepd_pid"))
        self.members = {host: run.pids(host, "serve") for host in (self.staying_host, self.other_host)}

    def outer(self, inner: int) -> int:
        pid = hosts.outer_pid(self.run.host("head"), inner)
        assert pid is not None, f"process {inner} of head is not there"
        return pid

    def events(self) -> Generator[dict[str, Any], None, None]:
        """The events of the step from now on; its socket is in the private /run of elasticd's host."""
        inner = self.daemon.show(self.job)["step_socket"]
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(self.run.time_left())
        folder = os.open(f"/proc/{self.run.host('head').pid}/root{os.path.dirname(inner)}", os.O_PATH | os.O_DIRECTORY)
        with connection:
            connection.connect(f"/proc/self/fd/{folder}/{os.path.basename(inner)}")
            os.close(folder)
            connection.sendall(b'{"id":1,"op":"events","since":0,"follow":true}\n')
            with connection.makefile("rb") as lines:
                first = json.loads(lines.readline())["next"]
                yield {}
                for line in lines:
                    event = json.loads(line)
                    if event["seq"] >= first:
                        yield event

    def at_step(self, step: int) -> None:
        """Requests the change and returns when it has come so far."""
        events = self.events()
        next(events)
        self.daemon.resize(self.job, self.target)
        for event in events:
            if event["event"] == STEPS[step]:
                events.close()
                return
        self.run.fail(f"the step ended without the event {STEPS[step]}")

    # ---- strikes

    def kill(self, pid: int) -> None:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            self.run.notes.append(f"process {pid} had ended before it was killed")

    def kill_elasticd(self) -> None:
        self.daemon.signal(signal.SIGKILL)

    def start_elasticd(self) -> None:
        self.daemon.job = self.daemon.start()

    def kill_joining(self) -> None:
        pids = self.run.await_value(lambda: self.run.pids(self.other_host, "serve"), "joining process")
        self.kill(pids[0])

    def kill_proxy_of_joining(self) -> None:
        pids = self.run.await_value(lambda: self.run.pids(self.other_host, "hydra_pmi_proxy"), "proxy")
        self.kill(pids[0])

    def stop(self, pids: list[int]) -> None:
        self.stopped = pids
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)

    def stop_on(self, host: str, program: str) -> None:
        self.stop(self.run.await_value(lambda: self.run.pids(host, program), f"{program} on {host}"))

    def go_on(self) -> None:
        time.sleep(STOPPED_S)
        for pid in self.stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def talk_rubbish(self) -> None:
        """To everything on mpiexec's host that listens, elasticd apart: control ports of the job, and of the one beside it."""
        listed = self.run.on("head", "ss", "-tlnpH").stdout.splitlines()
        ports = [line.split()[3].rpartition(":")[2] for line in listed if "mpiexec" in line]
        if not ports:
            self.run.notes.append("mpiexec does not listen at this step")
        self.run.on("head", sys.executable, "-c", RUBBISH, *ports)

    def take_descriptors(self) -> None:
        """mpiexec gets no more than it has."""
        self.limit = resource.prlimit(self.mpiexec, resource.RLIMIT_NOFILE)
        highest = max(int(name) for name in os.listdir(f"/proc/{self.mpiexec}/fd"))
        resource.prlimit(self.mpiexec, resource.RLIMIT_NOFILE, (highest + 1, self.limit[1]))

    def give_descriptors(self) -> None:
        time.sleep(STOPPED_S)
        resource.prlimit(self.mpiexec, resource.RLIMIT_NOFILE, self.limit)

    def await_saved_state(self) -> None:
        """Waits until slurmctld has saved its jobs: it does so every few seconds, and loses later changes when it is
        killed."""
        saved = Path(self.run.cluster.folder) / "slurm" / "state" / "job_state"
        self.run.await_value(
            lambda: saved.exists() and saved.stat().st_mtime > self.saved_at, "saved state of slurmctld"
        )

    def kill_controller(self) -> None:
        self.kill(self.run.pids("head", "slurmctld")[0])

    def start_controller(self) -> None:
        slurm.start_controller(self.run.cluster)
        self.daemon.belongs_to_slurm()  # type: ignore[attr-defined]

    def kill_slurmd(self) -> None:
        """Kills the slurmd that has run from the beginning; its supervisors of steps continue."""
        self.kill(min(self.run.pids(self.other_host, "slurmd")))

    def start_slurmd(self) -> None:
        slurm.start_node(self.run.cluster, self.run.host(self.other_host))
        self.run.processes_before[self.other_host] |= set(self.run.pids(self.other_host, "slurmd"))

    def set_link(self, state: str) -> None:
        hosts.set_link(self.run.cluster, self.run.host(self.other_host), state)

    # ---- what came of it

    def without_change(self) -> dict[str, Any] | None:
        """The job when it has ended, or has no change under way."""
        shown = self.daemon.show(self.job)
        ended = shown["state"] in ENDED
        return shown if ended or (shown["state"] == "RUNNING" and not shown["adaptation"]) else None

    def ends_of_requests(self) -> list[str]:
        """How the accepted requests ended, in their order; each must have exactly one end."""
        rows = [row for row in self.daemon.query("events") if row["job"] == self.job]
        self.run.check(sum(row["event"] == "ended" for row in rows) == 1, f"the job must end once: {rows}")
        requested = [row["data"]["request"] for row in rows if row["event"] == "requested"]
        ends = [row for row in rows if row["event"] in ("committed", "withdrawn", "failed")]
        self.run.check(
            sorted(requested) == sorted(end["data"]["request"] for end in ends), f"requests {requested} and their ends: {ends}"
        )
        return [end["event"] for end in ends]

    def nothing_is_left(self) -> None:
        beside = set(self.daemon.slots(self.beside))
        for host in self.run.cluster.hosts:
            if hosts.alive(host) and host.name not in beside:
                self.daemon.await_nothing_on(host.name)
        if isinstance(self.daemon, Slurm):
            ours = ["squeue", "-h", "-n", f"elastic-{self.job}"]
            self.run.await_value(lambda: not self.daemon.slurm(*ours), "end of the Slurm jobs")  # type: ignore[attr-defined]


VICTIMS = [
    Victim("elasticd", Scene.kill_elasticd, ALWAYS_GOES_ON, mend=Scene.start_elasticd),
    Victim("mpiexec", lambda s: s.kill(s.mpiexec), ALWAYS_FAILS),
    Victim("elastic-stepd", lambda s: s.kill(s.stepd), ALWAYS_FAILS),
    Victim(
        "proxy of staying processes",
        lambda s: s.kill(s.run.pids(s.staying_host, "hydra_pmi_proxy")[0]),
        ALWAYS_FAILS,
    ),
    Victim("proxy of joining processes", Scene.kill_proxy_of_joining, AS_JOINING),
    Victim("joining process", Scene.kill_joining, AS_JOINING),
    Victim("staying process", lambda s: s.kill(s.members[s.staying_host][0]), ALWAYS_FAILS),
    Victim(
        "leaving process",
        lambda s: s.kill(s.members[s.other_host][-1]),
        {1: FAILS, 4: FAILS, 5: EITHER, 6: EITHER},
        shrinks=True,
    ),
    Victim("host of joining processes", lambda s: s.run.crash(s.other_host), HOST_OF_JOINING),
    Victim("host of staying processes", lambda s: s.run.crash(s.staying_host), ALWAYS_FAILS),
    Victim(
        "host of leaving processes",
        lambda s: s.run.crash(s.other_host),
        {1: FAILS, 4: FAILS, 5: EITHER, 6: EITHER},
        shrinks=True,
    ),
    Victim(
        "link of the host of joining processes",
        lambda s: s.set_link("down"),
        HOST_OF_JOINING,
        heal=lambda s: s.set_link("up"),
    ),
    Victim("mpiexec, stopped", lambda s: s.stop([s.mpiexec]), ALWAYS_GOES_ON, mend=Scene.go_on),
    Victim(
        "proxy of staying processes, stopped",
        lambda s: s.stop_on(s.staying_host, "hydra_pmi_proxy"),
        ALWAYS_GOES_ON,
        mend=Scene.go_on,
    ),
    Victim(
        "proxy of joining processes, stopped",
        lambda s: s.stop_on(s.other_host, "hydra_pmi_proxy"),
        dict.fromkeys(AS_JOINING, GOES_ON),
        mend=Scene.go_on,
    ),
    Victim(
        "staying process, stopped",
        lambda s: s.stop(s.members[s.staying_host][:1]),
        ALWAYS_GOES_ON,
        mend=Scene.go_on,
    ),
    Victim("mpiexec receives rubbish", Scene.talk_rubbish, ALWAYS_GOES_ON),
    Victim(
        "mpiexec finds no descriptor", Scene.take_descriptors, ALWAYS_GOES_ON, mend=Scene.give_descriptors
    ),
    Victim(  # it goes on, unless slurmctld has lost the Slurm job of the new node, and takes that away
        "slurmctld",
        Scene.kill_controller,
        dict.fromkeys(STEPS, EITHER),
        prepare=Scene.await_saved_state,
        mend=Scene.start_controller,
        slurm_only=True,
    ),
    Victim(
        "slurmd of joining processes", Scene.kill_slurmd, ALWAYS_GOES_ON, mend=Scene.start_slurmd, slurm_only=True
    ),
]
# What ./run test tries; --full tries all.
SAMPLE = {("hosts", "joining process", 2), ("hosts", "host of joining processes", 4), ("slurm", "elasticd", 5)}


def cell(backend: str, victim: Victim, step: int, run: HostRun) -> None:
    scene = Scene(run, backend, victim.shrinks)
    daemon = scene.daemon
    victim.prepare(scene)
    scene.at_step(step)
    victim.strike(scene)
    began = time.monotonic()
    victim.mend(scene)
    expected = victim.expected[step]
    if expected == FAILS:
        daemon.await_end(scene.job, "FAILED")
    shown: dict[str, Any] = run.await_value(scene.without_change, f"end of the change; {daemon.show(scene.job)}")
    took_s = time.monotonic() - began
    run.check(took_s < FAULT_S * run.setting.patience_factor, f"it took {took_s:.0f} s")
    victim.heal(scene)
    if shown["state"] not in ENDED:
        run.check("DONE" in expected, f"the job goes on: {shown}")
        (Path(shown["output"]).parent / "stop").touch()
        shown = daemon.await_end(scene.job, *expected)  # what is struck may still be on its way
    if shown["state"] == "DONE":
        daemon.good_end(scene.job)
    run.check(shown["state"] in expected, f"job: {shown}")
    run.check(shown["state"] == "DONE" or shown["reason"], "no reason is given")
    ends = scene.ends_of_requests()
    scene.nothing_is_left()
    run.check(daemon.show(scene.beside)["state"] == "RUNNING", "the job beside it has noticed")
    daemon.let_end(scene.beside)
    note(run, backend, victim.name, step, shown["state"], ends[-1], shown["reason"] or "")


def note(run: HostRun, backend: str, victim: str, step: int, state: str, end: str, reason: str) -> None:
    row = {"backend": backend, "victim": victim, "step": step, "state": state, "end": end, "reason": reason}
    with (run.setting.folder / RECORDS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def table(folder: Path) -> str:
    """Markdown of the cells that were run; empty if none was."""
    path = folder / RECORDS
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []
    text = ""
    for backend in ("hosts", "slurm"):
        cells = {(row["victim"], row["step"]): f"{row['end']}, {row['state']}" for row in rows if row["backend"] == backend}
        if not cells:
            continue
        heads = [f"{step} {event}" for step, event in STEPS.items()]
        text += f"\nBack end *{backend}*\n\n| struck | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}\n"
        for victim in VICTIMS:
            if any(name == victim.name for name, _ in cells):
                shown = [cells.get((victim.name, step), "–") for step in STEPS]
                text += f"| {victim.name} | {' | '.join(shown)} |\n"
    return text


def register() -> None:
    for backend in ("hosts", "slurm"):
        for victim in VICTIMS:
            if victim.slurm_only and backend != "slurm":
                continue
            for step in victim.expected:
                name = f"fault_{backend}_{re.sub('[^a-z]+', '_', victim.name)}_{step}"
                drive = partial(cell, backend, victim, step)
                full = (backend, victim.name, step) not in SAMPLE
                CASES.append(Case(name, drive, ["E3", "E4"], 3, backend == "slurm", full, 300))


register()

"""elasticd's back end *slurm* on a real Slurm: the state of Slurm must follow elasticd, and the jobs of other users
have priority.

The other user is `nobody`; elasticd runs as root on the login node.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from testbed import slurm

from .cases import case
from .dynamic import example
from .hostrun import HostRun
from .managed import Managed

OTHERS = "65534"


def slurm_config(extra: str = "") -> str:
    """Polls that are quick enough for a test."""
    return f'[backend]\nkind = "slurm"\n[slurm]\npoll_interval = "300ms"\n{extra}\n'


class Slurm(Managed):
    """elasticd over the testbed's Slurm, and the state that Slurm itself shows."""

    def __init__(
        self, run: HostRun, extra: str = "", options: Sequence[str] = (), before: Sequence[str] = ()
    ) -> None:
        self.before = before
        for folder in (run.folder, run.folder.parent):
            folder.chmod(folder.stat().st_mode | 0o055)  # slurmd keeps scripts of others there
        super().__init__(run, slurm_config(extra), options)
        for host in run.cluster.hosts:
            self.await_node(host.name, "up")

    def slurm(self, *words: str) -> str:
        done = self.run.on("head", *words)
        self.run.check(done.returncode == 0, f"{' '.join(words)}: {done.stderr}")
        return done.stdout.strip()

    def names(self, listed: str) -> set[str]:
        return set(self.slurm("scontrol", "show", "hostnames", listed).split()) if listed.strip() else set()

    def rows(self, *words: str) -> list[list[str]]:
        return [line.split("|") for line in self.slurm("squeue", "-h", *words).splitlines()]

    def slurm_jobs(self, job: int) -> dict[str, set[str]]:
        """The Slurm jobs of one of elasticd's, with their nodes."""
        return {row[0]: self.names(row[1]) for row in self.rows("-n", f"elastic-{job}", "-t", "R", "-o", "%A|%N")}

    def agreed(self, job: int) -> bool:
        """Whether elasticd and Slurm see the job on the same nodes, each of them once."""
        nodes = [node for each in self.slurm_jobs(job).values() for node in each]
        return sorted(nodes) == sorted(self.slots(job))

    def await_agreed(self, job: int, size: int) -> None:
        self.await_size(job, size)
        self.run.await_value(lambda: self.agreed(job), f"Slurm's view of job {job} with {size} processes")

    def start_job(self, name: str, size: str, agreed: int) -> int:
        """An elastic job that runs with so many processes, and elasticd and Slurm see it on the same nodes."""
        job = self.submit(name, size, "serve")
        self.await_adaptive(job)
        self.await_agreed(job, agreed)
        return job

    def others(self, nodes: int, seconds: str, *options: str) -> str:
        """A rigid job of another user, directly to Slurm."""
        words = ["sbatch", "--parsable", f"--uid={OTHERS}", "--export=NONE", "-N", str(nodes), "-D", "/tmp", "-o", "/dev/null", *options]
        return self.slurm(*words, "--wrap", f"sleep {seconds}")

    def state_of(self, slurm_job: str) -> str:
        return self.slurm("squeue", "-h", "-t", "all", "-j", slurm_job, "-o", "%T")

    def await_state(self, slurm_job: str, state: str) -> None:
        self.run.await_value(lambda: self.state_of(slurm_job) == state, f"Slurm job {slurm_job} that is {state}")

    def belongs_to_slurm(self, host: str = "head") -> None:
        """Daemons that have been started again do not count as left by the test.  slurmctld is complete when it
        answers."""
        self.run.await_value(lambda: slurm.node_states(self.run.cluster), "answer of slurmctld")
        for name in ("slurmctld", "slurmscriptd", ": slurmscriptd", "munged", "slurmd"):
            self.run.processes_before[host] |= set(self.run.pids(host, name))

    def cancel_others(self, *slurm_jobs: str) -> None:
        self.slurm("scancel", *slurm_jobs)

    def await_empty(self) -> None:
        self.run.await_value(lambda: not self.slurm("squeue", "-h"), "empty queue of Slurm")

    def never(self, seconds: float, what: str, happens: Callable[[], Any]) -> None:
        """Several polls of elasticd at Slurm long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = happens()
            self.run.check(not found, f"{what}: {found}")
            time.sleep(0.1)

    def finish(self) -> None:
        """Nothing is left in either."""
        self.await_empty()
        self.stop()


# ---- growing and shrinking -----------------------------------------------------------------------------


def follow(run: HostRun, daemon: Slurm) -> None:
    """A job starts on all nodes, shrinks to one, grows again, while others get and release the nodes that it left."""
    job = daemon.start_job("elastic", "2:16", 16)
    daemon.resize(job, 3)
    daemon.await_agreed(job, 3)
    others = daemon.others(3, "600")
    daemon.await_state(others, "RUNNING")
    nodes = daemon.names(daemon.slurm("squeue", "-h", "-j", others, "-o", "%N"))
    run.check(not nodes & set(daemon.slots(job)), f"others are on {nodes}, the job on {daemon.slots(job)}")
    for node in nodes:
        daemon.await_nothing_on(node)
        daemon.await_node(node, "drained", "down")
        run.check(f"Slurm job {others} of nobody" in daemon.node(node)["reason"], f"node: {daemon.node(node)}")
    refused = daemon.elastic("resize", str(job), "9")
    run.check(refused.returncode != 0, "it grows over the nodes of others")
    daemon.cancel_others(others)
    for node in nodes:
        daemon.await_node(node, "up")
    daemon.resize(job, 9)
    daemon.await_agreed(job, 9)
    daemon.resize(job, 4)
    daemon.await_agreed(job, 4)
    daemon.let_end(job)
    daemon.finish()


@case("W6 C7", with_slurm=True)
def rm_slurm_follows(run: HostRun) -> None:
    """Without accounting elasticd finds out that jobs must be sets, and states so."""
    daemon = Slurm(run)
    run.check("set of Slurm jobs" in daemon.job.err, f"elasticd does not report how it resizes: {daemon.job.err}")
    follow(run, daemon)


@case("W6 C7", accounting=True, full=True, deadline_s=300)
def rm_slurm_merges(run: HostRun) -> None:
    """With accounting and permit_job_expansion one Slurm job grows and shrinks."""
    daemon = Slurm(run)
    run.check("by merging" in daemon.job.err, f"elasticd does not report how it resizes: {daemon.job.err}")
    job = daemon.submit("merged", "1:16", "serve")
    daemon.await_adaptive(job)
    seen = set()
    for size in (16, 4, 8, 2, 13, 1, 16):
        if daemon.show(job)["size"] != size:
            daemon.resize(job, size)
        daemon.await_agreed(job, size)
        run.check(len(daemon.slurm_jobs(job)) == 1, f"Slurm jobs: {daemon.slurm_jobs(job)}")
        seen |= set(daemon.slurm_jobs(job))
    run.check(len(seen) == 1, f"the job was several Slurm jobs: {seen}")
    daemon.let_end(job)
    follow(run, daemon)


@case("W6 C7", accounting=True, full=True, deadline_s=300)
def rm_slurm_forced_set(run: HostRun) -> None:
    """resize = "set" is a set even where merging would do."""
    daemon = Slurm(run, 'resize = "set"')
    follow(run, daemon)


@case("W6 C7", full=True, with_slurm=True, deadline_s=300)
def rm_slurm_forced_merge(run: HostRun) -> None:
    """resize = "merge" without accounting: growing works; nodes that Slurm does not take back are kept, and printed."""
    daemon = Slurm(run, 'resize = "merge"')
    job = daemon.start_job("merged", "1:8", 8)
    for size in (4, 8):  # Slurm takes one change, and merges an expansion
        daemon.resize(job, size)
        daemon.await_agreed(job, size)
    daemon.resize(job, 4)
    daemon.await_size(job, 4)
    run.await_value(lambda: "does not release nodes" in daemon.job.err, "word about nodes that stay")
    daemon.let_end(job)
    daemon.finish()


@case("W6 C7", nodes=3, with_slurm=True, cpus=(2, 4, 1))
def rm_slurm_nodes_of_different_size(run: HostRun) -> None:
    """Each node gets as many processes as it has cores, for each job."""
    cores = {"h1": 2, "h2": 4, "h3": 1}
    daemon = Slurm(run)
    job = daemon.start_job("elastic", "1:16", 7)
    run.check(daemon.slots(job) == cores, f"it is on {daemon.slots(job)}")
    daemon.resize(job, 2)
    daemon.await_agreed(job, 2)
    free = {node: count for node, count in cores.items() if node not in daemon.slots(job)}
    rigid = daemon.submit("rigid", str(sum(free.values())), "serve")
    daemon.await_adaptive(rigid)
    run.check(daemon.slots(rigid) == free, f"it is on {daemon.slots(rigid)}; these are free: {free}")
    daemon.let_end(rigid)
    daemon.resize(job, 7)
    daemon.await_agreed(job, 7)
    run.check(daemon.slots(job) == cores, f"it is on {daemon.slots(job)}")
    daemon.let_end(job)
    daemon.finish()


@case("DA1 DA2 DA12", nodes=3, with_slurm=True)
def rm_slurm_slots(run: HostRun) -> None:
    """Slots are on the job's own nodes, which Slurm gets back when the last slot there is released; others are refused."""
    daemon = Slurm(run)
    farm = daemon.submit("farm", "1", example(run, "taskfarm"), "40", "sh", "-c", "echo run on $(hostname)", options=("--places", "3"))
    shown = daemon.await_end(farm, "DONE")
    ran = {line.split()[-1] for line in daemon.output(shown).splitlines() if line.startswith("run on ")}
    run.check(len(ran) == 1 and "40 runs ended with 0" in daemon.output(shown), f"it ran on {ran}: {daemon.output(shown)[-600:]}")
    refused = daemon.await_end(daemon.submit("refused", "1", "serve", "--task", "h3", options=("--places", "1")), "FAILED")
    run.check("of the job's nodes" in daemon.output(refused) and "salloc" in daemon.output(refused), f"it prints: {daemon.output(refused)[-900:]}")
    daemon.await_empty()
    for host in ("h1", "h2"):
        daemon.await_node(host, "up")

    job = daemon.submit("elastic", "1:5", "serve", "--task", "h2", options=("--places", "1"))
    daemon.await_agreed(job, 5)
    run.await_value(lambda: "TASK RUNS" in daemon.output(daemon.show(job)), "a process on a place")
    daemon.resize(job, 4)
    daemon.await_size(job, 4)
    run.await_value(lambda: set(daemon.slots(job)) == {"h1"}, "end of the process that has left")
    others = daemon.others(2, "600")
    daemon.never(2, "a node with a slot was released", lambda: set().union(*daemon.slurm_jobs(job).values()) != {"h1", "h2"})
    run.check(daemon.state_of(others) == "PENDING", "others have the node")
    (run.work / "elastic" / "enough").touch()
    daemon.await_state(others, "RUNNING")
    run.check(daemon.agreed(job), f"it has {daemon.slurm_jobs(job)}")
    daemon.let_end(job)
    daemon.cancel_others(others)
    daemon.finish()


# ---- others who wait -----------------------------------------------------------------------------------


@case("W6 C7", with_slurm=True)
def rm_slurm_gives_way(run: HostRun) -> None:
    """An elastic job shrinks for others that wait for nodes, not below its minimum, and gets the nodes again later."""
    daemon = Slurm(run)
    job = daemon.start_job("elastic", "6:16", 16)
    others = daemon.others(2, "600")
    daemon.await_state(others, "RUNNING")
    daemon.await_agreed(job, 8)
    reasons = [row["data"]["reason"] for row in daemon.records("requested", job)]
    run.check(f"nodes for Slurm job {others} of nobody" in reasons, f"reasons: {reasons}")
    more = daemon.others(1, "600")
    run.await_value(lambda: daemon.state_of(more) == "PENDING" and daemon.rows("-j", more, "-o", "%r")[0][0] in ("Resources", "Priority"), "a job that waits")
    changes = len(daemon.records("requested", job))
    daemon.never(3, "it gave way below its minimum, or in vain", lambda: daemon.records("requested", job)[changes:])
    daemon.cancel_others(others, more)
    daemon.await_agreed(job, 16)
    daemon.let_end(job)
    daemon.finish()


@case("", with_slurm=True, full=True)
def rm_slurm_gives_way_to_nobody(run: HostRun) -> None:
    daemon = Slurm(run, "yield_to_waiting = false")
    job = daemon.start_job("elastic", "1:16", 16)
    others = daemon.others(1, "600")
    run.await_value(lambda: daemon.rows("-j", others, "-o", "%r")[0][0] == "Resources", "a job that waits")
    daemon.never(3, "it gave way", lambda: daemon.show(job)["size"] != 16)
    daemon.let_end(job)
    daemon.await_state(others, "RUNNING")
    daemon.cancel_others(others)
    daemon.finish()


# ---- faults --------------------------------------------------------------------------------------------


@case("E4", with_slurm=True)
def rm_slurm_cancelled_outside(run: HostRun) -> None:
    """Slurm jobs that an administrator cancels: that job ends with this reason, the others continue."""
    daemon = Slurm(run)
    stays = daemon.submit("stays", "4", "serve")
    goes = daemon.submit("goes", "2:8", "serve")
    for job in (stays, goes):
        daemon.await_adaptive(job)
    daemon.await_agreed(goes, 8)
    victim = next(iter(daemon.slurm_jobs(goes)))
    daemon.cancel_others(victim)
    shown = daemon.await_end(goes, "FAILED")
    run.check(f"Slurm job {victim} was cancelled" in shown["reason"], f"reason: {shown['reason']}")
    daemon.await_agreed(stays, 4)
    daemon.let_end(stays)
    daemon.finish()


def replace_command(run: HostRun, name: str, script: str) -> None:
    """Replaces a command for all processes that are started from now on."""
    folder = run.work / "bin"
    folder.mkdir()
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)
    run.environment["PATH"] = f"{folder}:{run.environment['PATH']}"


def slow_salloc(run: HostRun) -> Path:
    """A salloc that answers late: the time between the allocation and its answer is long enough for a kill in it."""
    replace_command(run, "salloc", f'/usr/bin/salloc "$@"\ncode=$?\n: >{run.work}/allocated\nsleep 5\nexit $code')
    return run.work / "allocated"


@case("E3", nodes=2, with_slurm=True)
def rm_slurm_srun_fails(run: HostRun) -> None:
    """A launch that Slurm does not start on one of the nodes ends, names the node, and gives all nodes back."""
    replace_command(run, "srun", 'case "$*" in *"--nodelist h2 "*) echo "srun: error: no" >&2; exit 1;; esac\nexec /usr/bin/srun "$@"')
    daemon = Slurm(run)
    shown = daemon.await_end(daemon.submit("wide", "8", "serve"), "FAILED")
    printed = daemon.output(shown)
    run.check(re.search("^host h2: its proxy could not be started by slurm", printed, re.M), f"it prints: {printed}")
    daemon.finish()


@case("", nodes=2, with_slurm=True, deadline_s=240)
def rm_slurm_killed_between_allocation_and_answer(run: HostRun) -> None:
    """elasticd finds allocations again whose answer it has missed, and cancels those that belong to no job."""
    path = run.environment["PATH"]
    allocated = slow_salloc(run)
    daemon = Slurm(run)
    job = daemon.submit("first", "8", "serve")
    run.await_value(allocated.exists, "an allocation")
    daemon.signal(signal.SIGKILL)
    run.environment["PATH"] = path
    number = (daemon.state / "slurm_id").read_text(encoding="utf-8")
    daemon.job = daemon.start()
    daemon.await_adaptive(job)
    daemon.await_agreed(job, 8)
    daemon.let_end(job)
    daemon.await_empty()
    orphan, foreign = (
        run.on("head", "salloc", "-Q", "--no-shell", "-N1", "--exclusive", f"--comment={tag}").returncode
        for tag in (f"elasticd:{number}:999.1.0", "elasticd:0000000000000000:1.1.0")
    )
    run.check(orphan == 0 and foreign == 0, "salloc of the test failed")
    run.await_value(lambda: len(daemon.rows("-o", "%k")) == 1, "end of the Slurm job that belongs to no job")
    run.check(daemon.rows("-o", "%k")[0][0].startswith("elasticd:0000"), "elasticd cancelled what is not its own")
    daemon.slurm("scancel", "-u", "root")
    daemon.finish()


@case("", with_slurm=True, deadline_s=300, full=True)
def rm_slurm_killed_again_and_again(run: HostRun) -> None:
    """kill -9 of elasticd at any moment: nothing is lost, nothing is left, results are right."""
    daemon = Slurm(run)
    jobs = [daemon.submit(f"job{i}", "1:12", "serve") for i in range(3)]
    for i in range(8):
        time.sleep(0.2 + 0.37 * i)  # another moment each time
        daemon.signal(signal.SIGKILL)
        daemon.job = daemon.start()
        if i == 3:
            daemon.submit("late", "4", "cycle", "--epochs", "0")
    for job in jobs:
        daemon.await_adaptive(job)
    for job in jobs:
        run.await_value(lambda: daemon.agreed(job), f"Slurm's view of job {job}")
        daemon.let_end(job)
    run.await_value(lambda: not daemon.query("queue"), "end of all jobs")
    daemon.finish()


@case("", with_slurm=True, full=True)
def rm_slurm_controller_down(run: HostRun) -> None:
    """Without slurmctld running jobs continue, waiting ones state the reason, and start when it runs again."""
    daemon = Slurm(run)
    job = daemon.submit("runs", "4", "serve")
    daemon.await_adaptive(job)
    os.kill(run.pids("head", "slurmctld")[0], signal.SIGKILL)
    waits = daemon.submit("waits", "4", "serve")
    daemon.await_job(waits, "a reason that names Slurm", lambda j: "Slurm does not answer" in (j["reason"] or ""))
    run.check(daemon.show(job)["state"] == "RUNNING", "the running job was disturbed")
    slurm.start_controller(run.cluster)
    daemon.belongs_to_slurm()
    daemon.await_adaptive(waits)
    for each in (job, waits):
        daemon.let_end(each)
    daemon.finish()


@case("", with_slurm=True, full=True)
def rm_slurm_munge_down(run: HostRun) -> None:
    daemon = Slurm(run)
    job = daemon.submit("runs", "4", "serve")
    daemon.await_adaptive(job)
    os.kill(run.pids("head", "munged")[0], signal.SIGTERM)
    run.await_value(lambda: not run.pids("head", "munged"), "end of munged")
    waits = daemon.submit("waits", "4", "serve")
    shown = daemon.await_job(waits, "a reason", lambda j: "Slurm does not answer" in (j["reason"] or ""))
    run.check(re.search("unge|uthentication", shown["reason"]), f"reason: {shown['reason']}")
    slurm.start_munge(run.cluster)
    daemon.belongs_to_slurm()
    daemon.await_adaptive(waits)
    for each in (job, waits):
        daemon.let_end(each)
    daemon.finish()


@case("E3", with_slurm=True, full=True)
def rm_slurm_refused_growth(run: HostRun) -> None:
    """Slurm refuses the nodes: the job keeps its world, the reason has the message of Slurm."""
    daemon = Slurm(run, 'wait = "0"')
    job = daemon.start_job("elastic", "2:16", 16)
    daemon.resize(job, 4)
    daemon.await_agreed(job, 4)
    daemon.slurm("scontrol", "update", "PartitionName=all", "State=DOWN")
    daemon.resize(job, 8)
    withdrawn: list[dict[str, Any]] = run.await_value(lambda: daemon.records("withdrawn", job), "a withdrawn change")
    run.check("Slurm: " in withdrawn[0]["data"]["reason"], f"reason: {withdrawn[0]}")
    daemon.await_agreed(job, 4)
    daemon.slurm("scontrol", "update", "PartitionName=all", "State=UP")
    daemon.resize(job, 8)
    daemon.await_agreed(job, 8)
    daemon.let_end(job)
    daemon.finish()


@case("", with_slurm=True)
def rm_slurm_never(run: HostRun) -> None:
    """A job that Slurm will never start ends with Slurm's reason; one with a shorter time limit runs."""
    daemon = Slurm(run)
    daemon.slurm("scontrol", "update", "PartitionName=all", "MaxTime=10")
    job = int(daemon.elastic("submit", "--parsable", "-t", "60", "-n", "2:4", "--program", "true").stdout)
    reason = daemon.await_end(job, "FAILED")["reason"]
    run.check("time limit" in reason and "Slurm" in reason, f"reason: {reason}")
    small = int(daemon.elastic("submit", "--parsable", "-t", "5", "-n", "2", "--program", "true").stdout)
    daemon.await_end(small, "DONE")
    daemon.slurm("scontrol", "update", "PartitionName=all", "MaxTime=INFINITE")
    daemon.finish()


@case("E4", with_slurm=True, full=True, deadline_s=300)
def rm_slurm_nodes_drained_and_failed(run: HostRun) -> None:
    """A malleable job leaves a node that is drained in Slurm; one whose node Slurm gives up ends with that reason."""
    daemon = Slurm(run)
    job = daemon.start_job("elastic", "2:16", 16)
    daemon.slurm("scontrol", "update", "NodeName=h1", "State=DRAIN", "Reason=fan")
    daemon.await_agreed(job, 12)
    run.check("h1" not in daemon.slots(job), f"it is on {daemon.slots(job)}")
    run.check("fan" in daemon.node("h1")["reason"], f"node: {daemon.node('h1')}")
    daemon.slurm("scontrol", "update", "NodeName=h1", "State=RESUME")
    daemon.await_agreed(job, 16)
    run.crash("h4")
    shown = daemon.await_end(job, "FAILED")
    run.check("h4" in shown["reason"] + daemon.output(shown), f"{shown['reason']}, output: {daemon.output(shown)[-400:]}")
    daemon.await_node("h4", "down", "drained")
    again = daemon.submit("again", "12", "serve")
    daemon.await_adaptive(again)
    run.check("h4" not in daemon.slots(again), f"it is on {daemon.slots(again)}")
    daemon.let_end(again)
    daemon.finish()


@case("E4", nodes=2, with_slurm=True, full=True, deadline_s=300)
def rm_slurm_slurmd_dies(run: HostRun) -> None:
    """Without slurmd a node's processes live on, until Slurm gives the node up: then the job ends with that reason."""
    daemon = Slurm(run)
    job = daemon.submit("runs", "8", "serve")
    daemon.await_adaptive(job)
    os.kill(run.pids("h2", "slurmd")[0], signal.SIGKILL)
    shown = daemon.await_end(job, "FAILED")
    run.check("h2" in shown["reason"], f"reason: {shown['reason']}")
    slurm.start_node(run.cluster, run.host("h2"))
    daemon.belongs_to_slurm("h2")
    daemon.await_node("h2", "up")
    again = daemon.submit("again", "8", "serve")
    daemon.await_adaptive(again)
    daemon.let_end(again)
    daemon.finish()


def as_others(folder: Path) -> list[str]:
    """The prefix that runs a command as the other user; the folder is for its sockets."""
    user = ["setpriv", f"--reuid={OTHERS}", f"--regid={OTHERS}", "--clear-groups"]
    return [*user, "env", f"XDG_RUNTIME_DIR={folder}", f"HOME={folder}"]


@case("", with_slurm=True, full=True)
def rm_slurm_without_privilege(run: HostRun) -> None:
    """elasticd of a user without any privilege, for that user's own jobs."""
    for folder in (run.folder, run.work):
        folder.chmod(0o777)
    theirs = run.work / "sockets"
    theirs.mkdir()
    os.chown(theirs, int(OTHERS), int(OTHERS))
    daemon = Slurm(run, before=as_others(theirs))
    (run.work / "elastic").mkdir(mode=0o777)
    (run.work / "elastic").chmod(0o777)
    job = daemon.start_job("elastic", "2:8", 8)
    run.check({row[0] for row in daemon.rows("-n", f"elastic-{job}", "-o", "%u")} == {"nobody"}, "whose Slurm job it is")
    daemon.resize(job, 3)
    daemon.await_agreed(job, 3)
    waits = daemon.others(4, "600")  # also of the same user, but not elasticd's
    daemon.never(2, "it gave way in vain", lambda: daemon.show(job)["size"] != 3)
    daemon.cancel_others(waits)
    daemon.let_end(job)
    daemon.finish()


@case("", with_slurm=True, full=True)
def rm_slurm_users(run: HostRun) -> None:
    """elasticd as root for another user: processes and Slurm jobs are that user's."""
    daemon = Slurm(run, "[listen]\nsocket_mode = 0o666")
    folder = run.work / "theirs"
    folder.mkdir()
    os.chown(folder, int(OTHERS), int(OTHERS))
    run.work.chmod(0o755)
    user = as_others(folder)
    elastic = f"{run.setting.prefix}/bin/elastic"
    submit = ["submit", "--parsable", "-J", "theirs", "-n", "2:8", "-D", str(folder), "-o", f"{folder}/out"]
    done = run.on("head", *user, elastic, *submit, "--program", run.program("serve"))
    run.check(done.returncode == 0, f"submit: {done.stderr}")
    job = int(done.stdout)
    daemon.await_adaptive(job)
    daemon.await_agreed(job, 8)
    run.check({row[0] for row in daemon.rows("-n", f"elastic-{job}", "-o", "%u")} == {"nobody"}, "whose Slurm job it is")
    for node in daemon.slots(job):
        owners = {os.stat(f"/proc/{pid}").st_uid for pid in daemon.on_host(node)}
        run.check(owners == {int(OTHERS)}, f"processes on {node} belong to {owners}")
    daemon.resize(job, 3)
    daemon.await_agreed(job, 3)
    daemon.let_end(job)
    daemon.finish()


@case("", with_slurm=True)
def rm_slurm_script(run: HostRun) -> None:
    """A script with two mpiexec, one after the other, gets its nodes through Slurm, too."""
    daemon = Slurm(run)
    script = run.work / "job.sh"
    line = f"{run.setting.prefix}/bin/mpiexec {run.program('cycle')} --epochs 0"
    script.write_text(f"#!/bin/sh\n{line} && {line}\n", encoding="utf-8")
    done = daemon.elastic("submit", "--parsable", "-n", "8", "-D", str(run.work), "-o", f"{run.work}/out", str(script))
    run.check(done.returncode == 0, f"submit: {done.stderr}")
    daemon.await_end(int(done.stdout), "DONE")
    text = (run.work / "out").read_text(encoding="utf-8")
    run.check(text.count("PASS epoch=0 size=8") == 2, f"output: {text[-600:]}")
    daemon.finish()

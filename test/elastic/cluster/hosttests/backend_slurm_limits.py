"""Limits of a real Slurm: what it will never allow ends the job at once, what it may allow later waits with its reason,
and a start that is too large is repeated with fewer nodes.  A node that leaves the partition keeps its jobs."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

from testbed import slurm

from .backend_slurm import Slurm
from .cases import case
from .hostrun import HostRun

ENFORCED = "AccountingStorageEnforce=limits,qos\nPartitionName=closed Nodes=ALL AllowQos=vip OverSubscribe=EXCLUSIVE\n"
ACCOUNT = 'account = "physics"\nqos = "short"'


def sacctmgr(run: HostRun, *words: str) -> None:
    done = run.on("head", "sacctmgr", "-i", *words)
    run.check(done.returncode == 0, f"sacctmgr {words}: {done.stdout}{done.stderr}")


def enforce_limits(run: HostRun) -> None:
    """A site whose Slurm enforces the limits of accounts and QOS: a new account and QOS of root."""
    path = Path(run.cluster.folder) / "slurm" / "etc" / "slurm.conf"
    path.write_text(path.read_text(encoding="utf-8") + ENFORCED, encoding="utf-8")
    os.kill(run.pids("head", "slurmctld")[0], signal.SIGKILL)
    run.await_value(lambda: not run.pids("head", "slurmctld"), "end of slurmctld")
    for words in (("account", "physics"), ("user", "root", "account=physics"), ("qos", "short"), ("qos", "vip")):
        sacctmgr(run, "add", *words)
    sacctmgr(run, "modify", "user", "root", "set", "qos+=short")
    slurm.start_controller(run.cluster)
    run.await_value(lambda: set(slurm.node_states(run.cluster).values()) == {"idle"}, "idle nodes of Slurm")


class Limited(Slurm):
    """elasticd over such a Slurm."""

    def __init__(self, run: HostRun, extra: str = "") -> None:
        super().__init__(run, extra)
        self.belongs_to_slurm()

    def limit(self, owner: str, setting: str) -> None:
        """Slurm applies it at once; NAME=-1 removes it."""
        words = {"association": ("user", "root", "where", "account=physics"), "qos": ("qos", "short")}[owner]
        sacctmgr(self.run, "modify", *words, "set", setting)

    def program(self, size: str, *options: str) -> int:
        done = self.elastic("submit", "--parsable", "-n", size, *options, "--program", "/bin/sleep", "600")
        self.run.check(done.returncode == 0, f"submit: {done.stderr}")
        return int(done.stdout)

    def await_never(self, job: int, text: str) -> None:
        """It ends, and why, reason and record agree."""
        shown = self.await_end(job, "FAILED")
        self.run.check(text in shown["reason"], f"reason: {shown['reason']}, wanted {text}")
        shown_why = self.elastic("why", str(job)).stdout
        self.run.check(text in shown_why, f"why: {shown_why}")
        ends = [row["data"]["reason"] for row in self.records("ended", job)]
        self.run.check(ends == [shown["reason"]], f"records: {ends}, reason {shown['reason']}")

    def await_waits(self, job: int, text: str) -> None:
        """It waits with this reason, and no other explanation contradicts it."""

        def explained() -> bool:
            lines = self.elastic("why", str(job)).stdout.splitlines()
            return lines[0].startswith(f"job {job}: PENDING: Slurm: ") and text in lines[0] and len(lines) == 1

        self.run.await_value(explained, f"job {job} that waits: {text}")

    def cancel(self, *jobs: int) -> None:
        for job in jobs:
            self.elastic("cancel", str(job))
            self.await_end(job, "CANCELLED")
        self.await_empty()


@case("", accounting=True, full=True, nodes=3, deadline_s=300)
def rm_slurm_limits_never_met(run: HostRun) -> None:
    """A request above a limit of one job of the association or the QOS, at any size it may have, ends the job."""
    enforce_limits(run)
    daemon = Limited(run, ACCOUNT)
    for owner, setting, size, text in (
        ("association", "MaxWall=10", "2:8", "its time limit is above that of the user's association: request less time (AssocMaxWall"),
        ("qos", "MaxWall=10", "2:8", "its time limit is above that of the QOS: request less time (QOSMaxWall"),
        ("association", "MaxTRESPerJob=node=1", "8", "it requests more than the user's association allows one job (AssocMaxNode"),
        ("qos", "MaxTRESPerJob=node=1", "8", "it requests more than the QOS allows one job (QOSMaxNode"),
        ("qos", "MaxTRESPerJob=cpu=2", "1:4", "it requests more than the QOS allows one job (QOSMaxCpu"),
        ("association", "MaxTRESMinsPerJob=cpu=10", "4", "time limit is more than the user's association allows one job (AssocMaxCpuMinutes"),
        ("qos", "MinTRESPerJob=node=2", "4", "it requests less than the minimum of the QOS (QOSMinNode"),
    ):  # fmt: skip
        daemon.limit(owner, setting)
        daemon.await_never(daemon.program(size, "-t", "60"), text)
        daemon.limit(owner, re.sub(r"\w+$", "-1", setting))
    daemon.finish()


@case("", accounting=True, full=True, nodes=3, deadline_s=300)
def rm_slurm_limits_met_later(run: HostRun) -> None:
    """What others of the same account or QOS use is released later: the job waits with a reason, and starts then."""
    enforce_limits(run)
    daemon = Limited(run, ACCOUNT + '\nwait = "3s"')
    for owner, setting, size, text in (
        ("association", "MaxJobs=1", "4", "the user's association runs its maximum of jobs (AssocMaxJobsLimit)"),
        ("qos", "MaxJobsPerUser=1", "4", "its user runs as many jobs as the QOS allows one user (QOSMaxJobsPerUserLimit)"),
        ("association", "GrpTRES=node=1", "4", "with it, the user's association would use more than its maximum (AssocGrpNodeLimit)"),
    ):  # fmt: skip
        first = daemon.program("4")
        daemon.await_job(first, "RUNNING", lambda j: j["state"] == "RUNNING")
        daemon.limit(owner, setting)
        second = daemon.program(size)
        daemon.await_waits(second, text)
        again = daemon.records("requeued", second)
        run.check(text in again[0]["data"]["reason"], f"record: {again}")
        daemon.elastic("cancel", str(first))
        daemon.await_job(second, "RUNNING", lambda j: j["state"] == "RUNNING")
        daemon.limit(owner, re.sub(r"\w+$", "-1", setting))
        daemon.cancel(second)
    first = daemon.program("4")
    daemon.await_job(first, "RUNNING", lambda j: j["state"] == "RUNNING")
    daemon.limit("association", "MaxSubmitJobs=1")
    second = daemon.program("4")
    text = "its user has the maximum of jobs in Slurm"
    daemon.await_job(second, text, lambda j: j["state"] == "PENDING" and text in (j["reason"] or ""))
    daemon.limit("association", "MaxSubmitJobs=-1")
    daemon.await_job(second, "RUNNING", lambda j: j["state"] == "RUNNING")
    daemon.cancel(first, second)
    daemon.finish()


@case("", accounting=True, nodes=3, deadline_s=300)
def rm_slurm_limits_of_nodes(run: HostRun) -> None:
    """A job of several sizes starts with the nodes that a limit of Slurm allows, and ends if these are too few."""
    enforce_limits(run)
    daemon = Limited(run, ACCOUNT)

    def starts_with(name: str, size: int) -> None:
        job = daemon.program("2:12")
        daemon.await_job(job, f"{size} processes under {name}", lambda j: j["state"] == "RUNNING" and j["size"] == size)
        run.check(daemon.agreed(job), f"Slurm has it on {daemon.slurm_jobs(job)}")
        daemon.cancel(job)

    for owner, setting in (("association", "MaxTRESPerJob=node=1"), ("qos", "MaxTRESPerJob=node=1"), ("association", "GrpTRES=cpu=4"), ("qos", "MaxTRESPerUser=node=1")):
        daemon.limit(owner, setting)
        starts_with(setting, 4)
        daemon.limit(owner, re.sub(r"\w+$", "-1", setting))
    daemon.slurm("scontrol", "update", "PartitionName=all", "MaxNodes=2")
    starts_with("MaxNodes=2", 8)
    daemon.await_never(daemon.program("9:12"), "it requests more nodes, or fewer, than the partition allows (PartitionNodeLimit)")
    daemon.slurm("scontrol", "update", "PartitionName=all", "MaxNodes=1")
    starts_with("MaxNodes=1", 4)
    daemon.finish()


@case("", accounting=True, full=True, nodes=3, deadline_s=300)
def rm_slurm_limit_of_a_running_job(run: HostRun) -> None:
    """A job that started smaller because of a limit on each job does not grow beyond it, and its reason is shown."""
    enforce_limits(run)
    daemon = Limited(run, ACCOUNT)
    daemon.limit("qos", "MaxTRESPerJob=node=1")
    job = daemon.start_job("elastic", "2:12", 4)
    daemon.never(10, "it grows", lambda: daemon.show(job)["size"] != 4)
    shown_why = daemon.elastic("why", str(job)).stdout
    run.check("at most 4 processes: Slurm: it requests more than the QOS allows one job" in shown_why, f"why: {shown_why}")
    daemon.let_end(job)
    daemon.finish()


@case("", accounting=True, nodes=2, deadline_s=300)
def rm_slurm_request_that_waits(run: HostRun) -> None:
    """While a request waits in Slurm, its age and then Slurm's reason are shown; refusals are repeated more and more
    rarely, at once after a change of the job, and soon after another job of the user has ended."""
    enforce_limits(run)
    daemon = Limited(run, ACCOUNT + '\nwait = "8s"')
    first = daemon.program("4")
    daemon.await_job(first, "RUNNING", lambda j: j["state"] == "RUNNING")
    daemon.limit("association", "MaxJobs=1")
    second = daemon.program("4")
    sent, text = re.compile(r"requested 1 node from Slurm [0-9]+ s ago"), "runs its maximum of jobs (AssocMaxJobsLimit)"
    run.await_value(lambda: sent.search(daemon.elastic("queue").stdout), "the request in elastic queue")
    run.await_value(lambda: sent.search(daemon.elastic("why", str(second)).stdout), "the request in elastic why")
    shown = daemon.await_job(second, text, lambda j: j["state"] == "STARTING" and text in (j["reason"] or ""))
    run.check(sent.search(shown["reason"]), f"reason: {shown['reason']}")
    daemon.await_job(second, "third attempt", lambda j: j["state"] == "STARTING" and j["step"] == 3)
    attempts = [row["time_ms"] for row in daemon.records("placed", second)]
    ends = [row["time_ms"] for row in daemon.records("requeued", second)]
    pauses = [later - end for end, later in zip(ends, attempts[1:], strict=False)]
    run.check(4500 <= pauses[0] < 9000 and pauses[1] >= 9500, f"pauses: {pauses}")
    shown = daemon.await_job(second, "a pause", lambda j: j["state"] == "PENDING")
    run.check("; next attempt at " in daemon.elastic("why", str(second)).stdout, f"why: {shown}")
    wait_ms = shown["next_start_ms"] - time.time() * 1000
    run.check(15000 < wait_ms <= 20000, f"it waits for {wait_ms} ms: {shown}")
    daemon.elastic("update", str(second), "-t", "50")
    daemon.await_job(second, "fourth attempt", lambda j: j["step"] == 4 and j["state"] == "PENDING")
    daemon.elastic("cancel", str(first))
    daemon.await_job(second, "RUNNING", lambda j: j["state"] == "RUNNING")
    lines = [line for line in daemon.job.err.splitlines() if "Slurm refuses a start" in line]
    run.check(len(lines) == 1 and text in lines[0], f"log: {lines}")
    daemon.limit("association", "MaxJobs=-1")
    daemon.cancel(second)
    daemon.finish()


@case("", accounting=True, full=True, nodes=1, deadline_s=300)
def rm_slurm_invalid_accounts(run: HostRun) -> None:
    enforce_limits(run)
    for settings, text in (
        ('account = "none"', "Invalid account"),
        ('account = "physics"\nqos = "vip"', "Invalid qos"),
        (ACCOUNT + '\npartition = "closed"', "Job's QOS not permitted to use this partition"),
    ):
        daemon = Limited(run, settings)
        daemon.await_never(daemon.program("4"), text)
        daemon.finish()


@case("", with_slurm=True, nodes=2)
def rm_slurm_impossible_options(run: HostRun) -> None:
    """slurm.options that no allocation can meet end the job; with an error in them, jobs wait and can be cancelled."""
    for option, text in (
        ("--constraint=gpu", "no node has the features that slurm.options requires (--constraint)"),
        ("--reservation=none", "there is no such reservation as slurm.options names"),
        ("--mem=100G", "its nodes do not have what slurm.options requires"),
    ):
        daemon = Limited(run, f'options = ["{option}"]')
        daemon.await_never(daemon.program("4"), text)
        daemon.finish()
    daemon = Limited(run, 'options = ["--no-such-option"]')
    job = daemon.program("4")
    daemon.await_waits(job, "Slurm does not understand slurm.options (unrecognized option '--no-such-option')")
    daemon.cancel(job)
    daemon.finish()


@case("", with_slurm=True, nodes=2, full=True)
def rm_slurm_reservations(run: HostRun) -> None:
    """A reservation of others that begins before the job would end, one that has not begun, one of another user."""
    reserve = ("scontrol", "create", "reservation=one", "Duration=60", "Nodes=ALL")
    daemon = Limited(run)
    daemon.slurm(*reserve, "StartTime=now+10minutes", "Users=root", "Flags=MAINT")
    job = daemon.program("4", "-t", "60")
    text = "a reservation needs the nodes before its time limit would end"
    daemon.await_waits(job, text)
    short = daemon.program("4", "-t", "5")
    daemon.await_job(short, "RUNNING", lambda j: j["state"] == "RUNNING")
    daemon.cancel(job, short)
    daemon.finish()
    daemon = Limited(run, 'options = ["--reservation=one"]\nwait = "3s"')
    job = daemon.program("4", "-t", "5")
    daemon.await_waits(job, "the reservation of slurm.options has not begun (Reservation)")
    daemon.cancel(job)
    daemon.slurm("scontrol", "update", "reservation=one", "Users=nobody")
    daemon.await_never(daemon.program("4", "-t", "5"), "its user may not use the reservation of slurm.options")
    daemon.finish()
    daemon.slurm("scontrol", "delete", "reservation=one")


@case("E4", with_slurm=True)
def rm_slurm_node_leaves_the_partition(run: HostRun) -> None:
    """Jobs on a node that is taken out of the partition continue, also when it returns drained; a malleable one leaves it."""
    daemon = Limited(run)
    rigid = daemon.submit("rigid", "4", "serve")
    daemon.await_agreed(rigid, 4)
    elastic = daemon.start_job("elastic", "2:12", 12)
    taken = {*daemon.slots(rigid), min(daemon.slots(elastic))}
    left = {host.name for host in run.cluster.hosts} - taken
    daemon.slurm("scontrol", "update", "PartitionName=all", f"Nodes={','.join(sorted(left))}")
    daemon.await_agreed(elastic, 8)
    run.check(set(daemon.slots(elastic)) == left, f"it is on {daemon.slots(elastic)}")
    (node,) = daemon.slots(rigid)
    run.check("no longer in the configuration" in daemon.node(node)["reason"], f"node: {daemon.node(node)}")
    daemon.slurm("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=fan")
    daemon.slurm("scontrol", "update", "PartitionName=all", "Nodes=ALL")
    run.await_value(lambda: "fan" in (daemon.node(node)["reason"] or ""), "drained node of the partition")
    for other in taken - {node}:
        daemon.await_node(other, "up")
    run.check(daemon.show(rigid)["state"] == "RUNNING" and daemon.agreed(rigid), f"job: {daemon.show(rigid)}")
    daemon.slurm("scontrol", "update", f"NodeName={node}", "State=RESUME")
    for job in (rigid, elastic):
        daemon.let_end(job)
    daemon.finish()

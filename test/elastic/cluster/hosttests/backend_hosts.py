"""elasticd's back end *hosts*: elastic and rigid jobs over hosts that come, go, are wrong or break."""

from __future__ import annotations

import contextlib
import os
import re
import signal

from support import procfs
from testbed import hosts

from .cases import FAULT_S, case
from .hostrun import HostRun
from .managed import Managed

# Probes that are quick enough for a test; a host is still down only after three of them.
CHECKS = 'check_interval = "2s"\ncheck_timeout = "20s"\ncheck_failures = 3\n'


def hosts_config(*hosts: str) -> str:
    names = ", ".join(f'"{host}"' for host in hosts)
    return f'[backend]\nkind = "hosts"\nhosts = [{names}]\n{CHECKS}'


def managed(run: HostRun, *hosts: str) -> Managed:
    daemon = Managed(run, hosts_config(*hosts))
    for host in hosts:
        daemon.await_node(host.split(":")[0], "up")
    return daemon


@case("W6 C7", nodes=3)
def rm_hosts_give_and_take(run: HostRun) -> None:
    """A job grows over three hosts, gives one to a rigid job and gets it back; at last rank 0's host is drained."""
    daemon = managed(run, "h1:2", "h2:2", "h3:3")
    elastic = daemon.submit("elastic", "2:7", "serve")
    daemon.await_size(elastic, 7)
    run.check(daemon.slots(elastic) == {"h1": 2, "h2": 2, "h3": 3}, f"it is on {daemon.slots(elastic)}")
    rigid = daemon.submit("rigid", "3", "serve")
    daemon.await_adaptive(rigid)
    both = daemon.slots(elastic), daemon.slots(rigid)
    run.check(sum(both[0].values()) <= 4 and sum(both[1].values()) == 3, f"they are on {both}")
    daemon.let_end(rigid)
    daemon.await_size(elastic, 7)
    done = daemon.elastic("drain", "h1", "--reason", "new memory")
    run.check(done.returncode == 0, f"elastic drain: {done.stderr}")
    daemon.await_node("h1", "drained")
    run.check(daemon.slots(elastic) == {"h2": 2, "h3": 3}, f"it is on {daemon.slots(elastic)}")
    daemon.await_nothing_on("h1")
    ended = daemon.let_end(elastic)
    run.check(ended["counts"]["committed"] >= 3, f"adaptations: {ended['counts']}")
    daemon.stop()


@case("E3", nodes=4)
def rm_hosts_wrong_hosts(run: HostRun) -> None:
    """An unknown host, one without access, one without our library, one without the program: each is named with a
    remedy."""
    run.on("h3", "mount", "-t", "tmpfs", "tmpfs", f"{run.setting.prefix}/lib")
    run.on("h4", "sh", "-c", "kill $(pgrep -o -x sshd)")
    daemon = Managed(run, hosts_config("h1:2", "h2:2", "h3:2", "h4:2", "nowhere:2"))
    for host in ("h1", "h2"):
        daemon.await_node(host, "up")
    for host, printed in (("nowhere", "backend.hosts"), ("h3", "libmpi"), ("h4", "no sshd listens")):
        node = run.await_value(lambda: next((n for n in [daemon.node(host)] if printed in n["reason"]), None), f"{host}: {printed}")
        run.check(node["state"] == "down" and f"host {host} " in node["reason"], f"node: {node}")
    # The program is on one host alone: when the other is free the job's growth fails, and the host stays good for others.
    blocker = daemon.submit("blocker", "2", "serve")
    daemon.await_adaptive(blocker)
    (wanted,) = daemon.slots(blocker)
    home = "h1" if wanted == "h2" else "h2"
    private = "/run/program"
    for host in (home, "head"):
        run.on(host, "cp", run.program("serve"), private)
    job = daemon.submit("private", "2:4", private)
    daemon.await_adaptive(job)
    daemon.let_end(blocker)
    failed = run.await_value(lambda: daemon.records("failed", job), "growth that fails")
    run.check(wanted in failed[0]["data"]["reason"], f"the reason names no host: {failed[0]}")
    other = daemon.submit("other", "2", "cycle", "--epochs", "0")
    daemon.good_end(other)
    # The fault of h3 is corrected: an administrator need not wait for the next check.
    run.on("h3", "umount", f"{run.setting.prefix}/lib")
    daemon.elastic("resume", "h3")
    daemon.await_node("h3", "up")
    shown = daemon.let_end(job)
    run.check(shown["size"] == 2 and shown["counts"]["committed"] == 0, f"job: {shown}")
    # A launch over hosts without the program ends, although those with it wait in MPI_Init.
    ended = daemon.await_end(daemon.submit("wide", "6", private), "FAILED")
    printed = daemon.output(ended)
    run.check(re.search(r"^host h\d: \S+ \(rank \d\) ended with exit code \d+ before it called MPI_Init", printed, re.M), f"it prints: {printed}")
    daemon.stop()
    for host in (home, "head"):
        run.on(host, "rm", private)


@case("E4", nodes=3)
def rm_hosts_crash(run: HostRun) -> None:
    """A host fails: its jobs fail with its name, others are not affected, and it is up again later."""
    daemon = managed(run, "h1:2", "h2:2", "h3:2")
    # Placement is by name: one job for each host.
    jobs = [daemon.submit(f"j{i}", "2", "serve") for i in (1, 2, 3)]
    for job in jobs:
        daemon.await_adaptive(job)
    on_h2 = next(job for job in jobs if "h2" in daemon.slots(job))
    run.crash("h2")
    ended = daemon.await_end(on_h2, "FAILED")
    reported = (ended["reason"] or "") + daemon.output(ended)
    run.check("h2" in reported, f"nothing names the host: {ended}\n{daemon.output(ended)}")
    node = daemon.await_node("h2", "down")
    run.check("host h2 " in node["reason"], f"node: {node}")
    late = daemon.submit("late", "2", "serve")
    for job in jobs:
        if job != on_h2:
            daemon.let_end(job)
    daemon.await_adaptive(late)
    run.check("h2" not in daemon.slots(late), "a job was allocated on a failed host")
    daemon.let_end(late)
    daemon.stop()


@case("", nodes=2)
def rm_hosts_suspend(run: HostRun) -> None:
    """A suspended job stops on all its hosts, even if elasticd ends, and continues."""
    daemon = managed(run, "h1:2", "h2:2")
    job = daemon.submit("job", "4", "serve")
    daemon.await_adaptive(job)

    def states() -> list[str]:
        return [procfs.stat(pid)[0] for host in ("h1", "h2") for pid in run.pids(host, "serve")]

    done = daemon.elastic("suspend", str(job))
    run.check(done.returncode == 0, f"elastic suspend: {done.stderr}")
    run.await_value(lambda: states() == 4 * ["T"], "end of all computing")
    daemon.signal(signal.SIGKILL)
    daemon.job = daemon.start()
    run.check(daemon.show(job)["state"] == "SUSPENDED" and states() == 4 * ["T"], f"after a restart: {daemon.show(job)}")
    done = daemon.elastic("resume", str(job))
    run.check(done.returncode == 0, f"elastic resume: {done.stderr}")
    run.await_value(lambda: "T" not in states(), "computing of all")
    daemon.let_end(job)
    daemon.stop()


@case("E4 W6", nodes=3, full=True, deadline_s=300)
def rm_hosts_link(run: HostRun) -> None:
    """The link of a host is cut: jobs there fail in bounded time, a growth onto it fails alone; plugged in, it is used again."""
    daemon = managed(run, "h1:2", "h2:2", "h3:2")
    elastic = daemon.submit("elastic", "1:2", "serve")
    rigid = daemon.submit("rigid", "2", "serve")
    for job in (elastic, rigid):
        daemon.await_adaptive(job)
    daemon.await_size(elastic, 2)
    cut = next(iter(daemon.slots(rigid)))
    run.check(run.on("head", "ip", "link", "set", cut, "down").returncode == 0, "the link cannot be cut")
    began = run.time_left()
    ended = daemon.await_end(rigid, "FAILED")
    run.check(began - run.time_left() < FAULT_S, f"it took {began - run.time_left():.0f} s")
    run.check(cut in (ended["reason"] or "") + daemon.output(ended), f"nothing names {cut}: {ended}")
    daemon.await_node(cut, "down")
    run.on("head", "ip", "link", "set", cut, "up")
    daemon.await_node(cut, "up")
    daemon.await_nothing_on(cut)
    large = daemon.submit("large", "4", "serve")
    daemon.await_adaptive(large)
    run.check(cut in daemon.slots(large), f"it is on {daemon.slots(large)}")
    daemon.let_end(large)
    daemon.let_end(elastic)
    daemon.stop()


@case("E4 W6", nodes=2, full=True, deadline_s=300)
def rm_hosts_half_dead(run: HostRun) -> None:
    """A host accepts connections and never answers: its job can be cancelled and shows the cause, nothing new
    starts there, and it is used again when it answers."""
    daemon = managed(run, "h1:2", "h2:2")
    jobs = [daemon.submit(f"j{i}", "2", "serve") for i in (1, 2)]
    for job in jobs:
        daemon.await_adaptive(job)
    on_h1, on_h2 = sorted(jobs, key=lambda job: "h2" in daemon.slots(job))
    wide = daemon.submit("wide", "4", "serve")

    def signal_h2(number: signal.Signals) -> None:
        for pid in hosts.processes(run.host("h2")):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    signal_h2(signal.SIGSTOP)
    node = daemon.await_node("h2", "draining")
    shown = daemon.show(on_h2)
    run.check(shown["state"] == "RUNNING" and shown["reason"] == f"node h2 is suspect: {node['reason']}", f"job: {shown}")
    run.check(not daemon.show(on_h1)["reason"], "the other job has no trouble")
    daemon.elastic("cancel", str(on_h2))
    daemon.await_end(on_h2, "CANCELLED")
    daemon.let_end(on_h1)
    run.check(daemon.show(wide)["state"] == "PENDING", "nothing starts there")
    signal_h2(signal.SIGCONT)
    daemon.await_node("h2", "up")
    daemon.await_adaptive(wide)
    daemon.let_end(wide)
    daemon.stop()


@case("E3", nodes=2)
def rm_hosts_lost_by_mpiexec(run: HostRun) -> None:
    """mpiexec notices that a host fails before elasticd does: the job waits again with --requeue, else it has FAILED; both
    with the host's name."""
    daemon = managed(run, "h1:2", "h2:2")
    for name, options in {"requeued": ["--requeue"], "failed": list[str]()}.items():
        job = daemon.submit(name, "4", "serve", options=options)
        daemon.await_adaptive(job)
        for pid in run.pids("h2", "hydra_pmi_proxy"):
            os.kill(pid, signal.SIGKILL)
        if options:
            again = daemon.await_job(job, "a second start", lambda j: j["step"] == 2 and j["state"] == "RUNNING" and bool(j["adaptive"]))
            reasons = [row["data"]["reason"] for row in daemon.records("requeued", job)]
            run.check(len(reasons) == 1 and "host h2 failed" in reasons[0], f"requeued: {reasons} {again}")
            daemon.let_end(job)
        else:
            ended = daemon.await_end(job, "FAILED")
            run.check("host h2 failed" in ended["reason"], f"ended: {ended}")
    daemon.stop()


@case("E3", nodes=3, full=True, deadline_s=300)
def rm_hosts_fail_before_detection(run: HostRun) -> None:
    """A growth onto a host that has died since it was read fails alone, and the host is not chosen again."""
    daemon = Managed(run, hosts_config("h1:2", "h2:2").replace('"2s"', '"1h"'))
    for host in ("h1", "h2"):
        daemon.await_node(host, "up")
    blocker = daemon.submit("blocker", "2", "serve")
    daemon.await_adaptive(blocker)
    target = next(iter(daemon.slots(blocker)))
    elastic = daemon.submit("elastic", "2:4", "serve")
    daemon.await_adaptive(elastic)
    daemon.let_end(blocker)
    run.crash(target)
    failed = run.await_value(
        lambda: daemon.records("failed", elastic) + daemon.records("withdrawn", elastic), "growth that fails"
    )
    run.check(target in failed[0]["data"]["reason"], f"the reason names no host: {failed[0]}")
    daemon.await_node(target, "down", "draining", "drained")
    shown = daemon.let_end(elastic)
    run.check(shown["counts"]["failed"] + shown["counts"]["withdrawn"] <= 2, f"it was tried again and again: {shown['counts']}")
    daemon.stop()


@case("", nodes=2, full=True, deadline_s=300)
def rm_hosts_restart(run: HostRun) -> None:
    """elasticd is killed and started again with another list: all jobs continue to their end, a removed host is
    drained, and may be listed again."""
    daemon = managed(run, "h1:2", "h2:2")
    jobs = [daemon.submit(f"j{i}", "2", "serve") for i in (1, 2)]
    for job in jobs:
        daemon.await_adaptive(job)

    def list_instead(old: str, new: str) -> None:
        daemon.signal(signal.SIGKILL)
        daemon.config.write_text(daemon.config.read_text().replace(f'"{old}"', f'"{new}"'))
        daemon.job = daemon.start()
        daemon.await_node(new.split(":")[0], "up")

    list_instead("h2:2", "head:2")
    daemon.await_node("h2", "draining")
    list_instead("head:2", "h2:2")
    list_instead("h2:2", "head:2")
    run.check([daemon.show(job)["state"] for job in jobs] == ["RUNNING"] * 2, "a job ended with a list of hosts")
    daemon.await_node("h2", "draining")
    for job in jobs:
        daemon.let_end(job)
    run.await_value(lambda: daemon.node("h2")["state"] == "unknown", "removed host that is forgotten")
    daemon.stop()

"""Prolog and epilog: an administrator's programs on each node of a job, before its first process and after its last."""

from __future__ import annotations

import os
import time
from typing import Any

from daemon_under_test import Bench, Daemon, configurations_are_refused, expect, wait_for
from malleable_tests import finish_work, resize, submit_work, work_program
from node_list_tests import nodes_of
from support import procfs
from systemd_under_test import Systemd

# Each notes its start: kind, node, job.
NOTE = 'echo "$ELASTIC_NODE_PROGRAM $ELASTIC_NODE_NAME $ELASTIC_JOB_ID" >>NOTES\n'
NODES = ("n0", "n1", "n2")
SOON = '[scheduling]\nstart_pause = "100ms"\noffer_pause = "200ms"\nrefusal_pause = "500ms"\n'


def config_with(bench: Bench, more: str = "", **programs: str) -> str:
    """A configuration with these shell scripts; both record their actions."""
    config = SOON + "[job]\n" + more
    for kind, text in programs.items():
        path = bench.folder / kind
        path.write_text("#!/bin/sh\n" + (NOTE + text).replace("NOTES", str(bench.folder / "notes")))
        path.chmod(0o755)
        config += f'{kind} = ["{path}", "an argument\'s"]\n'
    return config


def notes(bench: Bench) -> list[str]:
    path = bench.folder / "notes"
    return path.read_text().splitlines() if path.exists() else []


def kinds(bench: Bench, name: str) -> list[str]:
    """The programs that have run on this node."""
    return [line.split()[0] for line in notes(bench) if f" {name} " in line]


def used(daemon: Daemon) -> int:
    return sum(each["cores_used"] for each in daemon.get("/v1/nodes").body["nodes"])


def wait_for_size(daemon: Daemon, number: int, size: int) -> None:
    wait_for(f"size {size}, and other cores to be free", lambda: used(daemon) == daemon.job(number)["size"] == size)


def node(daemon: Daemon, name: str) -> dict[str, Any]:
    return next(each for each in daemon.get("/v1/nodes").body["nodes"] if each["name"] == name)


def nothing_is_left(daemon: Daemon) -> None:
    folder = daemon.state / "node-programs"
    wait_for("the folders of prologs and epilogs to be removed", lambda: not list(folder.iterdir()))


def programs_run_before_and_after_a_job(bench: Bench) -> None:
    show = 'echo "$1 $(id -u) $ELASTIC_JOB_USER $SLURM_JOB_UID $SLURM_JOB_ID $SLURMD_NODENAME $ELASTIC_JOB_NODELIST" >>NOTES-env\n'
    daemon = bench.start(nodes=2, cores=1, config=config_with(bench, prolog=show + "echo ready", epilog=""))
    program = f"sleep 0.3; echo job >>{bench.folder}/notes"
    number = daemon.submit("sh", "-c", program, min=2)
    job = daemon.wait_end(number)
    expect(job["state"] == "DONE", f"{job}")
    seen = notes(bench)
    expect(sorted(seen[:2]) == [f"prolog n0 {number}", f"prolog n1 {number}"], f"first the prologs: {seen}")
    expect(seen[2:4] == ["job"] * 2, f"then the job: {seen}")
    expect(sorted(seen[4:]) == [f"epilog n0 {number}", f"epilog n1 {number}"], f"then the epilogs: {seen}")
    lines = sorted((bench.folder / "notes-env").read_text().splitlines())
    of_all = f"an argument's {os.geteuid()} {job['user']} {job['uid']} {number}"
    expect(lines == [f"{of_all} {name} n0,n1" for name in ("n0", "n1")], f"the environment: {lines}")
    expect('"output":"ready\\n"' in daemon.log.read_text(), "the output is in the log")
    nothing_is_left(daemon)


def nodes_of_an_elastic_job_are_prepared_and_cleaned(bench: Bench) -> None:
    program = work_program(bench)
    daemon = bench.start("--policy=fcfs", nodes=3, cores=2, config=config_with(bench, prolog="", epilog=""))
    number = submit_work(daemon, program, "one", 1, 6)
    for size in (2, 5, 2, 3):
        resize(daemon, number, size)
        wait_for_size(daemon, number, size)
        held = set(nodes_of(daemon.job(number)))
        ready = {name for name in NODES if kinds(bench, name).count("prolog") > kinds(bench, name).count("epilog")}
        expect(ready == held, f"size {size} on {held}: {notes(bench)}")
    finish_work(daemon, number)
    for name in NODES:
        seen = kinds(bench, name)
        expect(seen == ["prolog", "epilog"] * (len(seen) // 2), f"in turns on {name}: {notes(bench)}")
    expect(len(notes(bench)) > 2 * len(NODES), f"nodes were added and removed: {notes(bench)}")
    nothing_is_left(daemon)


def a_failed_prolog_drains_its_node_and_the_job_waits_again(bench: Bench) -> None:
    fails = 'if [ "$ELASTIC_NODE_NAME" = n0 ]; then echo "no scratch disk" >&2; exit 3; fi\n'
    daemon = bench.start(nodes=2, cores=1, config=config_with(bench, prolog=fails, epilog=""))
    number = daemon.submit("sh", "-c", f"echo job >>{bench.folder}/notes")
    expect(daemon.wait_end(number)["state"] == "DONE", "it runs elsewhere")
    wanted = [f"{kind} {name} {number}" for name in ("n0", "n1") for kind in ("prolog", "epilog")]
    expect(notes(bench) == [*wanted[:3], "job", wanted[3]], f"{notes(bench)}")
    reason = node(daemon, "n0")["reason"]
    expect(f"the prolog of job {number} has failed: it ended with exit code 3: no scratch disk" in reason, reason)
    again = [record for record in daemon.records(job=number) if record["event"] == "requeued"]
    expect(len(again) == 1 and "prolog has failed on node n0" in again[0]["data"]["reason"], f"the record: {again}")
    expect(node(daemon, "n1")["reason"] in (None, ""), "the other node is as it was")
    nothing_is_left(daemon)


def a_failed_epilog_drains_its_node(bench: Bench) -> None:
    daemon = bench.start(nodes=2, cores=1, config=config_with(bench, epilog='[ "$ELASTIC_NODE_NAME" != n1 ]'))
    number = daemon.submit("true", min=2)
    expect(daemon.wait_end(number)["state"] == "DONE", "the job has not failed")
    expect("the epilog of job" in node(daemon, "n1")["reason"], f"{node(daemon, 'n1')}")
    expect(not node(daemon, "n0")["reason"], "the other node is as it was")


def a_program_ends_at_its_limit(bench: Bench) -> None:
    hangs = "trap '' TERM\nsleep 4321.25 &\nsetsid sleep 4321.25 &\nwait\nsleep 4321.25\n"
    config = config_with(bench, 'prolog_epilog_limit = "1s"\n', prolog=hangs)
    daemon = bench.start(nodes=1, cores=1, config=config)
    number = daemon.submit("true")
    wait_for("the node to be drained", lambda: node(daemon, "n0")["reason"])
    reason = node(daemon, "n0")["reason"]
    expect("limit of 1 s" in reason or "within 1 s" in reason, reason)
    daemon.wait_state(number, "PENDING")
    rest = [pid for pid in procfs.pids() if "4321.25" in procfs.words(pid)]
    expect(not rest, f"processes of the prolog are left: {rest}")
    daemon.post(f"/v1/jobs/{number}/cancel")
    daemon.wait_end(number)


def a_prolog_goes_on_while_elasticd_is_away(bench: Bench) -> None:
    go = bench.folder / "go"
    waits = f"while [ ! -e {go} ]; do sleep 0.05; done\n"
    daemon = bench.start(nodes=2, cores=1, config=config_with(bench, prolog=waits, epilog=""))
    numbers = [daemon.submit("true") for _ in range(2)]
    wait_for("the prologs to begin", lambda: len(notes(bench)) == 2)
    job = daemon.job(numbers[0])
    expect(job["state"] == "STARTING" and "prolog" in job["reason"], f"what people see: {job}")
    daemon.kill()
    daemon.start()
    daemon.post(f"/v1/jobs/{numbers[1]}/cancel")
    expect(daemon.get("/healthz").status == 200, "nobody waits for a prolog")
    time.sleep(0.2)
    expect(len(notes(bench)) == 2, f"no second prolog has begun, and no epilog before its end: {notes(bench)}")
    go.touch()
    ends = [daemon.wait_end(number)["state"] for number in numbers]
    expect(ends == ["DONE", "CANCELLED"], f"{ends}")
    kinds = sorted(line.split()[0] for line in notes(bench))
    expect(kinds == ["epilog", "epilog", "prolog", "prolog"], f"each once: {notes(bench)}")
    nothing_is_left(daemon)


def programs_are_taken_out_of_the_configuration_and_put_in(bench: Bench) -> None:
    daemon = bench.start(nodes=1, cores=2, config=SOON)
    go = bench.folder / "go"
    number = daemon.submit("sh", "-c", f"while [ ! -e {go} ]; do sleep 0.05; done")
    daemon.wait_state(number, "RUNNING")
    daemon.stop()
    stays = "sleep 0.2\nwhile [ -e HOLD ]; do sleep 0.05; done\n".replace("HOLD", str(bench.folder / "hold"))
    (bench.folder / "hold").touch()
    daemon.config.write_text(config_with(bench, prolog=stays, epilog=""))
    daemon.start()
    go.touch()
    expect(daemon.wait_end(number)["state"] == "DONE", "a job of before")
    expect(notes(bench) == [f"epilog n0 {number}"], f"its end: {notes(bench)}")
    second = daemon.submit("true")
    wait_for("its prolog", lambda: f"prolog n0 {second}" in notes(bench))
    daemon.stop()
    daemon.config.write_text(SOON)
    daemon.start()
    expect(daemon.wait_end(second)["state"] == "DONE", "it waits for no prolog any more")
    (bench.folder / "hold").unlink()


def programs_run_outside_of_the_sandbox_of_elasticd(bench: Bench) -> None:
    show = "sed -n 's/^Seccomp:[^0-9]*//p' /proc/self/status >>NOTES\nsetsid sleep 4321.5 </dev/null >/dev/null 2>&1 &\n"
    config = bench.folder / "programs.toml"
    config.write_text(config_with(bench, prolog=show, epilog=""))
    systemd = Systemd(bench)
    unit = (systemd.units / "elasticd.service").read_text()
    start = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    (systemd.units / "elasticd.service.d/config.conf").write_text(f"[Service]\nExecStart=\n{start} --config={config}\n")
    with systemd:
        number = systemd.daemon.submit("true")
        expect(systemd.daemon.wait_end(number)["state"] == "DONE", f"{systemd.daemon.job(number)}")
        expect(notes(bench) == [f"prolog n0 {number}", "0", f"epilog n0 {number}"], f"no filter of system calls: {notes(bench)}")
        rest = [pid for pid in procfs.pids() if "4321.5" in procfs.words(pid)]
        expect(not rest, f"processes of the prolog are left: {rest}")
        nothing_is_left(systemd.daemon)


def programs_run_on_hosts_by_ssh(bench: Bench) -> None:
    ssh = bench.folder / "ssh"
    ssh.write_text('#!/bin/sh\nwhile :; do case "$1" in -o|-F) shift 2;; -x|-T) shift;; *) break;; esac; done\n'
                   'FAKE_HOST=$1; export FAKE_HOST; shift; exec /bin/sh -c "$*"\n')
    ssh.chmod(0o755)
    show = 'echo "on $FAKE_HOST" >>NOTES\n'
    config = config_with(bench, prolog=show, epilog=show) + f'[backend]\nkind = "hosts"\nhosts = ["h1:1", "h2:1"]\nssh = "{ssh}"\n'
    daemon = bench.daemon(config=config)
    daemon.options = []
    daemon.start()
    number = daemon.submit("true", min=2)
    expect(daemon.wait_end(number)["state"] == "DONE", f"{daemon.job(number)}")
    expect(sorted(notes(bench)) == sorted(["on h1", "on h2"] * 2 + [f"{kind} {host} {number}" for kind in ("prolog", "epilog") for host in ("h1", "h2")]),
           f"{notes(bench)}")


def programs_in_the_configuration_are_checked(bench: Bench) -> None:
    cases = {
        '[job]\nprolog = ["prepare"]\n': "job.prolog must begin with the absolute path of a program",
        '[job]\nepilog = ["/bin/true"]\n[backend]\nkind = "slurm"\n': "Slurm, which has its own (Prolog, Epilog in slurm.conf)",
    }
    configurations_are_refused(bench, cases)

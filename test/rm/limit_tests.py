"""Limits of Unix groups and of one job, and nodes that are reserved for a time."""

from __future__ import annotations

import grp
import os
import pwd
import subprocess
import time
from pathlib import Path
from typing import Any

from daemon_under_test import WAIT_S, Bench, Daemon, Skip, configurations_are_refused, expect, wait_for
from hostile_tests import BAD, GOOD, run_as, two_users
from node_list_tests import nodes_of
from partition_tests import refused
from performance_tests import cancel, elastic


def group_of(uid: int) -> str:
    return grp.getgrgid(pwd.getpwuid(uid).pw_gid).gr_name


def submit_as(uid: int, daemon: Daemon, directory: str, **fields: object) -> dict[str, Any]:
    spec = daemon.spec("sleep", "1000", directory=directory, output="/dev/null", **fields)
    reply: dict[str, Any] = run_as(uid, lambda: vars(daemon.request("POST", "/v1/jobs", spec)))
    return reply


def complaint(bench: Bench, daemon: Daemon, *words: str) -> str:
    """Of a command that fails."""
    command: list[str | Path] = [bench.programs.elasticd.parent / "elastic", *words]
    environment = {"ELASTICD_SOCKET": str(daemon.socket)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=WAIT_S)
    expect(done.returncode != 0, f"elastic {' '.join(words)}: {done}")
    return done.stderr


def local_time(seconds_from_now: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + seconds_from_now))


def a_group_has_so_much_together(bench: Bench) -> None:
    if os.getuid() != 0:
        raise Skip("needs root: only then are there two users")
    group = group_of(GOOD)
    daemon, work = two_users(bench, f'[[groups]]\nname = "{group}"\nmax_running = 1\nmax_jobs = 2\ncore_time_per_job = "3h"\n')
    first = submit_as(GOOD, daemon, str(work), time_limit_ms=3600000)["body"]["job"]
    expect(first["groups"] == [group], f"what it counts for: {first}")
    second = submit_as(GOOD, daemon, str(work), time_limit_ms=3600000)["body"]["job"]["id"]
    wait_for("the first to run", lambda: daemon.job(first["id"])["state"] == "RUNNING")
    reason = f"the limit of group {group}: 1 of 1 running jobs"
    expect(daemon.job(second)["reason"] == reason, f"why: {daemon.job(second)['reason']}")
    expect(reason in elastic(bench, daemon, "why", str(second)), "the command names it")
    reply = submit_as(GOOD, daemon, str(work), time_limit_ms=3600000)
    expect(reply["status"] == 503 and "2 jobs that have not ended" in reply["body"]["error"]["message"], f"a third: {reply}")
    other = submit_as(BAD, daemon, str(work))["body"]["job"]
    expect(other["groups"] == [], f"another group: {other}")
    daemon.wait_state(other["id"], "RUNNING")
    daemon.kill()
    daemon.start()
    expect(daemon.job(second)["reason"] == reason, "after a restart, too")
    cancel(daemon, first["id"])
    daemon.wait_state(second, "RUNNING")
    reply = submit_as(GOOD, daemon, str(work), min=4, time_limit_ms=3600000)
    expect(reply["status"] == 400 and f"group {group} allows a job 3 core hours" in reply["body"]["error"]["message"], f"core time: {reply}")
    for number in (second, other["id"]):
        cancel(daemon, number)


def one_job_has_so_much_core_time(bench: Bench) -> None:
    daemon = bench.start(nodes=2, cores=2, config='[limits]\ncore_time_per_job = "2h"\n')
    expect("without a time limit: request one" in refused(daemon), "no limit")
    expect("4 cores for 3600 s" in refused(daemon, min=4, time_limit_ms=3600000), "too much")
    daemon.wait_end(daemon.submit("true", min=2, time_limit_ms=3600000))


def reserved_nodes_are_for_their_jobs(bench: Bench) -> None:
    daemon = bench.daemon(nodes=3, cores=2)
    base = daemon.config.read_text()

    def configure(begins_s: float) -> None:
        course = '[[reservations]]\nname = "course"\nnodes = "n[0-1]"\n'
        daemon.config.write_text(base + course + f'from = "{local_time(begins_s)}"\nuntil = "{local_time(begins_s + 7200)}"\n')

    configure(3600)
    daemon.start()
    text = elastic(bench, daemon, "reservations", "--noheader", "-P").split("|")
    expect(text[:2] == ["course", "waits"] and text[4:] == ["yes", "n0,n1\n"], f"the list: {text}")
    expect("which leaves" in refused(daemon, reservation="course"), "without a time limit")
    expect("no reservation other" in refused(daemon, reservation="other"), "unknown")
    own = daemon.submit("sh", "-c", "echo $ELASTIC_JOB_RESERVATION", min=3, reservation="course", time_limit_ms=60000)
    expect(daemon.job(own)["reason"] == "Reserved: reservation course has not begun", f"{daemon.job(own)}")
    long = daemon.wait_state(daemon.submit("sleep", "1000", min=2), "RUNNING")
    expect(set(nodes_of(long)) == {"n2"}, f"a job without a limit: {long}")
    waits = daemon.submit("true", min=5)
    reason = daemon.job(waits)["reason"]
    expect("reservation course" in reason and reason in elastic(bench, daemon, "why", str(waits)), f"why: {reason}")
    short = daemon.wait_end(daemon.submit("true", min=4, time_limit_ms=60000))
    expect(short["state"] == "DONE" and set(nodes_of(short)) == {"n0", "n1"}, f"it ends before: {short}")
    daemon.kill()
    configure(-60)
    daemon.start()
    expect(set(nodes_of(daemon.wait_end(own))) == {"n0", "n1"}, "in its time")
    expect((daemon.folder / f"elastic-{own}.out").read_text() == "course\n" * 3, "its environment")
    expect("|active|" in elastic(bench, daemon, "reservations", "--noheader", "-P"), "it lasts")
    expect(daemon.job(waits)["state"] == "PENDING", "the others wait for its end")
    daemon.kill()
    daemon.config.write_text(base)
    daemon.start()
    cancel(daemon, long["id"])
    daemon.wait_end(waits)


def reservations_are_made_while_elasticd_runs(bench: Bench) -> None:
    daemon = bench.start(nodes=3, cores=2)

    def reservation(*words: str) -> str:
        return elastic(bench, daemon, "reservation", *words)

    long = daemon.wait_state(daemon.submit("sleep", "1000", nodelist="n2"), "RUNNING")
    made = reservation("create", "course", "-w", "n[0-2]", "--from", "now+1:00:00", "--duration", "2:00:00", "--users", "ann,bob")
    expect("course is made" in made and made.rstrip().endswith(f": {long['id']}"), f"the job that may still run: {made}")
    waits = daemon.submit("true", min=4)
    expect("reservation course" in daemon.job(waits)["reason"], f"it might still run: {daemon.job(waits)}")
    refusals = {
        ("create", "other", "-w", "n1", "--from", "now+2:00:00", "--duration", "1:00:00"): "the same nodes at the same time: choose other",
        ("create", "other", "-w", "n9", "--duration", "1:00:00"): "n9, which is not a node",
        ("create", "other", "-w", "n1", "--from", "2020-01-01", "--duration", "1:00:00"): "cannot begin in the past",
        ("create", "other", "-w", "n1", "--duration", "1:00:00", "--groups", "no-such-group"): "no group no-such-group",
        ("create", "other", "-w", "n1"): "--until or --duration",
        ("create", "course", "-w", "n1", "--duration", "1:00:00"): "elastic reservation update",
        ("update", "other", "--until", "23:00"): "no reservation other",
        ("update", "course"): "give an option for the change",
        ("delete", "other"): "no reservation other",
    }
    for words, message in refusals.items():
        done = complaint(bench, daemon, "reservation", *words)
        expect(message in done, f"{words}: {done}")
    unknown = daemon.get("/v1/reservations", state="all")
    expect(unknown.status == 400, f"an unknown parameter: {unknown}")
    before = daemon.get("/v1/reservations").body
    daemon.kill()
    daemon.start()
    expect(daemon.get("/v1/reservations").body == before, f"after a restart: {daemon.get('/v1/reservations').body}")
    expect(daemon.job(waits)["state"] == "PENDING", "and it holds its nodes")
    reservation("update", "course", "--nodes", "n2")
    expect(daemon.wait_end(waits)["state"] == "DONE", "two nodes are free again")
    daemon.stop()
    daemon.start()
    shown = reservation("show", "course")
    expect("Nodes=n2" in shown and "Users=ann,bob Groups=- MadeBy=command" in shown, f"the change, too: {shown}")
    reservation("delete", "course")
    daemon.kill()
    daemon.start()
    expect(daemon.get("/v1/reservations").body["reservations"] == [], "and its end")
    cancel(daemon, long["id"])


def a_made_reservation_is_for_its_users(bench: Bench) -> None:
    if os.getuid() != 0:
        raise Skip("needs root: only then are there two users")
    daemon, work = two_users(bench, "")
    fields = {"name": "ours", "nodes": "n0", "until_ms": int((time.time() + 7200) * 1000), "groups": [group_of(GOOD)]}
    reply: dict[str, Any] = run_as(GOOD, lambda: vars(daemon.request("POST", "/v1/reservations", fields)))
    expect(reply["status"] == 403 and "only administrators" in str(reply["body"]), f"not an administrator: {reply}")
    expect(daemon.post("/v1/reservations", **fields).status == 201, "an administrator")
    for restart in (False, True):
        if restart:
            daemon.kill()
            daemon.start()
        reply = submit_as(BAD, daemon, str(work), reservation="ours", time_limit_ms=60000)
        expect(reply["status"] == 403, f"another user: {reply}")
        job = submit_as(GOOD, daemon, str(work), reservation="ours", time_limit_ms=60000)["body"]["job"]["id"]
        expect(set(nodes_of(daemon.wait_state(job, "RUNNING"))) == {"n0"}, "a member of the group")
        busy = daemon.post("/v1/reservations/ours/delete")
        expect(busy.status == 409 and "runs in reservation ours" in str(busy.body), f"in use: {busy.body}")
        cancel(daemon, job)
        daemon.wait_end(job)


def a_configuration_conflicts_with_a_made_reservation(bench: Bench) -> None:
    daemon = bench.start(nodes=1, cores=2)
    elastic(bench, daemon, "reservation", "create", "made", "-w", "all", "--duration", "1:00:00")
    daemon.stop()
    base = daemon.config.read_text()
    course = f'[[reservations]]\nname = "course"\nfrom = "{local_time(0)}"\nuntil = "{local_time(7200)}"\n'
    daemon.config.write_text(base + course)
    done = subprocess.run(daemon.command(), capture_output=True, text=True, check=False, timeout=WAIT_S)
    expect(done.returncode == 1 and "'elastic reservation delete'" in done.stderr, f"the error has a remedy: {done}")
    daemon.config.write_text(base)
    daemon.start()
    elastic(bench, daemon, "reservation", "delete", "made")


def others_may_not_use_a_reservation(bench: Bench) -> None:
    if os.getuid() != 0:
        raise Skip("needs root: only then are there two users")
    times = f'from = "{local_time(-60)}"\nuntil = "{local_time(7200)}"\n'
    daemon, work = two_users(bench, f'[[reservations]]\nname = "ours"\nnodes = "n0"\nallow_groups = ["{group_of(GOOD)}"]\n{times}')
    reply = submit_as(BAD, daemon, str(work), reservation="ours", time_limit_ms=60000)
    expect(reply["status"] == 403 and "reservation ours is restricted to" in reply["body"]["error"]["message"], f"{reply}")
    job = submit_as(GOOD, daemon, str(work), reservation="ours", time_limit_ms=60000)["body"]["job"]["id"]
    expect(set(nodes_of(daemon.wait_state(job, "RUNNING"))) == {"n0"}, "a member of the group")
    cancel(daemon, job)


def a_wrong_limit_or_reservation_is_named(bench: Bench) -> None:
    times = 'from = "2026-12-24T08:00"\nuntil = "2026-12-24T18:00"\n'
    cases = {
        '[[groups]]\nmax_jobs = 3\n': "a group needs a name",
        '[[groups]]\nname = "a"\n[[groups]]\nname = "a"\n': "there are two sections [[groups]] of group a",
        '[[reservations]]\nname = "a"\nfrom = "tomorrow"\n': "reservation a needs times from and until",
        f'[[reservations]]\nname = "a"\n{times}[[reservations]]\nname = "b"\nnodes = "n1"\n{times}': "have the same nodes at the same time",
        f'[backend]\nkind = "slurm"\n[[reservations]]\nname = "a"\n{times}': "scontrol create reservation",
    }  # fmt: skip
    configurations_are_refused(bench, cases)

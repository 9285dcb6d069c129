"""Partitions: nodes, limits and users of groups of jobs."""

from __future__ import annotations

import grp
import http.client
import json
import os
import pwd

from daemon_under_test import Bench, Daemon, Reply, Skip, configurations_are_refused, expect, free_port, read_reply
from node_list_tests import nodes_of
from performance_tests import cancel, elastic

CONFIG = """
[[partitions]]
name = "left"
nodes = "n[0-1]"
max_time = "1h"
max_cores = 3

[[partitions]]
name = "all"
default = true
priority = 2
"""


def refused(daemon: Daemon, status: int = 400, **fields: object) -> str:
    reply = daemon.request("POST", "/v1/jobs", daemon.spec("true", **fields))
    expect(reply.status == status, f"{fields}: {reply.status} {reply.body}")
    return reply.body["error"]["message"]


def jobs_run_in_their_partition(bench: Bench) -> None:
    daemon = bench.start(nodes=4, cores=2, config=CONFIG)
    job = daemon.wait_state(daemon.submit("sleep", "1000", min=3, partition="left"), "RUNNING")
    expect(set(nodes_of(job)) == {"n0", "n1"} and job["partition"] == "left", f"its nodes: {job}")
    expect(job["time_limit_ms"] == 3600000, "the longest, since it names none")
    waits = daemon.submit("true", min=2, partition="left")
    every = daemon.wait_end(daemon.submit("sh", "-c", "echo $ELASTIC_JOB_PARTITION $SLURM_JOB_PARTITION", min=4))
    expect(every["partition"] == "all" and set(nodes_of(every)) == {"n2", "n3"}, f"the default: {every}")
    text = (daemon.folder / f"elastic-{every['id']}.out").read_text()
    expect(text.split() == ["all"] * 4, f"the environment: {text}")
    expect("resources" in daemon.job(waits)["reason"], f"why: {daemon.job(waits)}")
    queue = elastic(bench, daemon, "queue")
    expect("PARTITION" in queue and queue.count(" left ") == 2, queue)
    expect(str(job["id"]) not in elastic(bench, daemon, "queue", "--noheader", "-p", "all"), "filtered")
    expect("Partition=left" in elastic(bench, daemon, "show", str(waits)), "show")
    expect("all" in elastic(bench, daemon, "history", "--noheader", "-p", "all"), "history")
    lines = elastic(bench, daemon, "nodes", "--by-partition", "--noheader").splitlines()
    words = [line.split() for line in lines]
    expect(["left", "up", "1:00:00", "1", "mix", "n1"] in words or ["left", "up", "1:00:00", "1", "mix", "n0"] in words, lines)
    expect(["all*", "up", "infinite", "2", "idle", "n2,n3"] in words, lines)
    expect(len(elastic(bench, daemon, "nodes", "-p", "left", "--noheader").splitlines()) == 2, "nodes of one")
    elastic(bench, daemon, "update", str(waits), "--partition", "all")
    expect(set(nodes_of(daemon.wait_end(waits))) <= {"n2", "n3"}, "moved")
    cancel(daemon, job["id"])


def a_submission_to_a_partition_is_checked(bench: Bench) -> None:
    daemon = bench.start(nodes=4, cores=2, config=CONFIG)
    expect("choose one of left, all" in refused(daemon, partition="right"), "unknown")
    expect("a job is in one partition" in refused(daemon, partition="left,all"), "two")
    text = refused(daemon, partition="left", time_limit_ms=7200000)
    expect("longest that partition left allows, 1h" in text, text)
    expect("3 cores at most" in refused(daemon, partition="left", min=1, max=4), "cores")
    expect("n3 of its node list is not in partition left" in refused(daemon, partition="left", nodelist="n3"), "-w")
    plain = bench.daemon(name="two", nodes=1, cores=1)
    plain.start()
    body = plain.request("POST", "/v1/jobs", plain.spec("true", partition="left")).body
    expect("has no effect" in body["notes"][0] and body["job"]["partition"] is None, f"without partitions: {body}")
    plain.wait_end(body["job"]["id"])


def others_may_not_use_a_partition_of_some_users(bench: Bench) -> None:
    if os.getuid() != 0:
        raise Skip("needs root: only then are there two users")
    port, tokens = free_port(), bench.folder / "tokens"
    tokens.write_text("the-token-of-nobody nobody\n")
    tokens.chmod(0o600)
    group = grp.getgrgid(pwd.getpwnam("nobody").pw_gid).gr_name
    config = f'[listen]\ntcp = "127.0.0.1:{port}"\ntokens_file = "{tokens}"\n'
    config += '[[partitions]]\nname = "ours"\nallow_users = ["root"]\nallow_groups = ["daemon"]\n'
    config += f'[[partitions]]\nname = "theirs"\nallow_groups = ["{group}"]\n'
    daemon = bench.start(nodes=1, cores=1, config=config)

    def submit(partition: str) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        body = daemon.spec("true", partition=partition, directory="/", output="/dev/null")
        connection.request("POST", "/v1/jobs", json.dumps(body), {"Authorization": "Bearer the-token-of-nobody"})
        return read_reply(connection)

    reply = submit("ours")
    expect(reply.status == 403 and "partition ours is restricted to" in reply.body["error"]["message"], f"{reply.body}")
    reply = submit("theirs")
    expect(reply.status == 201, f"a member of the group: {reply.body}")
    daemon.wait_end(reply.body["job"]["id"])
    expect("name one of ours, theirs" in refused(daemon), "none is the default")


def a_deleted_partition_ends_no_job(bench: Bench) -> None:
    daemon = bench.start(nodes=4, cores=2, config=CONFIG)
    runs = daemon.wait_state(daemon.submit("sleep", "1000", min=3, partition="left"), "RUNNING")
    waits = daemon.submit("true", min=2, partition="left")
    daemon.kill()
    daemon.config.write_text('[[partitions]]\nname = "all"\ndefault = true\n')
    daemon.start()
    reason = daemon.job(waits)["reason"]
    expect("there is no partition left any more" in reason, reason)
    expect(reason in elastic(bench, daemon, "why", str(waits)), "the command shows it")
    expect(daemon.job(runs["id"])["state"] == "RUNNING", "it goes on")
    daemon.kill()
    daemon.config.write_text(CONFIG.replace("n[0-1]", "n[2-3]"))
    daemon.start()
    expect(set(nodes_of(daemon.wait_end(waits))) <= {"n2", "n3"}, "it starts on the nodes of today")
    expect(daemon.job(runs["id"])["state"] == "RUNNING", "on nodes that its partition does not have any more")
    cancel(daemon, runs["id"])


def a_wrong_setting_of_partitions_is_named(bench: Bench) -> None:
    cases = {
        '[[partitions]]\nname = "a"\nnodes = "n[0"\n': "the nodes of partition a are neither",
        '[[partitions]]\nname = "a"\n[[partitions]]\nname = "a"\n': "there are two partitions a",
        '[backend]\nkind = "slurm"\n[[partitions]]\nname = "a"\n': "Slurm has its own",
    }
    configurations_are_refused(bench, cases)

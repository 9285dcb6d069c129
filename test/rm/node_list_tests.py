"""Jobs that name their nodes: --nodelist and --exclude, as in sbatch."""

from __future__ import annotations

from typing import Any

from daemon_under_test import Bench, Daemon, expect
from performance_tests import cancel, elastic


def nodes_of(job: dict[str, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in job["nodes"]:
        found[node["name"]] = found.get(node["name"], 0) + node["processes"]
    return found


def message(daemon: Daemon, **fields: object) -> str:
    reply = daemon.request("POST", "/v1/jobs", daemon.spec("true", **fields))
    expect(reply.status == 400, f"{fields} was accepted: {reply.body}")
    return reply.body["error"]["message"]


def a_job_runs_on_the_nodes_that_it_names(bench: Bench) -> None:
    daemon = bench.start(nodes=4, cores=2)
    listed = daemon.job(daemon.submit("sleep", "1000", nodelist="n[1,3]"))
    expect(listed["min"] == 2 and listed["nodelist"] == ["n1", "n3"] and listed["exclude"] == [], f"without a size: {listed}")
    expect(nodes_of(daemon.wait_state(listed["id"], "RUNNING")) == {"n1": 1, "n3": 1}, f"on others: {daemon.job(listed['id'])}")
    others = daemon.wait_state(daemon.submit("sleep", "1000", min=3, exclude="n[2-3]"), "RUNNING")
    expect(nodes_of(others) == {"n0": 2, "n1": 1}, f"on excluded nodes: {others['nodes']}")
    waits = daemon.submit("true", min=2, nodelist="n0,n2")
    text = elastic(bench, daemon, "show", str(waits))
    expect("ReqNodeList=n0, n2" in text and "ExcNodeList=-" in text and "its node list has full nodes: n0" in text, text)
    cancel(daemon, others["id"])
    expect(nodes_of(daemon.wait_end(waits)) == {"n0": 1, "n2": 1}, "when its node is free")
    cancel(daemon, listed["id"])


def whole_nodes_by_name(bench: Bench) -> None:
    daemon = bench.start(nodes=4, cores=2)
    job = daemon.wait_state(daemon.submit("sleep", "1000", nodes=2, nodelist="n3"), "RUNNING")
    expect(nodes_of(job) == {"n0": 2, "n3": 2} and job["exclusive"], f"nodes: {job['nodes']}")
    expect("names 3 nodes, and the job has 2" in message(daemon, nodes=2, nodelist="n[0-2]"), "more than -N")
    cancel(daemon, job["id"])


def lists_of_nodes_are_checked_at_the_submission(bench: Bench) -> None:
    daemon = bench.start(nodes=2, cores=2)
    for field in ("nodelist", "exclude"):
        text = message(daemon, **{field: "n[0-3]"})
        expect(field in text and "n2, n3" in text and "n0," not in text, f"unknown nodes: {text}")
        for wrong in ("n[0", "n[3-1]", "", "-x", "n[1-99999]", "n0;true", "n" * 300):
            text = message(daemon, **{field: wrong})
            expect(field in text and "not a list of nodes" in text, f"{wrong!r}: {text}")
    text = message(daemon, nodelist="n0,n1", min=1)
    expect("names 2 nodes, and the job may have only 1 process" in text, text)
    text = message(daemon, nodelist="n0,n1", exclude="n1", min=2)
    expect("node n1 is in its node list, and is excluded" in text, text)
    text = message(daemon, exclude="n1", min=3)
    expect("the nodes that it does not exclude can hold 2" in text, text)
    expect(not daemon.get("/v1/jobs").body["jobs"], "nothing was submitted")


def a_listed_node_that_drains_is_the_reason_after_a_restart_too(bench: Bench) -> None:
    daemon = bench.start(nodes=2, cores=2)
    expect(daemon.post("/v1/nodes/n1/drain", reason="new disk").status == 200, "drain")
    waits = daemon.submit("true", nodelist="n1", exclude="n0")
    expect(daemon.wait_end(daemon.submit("true"))["state"] == "DONE", "others pass it")
    wanted = "ReqNodeNotAvail: node n1 of its node list is draining (new disk)"
    expect(daemon.job(waits)["reason"] == wanted, f"its reason: {daemon.job(waits)['reason']}")
    expect(wanted in elastic(bench, daemon, "why", str(waits)), elastic(bench, daemon, "why", str(waits)))
    daemon.kill()
    daemon.start()
    job = daemon.job(waits)
    expect((job["state"], job["reason"], job["nodelist"], job["exclude"]) == ("PENDING", wanted, ["n1"], ["n0"]), f"after it: {job}")
    expect(daemon.post("/v1/nodes/n1/resume").status == 200, "resume")
    expect(nodes_of(daemon.wait_end(waits)) == {"n1": 1}, "on its node")

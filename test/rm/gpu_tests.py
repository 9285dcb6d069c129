"""GPUs of nodes and jobs: counted, given to jobs and their processes, kept over a restart.  No GPU is needed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from daemon_under_test import WAIT_S, Bench, Daemon, expect, wait_for
from malleable_tests import CONFIG as SHORT_PAUSES
from malleable_tests import finish_work, submit_work, wait_size, work_program
from node_list_tests import message
from performance_tests import cancel, elastic
from support import procfs

CONFIG = '[backend]\ngpus = ["2", "n0:4", "n3:0"]\n'
SHOW = "echo $PMI_RANK ${CUDA_VISIBLE_DEVICES-none} ${ROCR_VISIBLE_DEVICES-none} ${ZE_AFFINITY_MASK-none}"


def gpus_of(job: dict[str, Any]) -> dict[str, list[int]]:
    return {node["node"]: node["gpus"] for node in job["gpus"]}


def node(daemon: Daemon, name: str) -> dict[str, Any]:
    return daemon.get(f"/v1/nodes/{name}").body["node"]


def shown_by(daemon: Daemon, number: int) -> list[list[str]]:
    """The output of the processes, by rank."""
    job = daemon.wait_end(number)
    text = (daemon.folder / f"elastic-{number}.out").read_text()
    expect(job["state"] == "DONE", f"{job['state']}: {text}")
    return sorted(line.split() for line in text.splitlines())


def jobs_get_gpus_of_nodes(bench: Bench) -> None:
    daemon = bench.start(nodes=4, cores=4, config=CONFIG)
    wait_for("the GPUs of the nodes", lambda: [node(daemon, f"n{i}")["gpus"] for i in range(4)] == [4, 2, 2, 0])
    first = daemon.wait_state(daemon.submit("sleep", "1000", min=2, gpus_per_process=1), "RUNNING")
    expect(gpus_of(first) == {"n1": [0, 1]} and first["gpus_per_process"] == 1, f"the node that fits best: {first}")
    second = daemon.wait_state(daemon.submit("sleep", "1000", gpus_per_node=3), "RUNNING")
    expect(gpus_of(second) == {"n0": [0, 1, 2]}, f"of one node: {second}")
    third = daemon.wait_state(daemon.submit("sleep", "1000", min=2, gpus=2), "RUNNING")
    expect(gpus_of(third) == {"n2": [0, 1]} and third["gpus_per_process"] == 1, f"of the job: {third}")
    expect(node(daemon, "n0")["gpus_used"] == [0, 1, 2], f"node: {node(daemon, 'n0')}")
    waits = daemon.submit("true", min=2, gpus_per_process=1)
    text = elastic(bench, daemon, "show", str(second["id"]), str(waits))
    expect("Gpus=n0:0,1,2" in text and "GpusPerNode=3" in text and "Reason=resources: GPUs" in text, text)
    lines = [line.split()[:5] for line in elastic(bench, daemon, "nodes").splitlines()]
    expect(lines[0][4] == "GPUS" and [line[4] for line in lines[1:5]] == ["3/4", "2/2", "2/2", "0/0"], f"nodes: {lines}")
    expect("gpu:4" in elastic(bench, daemon, "nodes", "-o", "%n %G"), "as sinfo")
    metrics = daemon.get("/metrics").body
    expect("\nelasticd_gpus 8\n" in metrics and "\nelasticd_gpus_used 7\n" in metrics, "metrics")
    expect(daemon.wait_end(daemon.submit("true", min=4))["state"] == "DONE", "who needs none passes")
    for job in (first, second, third):
        cancel(daemon, job["id"])
    expect(daemon.wait_end(waits)["state"] == "DONE", "when some are free")
    expect(node(daemon, "n0")["gpus_used"] == [], "given back")


def impossible_gpus_are_refused(bench: Bench) -> None:
    daemon = bench.start(nodes=2, cores=4, config='[backend]\ngpus = ["2"]\n')
    wait_for("the GPUs of the nodes", lambda: node(daemon, "n1")["gpus"] == 2)
    expect("can hold 4 such processes: there are 4 GPUs" in message(daemon, min=5, gpus_per_process=1), "too many")
    expect("--gpus-per-task" in message(daemon, min=1, max=4, gpus_per_node=1), "elastic")
    expect("give gpus_per_process" in message(daemon, min=1, max=4, gpus=4), "elastic, of the whole job")
    expect("shares its nodes" in message(daemon, min=1, max=4, gpus_per_process=1, exclusive=True), "elastic, whole nodes")
    expect("in equal parts" in message(daemon, min=2, gpus=3), "a total that cannot be shared")
    expect("give one of them" in message(daemon, gpus_per_process=1, gpus_per_node=1), "both")
    expect("leave one of them out" in message(daemon, min=2, gpus=4, gpus_per_process=1), "they contradict each other")
    expect("gpus_per_node" in message(daemon, gpus_per_node=65), "more than a node can have")
    agrees = daemon.job(daemon.submit("true", held=True, min=2, gpus=4, gpus_per_process=2))
    expect(agrees["gpus_per_process"] == 2, f"they agree: {agrees}")
    zero = daemon.job(daemon.submit("true", held=True, gpus=0, gpus_per_process=0, gpus_per_node=0))
    expect(not zero["gpus_per_process"] and not zero["gpus_per_node"], f"zero means none: {zero}")
    shared = daemon.job(daemon.submit("true", held=True, nodes=2, min=8, gpus=4))
    expect(shared["gpus_per_node"] == 2, f"more processes than GPUs: {shared}")
    none = bench.start(nodes=1, cores=4, name="two")
    expect("there are 0 GPUs" in message(none, gpus_per_process=1), "a machine without")


def processes_see_the_gpus_of_their_job(bench: Bench) -> None:
    bench.needs_mpi()
    daemon = bench.start(nodes=3, cores=4, config='[backend]\ngpus = ["2"]\n')
    wait_for("the GPUs of the nodes", lambda: node(daemon, "n2")["gpus"] == 2)
    holds = daemon.wait_state(daemon.submit("sleep", "1000", nodelist="n0", gpus_per_process=1), "RUNNING")
    # The nodes are one machine: its GPUs 0 and 1 are those of n0, 2 and 3 those of n1.
    each = daemon.submit("sh", "-c", SHOW, min=2, gpus_per_process=1, nodelist="n1", exclude="n2")
    expect(shown_by(daemon, each) == [["0", "2", "2", "2"], ["1", "3", "3", "3"]], f"of each process: {shown_by(daemon, each)}")
    node_wide = daemon.submit("sh", "-c", SHOW, min=2, gpus_per_node=2, nodelist="n2")
    expect(shown_by(daemon, node_wide) == [["0", "4,5", "4,5", "4,5"], ["1", "4,5", "4,5", "4,5"]], f"of a node: {shown_by(daemon, node_wide)}")
    script = f"#!/bin/sh\nmpiexec sh -c '{SHOW}'\n"
    of_script = daemon.submit("job", script=script, gpus_per_process=1, nodelist="n0")
    expect(shown_by(daemon, of_script) == [["0", "1", "1", "1"]], f"beside another job: {shown_by(daemon, of_script)}")
    alone = daemon.submit("job", script="#!/bin/sh\necho $CUDA_VISIBLE_DEVICES $SLURM_JOB_GPUS $SLURM_GPUS_ON_NODE\n",
                          slurm_environment=True, gpus_per_node=2, nodelist="n1")  # fmt: skip
    expect(shown_by(daemon, alone) == [["2,3", "2,3", "2"]], f"of the script itself: {shown_by(daemon, alone)}")
    plain = daemon.submit("sh", "-c", SHOW, nodelist="n0")
    expect(shown_by(daemon, plain) == [["0", "none", "none", "none"]], f"without: {shown_by(daemon, plain)}")
    cancel(daemon, holds["id"])


def gpus_survive_restarts_and_changes_of_the_configuration(bench: Bench) -> None:
    daemon = bench.start(nodes=1, cores=4, config='[backend]\ngpus = ["4"]\n')
    wait_for("the GPUs of the node", lambda: node(daemon, "n0")["gpus"] == 4)
    runs = daemon.wait_state(daemon.submit("sleep", "1000", gpus_per_process=3), "RUNNING")
    waits = daemon.submit("true", gpus_per_process=2)
    daemon.kill()
    daemon.start()
    expect(gpus_of(daemon.job(runs["id"])) == {"n0": [0, 1, 2]}, f"after it: {daemon.job(runs['id'])}")
    expect(node(daemon, "n0")["gpus_used"] == [0, 1, 2] and daemon.job(waits)["state"] == "PENDING", "still booked")
    daemon.kill()
    daemon.config.write_text('[backend]\ngpus = ["2"]\n')
    daemon.start()
    wait_for("the node to drain", lambda: node(daemon, "n0")["state"] == "draining")
    found = node(daemon, "n0")
    expect("2 GPUs instead of 4" in found["reason"] and found["gpus"] == 4, f"node: {json.dumps(found)}")
    expect(daemon.job(runs["id"])["state"] == "RUNNING", "its job goes on")
    cancel(daemon, runs["id"])
    expect(daemon.wait_end(waits)["state"] == "DONE", "with the two that are left")
    found = node(daemon, "n0")
    expect((found["state"], found["gpus"], found["gpus_used"]) == ("up", 2, []), f"node: {json.dumps(found)}")


def devices_of(program: Path) -> list[int]:
    """The devices that each process of the program sees."""
    processes = [pid for pid in procfs.pids() if procfs.words(pid)[:1] == [str(program)] and not procfs.has_ended(pid)]
    return sorted(int(procfs.environment(pid)["CUDA_VISIBLE_DEVICES"]) for pid in processes)


def an_elastic_job_grows_and_shrinks_with_its_gpus(bench: Bench) -> None:
    program = work_program(bench)
    # The nodes are one machine: its GPUs 0 and 1 are those of n0, 2 to 4 those of n1.
    daemon = bench.start(nodes=2, cores=4, config=SHORT_PAUSES + '[backend]\ngpus = ["n0:2", "n1:3"]\n')
    wait_for("the GPUs of the nodes", lambda: node(daemon, "n1")["gpus"] == 3)
    holds = daemon.wait_state(daemon.submit("sleep", "1000", min=2, gpus_per_process=1, nodelist="n1", exclude="n0"), "RUNNING")
    number = submit_work(daemon, program, "with-gpus", 1, 8, gpus_per_process=1)
    wait_size(daemon, number, 3, 3)
    expect(devices_of(program) == [0, 1, 4], f"beside the other job: {devices_of(program)}")
    cancel(daemon, holds["id"])
    job = wait_size(daemon, number, 5, 5)
    expect(devices_of(program) == [0, 1, 2, 3, 4], f"after the growth: {devices_of(program)}")
    expect(gpus_of(job) == {"n0": [0, 1], "n1": [0, 1, 2]}, f"all that there are, fewer than cores: {job}")
    daemon.kill()
    daemon.start()
    expect(gpus_of(daemon.job(number)) == gpus_of(job), f"after a restart: {daemon.job(number)}")
    expect(node(daemon, "n1")["gpus_used"] == [0, 1, 2], f"still booked: {node(daemon, 'n1')}")
    wants = daemon.wait_state(daemon.submit("sleep", "1000", min=2, gpus_per_process=1), "RUNNING")
    own = gpus_of(daemon.job(number))
    for name, gpus in gpus_of(wants).items():
        expect(not set(gpus) & set(own.get(name, [])), f"one GPU for two jobs: {own}, {wants}")
    first = {"n0": 0, "n1": 2}
    booked = sorted(first[name] + gpu for name, gpus in own.items() for gpu in gpus)
    expect(devices_of(program) == booked and len(booked) == 3, f"after the shrink: {devices_of(program)}, {own}")
    cancel(daemon, wants["id"])
    wait_size(daemon, number, 5, 5)
    expect(devices_of(program) == [0, 1, 2, 3, 4], f"after another growth: {devices_of(program)}")
    finish_work(daemon, number)
    expect(node(daemon, "n0")["gpus_used"] == [], "released")


def a_later_mpiexec_of_a_script_has_the_present_gpus(bench: Bench) -> None:
    program = work_program(bench)
    daemon = bench.start(nodes=1, cores=4, config=SHORT_PAUSES + '[backend]\ngpus = ["4"]\n')
    wait_for("the GPUs of the node", lambda: node(daemon, "n0")["gpus"] == 4)
    stop = daemon.folder / "stop-script"
    script = f"#!/bin/sh\nmpiexec {program} {stop}\necho script ${{CUDA_VISIBLE_DEVICES-none}}\nmpiexec sh -c '{SHOW}'\n"
    number = daemon.submit("job", script=script, name="script", min=1, max=3, gpus_per_process=1, output="script.txt")
    wait_size(daemon, number, 3, 3)
    wait_for("its program to be known as adaptive", lambda: daemon.job(number)["adaptive"])
    wants = daemon.wait_state(daemon.submit("sleep", "1000", min=2, gpus_per_process=1), "RUNNING")
    wait_size(daemon, number, 2, 2)
    stop.touch()
    expect(daemon.wait_end(number)["state"] == "DONE", "the script")
    lines = (daemon.folder / "script.txt").read_text().splitlines()
    expect("script none" in lines, f"the script itself has none: {lines}")
    expect(sorted(lines[-2:]) == ["0 0 0 0", "1 1 1 1"], f"of the processes that stayed: {lines}")
    expect(gpus_of(wants) == {"n0": [2, 3]}, f"the others: {wants}")
    cancel(daemon, wants["id"])


def a_wrong_setting_of_gpus_is_named(bench: Bench) -> None:
    daemon = bench.daemon(config='[backend]\ngpus = ["n[0-1]:x"]\n')
    options: list[list[str]] = [["--check-config"], []]
    for more in options:
        done = subprocess.run([*daemon.command(), *more], capture_output=True, text=True, check=False, timeout=WAIT_S)
        expect(done.returncode == 1 and "backend.gpus: 'n[0-1]:x'" in done.stderr, f"{more}: {done}")

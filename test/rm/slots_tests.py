"""Slots that programs request (MPIX_Iallocate), and sizes that they give themselves (MPIX_Comm_modify), with elasticd as their
allocator; clauses DA1, DA2, DA12, DM4, DM5 and DX1 to DX3."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

from daemon_under_test import Bench, Daemon, expect, wait_for
from malleable_tests import CONFIG, finish_work, no_core_is_used_twice, resize, submit_work, wait_size, work_program

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples" / "dynamic"


def compiled(bench: Bench, source: Path) -> Path:
    program = bench.folder / source.stem
    command: list[str | Path] = [bench.needs_mpi() / "bin/mpicc", "-O1", "-D_GNU_SOURCE", source, "-o", program, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"{source.name} does not compile: {done.stderr}")
    return program


def request(daemon: Daemon, program: Path, name: str, n: int, places: int, *words: str) -> tuple[int, Path]:
    """A job of one process that requests n slots and may have so many; and its folder."""
    folder = daemon.folder / name
    folder.mkdir()
    return daemon.submit(str(program), str(folder), str(n), *words, name=name, places=places, output="%x.txt"), folder


def held(daemon: Daemon, number: int) -> int:
    return (daemon.job(number)["places"] or {"held": 0})["held"]


def wanted(daemon: Daemon, number: int) -> int:
    return (daemon.job(number)["places"] or {"wanted": 0})["wanted"]


def where(daemon: Daemon, number: int) -> dict[str, int]:
    nodes = (daemon.job(number)["places"] or {"nodes": []})["nodes"]
    return {node["node"]: node["places"] for node in nodes}


def used(daemon: Daemon) -> int:
    return sum(node["cores_used"] for node in daemon.get("/v1/nodes").body["nodes"])


def show(daemon: Daemon, number: int) -> str:
    command: list[str | Path] = [daemon.programs.elasticd.parent / "elastic", "show", str(number)]
    environment = os.environ | {"ELASTICD_SOCKET": str(daemon.socket)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout


def ends_well(daemon: Daemon, number: int, *expected: str) -> None:
    job = daemon.wait_end(number)
    text = Path(job["output"]).read_text() if Path(job["output"]).exists() else "(no output)"
    expect(job["state"] == "DONE" and job["places"] is None, f"job {number}: {json.dumps(job)}\n{text[-2000:]}")
    for words in expected:
        expect(words in text, f"job {number} does not contain '{words}': {text[-2000:]}")


def slots_are_granted_and_released(bench: Bench) -> None:
    program = compiled(bench, HERE / "slots.c")
    daemon = bench.start(nodes=1, cores=4)
    number, folder = request(daemon, program, "holder", 2, 2)
    wait_for("its slots", (folder / "held").exists)
    expect(held(daemon, number) == 2 and used(daemon) == 3, f"what it has: {daemon.job(number)}")
    here = daemon.get("/v1/nodes").body["nodes"][0]["jobs"]
    expect(here == [{"job": number, "processes": 1, "places": 2, "spawned": 0, "cores": 3}], f"who is on the node: {here}")
    waiting = daemon.submit("true", min=2)
    expect(daemon.job(waiting)["state"] == "PENDING", "the cores are in use")
    (folder / "go").touch()
    expect(daemon.wait_end(waiting)["state"] == "DONE", "they are given back")
    expect(held(daemon, number) == 0, f"what it has: {daemon.job(number)}")
    (folder / "end").touch()
    ends_well(daemon, number)


def spawned_processes_are_counted(bench: Bench) -> None:
    program = compiled(bench, HERE / "spawn.c")
    daemon = bench.start(nodes=1, cores=4)
    number, folder = request(daemon, program, "spawns", 5, 2)
    wait_for("its processes", (folder / "spawned").exists)
    wait_for("their count", lambda: (daemon.job(number)["spawned"] or {"processes": 0})["processes"] == 5)
    expect(daemon.job(number)["spawned"]["without_cores"] == 3, f"those beyond its slots: {daemon.job(number)}")
    here = daemon.get("/v1/nodes").body["nodes"][0]["jobs"]
    expect(here == [{"job": number, "processes": 1, "places": 2, "spawned": 5, "cores": 3}], f"on the node: {here}")
    advice = "3 of 5 processes of MPI_Comm_spawn have no cores: submit it with --places 5"
    expect(f"Spawned=5 (n0: 5); {advice}" in show(daemon, number), show(daemon, number))
    daemon.kill()
    daemon.start()
    expect(daemon.job(number)["spawned"]["processes"] == 5 and used(daemon) == 3, "elasticd knows them again")
    (folder / "go").touch()
    wait_for("their ends", lambda: used(daemon) == 1)
    (folder / "end").touch()
    ends_well(daemon, number)
    job = daemon.job(number)
    expect(job["spawned"] == {"processes": 0, "without_cores": 0, "max": 5, "nodes": []}, f"at its end: {job}")
    by_size = {each["size"]: each["core_ms"] for each in job["accounting"]["core_ms_by_size"]}
    expect(by_size[None] > 0, f"their time counts: {by_size}")


def spawns_beyond_the_slots_are_refused_if_the_administrator_wants_it(bench: Bench) -> None:
    program = compiled(bench, HERE / "spawn.c")
    daemon = bench.start(nodes=1, cores=4, config="[limits]\nspawn_beyond_slots = false\n")
    number, _ = request(daemon, program, "beyond", 3, 2)
    job = daemon.wait_end(number)
    text = Path(job["output"]).read_text()
    expect(job["exit_code"] == 7 and "submit it with --places 3" in text, f"MPI_ERR_SPAWN: {job}\n{text}")
    number, folder = request(daemon, program, "within", 3, 3)
    wait_for("its processes", (folder / "spawned").exists)
    for name in ("go", "end"):
        (folder / name).touch()
    ends_well(daemon, number)


def what_is_impossible_is_refused(bench: Bench) -> None:
    program = compiled(bench, HERE / "slots.c")
    daemon = bench.start(nodes=1, cores=4)
    number, _ = request(daemon, program, "greedy", 3, 2)
    job = daemon.wait_end(number)
    expect(job["exit_code"] == 7, f"MPIX_ERR_ALLOCATE: {job}")
    refused = daemon.request("POST", "/v1/jobs", daemon.spec("true", places=5000))
    expect(refused.status == 400, f"too many: {refused}")


def a_killed_elasticd_restores_requests_and_slots(bench: Bench) -> None:
    program = compiled(bench, HERE / "slots.c")
    daemon = bench.start(nodes=1, cores=4)
    filler = daemon.submit("sleep", "1000", min=3)
    daemon.wait_state(filler, "RUNNING")
    number, folder = request(daemon, program, "patient", 2, 2)
    wait_for("its request", lambda: wanted(daemon, number) == 2)
    daemon.kill()
    daemon.start()
    expect(wanted(daemon, number) == 2 and held(daemon, number) == 0, f"between request and grant: {daemon.job(number)}")
    daemon.post(f"/v1/jobs/{filler}/cancel")
    wait_for("its slots", (folder / "held").exists)
    daemon.kill()
    daemon.start()
    expect(held(daemon, number) == 2 and used(daemon) == 3, f"what is held stays: {daemon.job(number)}")
    daemon.kill()
    (folder / "go").touch()  # while nobody is there to be notified
    daemon.start()
    wait_for("what was given back meanwhile", lambda: used(daemon) == 1)
    (folder / "end").touch()
    ends_well(daemon, number)
    daemon.stop()
    done = subprocess.run([*daemon.command(), "--replay"], capture_output=True, text=True, check=False, timeout=120)
    expect(done.returncode == 0 and "the same" in done.stdout, f"replay: {done}")


def slots_are_on_other_nodes_too(bench: Bench) -> None:
    program = compiled(bench, EXAMPLES / "taskfarm.c")
    daemon = bench.start(nodes=2, cores=2)
    command = (str(program), "12", "sh", "-c", f"until [ -e {daemon.folder}/go ]; do sleep 0.05; done")
    farm = daemon.submit(*command, places=3, output="%j.txt")
    wait_for("three slots on two nodes", lambda: where(daemon, farm) == {"n0": 1, "n1": 2})
    no_core_is_used_twice(daemon)
    wait_for("what runs there", lambda: "Tasks=n0: sh 1; n1: sh 2" in show(daemon, farm))
    (daemon.folder / "go").touch()
    ends_well(daemon, farm, "12 runs ended with 0")
    expect(used(daemon) == 0, "all is given back")


def exclusive_slots_have_a_node_for_themselves(bench: Bench) -> None:
    program = compiled(bench, HERE / "slots.c")
    daemon = bench.start(nodes=2, cores=4)
    number, folder = request(daemon, program, "alone", 2, 4, "exclusive")
    wait_for("its slots", (folder / "held").exists)
    expect(where(daemon, number) == {"n0": 1, "n1": 1}, f"one on each node: {daemon.job(number)}")
    expect("n0: 1 exclusive, n1: 1 exclusive" in show(daemon, number), show(daemon, number))
    daemon.kill()
    daemon.start()
    expect(where(daemon, number) == {"n0": 1, "n1": 1}, f"after a restart: {daemon.job(number)}")
    beside, second = request(daemon, program, "beside", 3, 4)
    wait_for("another job's slots", (second / "held").exists)
    for each in (folder, second):
        (each / "end").touch()
    ends_well(daemon, number)
    ends_well(daemon, beside)
    never, _ = request(daemon, program, "never", 3, 4, "exclusive")
    expect(daemon.wait_end(never)["exit_code"] == 7, "there are two nodes")


def what_a_job_holds_goes_with_it(bench: Bench) -> None:
    program = compiled(bench, HERE / "slots.c")
    daemon = bench.start(nodes=1, cores=4, config='[job]\nkill_grace = "1s"\n')
    first, folder = request(daemon, program, "ends", 2, 2)
    wait_for("its slots", (folder / "held").exists)
    (folder / "end").touch()
    ends_well(daemon, first)
    expect(used(daemon) == 0, "it ended with its slots")
    second, folder = request(daemon, program, "killed", 2, 2)
    wait_for("its slots", (folder / "held").exists)
    daemon.post(f"/v1/jobs/{second}/cancel")
    expect(daemon.wait_end(second)["state"] == "CANCELLED" and used(daemon) == 0, "it was killed with its slots")


def slots_of_failed_processes_are_released(bench: Bench) -> None:
    """Slots of a killed process, and of a killed mpiexec, while the script of the job continues."""
    program = compiled(bench, HERE / "slots.c")
    daemon = bench.start(nodes=1, cores=4)
    for victim in ("process", "mpiexec"):
        folder = daemon.folder / victim
        folder.mkdir()
        run = f"{bench.needs_mpi()}/bin/mpiexec -n 1 {program} {folder} 2"
        script = f"#!/bin/sh\n{run} & echo $! >{folder}/mpiexec\nwait\nuntil [ -e {folder}/over ]; do sleep 0.05; done\n"
        number = daemon.submit(victim, script=script, places=2, output="%x.txt")
        wait_for("its slots", lambda: held(daemon, number) == 2 and (folder / "held").exists())  # noqa: B023
        expect(used(daemon) == 3, f"what it has: {daemon.job(number)}")
        os.kill(int((folder / ("mpiexec" if victim == "mpiexec" else "requested")).read_text()), signal.SIGKILL)
        wait_for(f"the slots of a {victim} that is killed", lambda: used(daemon) == 1)
        expect(daemon.job(number)["state"] == "RUNNING" and held(daemon, number) == 0, f"what it has: {daemon.job(number)}")
        (folder / "over").touch()
        ends_well(daemon, number)
    expect(used(daemon) == 0, "all is given back")


def a_program_gives_itself_another_size(bench: Bench) -> None:
    program = str(compiled(bench, EXAMPLES / "dynsize.c"))
    daemon = bench.start(nodes=1, cores=4)
    grown = daemon.submit(program, "3", "-2", places=3, output="%j.txt")
    ends_well(daemon, grown, "by 4 processes", "by 2 processes")
    expect(daemon.job(grown)["counts"]["committed"] == 2 and used(daemon) == 0, f"its changes: {daemon.job(grown)}")
    refused = daemon.submit(program, "4", places=3, output="%j.txt")
    ends_well(daemon, refused, "the size stays", "3 more slots", "by 1 processes")
    filler = daemon.submit("sleep", "1000", min=2)
    daemon.wait_state(filler, "RUNNING")
    waits = daemon.submit(program, "2", places=3, output="%j.txt")
    wait_for("its request", lambda: daemon.job(waits)["wish"])
    daemon.kill()
    daemon.start()
    daemon.post(f"/v1/jobs/{filler}/cancel")
    ends_well(daemon, waits, "by 3 processes")


def the_examples_beside_a_job_that_is_resized(bench: Bench) -> None:
    windows_program = work_program(bench)
    farm, size, server, client = (str(compiled(bench, EXAMPLES / f"{name}.c")) for name in ("taskfarm", "dynsize", "server", "client"))
    daemon = bench.start(config=CONFIG, nodes=2, cores=6)
    windows = submit_work(daemon, windows_program, "windows", 1, 4)
    name = f"sums-{os.getpid()}"
    jobs = {
        daemon.submit(farm, "300", "true", places=2, output="%j.txt"): ("300 runs ended with 0",),
        daemon.submit(size, "1", "-1", places=1, output="%j.txt"): ("by 2 processes", "by 1 processes"),
        daemon.submit(server, name, output="%j.txt"): ("a client's sum is 6",),
        daemon.submit(client, name, "1", "2", "3", output="%j.txt"): ("sum 6",),
    }
    for wanted_size in (1, 3, 2):
        resize(daemon, windows, wanted_size)
        wait_size(daemon, windows, wanted_size, wanted_size)
        no_core_is_used_twice(daemon)
    daemon.wait_end(max(jobs))
    ends_well(daemon, daemon.submit(client, name))
    for number, expected in jobs.items():
        ends_well(daemon, number, *expected)
    finish_work(daemon, windows)

"""Scripts that call srun and scontrol: they run under elasticd as under Slurm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from daemon_under_test import Bench, Daemon, expect, wait_for
from hostile_tests import GOOD, run_as, two_users

HEAD = "#!/bin/bash\n"


def submit_script(daemon: Daemon, text: str, **fields: object) -> int:
    return daemon.submit("script", script=HEAD + text, slurm_environment=True, output="out-%j", **fields)


def run_script(daemon: Daemon, text: str, **fields: object) -> tuple[dict[str, Any], list[str]]:
    """The job at its end, and the lines that it has printed, sorted."""
    number = submit_script(daemon, text, **fields)
    job = daemon.wait_end(number)
    return job, sorted((daemon.folder / f"out-{number}").read_text().splitlines())


def start(bench: Bench) -> Daemon:
    bench.needs_mpi()
    return bench.start(nodes=2, cores=4)


def processes_of_srun_know_their_ranks_and_nodes(bench: Bench) -> None:
    daemon = start(bench)
    show = "bash -c 'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURMD_NODENAME $SLURM_NTASKS $SLURM_STEP_ID'\n"
    job, lines = run_script(daemon, f"srun {show}srun -n 3 -m cyclic {show}srun -N 1 -n 2 {show}", min=4, processes_per_node=2)
    expect(job["state"] == "DONE", f"{job}: {lines}")
    first, second = (node["name"] for node in job["nodes"])
    expected = [f"0 0 0 {first} 4 0", f"1 1 0 {first} 4 0", f"2 0 1 {second} 4 0", f"3 1 1 {second} 4 0",
                f"0 0 0 {first} 3 1", f"1 0 1 {second} 3 1", f"2 1 0 {first} 3 1",
                f"0 0 0 {first} 2 2", f"1 1 0 {first} 2 2"]  # fmt: skip
    expect(lines == sorted(expected), f"{lines}")


def ranks_may_have_different_programs(bench: Bench) -> None:
    daemon = start(bench)
    (daemon.folder / "programs").write_text("# three\n0,2 bash -c 'echo server $SLURM_PROCID %t' \n* echo worker %t %o\n")
    (daemon.folder / "few").write_text("0 true\n")
    text = "srun --multi-prog programs\nsrun -n 2 --multi-prog few; echo code $?\nsrun -n 1 --multi-prog few; echo code $?\nsrun --multi-prog none"
    _, lines = run_script(daemon, text, min=4, processes_per_node=2)
    for line in ("server 0 %t", "server 2 %t", "worker 1 1", "worker 3 3", "code 1", "code 0"):
        expect(lines.count(line) == 1, f"{line!r}: {lines}")
    expect(any("few: no line has a program for rank 1 of 2" in line for line in lines), f"{lines}")
    expect(any("cannot read none" in line for line in lines), f"{lines}")


def a_script_for_slurm_runs_unchanged(bench: Bench) -> None:
    """Output and input of steps, environment, labels, exit codes, lists of nodes."""
    daemon = start(bench)
    text = """
        scontrol show hostnames | tr '\\n' ' '; echo
        scontrol show hostnames 'a[1-2],b' | tr '\\n' ' '; echo
        srun -n 2 -o task-%t bash -c 'echo out $SLURM_PROCID; echo err >&2'
        srun -n 2 -o step-%j.%s bash -c 'echo out $SLURM_PROCID; echo err >&2'
        echo line | srun -n 2 cat
        A=1 B=2 srun -n 1 --export=A,C=3 bash -c 'echo exported $A $B $C $SLURM_JOB_ID'
        srun -l -n 1 --mpi=pmix --cpu-bind=none echo labelled
        srun -n 1 -D / pwd
        srun -n 2 bash -c 'exit $((SLURM_PROCID * 3))'; echo code $?
        srun -n 1 ./nothing; echo code $?
        srun -n 9 true; echo code $?
        echo $SLURM_TASKS_PER_NODE $SLURM_JOB_CPUS_PER_NODE $SLURM_NTASKS_PER_NODE $SLURM_CPUS_ON_NODE
    """
    job, lines = run_script(daemon, text, min=4, processes_per_node=2)
    number = job["id"]
    expect(job["state"] == "DONE", f"{job}: {lines}")
    nodes = "".join(f"{node['name']} " for node in job["nodes"])
    for line, count in {nodes: 1, "a1 a2 b ": 1, "line": 2, f"exported 1 3 {number}": 1, "[0] labelled": 1, "/": 1, "code 3": 1,
                        "code 2": 1, "code 1": 1, "2(x2) 2(x2) 2 2": 1}.items():  # fmt: skip
        expect(lines.count(line) == count, f"{line!r} is there {lines.count(line)} times, not {count}: {lines}")
    expect(any("cannot execute ./nothing" in line for line in lines), f"{lines}")
    expect(any("more processors requested than permitted: 9" in line for line in lines), f"{lines}")
    tasks = [(daemon.folder / f"task-{rank}").read_text() for rank in range(2)]
    expect(tasks == ["out 0\n", "out 1\n"], f"{tasks}")
    step = sorted((daemon.folder / f"step-{number}.1").read_text().splitlines())
    expect(step == ["err", "err", "out 0", "out 1"], f"{step}")
    expect(sum(line == "err" for line in lines) == 2, f"{lines}")


def steps_wait_for_slots_that_others_use(bench: Bench) -> None:
    """Two steps of two processes run at once; the third waits for one of them, and one that overlaps does not."""
    daemon = start(bench)
    text = """
        srun -n 2 bash -c 'touch first-$SLURM_PROCID; until [ -e go ]; do sleep 0.1; done; rm first-$SLURM_PROCID' &
        until [ -e first-0 ] && [ -e first-1 ]; do sleep 0.1; done
        srun -n 2 bash -c 'until [ -e go ]; do sleep 0.1; done' &
        srun --overlap -n 1 touch overlaps
        until srun -I -n 1 true 2>immediate; [ -s immediate ]; do sleep 0.1; done
        srun -n 4 bash -c 'ls first-* 2>/dev/null; touch third' &
        wait
    """
    number = submit_script(daemon, text, min=4)
    wait_for("the step that overlaps", lambda: (daemon.folder / "overlaps").exists())
    output = daemon.folder / f"out-{number}"
    wait_for("the third step to wait", lambda: "waits: other steps use the slots" in output.read_text())
    expect(not (daemon.folder / "third").exists(), "the third step has started")
    expect("at once" in (daemon.folder / "immediate").read_text(), "a step with -I is refused")
    (daemon.folder / "go").touch()
    job = daemon.wait_end(number)
    expect(job["state"] == "DONE" and (daemon.folder / "third").exists(), f"{job}: {output.read_text()}")
    expect("first-" not in output.read_text(), "the third step started before the first one had ended")


def steps_that_run_at_once_have_different_gpus(bench: Bench) -> None:
    bench.needs_mpi()
    daemon = bench.start(nodes=1, cores=4, config='[backend]\ngpus = ["4"]\n')
    wait_for("the GPUs of the node", lambda: daemon.get("/v1/nodes/n0").body["node"]["gpus"] == 4)
    text = """
        step() {
            srun -n $2 bash -c "touch $1-\\$SLURM_PROCID; echo $1 \\$SLURM_PROCID \\$CUDA_VISIBLE_DEVICES
                until [ -e first-1 ] && [ -e second-0 ]; do sleep 0.1; done"
        }
        step first 2 &
        until [ -e first-1 ]; do sleep 0.1; done
        step second 1
        wait
        srun -n 1 --overlap bash -c 'echo overlaps $CUDA_VISIBLE_DEVICES'
        srun -n 3 bash -c 'echo third $SLURM_PROCID $CUDA_VISIBLE_DEVICES'
    """
    job, lines = run_script(daemon, text, min=3, gpus_per_process=1)
    alone = ["first 0 0", "first 1 1", "second 0 2", "third 0 0", "third 1 1", "third 2 2"]
    expect(job["state"] == "DONE" and lines == sorted([*alone, "overlaps 0"]), f"{job['state']}: {lines}")


def a_cancelled_job_leaves_no_step(bench: Bench) -> None:
    daemon = start(bench)
    number = submit_script(daemon, "srun -n 4 bash -c 'touch up-$SLURM_PROCID; sleep 1000'\n", min=4)
    wait_for("its processes", lambda: all((daemon.folder / f"up-{rank}").exists() for rank in range(4)))
    daemon.post(f"/v1/jobs/{number}/cancel")
    expect(daemon.wait_end(number)["state"] == "CANCELLED", "it is cancelled")


def srun_of_another_user_works(bench: Bench) -> None:
    """A job that elasticd, as root, starts for a user: the file with the locks is the user's."""
    bench.needs_mpi()
    daemon, work = two_users(bench)
    spec = daemon.spec("script", script=HEAD + "srun -n 2 id -u\n", slurm_environment=True, output="out", min=2)
    spec |= {"directory": str(work)}
    number = run_as(GOOD, lambda: daemon.request("POST", "/v1/jobs", spec).body["job"]["id"])
    job = daemon.wait_end(number)
    text = Path(work, "out").read_text()
    expect(job["state"] == "DONE" and text.split() == [str(GOOD)] * 2, f"{job}: {text}")

"""`elasticd --nested`: by itself inside a stock Slurm's allocation, and where PBS or a file names the nodes."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

from harness.job import Job

from .cases import case
from .dynamic import example
from .hostrun import HostRun


def nested_folders(run: HostRun, host: str) -> list[str]:
    base = Path(f"/proc/{run.host(host).pid}/root/run/user/{os.getuid()}/elastic-mpich-{os.getuid()}")
    return [path.name for path in base.glob("nested-*")]


def bare_environment(run: HostRun) -> None:
    """An environment without variables that name an elasticd."""
    for name in ("ELASTICD_SOCKET", "ELASTICD_URL"):
        run.environment.pop(name, None)


def salloc(run: HostRun, nodes: int, script: str) -> Job:
    """A shell script in an allocation, as a user on the login node would type it."""
    path = run.work / "in-salloc.sh"
    path.write_text(f"#!/bin/sh\nPATH={run.setting.prefix}/bin:$PATH\n{script}\n", encoding="utf-8")
    job = Job(run, run.inside(["salloc", "-Q", "-N", str(nodes), "sh", str(path)], "head"), None)
    run.jobs.append(job)
    return job


def await_end_of_elasticd(run: HostRun, host: str = "head") -> None:
    run.await_value(lambda: not run.pids(host, "elasticd"), "end of elasticd")
    run.check(not nested_folders(run, host), f"folders are left: {nested_folders(run, host)}")


@case("DA1 DA9", nodes=3, with_slurm=True)
def slots_in_salloc(run: HostRun) -> None:
    """A farm in a plain salloc has slots on all of its hosts, by mpiexec alone and by `elastic run`, and nothing is left there."""
    bare_environment(run)
    farm = example(run, "taskfarm")
    job = salloc(
        run,
        3,
        f"""
        mpiexec -n 1 {farm} 60 sh -c 'echo run on $(hostname); sleep 0.2' && echo alone=$?
        elastic run -n 1 --places 9 {farm} 60 sh -c 'echo run on $(hostname); sleep 0.2' && echo nested=$?
        """,
    )
    code = job.wait()
    run.check(code == 0, f"exit code {code}: {job.out[-1000:]}{job.err[-2000:]}")
    alone, _, nested = job.out.partition("alone=0")
    for name, text in (("mpiexec", alone), ("elastic run", nested)):
        run.check("60 runs ended with 0" in text, f"{name}: {text[-1000:]}{job.err[-2000:]}")
        hosts = {line.split()[-1] for line in text.splitlines() if line.startswith("run on ")}
        run.check(hosts == {"h1", "h2", "h3"}, f"{name} ran on {hosts}")
    await_end_of_elasticd(run)


@case("W6 C7", nodes=3, with_slurm=True)
def nested_in_salloc(run: HostRun) -> None:
    """In a plain salloc `elastic run` starts elasticd, elastic and rigid jobs share the nodes, and it ends with the allocation."""
    bare_environment(run)
    for name in ("a", "b"):
        (run.work / name).mkdir()
    job = salloc(
        run,
        3,
        f"""
        (cd a && exec elastic run -n 2:12 {run.program('serve')}) >a/out 2>a/err &
        until elastic queue --json | grep -q '"size":12,'; do sleep 0.2; done
        elastic nodes --noheader
        (cd b && exec elastic run -n 6 {run.program('cycle')} --epochs 0) >b/out 2>b/err
        echo rigid=$?
        touch a/stop
        wait %1 2>/dev/null || wait
        elastic history --json
        """,
    )
    run.check(job.wait() == 0, f"salloc ended with {job.process.returncode}: {job.err[-600:]}")
    printed = (run.work / "a" / "err").read_text() + (run.work / "b" / "err").read_text()
    run.check(len(re.findall("started elasticd for the nodes of Slurm job", printed)) == 1, f"who started it: {printed}")
    run.check("rigid=0" in job.out and job.out.count('"DONE"') == 2, f"jobs: {job.out[-600:]} {printed}")
    run.check(re.findall(r"^h[123] +.*4", job.out, re.M), f"nodes: {job.out[:400]}")
    out = (run.work / "a" / "out").read_text()
    passed = re.findall(r"^PASS epoch=(\d+) size=(\d+)$", out, re.M)
    run.check(len(passed) == 1 and int(passed[0][0]) >= 1, f"the elastic job: {out[-400:]}")
    run.check("PASS epoch=0 size=6" in (run.work / "b" / "out").read_text(), "the rigid job's result")
    await_end_of_elasticd(run)
    run.await_value(lambda: not run.on("head", "squeue", "-h").stdout.strip(), "end of the Slurm job")


@case("", nodes=2, with_slurm=True, full=True)
def nested_killed(run: HostRun) -> None:
    """elasticd is killed in an allocation: the job continues, and the next command starts it again and finds the
    job."""
    bare_environment(run)
    job = salloc(
        run,
        2,
        f"""
        elasticd --nested 2>log &
        first=$!
        until elastic version >/dev/null 2>&1; do sleep 0.1; done
        elastic submit --parsable -n 2 -o out {run.program('serve')}
        until elastic show 1 --json | grep -q RUNNING; do sleep 0.1; done
        kill -9 $first
        wait $first
        elastic submit --parsable -n 2 -o out2 --program {run.program('cycle')} --epochs 0
        touch stop
        while elastic queue --noheader | grep -q .; do sleep 0.2; done
        elastic history --json
        """,
    )
    run.check(job.wait() == 0, f"salloc ended with {job.process.returncode}: {job.err[-600:]}")
    run.check(job.out.count('"DONE"') == 2, f"history: {job.out[-800:]} {job.err[-400:]}")
    run.check("PASS" in (run.work / "out").read_text() and "PASS" in (run.work / "out2").read_text(), "results")
    await_end_of_elasticd(run)


@case("", nodes=2, with_slurm=True, full=True)
def nested_outlived_by_nothing(run: HostRun) -> None:
    """scancel of the allocation under a running job: nothing is left on any node, and elasticd ends."""
    bare_environment(run)
    job = salloc(run, 2, f"exec elastic run -n 2:8 {run.program('serve')}")
    run.await_value(lambda: run.pids("h1", "serve") and run.pids("h2", "serve"), "job on both nodes")
    run.on("head", "sh", "-c", "scancel $(squeue -h -o %i)")
    job.wait()
    await_end_of_elasticd(run)
    for host in ("h1", "h2"):
        run.await_value(lambda: not run.pids(host, "serve") and not run.pids(host, "hydra_pmi_proxy"), f"end of all on {host}")


@case("W6", nodes=3)
def nested_in_lsf(run: HostRun) -> None:
    """With LSF's variables, and a blaunch of ours that is ssh: a job starts, gives a node back and grows again."""
    bare_environment(run)
    blaunch = run.work / "blaunch"
    blaunch.write_text(f'#!/bin/sh\n[ "$1" = -n ] && shift\necho "$1" >>{run.work}/launched\nexec ssh "$@"\n', encoding="utf-8")
    blaunch.chmod(0o755)
    run.environment |= {"LSB_JOBID": "77", "LSB_MCPU_HOSTS": "h1 1 h2 2 h3 2", "LSF_BINDIR": str(run.work)}
    elastic = f"{run.setting.prefix}/bin/elastic"
    job = Job(run, run.inside([elastic, "run", "-n", "1:5", run.program("serve")], "h1"), None)
    run.jobs.append(job)

    def counts() -> list[int]:
        return [len(run.pids(host, "serve")) for host in ("h1", "h2", "h3")]

    run.await_value(lambda: counts() == [1, 2, 2], f"processes on all nodes: {counts()}")
    for size in (2, 5):
        run.await_value(lambda: run.on("h1", elastic, "resize", "1", str(size)).returncode == 0, f"accepted resize to {size}")
        run.await_value(lambda: sum(counts()) == size, f"{size} processes: {counts()}")
    (run.work / "stop").touch()
    run.check(job.wait() == 0 and "PASS" in job.out, f"elastic run: {job.out[-400:]}{job.err[-400:]}")
    run.check("nodes of LSF job 77" in job.err, f"it prints: {job.err}")
    launched = (run.work / "launched").read_text(encoding="utf-8").split()
    run.check({"h2", "h3"} <= set(launched), f"blaunch was used for {launched}")
    for pid in run.pids("h1", "elasticd"):
        os.kill(pid, signal.SIGTERM)
    await_end_of_elasticd(run, "h1")


@case("W6", nodes=3)
def nested_by_node_file(run: HostRun) -> None:
    """As PBS reports its nodes, over ssh: found without being named; a file by hand, with an end when idle."""
    bare_environment(run)
    nodefile = run.work / "nodefile"
    nodefile.write_text("h1\nh1\nh2\nh2\nh3\nh3\n", encoding="utf-8")
    run.environment |= {"PBS_JOBID": "42.server", "PBS_NODEFILE": str(nodefile)}
    elastic = f"{run.setting.prefix}/bin/elastic"
    job = Job(run, run.inside([elastic, "run", "-n", "2:6", run.program("serve")], "h1"), None)
    run.jobs.append(job)
    run.await_value(lambda: all(len(run.pids(host, "serve")) == 2 for host in ("h1", "h2", "h3")), "job on all nodes")
    (run.work / "stop").touch()
    run.check(job.wait() == 0 and "PASS" in job.out, f"elastic run: {job.out[-400:]}{job.err[-400:]}")
    run.check("nodes of PBS job 42.server" in job.err, f"it prints: {job.err}")
    for pid in run.pids("h1", "elasticd"):
        os.kill(pid, signal.SIGTERM)
    await_end_of_elasticd(run, "h1")
    for name in ("PBS_JOBID", "PBS_NODEFILE"):
        del run.environment[name]
    alone = run.on("h1", f"{run.setting.prefix}/bin/elasticd", "--nested")
    run.check(alone.returncode == 1 and "--nested=FILE" in alone.stderr, f"outside of all: {alone.stderr}")
    start = time.monotonic()
    idle = run.on("h1", f"{run.setting.prefix}/bin/elasticd", f"--nested={nodefile}", "--idle-exit=1s")
    run.check(idle.returncode == 0 and time.monotonic() - start >= 1, f"idle: {idle.returncode} {idle.stderr[-400:]}")
    run.check(not nested_folders(run, "h1"), "folders are left")

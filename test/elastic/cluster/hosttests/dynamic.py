"""Programs that start others, clients and servers, over hosts: the examples of examples/dynamic by ssh, and under elasticd beside a
job that is resized."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from testbed import hosts
from support import procfs

from .backend_hosts import managed
from .cases import case
from .hostrun import HostRun

EXAMPLES = Path(__file__).resolve().parents[4] / "examples" / "dynamic"
OURS = ("taskfarm", "mpiexec.hydra", "mpiexec", "hydra_pmi_proxy")
SAMPLES = 10
GROWTH_KIB = 1024
KEY = '-DKEY="open sesame"'


def example(run: HostRun, name: str, *flags: str) -> str:
    program = run.work / (name + "_keyed" * bool(flags))
    if not program.exists():
        words: list[str | Path] = [run.setting.prefix / "bin" / "mpicc", "-O1", "-D_GNU_SOURCE", *flags, EXAMPLES / f"{name}.c", "-o", program, "-lm"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        run.check(done.returncode == 0, f"{name}.c does not compile: {done.stderr}")
    return str(program)


def by_ssh(run: HostRun, n: int, program: str, *arguments: str) -> list[str]:
    return [f"{run.setting.prefix}/bin/mpiexec", "-launcher", "ssh", "-hosts", "h1,h2", "-ppn", "1", "-n", str(n), program, *arguments]


def used(run: HostRun) -> dict[str, int]:
    """Memory and descriptors of each of our programs on each host, processes and shared files of the hosts."""
    found: dict[str, int] = {}
    for host in ("h1", "h2"):
        found[f"{host} processes"] = len(hosts.processes(run.host(host)))
        found[f"{host} files"] = len(run._private_files(run.host(host)))
        for name in OURS:
            for pid in run.pids(host, name):
                with contextlib.suppress(OSError, LookupError):
                    found[f"{host} {name} KiB"] = procfs.resident_kb(pid)
                    found[f"{host} {name} descriptors"] = len(procfs.descriptors(pid))
    return found


def most_from(run: HostRun, lines: int, step: int, output: Path) -> dict[str, int]:
    """The most that is used in some moments, `step` runs apart, from when so many have printed something."""
    most: dict[str, int] = {}
    for i in range(SAMPLES):
        run.await_value(lambda: output.read_bytes().count(b"\n") >= lines + i * step, f"{lines} runs")  # noqa: B023
        for key, value in used(run).items():
            most[key] = max(most.get(key, 0), value)
    return most


def farm(run: HostRun, runs: int) -> None:
    output = run.work / "runs.txt"
    job = run.start(["sh", "-c", 'exec "$@" >runs.txt', "sh", *by_ssh(run, 1, example(run, "taskfarm"), str(runs), "echo", "run")])
    run.await_value(output.exists, "output")
    run.await_value(lambda: run.pids("h2", "hydra_pmi_proxy"), "proxy on h2")
    before = most_from(run, runs // 10, runs // 200, output)
    after = most_from(run, runs - runs // 10, runs // 200, output)
    run.check(job.wait() == 0, f"exit code {job.process.returncode}: {job.err[-400:]}")
    run.check(f"{runs} runs ended with 0" in output.read_text(encoding="utf-8"), "how they ended")
    run.notes.append(f"after a tenth {before}, at the end {after}")
    if os.environ.get("SHOW_USED"):
        print(f"# {before}\n# {after}", flush=True)
    both_hosts = {f"{host} hydra_pmi_proxy KiB" for host in ("h1", "h2")}
    run.check(both_hosts <= before.keys() & after.keys(), f"a host took no part: {before}")
    for key, value in after.items():
        more = GROWTH_KIB if key.endswith("KiB") else 3 * SAMPLES if key.endswith("descriptors") else SAMPLES
        run.check(value <= before.get(key, 0) + more, f"{key}: {before.get(key)} after a tenth of the runs, {value} at the end")


@case("DX2 DA9", nodes=2)
def farm_over_hosts(run: HostRun) -> None:
    """A farm of tasks on two hosts, on one of which no process of the job runs: nothing grows."""
    farm(run, 2000)


@case("DX2 DA9", nodes=2, full=True, deadline_s=900)
def long_farm_over_hosts(run: HostRun) -> None:
    farm(run, 10000)


@case("DX1 DX3", nodes=2)
def examples_over_hosts(run: HostRun) -> None:
    """A world that gives itself another size; a server on two hosts and its client on one; a server of many with a key."""
    job = run.start(by_ssh(run, 2, example(run, "dynsize"), "2", "-3"))
    run.check(job.wait() == 0, f"dynsize: {job.out}{job.err}")
    run.check("by 4 processes" in job.out and "by 1 processes" in job.out, f"dynsize: {job.out}")
    for server, flags in (("server", ()), ("server_many", (KEY,))):
        client = example(run, "client", *flags)
        serving = run.start(by_ssh(run, 2, example(run, server), "sums"))
        calling = run.start(by_ssh(run, 2, client, "sums", "1", "2", "3"))
        run.check(calling.wait() == 0 and "sum 6" in calling.out, f"client of {server}: {calling.out}{calling.err}")
        ending = run.start(by_ssh(run, 1, client, "sums"))
        run.check(ending.wait() == 0, f"end of {server}: {ending.err}")
        run.check(serving.wait() == 0, f"{server}: {serving.out}{serving.err}")


@case("DS4", nodes=2)
def spawns_that_fail_elsewhere(run: HostRun) -> None:
    """Missing programs, folders and hosts, some or all: an error on all processes, nothing is left, the job
    continues."""
    program = run.program("dyn_spawn")
    run.check(run.on("h1", "cp", program, "/run/here_alone").returncode == 0, "a program that only h1 has")
    before = run.pids("h2", "dyn_spawn")
    job = run.start(by_ssh(run, 2, program, "--elsewhere", "h2", "/run/here_alone"))
    code = job.wait()
    run.on("h1", "rm", "/run/here_alone")
    run.check(code == 0 and "PASS dyn_spawn" in job.out, f"exit code {code}: {job.out[-1000:]}{job.err[-2000:]}")
    run.check("no such file" in job.err.lower() and "host h2: not all processes" in job.err, f"its reason: {job.err[-2000:]}")
    run.check(run.pids("h2", "dyn_spawn") == before, "processes are left on h2")


@case("DN4", nodes=2, deadline_s=300)
def vanished_side(run: HostRun) -> None:
    """The host of a client fails silently: all of the server's processes are notified, and continue."""
    words = ["--by", "port", "--vanishes", "1"]
    server = run.mpiexec(["-launcher", "ssh", "-hosts", "h1"], ["--role", "widowed", "--server", "1", "--first", "4", *words], 2, "dyn_widow")
    client = run.mpiexec(["-launcher", "ssh", "-hosts", "h2"], ["--role", "pausing", *words], 2, "dyn_widow")
    for job in (server, client):
        job.await_line("^PID 0 ")
        job.await_line("^PID 1 ")
    hosts.set_link(run.cluster, run.host("h2"), "down")
    run.check(server.wait() == 0, f"exit code {server.process.returncode} of the server")
    run.check("PASS dyn_widow widowed" in server.lines, f"the server prints {server.lines}")
    hosts.set_link(run.cluster, run.host("h2"), "up")
    client.process.terminate()
    client.wait()


@case("DX1 DX2 DX3 DN1", nodes=2)
def examples_under_elasticd(run: HostRun) -> None:
    """The same as jobs over two hosts, whose servers are found on the other one by their names, beside a job that is resized."""
    daemon = managed(run, "h1:6", "h2:6")
    windows = daemon.submit("windows", "1:4", "serve")
    daemon.await_adaptive(windows)
    one_each = ("--ntasks-per-node", "1")
    expected = {
        daemon.submit("size", "1", example(run, "dynsize"), "1", "-1", options=("--places", "1")): "by 2 processes",
        daemon.submit("farm", "1", example(run, "taskfarm"), "200", "true", options=("--places", "3")): "200 runs ended with 0",
    }
    for server, flags in (("server", ()), ("server_many", (KEY,))):
        client = example(run, "client", *flags)
        serving = daemon.submit(f"{server}-job", "2", example(run, server), server, options=one_each)
        expected[daemon.submit(f"{server}-client", "2", client, server, "1", "2", "3", options=one_each)] = "sum 6"
        for size in (3, 2):
            daemon.resize(windows, size)
            daemon.await_size(windows, size)
        daemon.await_end(max(expected), "DONE")
        expected[daemon.submit(f"{server}-end", "1", client, server)] = ""
        expected[serving] = ""
    for job, text in expected.items():
        shown = daemon.await_end(job, "DONE")
        run.check(text in daemon.output(shown), f"job {job} does not contain '{text}': {daemon.output(shown)[-600:]}")
    daemon.let_end(windows)
    daemon.stop()


@case("DA9", nodes=2)
def proxy_with_tasks_is_killed(run: HostRun) -> None:
    """Neither tasks nor processes that they have started are left; a killed reaper is replaced with the next task."""
    script = "until [ -e go ]; do sleep 0.05; done; sleep 1000 & sleep 1000"

    def those(name: str, word: str) -> list[int]:
        """Without forked processes, which have the same name until they execute, and without zombies, which have no
        arguments."""
        found = []
        for pid in run.pids("h2", name):
            with contextlib.suppress(OSError):
                if word in procfs.words(pid) and (name != "sh" or os.getpgid(pid) == pid):
                    found.append(pid)
        return found

    job = run.start(by_ssh(run, 1, example(run, "taskfarm"), "8", "sh", "-c", script))
    first = run.await_value(lambda: run.pids("h2", "hydra_reaper"), "a reaper on h2")
    run.await_value(lambda: len(those("sh", script)) >= 4, "tasks on h2")
    os.kill(first[0], signal.SIGKILL)
    run.await_value(lambda: hosts.start_time(first[0]) < 0, "end of the reaper")
    os.kill(those("sh", script)[0], signal.SIGKILL)
    run.await_value(lambda: set(run.pids("h2", "hydra_reaper")) - set(first), "another reaper")
    (run.work / "go").touch()
    run.await_value(lambda: len(those("sleep", "1000")) >= 6, "what the tasks have started")
    for pid in run.pids("h2", "hydra_pmi_proxy"):
        os.kill(pid, signal.SIGKILL)
    run.await_value(lambda: not those("sleep", "1000"), "end of the tasks on h2")
    for pid in run.pids("h1", "hydra_pmi_proxy"):
        os.kill(pid, signal.SIGKILL)
    run.check(job.wait() != 0, "the job goes on without its proxy")

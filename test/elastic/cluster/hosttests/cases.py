"""The tests over hosts: each function drives one; `case` states the number of its hosts and the subjects that it
covers.

Everything is waited for with generous deadlines.  Where a fault is made, the bound that counts is in the test
(FAULT_S): the other end of a connection is found silent after 30 s (src/pm/hydra/elastic/wire/keepalive.h).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import checks, schedule
from harness.job import Job
from testbed import command, hosts, state
from testbed.state import TestbedError
from support import procfs

from .hostrun import HostRun, temporary_testbed

CLUSTER = Path(__file__).resolve().parent.parent / "cluster"
FAULT_S = 90.0


@dataclass
class Case:
    """A test: its function, and its requirements."""

    name: str
    drive: Callable[[HostRun], None]
    clauses: list[str]
    nodes: int
    slurm: bool
    full: bool
    deadline_s: float
    accounting: bool = False
    cpus: Sequence[int] = (4,)


CASES: list[Case] = []


def case(
    clauses: str,
    nodes: int = 4,
    full: bool = False,
    with_slurm: bool = False,
    deadline_s: float = 180,
    accounting: bool = False,
    cpus: Sequence[int] = (4,),
) -> Callable[[Callable[[HostRun], None]], Callable[[HostRun], None]]:
    def note(drive: Callable[[HostRun], None]) -> Callable[[HostRun], None]:
        slurm = with_slurm or accounting
        CASES.append(Case(drive.__name__, drive, clauses.split(), nodes, slurm, full, deadline_s, accounting, cpus))
        return drive

    return note


# ---- what the tests share ------------------------------------------------------------------------------


def launch(run: HostRun, n: int, on: str, sizes: str, program: str = "cycle", *options: str) -> None:
    """Runs a job through a schedule over hosts and checks every process of it."""
    changes = schedule.parse(sizes, n)
    words = ["-launcher", "ssh", "-hosts", on, *options, "--adapt-schedule", sizes, "--adapt-log", str(run.log_path)]
    job = run.mpiexec(words, ["--epochs", str(len(changes))], n, program)
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, len(changes), changes[-1].size)
    checks.member_lines(run, job, changes)


def serve(run: HostRun, n: int, on: str, *arguments: str, program: str | None = None) -> Job:
    """A job that runs until it is requested to stop, and is resized from outside."""
    words = ["-launcher", "ssh", "-hosts", on, "--adapt-log", str(run.log_path)]
    job = run.mpiexec(words, arguments, n, program or "serve")
    job.await_line("^READY$")
    run.await_event("adaptive")
    return job


def stop(run: HostRun, job: Job, epoch: int, size: int) -> None:
    (run.work / "stop").touch()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, epoch, size)


def step_name(run: HostRun) -> str:
    return str(run.step()["step"])


def resize(run: HostRun, *arguments: str) -> str:
    """Must succeed."""
    done = run.elastic("resize", step_name(run), *arguments, "--wait")
    run.check(done.returncode == 0, f"resize {arguments}: {done.stdout}{done.stderr}")
    return done.stdout


def refused(run: HostRun, job: Job, *arguments: str, names: str) -> None:
    """Must fail within bounds, state which host and why, and leave the job as it was."""
    start = time.monotonic()
    before = run.step()
    done = run.elastic("resize", step_name(run), *arguments, "--wait")
    took_s = time.monotonic() - start
    run.check(done.returncode != 0, f"resize {arguments} succeeded")
    run.check(took_s < FAULT_S, f"resize {arguments} took {took_s:.0f} s to fail")
    printed = done.stderr + job.err
    run.check(re.search(names, printed), f"no message matches '{names}': {printed[-400:]}")
    after = run.step()
    same = all(after[key] == before[key] for key in ("size", "epoch"))
    run.check(same, f"the job was {before} and is {after}")


def ends_within(run: HostRun, job: Job, limit_s: float) -> None:
    start = time.monotonic()
    code = job.wait()
    run.check(code != 0, "exit code 0 after a host failed")
    run.check(time.monotonic() - start < limit_s, f"it took {time.monotonic() - start:.0f} s to end")


def await_none(run: HostRun, host: str, program: str, limit_s: float) -> None:
    end = time.monotonic() + limit_s
    while run.pids(host, program):
        run.check(time.monotonic() < end, f"{program} still runs on {host} after {limit_s:.0f} s")
        time.sleep(0.05)


# ---- the testbed itself ------------------------------------------------------------------------------


def _cluster(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, str(CLUSTER), "--state", str(folder), *words]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False)


def _outside() -> tuple[str, str]:
    """The state that the caller's namespaces show."""
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
    return re.sub(r"state \w+|qlen \d+", "", links), mounts


@case("", nodes=1)
def testbed_up_and_down(run: HostRun) -> None:
    """up, status, shell, down; two at once with the same names; nothing outside changes; down twice."""
    before = _outside()
    folders = [temporary_testbed(run.folder / name) for name in ("p1", "p2")]
    try:
        for folder in folders:
            done = _cluster(folder, "up", "--nodes", "2")
            run.check(done.returncode == 0, f"up: {done.stderr}")
        again = _cluster(folders[0], "up", "--nodes", "2")
        run.check(again.returncode != 0 and "is up already" in again.stderr, f"a second up: {again.stderr}")
        run.check(_outside() == before, "links or mounts appeared outside of the testbed")
        table = _cluster(folders[0], "status")
        run.check(table.returncode == 0 and len(table.stdout.splitlines()) == 4, f"status: {table.stdout}")
        words = ("shell", "--host", "h2", "ssh", "h1", "hostname; ls /dev/shm | wc -l; id -u")
        done = _cluster(folders[1], *words)
        run.check(done.stdout.split() == ["h1", "0", "0"], f"ssh between hosts: {done.stdout}{done.stderr}")
        run.check(_cluster(folders[0], "shell", "sh", "-c", "exit 7").returncode == 7, "exit code of shell")
    finally:
        for folder in folders:
            done = _cluster(folder, "down")
            run.check(done.returncode == 0, f"down: {done.stderr}")
    run.check(_outside() == before, "links or mounts were left outside of the testbed")
    for folder in folders:
        run.check(not folder.exists() and not hosts.marked(folder), f"left of {folder}")
        again = _cluster(folder, "down")
        run.check(again.returncode == 0 and "nothing" in again.stdout, f"down twice: {again.stdout}{again.stderr}")


@case("", nodes=1)
def testbed_of_another_user(run: HostRun) -> None:
    """A folder that another user has made, or may write to, or a link, is not believed: processes would be ended by it."""
    above = run.folder / "above"
    above.mkdir()
    mine = above / f"elastic-cluster-{os.getuid()}"
    before = os.environ.get("TMPDIR"), tempfile.tempdir
    os.environ["TMPDIR"], tempfile.tempdir = str(above), None
    try:
        state.folder_of("default", None)  # not there yet
        mine.mkdir(mode=0o755)
        state.folder_of("default", None)
        foreign = above / "foreign"
        foreign.mkdir()

        def replace_by_link() -> None:
            mine.rmdir()
            mine.symlink_to(foreign)

        for spoil in (lambda: mine.chmod(0o777), lambda: os.chown(mine, 65534, 65534), replace_by_link):
            spoil()
            for use in (lambda: state.folder_of("default", None), lambda: state.locked(mine / "default").__enter__()):
                try:
                    use()
                    run.fail(f"{mine.lstat()} was used")
                except TestbedError as error:
                    run.check("not a folder of yours" in str(error), f"it prints {error}")
    finally:
        if before[0] is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before[0]
        tempfile.tempdir = before[1]


@case("", nodes=1)
def testbed_half_failed(run: HostRun) -> None:
    """The remains of an interrupted or failed up are removed by itself, by down, or by the next up."""
    folder = temporary_testbed(run.folder / "p")
    real = hosts._wire

    def broken(*_: object) -> None:
        raise TestbedError("no cable")

    hosts._wire = broken  # type: ignore[assignment]
    try:
        command.up(folder, 2)
        run.fail("up succeeded without a switch")
    except TestbedError as error:
        run.check("no cable" in str(error), f"up reports {error}")
    finally:
        hosts._wire = real
    run.check(not folder.exists() and not hosts.marked(folder), "a failed up left something")
    process = subprocess.Popen([sys.executable, str(CLUSTER), "--state", str(folder), "up", "--nodes", "20"])
    run.await_value(lambda: hosts.marked(folder), "first process of an up")
    process.kill()
    process.wait()
    run.check(hosts.marked(folder), "killing up took everything along: this test shows nothing")
    try:
        done = _cluster(folder, "up", "--nodes", "1")
        run.check(done.returncode == 0, f"up after a killed one: {done.stderr}")
    finally:
        _cluster(folder, "down")
    run.check(not folder.exists() and not hosts.marked(folder), "down left something")


@case("", nodes=1)
def testbed_ends_with_its_test(run: HostRun) -> None:
    """SIGKILL to a run of the tests leaves no host."""
    folder = temporary_testbed(run.folder / "p")
    script = f"""
import sys, time
sys.path[:0] = {sys.path!r}
from pathlib import Path
from testbed import command, hosts
hosts.end_with_this_process = True
command.up(Path({str(folder)!r}), 2)
print("up", flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            run.check(process.stdout.readline() == "up\n", "it did not come up")
            run.check(len(hosts.marked(folder)) > 2, "no host runs")
        finally:
            process.kill()
    run.await_value(lambda: not hosts.marked(folder), "end of the hosts")
    command.down(folder)


@case("", nodes=2)
def testbed_refuses(run: HostRun) -> None:
    """Wrong names, numbers, hosts and folders get one clear line each."""
    mine = run.cluster_folder
    foreign = run.folder / "foreign"
    foreign.mkdir()
    (foreign / "thesis").touch()
    long_name = run.folder / ("x" * 80)
    for folder, words, printed in (
        (mine, ("shell", "--host", "h9", "true"), "no host h9; there are: h1 h2 head"),
        (run.folder / "none", ("status",), "no testbed is up"),
        (run.folder / "none", ("up", "--nodes", "0"), "--nodes must be"),
        (foreign, ("up", "--nodes", "1"), "not the folder of a testbed"),
        (foreign, ("down",), "not the folder of a testbed"),
        (long_name, ("up",), "too long"),
    ):
        done = _cluster(folder, *words)
        run.check(done.returncode != 0, f"{words} in {folder.name} succeeded")
        run.check(printed in done.stderr, f"{words}: {done.stderr}")
    run.check((foreign / "thesis").exists(), "a foreign file was removed")


# ---- adaptations over ssh and tcp -------------------------------------------------------------------------


@case("W1 W2 P3 C2")
def grow_over_hosts(run: HostRun) -> None:
    """From one host to four; each joining process is where it was to be."""
    launch(run, 2, "h1,h2,h3,h4", "4,8", "cycle", "-ppn", "1")
    hosts = [event["hosts"] for event in run.events() if event["event"] == "placed"]
    run.check(hosts[0] == ["h3", "h4"], f"the first ones are on {hosts}")
    run.check(sorted(hosts[1]) == ["h1", "h2", "h3", "h4"], f"the second ones are on {hosts}")


@case("W3 W6 C3 C7")
def shrink_over_hosts(run: HostRun) -> None:
    """Down to one process; the hosts of those that left are free."""
    launch(run, 4, "h1,h2,h3,h4", "3,1", "cycle", "-ppn", "1")
    freed = [sorted(event["hosts"]) for event in run.events() if event["event"] == "freed"]
    run.check(freed == [["h4"], ["h2", "h3"]], f"freed: {freed}")


@case("W6 W7 C2")
def migrate_over_hosts(run: HostRun) -> None:
    """All processes move to other hosts, mpiexec's own included, and back."""
    launch(run, 2, "h1,h2", "2/leave=0+1/hosts=h3+h4,2/leave=0+1/hosts=h1+h2")


@case("W6 C2")
def first_leaves_over_hosts(run: HostRun) -> None:
    """Rank 0 leaves, with its host."""
    launch(run, 3, "h1,h2,h3", "2/leave=0,3/hosts=h4,1/leave=0+1")


@case("W5 C2")
def same_hosts_share_memory(run: HostRun) -> None:
    """Joining and staying processes of one host share memory windows, those of others do not."""
    launch(run, 2, "h1:2,h2:2", "4,3/leave=0", "new_world")


@case("W5", full=True)
def messages_over_hosts(run: HostRun) -> None:
    launch(run, 2, "h1,h2,h3", "4,3/leave=0", "window_pt2pt")
    launch(run, 2, "h1,h2,h3", "4,2/leave=1+2", "window_coll")


@case("W5 C9", full=True)
def one_sided_over_hosts(run: HostRun) -> None:
    launch(run, 2, "h1,h2", "3,2", "window_rma")


@case("C4 C5")
def topologies_over_hosts(run: HostRun) -> None:
    """Cartesian and graph communicators, windows, files and requests of a former world, after a commit over hosts."""
    launch(run, 2, "h1,h2,h3", "3,2/leave=0", "handles_use", "-ppn", "1")


@case("P3 W5", full=True, deadline_s=600)
def early_messages_over_hosts(run: HostRun) -> None:
    """Four processes of one host speak at once to the one that joins on another; again and again."""
    for _ in range(8):
        launch(run, 4, "h1:4,h2:4", "5,6,7,8", "cycle")


@case("W6 W7 C2 C3", full=True, deadline_s=900)
def drawn_over_hosts(run: HostRun) -> None:
    launch(run, 3, "h1,h2,h3,h4", schedule.draw(run.setting.seed, 3, 20, 1, 7))


@case("SA1 SA3 SL1 SI8 SI9", nodes=3, full=True, deadline_s=600)
def random_sets_over_hosts(run: HostRun) -> None:
    """A random program with process sets: ends of processes on one host are known on the others, no message is
    missing."""
    seed = str(run.setting.seed)
    words = ["-launcher", "ssh", "-hosts", "h1,h2,h3", "-ppn", "2"]
    words += ["--adapt-range", "1:6", "--adapt-policy", f"random:{seed}", "--adapt-interval", "20ms"]
    job = run.mpiexec(words, ["--seed", seed, "--changes", "20"], 3, "session_random")
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    run.check("PASS session_random" in job.lines, f"it prints {job.lines}")


@case("C9", nodes=2, full=True, deadline_s=1800)
def leak_over_hosts(run: HostRun) -> None:
    """Four to six processes on two hosts; so many adaptations that 100 bytes each are seen."""
    words = ["-launcher", "ssh", "-hosts", "h1:3,h2:3", "--adapt-policy", "increase-decrease", "--adapt-range", "4:6"]
    # A multiple of 4: the sizes are 4, 5, 6, 5, 4, ...
    job = run.mpiexec([*words, "--adapt-interval", "0"], ["--epochs", "172", "--warm", "20", "--smallest", "4"], 4, "leak")
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, 172, 4)


@case("C9", full=True, deadline_s=600)
def descriptors_over_hosts(run: HostRun) -> None:
    """mpiexec keeps no descriptor for a host that came and went, and never waits for ssh."""
    job = serve(run, 1, "h1,h2")
    pid = run.pids("h1", "mpiexec")[0]

    before = len(procfs.descriptors(pid))
    for _ in range(12):
        resize(run, "2", "--hosts", "h2")
        resize(run, "1")
        run.await_value(lambda: not run.pids("h2", "serve"), "end of the process that left")
    run.await_value(lambda: len(procfs.descriptors(pid)) <= before, f"end of all but {before} descriptors of mpiexec")
    run.check("waiting" not in job.out + job.err, "mpiexec slept because of many connections")
    stop(run, job, 24, 1)


# ---- bad input ----------------------------------------------------------------------------------------------


@case("E3")
def missing_executable_on_a_host(run: HostRun) -> None:
    """The program is not on one of the hosts: that growth fails and names the host, the next one works."""
    for host in ("h1", "h2"):
        run.on(host, "cp", run.program("serve"), "/run/program")
    run.files_before = {host.name: run._private_files(host) for host in run._all()}
    job = serve(run, 1, "h1", program="/run/program")
    refused(run, job, "2", "--hosts", "h3", names=r"h3")
    run.check("/run/program" in job.err, f"the message does not name the program: {job.err[-300:]}")
    resize(run, "2", "--hosts", "h2")
    stop(run, job, 1, 2)


@case("E3")
def host_without_ssh(run: HostRun) -> None:
    """No sshd, a foreign host key, and a name that does not exist: refused, the job continues."""
    job = serve(run, 1, "h1")
    for pid in run.pids("h2", "sshd"):
        os.kill(pid, 9)
    refused(run, job, "2", "--hosts", "h2", names=r"h2")
    known = run.cluster_folder / "ssh" / "known_hosts"
    lines = known.read_text(encoding="utf-8").splitlines()
    key = next(line.split(" ", 1)[1] for line in lines if line.startswith("head,"))
    changed = [f"{line.split(' ', 1)[0]} {key}" if line.startswith("h3,") else line for line in lines]
    known.write_text("\n".join(changed) + "\n", encoding="utf-8")
    refused(run, job, "2", "--hosts", "h3", names=r"(?i)h3")
    refused(run, job, "2", "--hosts", "nowhere", names=r"nowhere")
    resize(run, "2", "--hosts", "h4")
    stop(run, job, 1, 2)


def launch_in_vain(run: HostRun, size: int, on: str) -> None:
    """h2 has no sshd: the job ends and names it, and Hydra adds nothing."""
    for pid in run.pids("h2", "sshd"):
        os.kill(pid, 9)
    job = run.mpiexec(["-launcher", "ssh", "-hosts", on, "-ppn", "1", "--adapt-range", "1:8"], [], size, "serve")
    ends_within(run, job, FAULT_S)
    run.check(re.search("^host h2: its proxy could not be started by ssh", job.err, re.M), f"it prints: {job.err[-600:]}")
    run.check("terminated badly" not in job.err, f"Hydra reports it, too: {job.err[-600:]}")


@case("E3", nodes=2)
def launch_over_host_without_ssh(run: HostRun) -> None:
    launch_in_vain(run, 2, "h1,h2")


@case("E3", nodes=4, full=True)
def launch_over_silent_host_too(run: HostRun) -> None:
    """One host refuses, another one does not answer at all."""
    run.check(run.on("head", "ip", "link", "set", "h4", "down").returncode == 0, "the link cannot be cut")
    launch_in_vain(run, 4, "h1,h3,h2,h4")


@case("E3", nodes=4)
def tree_over_hosts(run: HostRun) -> None:
    """Commands go through a tree of proxies; mpiexec itself notifies the one that another cannot reach (h3, h4)."""
    ports = range(20000, 20050)
    run.environment |= {"MPIEXEC_ADAPT_FANOUT": "2", "MPIEXEC_PORT_RANGE": f"{ports[0]}:{ports[-1]}"}
    silence = ["pref", "10", "ipproto", "tcp", "sport", f"{ports[0]}-{ports[-1]}"]
    job = serve(run, 4, "h1,h2,h3,h4")
    done = run.on("h4", "ip", "rule", "add", *silence, "to", run.host("h3").address, "blackhole")
    run.check(done.returncode == 0, f"answers to h3 cannot be dropped: {done.stderr}")
    resize(run, "6", "--hosts", "h1,h2")
    connected = run.on("h1", "ss", "-tnH", "dst", run.host("h2").address).stdout
    peers = [int(line.split()[4].rsplit(":", 1)[1]) for line in connected.splitlines()]
    run.check(any(port in ports for port in peers), f"h1 sends h2 nothing: {connected}")
    resize(run, "4")
    resize(run, "7", "--hosts", "h3,h4")
    stop(run, job, 3, 7)


@case("E3", nodes=2, full=True)
def host_that_refuses_the_key(run: HostRun) -> None:
    job = serve(run, 1, "h1")
    (run.cluster_folder / "ssh" / "key.pub").write_text("", encoding="utf-8")
    refused(run, job, "2", "--hosts", "h2", names=r"(?i)h2.*permission denied|permission denied.*h2|h2")
    stop(run, job, 0, 1)


# ---- hosts that fail ----------------------------------------------------------------------------------------


@case("E3", deadline_s=240)
def host_fails_while_joining(run: HostRun) -> None:
    """The host of a joining process fails: the adaptation fails, the job continues and grows elsewhere."""
    job = serve(run, 2, "h1,h2", "--joining-waits")
    done = run.elastic("resize", step_name(run), "3", "--hosts", "h3")
    run.check(done.returncode == 0, f"resize: {done.stderr}")
    job.await_line("^JOINING WAITS$")
    start = time.monotonic()
    run.crash("h3")
    failed = run.await_event("failed")
    run.check(time.monotonic() - start < FAULT_S, f"noticed after {time.monotonic() - start:.0f} s")
    run.check("h3" in failed["reason"], f"the reason does not name the host: {failed['reason']}")
    run.check("h3" in job.err, f"nothing about h3 on standard error: {job.err[-300:]}")
    (run.work / "join").touch()
    resize(run, "3", "--hosts", "h4")
    stop(run, job, 1, 3)


@case("E4", full=True, deadline_s=240)
def host_fails_in_the_window(run: HostRun) -> None:
    """The host of a staying process dies between begin and commit: the job ends and states why."""
    words = ["-hosts", "h1,h2,h3", "--adapt-schedule", "3", "--adapt-log", str(run.log_path)]
    job = run.mpiexec(words, ["--hold", "window", "--epochs", "1"], 2, "hold")
    job.await_line("^HOLD window", 2)
    run.crash("h2")
    ends_within(run, job, FAULT_S)
    run.check("h2" in job.err, f"the message does not name the host: {job.err[-400:]}")
    run.check("adaptation 1" in job.err, f"the message does not name the adaptation: {job.err[-400:]}")
    for host in ("h1", "h3"):
        await_none(run, host, "hold", FAULT_S)


@case("E4", full=True, deadline_s=240)
def host_fails_between_adaptations(run: HostRun) -> None:
    """A host dies after an adaptation: the job ends in bounded time with a message."""
    job = serve(run, 2, "h1,h2")
    resize(run, "3", "--hosts", "h3")
    run.crash("h3")
    ends_within(run, job, FAULT_S)
    run.check("h3" in job.err, f"the message does not name the host: {job.err[-400:]}")
    await_none(run, "h2", "serve", FAULT_S)


@case("E4", full=True, deadline_s=300)
def host_of_mpiexec_fails(run: HostRun) -> None:
    """mpiexec's host dies: the processes on the others end."""
    serve(run, 3, "h1,h2,h3")
    resize(run, "4", "--hosts", "h4")
    run.crash("h1")
    for host in ("h2", "h3", "h4"):
        await_none(run, host, "serve", FAULT_S)


@case("E4", full=True, deadline_s=300)
def cable_pulled(run: HostRun) -> None:
    """The network of a host is cut: on both sides everything ends, also if ssh itself never notices."""
    run.environment["HYDRA_LAUNCHER_EXTRA_ARGS"] = "-o ServerAliveInterval=0"
    job = serve(run, 2, "h1,h2")
    resize(run, "3", "--hosts", "h3")
    hosts.set_link(run.cluster, run.host("h3"), "down")
    ends_within(run, job, FAULT_S)
    await_none(run, "h2", "serve", FAULT_S)
    await_none(run, "h3", "serve", FAULT_S)


# ---- mpiexec alone under Slurm --------------------------------------------------------------------------------


def submit(run: HostRun, nodes: int, script: Path, *options: str) -> str:
    """The number of the Slurm job; its output is job.out in the working folder."""
    words = ["sbatch", "--parsable", "-N", str(nodes), *options, "-o", str(run.work / "job.out"), str(script)]
    done = run.on("head", *words)
    run.check(done.returncode == 0, f"sbatch: {done.stderr}")
    return done.stdout.strip()


def batch(run: HostRun, nodes: int, line: str, *options: str) -> str:
    """Submits a script with one command, waits for it and returns its output."""
    script = run.work / "job.sh"
    script.write_text(f"#!/bin/sh\n{line}\necho code=$?\n", encoding="utf-8")
    job = submit(run, nodes, script, *options)
    run.await_value(lambda: not run.on("head", "squeue", "-h", "-j", job).stdout.strip(), "end of the Slurm job")
    text = (run.work / "job.out").read_text(encoding="utf-8", errors="replace")
    run.notes += text.splitlines()
    return text


def batch_mpiexec(run: HostRun, nodes: int, mpiexec: str, program: str, *options: str) -> str:
    words = f"{run.setting.prefix}/bin/mpiexec --adapt-log {run.log_path} {mpiexec} {run.program('cycle')} {program}"
    text = batch(run, nodes, words, *options)
    run.check("code=0" in text, f"mpiexec failed: {text[-400:]}")
    return text


@case("W1 W6 C7", nodes=3, with_slurm=True)
def slurm_batch_job(run: HostRun) -> None:
    """In a batch job with more nodes than it uses, a policy spreads the world over them and takes it back."""
    policy = "-n 4 --adapt-range 2:8 --adapt-policy increase-decrease --adapt-interval 0"
    text = batch_mpiexec(run, 3, policy, "--epochs 6")
    run.check(len(re.findall("^PASS epoch=6 size=6$", text, re.M)) == 1, f"no PASS line: {text[-400:]}")
    sizes = [event["size"] for event in run.events() if event["event"] == "committed"]
    run.check(sizes == [5, 6, 7, 8, 7, 6], f"sizes {sizes}")
    hosts = [event["hosts"] for event in run.events() if event["event"] == "placed"]
    run.check(hosts[:4] == [["h2"]] * 4, f"4 more processes than a node's 4 cores went to {hosts[:4]}")


@case("I3", nodes=3, with_slurm=True)
def slurm_rigid_job(run: HostRun) -> None:
    """One srun starts the proxies of all nodes, and brings each the job's secret; standard input goes to rank 0 as ever."""
    script = "echo $PMI_RANK on $(hostname): $([ $PMI_RANK = 0 ] && cat)"
    line = f"echo input | {run.setting.prefix}/bin/mpiexec -ppn 1 -n 3 sh -c '{script}'"
    text = batch(run, 3, line)
    lines = sorted(text.splitlines())
    run.check(lines == ["0 on h1: input", "1 on h2:", "2 on h3:", "code=0"], f"it prints: {text[-800:]}")


@case("I3 SE1 SX1 SX2 SX5 SX6", nodes=2, with_slurm=True)
def slurm_starts_processes(run: HostRun) -> None:
    """By srun itself, without mpiexec: the world as with stock MPICH, and sessions with all that needs no mpiexec of ours."""
    programs = (
        ("session_arguments", "--manager 0 --world 1"), ("session_arguments", "--manager 0"), ("session_alone", "--size 4"),
        ("session_cycles", "--cycles 20"), ("session_groups", ""), ("session_groups", "--state later"),
        ("session_groups", "--state open"),
    )  # fmt: skip
    for name, arguments in programs:
        text = batch(run, 2, f"timeout -k 5 100 srun --mpi=pmi2 -n 4 {run.program(name)} {arguments}")
        run.check(re.search(f"^PASS {name}\\b.*\ncode=0$", text, re.M), f"{name} {arguments}: {text[-800:]}")


@case("W6 W7", nodes=3, with_slurm=True)
def slurm_named_hosts(run: HostRun) -> None:
    """Hosts in another order than Slurm's, several groups on one node, migration."""
    sizes = "3/hosts=h2,4/hosts=h2,2/leave=0+1,2/leave=0+1/hosts=h1+h3"
    changes = schedule.parse(sizes, 2)
    text = batch_mpiexec(run, 3, f"-hosts h3,h1 -n 2 --adapt-schedule {sizes}", f"--epochs {len(changes)}")
    run.check(f"PASS epoch={len(changes)} size=2" in text, f"no PASS line: {text[-400:]}")
    freed = [event["hosts"] for event in run.events() if event["event"] == "freed"]
    run.check(freed == [{"h1": 1, "h3": 1}, {"h2": 2}], f"freed: {freed}")


@case("W6", nodes=3, with_slurm=True, full=True)
def slurm_resize_by_command(run: HostRun) -> None:
    """--adapt-range bounds what elastic resize may request; steps end with their processes."""
    line = f"{run.setting.prefix}/bin/mpiexec -n 4 --adapt-range 2:8 --adapt-log {run.log_path} {run.program('serve')}"
    script = run.work / "job.sh"
    script.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    job = submit(run, 3, script)
    run.await_event("adaptive")
    resize(run, "8")
    over = run.elastic("resize", step_name(run), "9")
    run.check(over.returncode != 0 and "2:8" in over.stderr, f"9 of 2:8: {over.stderr}")
    resize(run, "3")

    def steps() -> int:
        listed = run.on("head", "squeue", "-h", "-s", "-j", job, "-o", "%i").stdout.split()
        return len([step for step in listed if not step.endswith(("batch", "extern"))])

    run.await_value(lambda: steps() == 1, "end of the steps of those who left")
    (run.work / "stop").touch()
    run.await_event("ended")
    run.await_value(lambda: not run.on("head", "squeue", "-h").stdout.strip(), "end of the job")


@case("E3", nodes=2, with_slurm=True, full=True)
def slurm_missing_executable(run: HostRun) -> None:
    """The program is not on the second node: the growth fails and names it, the job continues."""
    run.on("h1", "cp", run.program("cycle"), "/run/program")
    run.files_before = {host.name: run._private_files(host) for host in run._all()}
    line = f"{run.setting.prefix}/bin/mpiexec --adapt-log {run.log_path} -n 1 --adapt-schedule 2/hosts=h2,2/hosts=h1"
    text = batch(run, 2, f"{line} /run/program --epochs 1")
    run.check("PASS epoch=1 size=2" in text, f"no PASS line: {text[-400:]}")
    failed = [event for event in run.events() if event["event"] == "failed"]
    run.check(len(failed) == 1 and "h2" in failed[0]["reason"], f"failed: {failed}")


def selection(full: bool, pattern: str | None) -> list[Case]:
    return [one for one in CASES if (full or not one.full) and (not pattern or re.search(pattern, one.name))]


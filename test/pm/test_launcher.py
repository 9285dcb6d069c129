"""mpiexec, its proxies and the adapt board, without libmpi.

test_process.c replaces the MPI processes.  This machine replaces several hosts: a launcher instead of
ssh runs the proxy here.  With --reference PATH, a stock mpiexec: what does not adapt must behave the same under both.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import procfs
from support.checks import Failure, expect, wait_for

HERE = Path(__file__).resolve().parent
MARK = "ELASTIC_PM_TEST"  # in the environment of what a test starts
LIMIT_S = 60  # of any one mpiexec

SSH = """#!/bin/sh
# plays ssh: [options] host command...; hosts named down... cannot be reached, slow... take their time, silent... never answer
while :; do case "$1" in -*) shift ;; *) break ;; esac; done
host=$1; shift
case "$host" in down*) echo "ssh: connect to host $host: No route to host" >&2; exit 255 ;;
slow*) sleep 2 ;; silent*) trap "" TERM; exec sleep 1000 ;; esac
unset HYDI_CONTROL_FD
eval exec "$@"
"""


def children(pid: int, field: str = "pid") -> list[str]:
    """A field of ps for each child of a process, the oldest first (numbers of processes wrap)."""
    command = ["ps", "-o", f"{field}=", "--ppid", str(pid), "--sort=start_time"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()


def inodes_of(pid: int) -> set[int]:
    """Of what it has open: what it closes meanwhile is left out."""
    found = set()
    for fd in procfs.descriptors(pid):
        with contextlib.suppress(FileNotFoundError):
            found.add(os.stat(f"/proc/{pid}/fd/{fd}").st_ino)
    return found


@dataclasses.dataclass
class Result:
    code: int
    out: str
    err: str


class Bench:
    """One test's folder and the jobs that it starts; leaves nothing running."""

    def __init__(self, mpiexec: Path, reference: Path | None, process: Path, folder: Path) -> None:
        self.mpiexec, self.reference, self.process, self.folder = mpiexec, reference, process, folder
        self.runtime = folder / "runtime"
        self.runtime.mkdir(mode=0o700)
        self.log = folder / "log.jsonl"
        self.ssh = folder / "ssh"
        self.ssh.write_text(SSH)
        self.ssh.chmod(0o755)
        self.command: list[str] = []
        self.jobs: list[subprocess.Popen[str]] = []
        self.extra: dict[str, str] = {}  # environment

    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.extra, "XDG_RUNTIME_DIR": str(self.runtime), MARK: str(self.folder)}

    def start(
        self,
        *args: object,
        program: object = None,
        mpiexec: Path | None = None,
        prefix: list[str] | None = None,
        **options: object,
    ) -> subprocess.Popen[str]:
        """`prefix` is a command that becomes mpiexec by exec."""
        self.command = [*(prefix or []), str(mpiexec or self.mpiexec), *map(str, args)]
        if program is None:
            program = [self.process]
        self.command += [str(word) for word in program]  # type: ignore[attr-defined]
        settings: dict[str, object] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        }
        settings.update(options)
        settings.update(text=True, env=self.environment(), cwd=self.folder)
        job = subprocess.Popen(self.command, **settings)  # type: ignore[call-overload]
        self.jobs.append(job)
        return job

    def finish(self, job: subprocess.Popen[str], stdin: str | None = None) -> Result:
        try:
            out, err = job.communicate(stdin, timeout=LIMIT_S)
        except subprocess.TimeoutExpired as expired:
            told = self.log.read_text().splitlines()[-8:] if self.log.exists() else []
            raise Failure("\n".join([f"mpiexec has not ended after {LIMIT_S} s", *told])) from expired
        return Result(job.returncode, out or "", err or "")

    def run(self, *args: object, **options: object) -> Result:
        return self.finish(self.start(*args, **options))

    def adapt(self, *args: object, words: list[object] | None = None, hosts: str = "") -> Result:
        """A job of test processes with a log."""
        launcher = ["-launcher", "ssh", "-launcher-exec", self.ssh, "-hosts", hosts] if hosts else []
        return self.run(*launcher, "--adapt-log", self.log, *args, program=[self.process, *(words or [])])

    def events(self, kind: str) -> list[dict[str, object]]:
        if not self.log.exists():
            return []
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.endswith("}")]
        return [line for line in lines if line["event"] == kind]

    def sizes(self) -> list[object]:
        return [event["size"] for event in self.events("committed")]

    def processes(self) -> list[int]:
        """Everything that was started by this test and still lives, known by its environment."""
        return procfs.marked(MARK, str(self.folder))

    def running(self, program: Path) -> list[int]:
        """Those of them that execute this program."""
        found = []
        for pid in self.processes():
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/exe") == str(program.resolve()):  # mpiexec is a link
                    found.append(pid)
        return found

    def expect_nothing_left(self) -> None:
        wait_for("all processes of the job to end", lambda: not self.processes(), 10)
        expect(not list(self.runtime.glob("*/*")), "a socket is left behind")

    def close(self) -> None:
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for job in self.jobs:
            job.wait()
            for stream in (job.stdin, job.stdout, job.stderr):
                if stream:
                    stream.close()


@pytest.fixture(scope="session")
def process(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program test_process, compiled."""
    program = tmp_path_factory.mktemp("pm") / "test_process"
    include = HERE.parents[1] / "src" / "pmi" / "include"
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{include}"]
    subprocess.run(["cc", *flags, str(HERE / "test_process.c"), "-o", str(program)], check=True)
    return program


@pytest.fixture
def bench(mpi: Path, process: Path, pytestconfig: Any) -> Iterator[Bench]:
    folder = Path(tempfile.mkdtemp(prefix="pm-"))  # short: it holds sockets
    made = Bench(mpi / "bin" / "mpiexec", pytestconfig.option.reference, process, folder)
    try:
        yield made
    finally:
        made.close()
        print(f"last command: {' '.join(made.command)}")  # pytest shows it where the test has failed
        shutil.rmtree(folder, ignore_errors=True)


def expect_ok(bench: Bench, result: Result, sizes: list[int]) -> None:
    expect(result.code == 0, f"exit code {result.code}: {result.err.strip()}")
    expect(bench.sizes() == sizes, f"sizes {bench.sizes()}, expected {sizes}; {result.err.strip()}")
    bench.expect_nothing_left()


# ---- the tree of proxies ---------------------------------------------------------------------

HOSTS = ",".join(f"host{i}" for i in range(12))


def links_between_daemons(bench: Bench) -> int:
    """TCP connections that have a proxy of the test at both ends."""
    inodes = set()
    for pid in bench.processes():
        try:
            if os.readlink(f"/proc/{pid}/exe").endswith("/hydra_pmi_proxy"):
                inodes |= inodes_of(pid)
        except OSError:
            continue
    ends = {(row[1], row[2]) for row in procfs.tcp_rows() if int(row[9]) in inodes}
    return sum((there, here) in ends for here, there in ends) // 2


def start_tree(bench: Bench, schedule: str, *words: object) -> subprocess.Popen[str]:
    bench.extra["MPIEXEC_ADAPT_FANOUT"] = "2"
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", HOSTS]
    options = ["-n", 7, "--adapt-schedule", schedule, "--adapt-log", bench.log]
    return bench.start(*launcher, *options, program=[bench.process, *words])


def test_tree_of_daemons(bench: Bench) -> None:
    """Twelve proxies with a fan-out of two: four levels."""
    job = start_tree(bench, "12,9,12,2s:8", "probes=4", "seconds=60")
    wait_for("the third adaptation", lambda: len(bench.sizes()) == 3)
    links = links_between_daemons(bench)
    expect_ok(bench, bench.finish(job), [12, 9, 12, 8])
    expect(links >= 10, f"{links} connections between node daemons")


def test_tree_with_large_plans(bench: Bench) -> None:
    """More than a socket takes at once."""
    hosts = ",".join(f"{host}:12" for host in HOSTS.split(","))
    bench.extra["MPIEXEC_ADAPT_FANOUT"] = "2"
    words = ["probes=2", "seconds=60", "card=400", "probe_us=5000"]
    expect_ok(bench, bench.adapt("-n", 72, "--adapt-schedule", "144,100", words=words, hosts=hosts), [144, 100])


def test_tree_without_fan_out(bench: Bench) -> None:
    bench.extra["MPIEXEC_ADAPT_FANOUT"] = "0"
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", HOSTS]
    options = ["-n", 7, "--adapt-schedule", "12,2s:8", "--adapt-log", bench.log]
    job = bench.start(*launcher, *options, program=[bench.process, "probes=2", "seconds=60"])
    wait_for("the first adaptation", lambda: bench.sizes())
    expect(links_between_daemons(bench) == 0, "node daemons are connected")
    expect_ok(bench, bench.finish(job), [12, 8])


def free_ports(count: int) -> tuple[int, int]:
    """First and last of consecutive ports on which nobody listens, and that no connection gets by itself."""
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    while True:
        first = random.randrange(10000, max(low, 20000) - count)
        with contextlib.suppress(OSError), contextlib.ExitStack() as held:
            for port in range(first, first + count):
                held.enter_context(socket.socket()).bind(("", port))
            return first, first + count - 1


def test_tree_without_ports(bench: Bench) -> None:
    """Daemons that join find no port to listen on (mpiexec has two, the first daemons have seven): mpiexec sends to them directly."""
    first, last = free_ports(9)
    bench.extra["MPIEXEC_PORT_RANGE"] = f"{first}:{last}"
    result = bench.finish(start_tree(bench, "0.5s:12,9", "probes=2", "seconds=60"))
    expect_ok(bench, result, [12, 9])


def test_no_port_for_a_launch(bench: Bench) -> None:
    """mpiexec has the ports of the launch alone: a growth fails, with the reason, and the job goes on."""
    first, last = free_ports(2)
    bench.extra["MPIEXEC_PORT_RANGE"] = f"{first}:{last}"
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]
    options = ["-n", 1, "--adapt-log", bench.log]
    job = bench.start(*launcher, *options, program=[bench.process, "probes=1", "seconds=60"])
    wait_for("the step", lambda: bench.events("adaptive"))
    with contextlib.ExitStack() as held:
        for port in range(first, last + 1):
            with contextlib.suppress(OSError):  # mpiexec's, or the daemon's
                listener = held.enter_context(socket.socket())
                listener.bind(("", port))
                listener.listen()
        ask_step(bench, '{"op":"resize","size":2}')
        wait_for("the failure", lambda: bench.events("failed"))
    expect("no free port" in str(bench.events("failed")[0]["reason"]), f"{bench.events('failed')}")
    ask_step(bench, '{"op":"resize","size":2}')
    expect_ok(bench, bench.finish(job), [2])


def test_tree_loses_daemons(bench: Bench) -> None:
    """A daemon is killed while commands are on their way through it: the job goes on, or ends for it; nobody waits for ever."""
    for round_number in range(8):
        bench.log.unlink(missing_ok=True)
        job = start_tree(bench, "0.3s:12,9", "probes=1", "seconds=50")
        wait_for("the launch", lambda: bench.events("launching"))
        time.sleep(random.uniform(0, 0.1))
        daemons = children(job.pid)
        struck = random.randrange(max(len(daemons), 1))
        with contextlib.suppress(ProcessLookupError, IndexError):  # all may be over
            os.kill(int(daemons[struck]), signal.SIGKILL)
        result = bench.finish(job)
        told = f"round {round_number}, daemon {struck}: exit code {result.code}, {bench.sizes()}: {result.err}"
        if result.code == 0:
            expect(bench.sizes() in ([9], [12]), told)
        else:
            expect("is lost" in result.err or "was lost" in result.err, told)
        bench.expect_nothing_left()


# ---- the six steps -------------------------------------------------------------------------------


def test_grow_and_shrink(bench: Bench) -> None:
    expect_ok(bench, bench.adapt("-n", 2, "--adapt-schedule", "4,2,6,1", words=["probes=4"]), [4, 2, 6, 1])


def test_single_dash_and_equals(bench: Bench) -> None:
    expect_ok(bench, bench.adapt("-n", 1, "-adapt-schedule=3,1", words=["probes=2"]), [3, 1])


def test_leave_rank_0_and_migrate(bench: Bench) -> None:
    schedule = "3/leave=0,2/leave=0+1+2,6/leave=1"
    expect_ok(bench, bench.adapt("-n", 3, "--adapt-schedule", schedule, words=["probes=3"]), [3, 2, 6])


def test_schedule_from_a_file(bench: Bench) -> None:
    (bench.folder / "list").write_text("# sizes\n3\n0.1s:2\n")
    expect_ok(bench, bench.adapt("-n", 1, "--adapt-schedule", "@list", words=["probes=2"]), [3, 2])


def test_policy_increase_decrease(bench: Bench) -> None:
    args = ["--adapt-policy", "increase-decrease", "--adapt-range", "1:3", "--adapt-interval", "0"]
    expect_ok(bench, bench.adapt("-n", 1, *args, words=["probes=4"]), [2, 3, 2, 1])


def test_processes_of_different_speed(bench: Bench) -> None:
    words = ["probes=6", "slow=40", "probe_us=50"]
    expect_ok(bench, bench.adapt("-n", 3, "--adapt-schedule", "5,2,4,1,3,2", words=words), [5, 2, 4, 1, 3, 2])


def test_many_adaptations_leak_nothing(bench: Bench) -> None:
    rounds = 60
    schedule = ",".join(["3", "2"] * (rounds // 2 + 10))
    job = bench.start(
        "-n", 2, "--adapt-schedule", schedule, "--adapt-log", bench.log, program=[bench.process, "seconds=40"]
    )
    wait_for("the launch", lambda: children(job.pid))
    proxy = children(job.pid)[0]

    def descriptors() -> tuple[int, int]:
        return len(procfs.descriptors(job.pid)), len(procfs.descriptors(int(proxy)))

    def settled(epochs: int) -> tuple[int, int]:
        wait_for(f"{epochs} adaptations", lambda: len(bench.events("committed")) >= epochs)
        return min(descriptors() for _ in range(30) if not time.sleep(0.02))

    before, after = settled(10), settled(rounds)
    left = children(job.pid, "stat")
    job.send_signal(signal.SIGTERM)
    bench.finish(job)
    expect(after[0] <= before[0] and after[1] <= before[1], f"descriptors {before} became {after}")
    expect(len(left) <= 5, f"children of mpiexec: {left}")


# ---- hosts ---------------------------------------------------------------------------------------


def test_placement_fills_free_slots(bench: Bench) -> None:
    result = bench.adapt("-n", 2, "--adapt-schedule", "5,2,1s:3", words=["probes=3"], hosts="aa:2,bb:2,cc:2")
    expect_ok(bench, result, [5, 2, 3])
    placed = [event["hosts"] for event in bench.events("placed")]
    expect(placed == [["bb", "bb", "cc"], ["bb"]], f"placed on {placed}")


def test_placement_on_given_hosts(bench: Bench) -> None:
    result = bench.adapt(
        "-n", 2, "--adapt-schedule", "4/hosts=cc+new,2,3/hosts=new", words=["probes=3"], hosts="aa,bb,cc"
    )
    expect_ok(bench, result, [4, 2, 3])
    placed = [event["hosts"] for event in bench.events("placed")]
    expect(placed == [["cc", "new"], ["new"]], f"placed on {placed}")


def test_unreachable_host(bench: Bench) -> None:
    result = bench.adapt(
        "-n", 2, "--adapt-schedule", "4/hosts=down1+aa,3", words=["probes=1", "seconds=15"], hosts="aa:4"
    )
    expect_ok(bench, result, [3])
    expect(len(bench.events("failed")) == 1, f"one failure expected: {result.err}")


def test_mpiexec_dies_while_daemons_come(bench: Bench) -> None:
    """A daemon that comes when mpiexec is not there any more ends, also where its launcher is mpiexec's child."""
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "slow1,slow2"]
    job = bench.start(*launcher, "-n", 2, program=["/bin/sleep", "1000"])
    wait_for("the launchers", lambda: len(children(job.pid)) == 2)
    job.kill()
    job.wait()
    wait_for("the end of all processes of the job", lambda: not bench.processes(), 30)


def test_silent_host(bench: Bench) -> None:
    """A launcher that neither starts the proxy nor ends, whatever it is sent."""
    bench.extra["MPIEXEC_ADAPT_LAUNCH"] = "1s"
    result = bench.adapt(
        "-n", 2, "--adapt-schedule", "4/hosts=silent1+aa,3", words=["probes=1", "seconds=30"], hosts="aa:4"
    )
    expect_ok(bench, result, [3])
    expect(len(bench.events("failed")) == 1, f"one failure expected: {result.err}")
    expect("host silent1" in result.err and "within 1 s" in result.err, f"it says: {result.err}")


SPAWN_TWICE = """
import os
pmi = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)

def ask(line):
    pmi.write(line)
    return pmi.readline().decode()

def spawn(host):
    return ask(b"mcmd=spawn\\nnprocs=2\\nexecname=/bin/true\\nargcnt=0\\ntotspawns=1\\nspawnssofar=1\\npreput_num=0\\ninfo_num=1\\n"
               b"info_key_0=host\\ninfo_val_0=%b\\nendcmd\\n" % host)

assert "rc=0" in ask(b"cmd=init pmi_version=1 pmi_subversion=1\\n")
for host in (b"aa,silent1", b"silent1,silent2"):
    print(spawn(host).strip(), flush=True)
assert "maxes" in ask(b"cmd=get_maxes\\n")
assert "finalize_ack" in ask(b"cmd=finalize\\n")
"""


def test_spawn_on_silent_hosts(bench: Bench) -> None:
    """DS4: launchers of spawned processes that neither start their proxy nor end: the spawn fails in time, the job goes on."""
    bench.extra["MPIEXEC_ADAPT_LAUNCH"] = "1s"
    script = bench.folder / "spawns.py"
    script.write_text(SPAWN_TWICE)
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa"]
    result = bench.run(*launcher, "-n", 1, program=[sys.executable, script])
    expect(result.out.count("cmd=spawn_result rc=-1") == 2, f"the answers are: {result.out}{result.err}")
    for host in ("silent1", "silent2"):
        expect(f"host {host}: its node daemon" in result.err and "within 1 s" in result.err, f"it says: {result.err}")
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    bench.expect_nothing_left()


def test_unreachable_host_at_launch(bench: Bench) -> None:
    """Nobody waits for a host that cannot be reached; the other processes end, too."""
    result = bench.adapt("-n", 4, words=["seconds=40"], hosts="aa,down1,bb,down2")
    expect(result.code not in (0, None), f"exit code {result.code}")
    told = [line for line in result.err.splitlines() if line.startswith("host down")]
    expect(len(told) == 1 and "could not be started by ssh" in told[0], f"it says: {result.err}")
    expect("[mpiexec@" not in result.err, f"Hydra reports it, too: {result.err}")
    bench.expect_nothing_left()


# Plays mpiexec's proxy, or ssh.  The daemon of DYING, the last one, is killed: at once, or when so much of what it says
# has gone on, bytes or up to a word.
DYING = r"""#!PYTHON
import os, re, select, signal, socket, subprocess, sys

real, last, after = "REAL", "LAST", "AFTER"
words = sys.argv[1:]
if os.path.basename(sys.argv[0]) == "ssh":
    while words[0].startswith("-"):
        words.pop(0)
    os.environ.pop("HYDI_CONTROL_FD", None)
    words = ["sh", "-c", "exec " + " ".join(words[1:])]
    dies = re.search(r" (\d+) *$", words[-1]).group(1) == last
else:
    words.insert(0, real)
    dies = words[-1] == last
if not dies:
    os.execvp(words[0], words)
if after == "0":
    os.kill(os.getpid(), signal.SIGKILL)

inherited = os.environ.get("HYDI_CONTROL_FD")
if inherited:
    above = socket.socket(fileno=int(inherited))
    below, end = socket.socketpair()
    os.environ["HYDI_CONTROL_FD"] = str(end.fileno())
    daemon = subprocess.Popen(words, pass_fds=[end.fileno()])
    end.close()
else:
    listener = socket.create_server(("127.0.0.1", 0))
    address, port = re.search(r"--control-port (\S+):(\d+)", words[-1]).groups()
    words[-1] = re.sub(r"(--control-port) \S+", rf"\1 127.0.0.1:{listener.getsockname()[1]}", words[-1])
    daemon = subprocess.Popen(words)
    below, above = listener.accept()[0], socket.create_connection((address, int(port)))
said = b""


def end_of(said):
    # of what goes on; a word may come in parts
    at = said.find(after.encode())
    return int(after) if after.isdigit() else at + len(after) if at >= 0 else len(said) + 1


try:
    while len(said) < end_of(said):
        for ready in select.select([below, above], [], [])[0]:
            data = ready.recv(1 << 20)
            if not data:
                sys.exit()
            elif ready is above:
                below.sendall(data)
            else:
                above.sendall(data[: end_of(said + data) - len(said)])
                said += data
finally:
    daemon.kill()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def expect_lost(bench: Bench, launcher: str, after: str, options: list[object]) -> None:
    """A launch on two hosts, or one, whose last proxy dies."""
    folder = Path(tempfile.mkdtemp(dir=bench.folder))
    real = bench.mpiexec.parent / "hydra_pmi_proxy"
    mpiexec, words = bench.mpiexec, ["-launcher", "fork"]
    if launcher == "ssh":
        words = ["-launcher", "ssh", "-launcher-exec", str(folder / "ssh")]
    else:
        mpiexec = folder / "mpiexec"
        shutil.copy(bench.mpiexec, mpiexec)
    hosts = ["aa"] if launcher == "one host" else ["aa", "bb"]
    script = folder / ("ssh" if launcher == "ssh" else "hydra_pmi_proxy")
    values = {"PYTHON": sys.executable, "REAL": str(real), "LAST": str(len(hosts) - 1), "AFTER": after}
    text = DYING
    for name, value in values.items():
        text = text.replace(name, value, 1) if name == "PYTHON" else text.replace(f'"{name}"', f'"{value}"')
    script.write_text(text)
    script.chmod(0o755)
    words += ["-hosts", ",".join(hosts), "-n", "2", *map(str, options)]
    result = bench.run(*words, program=[bench.process, "mode=rigid", "seconds=60"], mpiexec=mpiexec)
    what = f"{launcher}, {options}, after {after}"
    expect(result.code == 1, f"{what}: exit code {result.code}: {result.err}{result.out}")
    told = [line for line in result.err.splitlines() if line.startswith(f"host {hosts[-1]}")]
    never_came, lost = r"could not be started by \S+, or was killed", "is lost: its node daemon was killed"
    how = never_came if after == "0" else f"{never_came}|{lost}" if launcher == "ssh" else lost  # ssh may be seen to end first
    expect(len(told) == 1 and re.search(how, told[0]), f"{what}: it says: {result.err}")
    in_the_middle = after != "0" and not options  # of what Hydra writes or reads by itself
    expect("[mpiexec@" not in result.err or in_the_middle, f"{what}: Hydra reports it, too: {result.err}")
    bench.expect_nothing_left()


def test_daemon_dies_while_the_job_starts(bench: Bench) -> None:
    """Before it states who it is, right after, in the middle of a message, and while mpiexec waits for all in a barrier.  For one
    that never connects mpiexec waits as stock's does, in a job that has nothing to do with adaptations."""
    for launcher, hello in (("one host", 4), ("fork", 4), ("ssh", 4 + 16)):
        for options in ([], ["--adapt-log", bench.log]):
            for after in ("0", str(hello), str(hello + 20), "cmd=barrier_in"):
                if after != "0" or launcher != "ssh" or options:
                    expect_lost(bench, launcher, after, options)


def test_missing_executable(bench: Bench) -> None:
    program = bench.folder / "program"
    shutil.copy(bench.process, program)
    job = bench.start(
        "-n", 1, "--adapt-schedule", "0.5s:2,3s:1/leave=0", "--adapt-log", bench.log, program=[program, "seconds=4"]
    )
    wait_for("the launch", lambda: bench.events("adaptive"))
    program.unlink()
    result = bench.finish(job)
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    expect(bench.sizes() == [] and bench.events("failed"), f"a failure expected: {result.err}")
    bench.expect_nothing_left()


def test_too_many_for_the_descriptors(bench: Bench) -> None:
    result = bench.run(
        "-n",
        1,
        "--adapt-schedule",
        "2000,2",
        "--adapt-log",
        bench.log,
        program=["/bin/sh", "-c", f"ulimit -n 256; exec {bench.process} probes=1"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 4096)),
    )
    expect("cannot take 1999 more processes" in result.err, f"no message about the limit: {result.err}")
    expect(result.code == 0 and bench.sizes() == [2], f"exit code {result.code}, sizes {bench.sizes()}: {result.err}")


# ---- the job's secret ----------------------------------------------------------------------------

KEEPS_STDIN = """#!/bin/sh
# plays ssh, and keeps what comes by standard input
while :; do case "$1" in -*) shift ;; *) break ;; esac; done
shift
unset HYDI_CONTROL_FD
file=$(mktemp ./given.XXXXXX)
cat >"$file"
eval exec "$@" '<"$file"'
"""


def control_port(bench: Bench, group: int = 0, limit_s: float = 20) -> int:
    """Of a process group, as the command line of one of its proxies (or of its launcher) says."""

    def look() -> int | None:
        for pid in bench.processes():
            words = procfs.words(pid)
            if "--control-port" in words and words[words.index("--pgid") + 1] == str(group):
                return int(words[words.index("--control-port") + 1].rsplit(":", 1)[1])
        return None

    return wait_for("a node daemon", look, limit_s)  # type: ignore[return-value]


def expect_cut_off(port: int, said: bytes) -> None:
    """A stranger gets nothing but the end of the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as stranger:
        stranger.sendall(said)
        if len(said) < 20:
            stranger.shutdown(socket.SHUT_WR)
        try:
            got = stranger.recv(65536)
        except ConnectionError:
            got = b""
        except TimeoutError as late:
            raise Failure(f"{said!r} is left waiting") from late
    expect(got == b"", f"{said!r} was answered: {got[:80]!r}")


STRANGERS = [number.to_bytes(4, sys.byteorder) + wrong for number in (0, 1) for wrong in (b"", bytes(16), b"x" * 16)]
STRANGERS += [b"", b"\0", b"\0\0\0"]


def expect_told_once(result: Result) -> None:
    told = [line for line in result.err.splitlines() if "did not know this job's secret" in line]
    expect(result.code == 0 and len(told) == 1, f"exit code {result.code}, it says: {result.err}")


def test_strangers_after_the_daemons(bench: Bench) -> None:
    """Whoever names a daemon's id without the secret is cut off; adaptive and rigid jobs go on."""
    for words in (["seconds=3"], ["seconds=3", "mode=rigid"]):
        launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]
        job = bench.start(*launcher, "-n", 2, program=[bench.process, *words])
        port = control_port(bench)
        wait_for("the processes", lambda: len(bench.running(bench.process)) == 2)
        with contextlib.ExitStack() as silent:  # more than are kept
            for _ in range(80):
                silent.enter_context(socket.create_connection(("127.0.0.1", port)))
            for said in STRANGERS:
                expect_cut_off(port, said)
        expect_told_once(bench.finish(job))
        bench.expect_nothing_left()


def test_strangers_before_the_daemons(bench: Bench) -> None:
    """Whoever comes before the daemon itself, or at the same time, does not take its place: at launch and at a growth."""
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "slow1,slow2"]
    options = ["--adapt-schedule", "4/hosts=slow3+slow4", "--adapt-log", bench.log]
    job = bench.start(*launcher, "-n", 2, *options, program=[bench.process, "probes=1", "seconds=40"])
    with contextlib.ExitStack() as silent:
        for group in (0, 1):
            port = control_port(bench, group)
            for said in STRANGERS:
                expect_cut_off(port, said)
            for _ in range(80):
                silent.enter_context(socket.create_connection(("127.0.0.1", port)))
        result = bench.finish(job)
    expect_told_once(result)
    expect_ok(bench, result, [4])
    expect(len(bench.events("stranger")) == 1, f"{len(bench.events('stranger'))} events")


def test_each_byte_of_the_secret_counts(bench: Bench) -> None:
    """A process that knows all but one byte of the secret does not take a proxy's place."""
    secret = bench.folder / "secret"
    secret.write_text("0123456789abcdef" * 4 + "\n")
    secret.chmod(0o600)
    bench.extra["MPIEXEC_SECRET_FILE"] = str(secret)
    half = bytes.fromhex("0123456789abcdef" * 2)
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "slow1"]
    over = bench.folder / "over"
    job = bench.start(*launcher, "-n", 1, program=["sh", "-c", f"until [ -e {over} ]; do sleep 0.05; done"])
    port = control_port(bench)
    for i in range(len(half)):
        expect_cut_off(port, bytes(4) + half[:i] + bytes([half[i] ^ 1]) + half[i + 1 :])
    over.touch()
    expect_told_once(bench.finish(job))


def test_secret_is_nowhere_to_be_read(bench: Bench) -> None:
    """It comes to the launcher's standard input, and is in no command line and no environment."""
    bench.ssh.write_text(KEEPS_STDIN)
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]
    options = ["-v", "--adapt-schedule", "3", "--adapt-log", bench.log]
    job = bench.start(*launcher, *options, "-n", 2, program=[bench.process, "seconds=3"])
    wait_for("the adaptation", lambda: bench.events("committed"))
    given = {file.read_text().strip() for file in bench.folder.glob("given.*")}
    expect(len(given) == 1 and re.fullmatch("[0-9a-f]{64}", next(iter(given))), f"given: {given}")
    looked_at = 0
    for entry in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                text = (entry / name).read_bytes()
                looked_at += bool(text)
                expect(not any(secret.encode() in text for secret in given), f"it is in {entry / name}: {text!r}")
    expect(looked_at > 8, f"{looked_at} files seen")
    result = bench.finish(job)
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    expect(not any(secret in result.out + result.err for secret in given), "mpiexec -v prints it")


def test_every_job_has_another_secret(bench: Bench) -> None:
    bench.ssh.write_text(KEEPS_STDIN)
    for _ in range(2):
        launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa"]
        expect(bench.run(*launcher, "-n", 1, program=["/bin/true"]).code == 0, "the job failed")
    given = {file.read_text().strip() for file in bench.folder.glob("given.*")}
    expect(len(given) == 2, f"given: {given}")


def test_launcher_without_standard_input(bench: Bench) -> None:
    """It prints what is wrong and what to do, and nobody waits; the user's own file is a way out."""
    deaf = bench.folder / "deaf"
    deaf.write_text(f'#!/bin/sh\nexec {bench.ssh} "$@" </dev/null\n')
    deaf.chmod(0o755)
    for options in ([], ["--adapt-log", bench.log]):
        launcher = ["-launcher", "ssh", "-launcher-exec", deaf, "-hosts", "aa,bb"]
        result = bench.run(*launcher, *options, "-n", 2, program=["/bin/true"])
        expect(result.code not in (0, None), f"exit code {result.code}: {result.err}")
        expect("has not got the job's secret" in result.err and "MPIEXEC_SECRET_FILE" in result.err, result.err)
        bench.expect_nothing_left()
    secret = bench.folder / "secret"
    secret.write_text("0123456789abcdef" * 4 + "\n")
    bench.extra["MPIEXEC_SECRET_FILE"] = str(secret)
    secret.chmod(0o640)
    result = bench.run(*launcher, "-n", 2, program=["/bin/true"])
    expect(result.code != 0 and "chmod 600" in result.err, f"exit code {result.code}: {result.err}")
    secret.chmod(0o600)
    result = bench.run(*launcher, "-n", 2, program=["/bin/echo", "done"])
    expect(result.code == 0 and result.out == "done\ndone\n", f"exit code {result.code}: {result.out}{result.err}")


def test_daemon_does_nothing_for_an_impostor(bench: Bench) -> None:
    """Who listens in mpiexec's place, and gets to know the daemon's half of the secret, does not know the other one."""
    daemon = bench.mpiexec.parent / "hydra_pmi_proxy"
    with socket.create_server(("127.0.0.1", 0)) as impostor:
        words = ["--control-port", f"127.0.0.1:{impostor.getsockname()[1]}", "--launcher", "ssh", "--demux", "poll"]
        words += ["--pgid", "0", "--retries", "1", "--usize", "-2", "--pmi-port", "0", "--gpus-per-proc", "-2"]
        job = bench.start(*words, "--secret", "stdin", "--proxy-id", "0", mpiexec=daemon, program=[], stdin=subprocess.PIPE)
        assert job.stdin
        job.stdin.write("0123456789abcdef" * 2 + "fedcba9876543210" * 2 + "\n")
        job.stdin.flush()
        impostor.settimeout(20)
        with impostor.accept()[0] as connection:
            connection.settimeout(20)
            said = b""
            while len(said) < 20:
                said += connection.recv(64)
            expect(said == bytes(4) + bytes.fromhex("0123456789abcdef" * 2), f"the daemon says {said!r}")
            connection.sendall(said[4:])
            result = bench.finish(job)
    expect(result.code != 0 and "is not this job's mpiexec" in result.err, f"{result.code}: {result.err}")


# ---- what comes with a process --------------------------------------------------------------------


def test_environment_and_directory(bench: Bench) -> None:
    script = bench.folder / "show"
    script.write_text(
        f'#!/bin/sh\necho "uid=$PMI_ADAPT | $1 $2 | $FROM_GENV $FROM_ENV | $PWD | $(umask)"\nexec {bench.process} probes=1\n'
    )
    script.chmod(0o755)
    (bench.folder / "there").mkdir()
    result = bench.run(
        "-genv",
        "FROM_GENV",
        "g",
        "-n",
        1,
        "-env",
        "FROM_ENV",
        "e",
        "-wdir",
        bench.folder / "there",
        "--adapt-schedule",
        "3",
        program=[script, "first", "second word"],
        umask=0o027,
    )
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    seen = [line.split(" | ", 1)[1] for line in result.out.splitlines() if " | " in line]
    expect(len(seen) == 3 and len(set(seen)) == 1, f"processes differ: {result.out}")
    expect(seen[0] == f"first second word | g e | {bench.folder}/there | 0027", f"seen {seen[0]}")


def test_joining_processes_of_another_program(bench: Bench) -> None:
    """Also where the first proxy runs none of the second program's processes."""
    script = bench.folder / "show"
    script.write_text(f'#!/bin/sh\necho "$1 $FROM_ENV"\nexec {bench.process} probes=3\n')
    script.chmod(0o755)
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb:2"]
    schedule = ["--adapt-schedule", "5/program=1,6,7/leave=0+1/program=1"]
    first = ["-n", 1, "-env", "FROM_ENV", "one", script, "first", ":"]
    second = ["-n", 2, "-env", "FROM_ENV", "two"]
    result = bench.run(*launcher, "--adapt-log", bench.log, *schedule, *first, *second, program=[script, "second"])
    expect_ok(bench, result, [5, 6, 7])
    ran = [result.out.splitlines().count(words) for words in ("first one", "second two")]
    expect(ran == [2, 7], f"the first program ran {ran[0]} times, the second {ran[1]} times")
    programs = [event.get("program") for event in bench.events("requested")]
    expect(programs == [1, None, 1], f"events tell of the programs {programs}")


def test_binding_takes_free_places(bench: Bench) -> None:
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        return
    script = bench.folder / "show"
    script.write_text(
        f'#!/bin/sh\necho "$PMI_ADAPT allowed $(grep Cpus_allowed_list /proc/self/status)"\nexec {bench.process} probes=2\n'
    )
    script.chmod(0o755)
    result = bench.run(
        "-bind-to", "core", "-n", 2, "--adapt-schedule", "1/leave=1,1s:2", "--adapt-log", bench.log, program=[script]
    )
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    places = dict(re.findall(r"uid=(\d+) .*Cpus_allowed_list:\s*(\S+)", result.out))
    expect(len(places) == 3 and places["0"] != places["1"], f"bound to {places}")
    expect(places["2"] == places["1"], f"the free place was rank 1's: {places}")


def test_labels_are_world_ranks(bench: Bench) -> None:
    result = bench.adapt("-l", "-n", 2, "--adapt-schedule", "4/leave=0", words=["probes=1", "verbose=1"])
    expect_ok(bench, result, [4])
    ends = sorted(re.findall(r"\[(\d+)\] uid (\d+): ends as rank (-?\d+)", result.out))
    expect(
        ends == [("0", "0", "-1"), ("0", "1", "0"), ("1", "2", "1"), ("2", "3", "2"), ("3", "4", "3")], f"labels {ends}"
    )


def test_standard_input_follows_rank_0(bench: Bench) -> None:
    job = bench.start(
        "-n",
        2,
        "--adapt-schedule",
        "1/leave=0,1/leave=0",
        "--adapt-log",
        bench.log,
        program=[bench.process, "probes=2", "stdin=1", "seconds=30"],
        stdin=subprocess.PIPE,
    )
    assert job.stdin
    for count, line in enumerate(("one\n", "two\n"), 1):
        wait_for(f"adaptation {count}", lambda: len(bench.events("committed")) >= count)
        job.stdin.write(line)
        job.stdin.flush()
    result = bench.finish(job)
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    expect(re.findall(r"uid (\d+) read (\w+)", result.out) == [("1", "one"), ("2", "two")], f"read: {result.out}")


def test_input_that_nobody_reads_harms_nobody(bench: Bench) -> None:
    """Rank 0 has closed its standard input, or has ended, and more comes: the others go on."""
    for name, end in (("closed", "exec <&-"), ("ended", "exit 0")):
        said, over = bench.folder / f"{name}-read", bench.folder / f"{name}-over"
        program = (
            f'if [ "$PMI_RANK" = 0 ]; then read line; {end.replace("exit", f"touch {said}; exit")}; touch {said}; fi; '
            f"until [ -e {over} ]; do sleep 0.05; done; echo goes on"
        )
        job = bench.start("-n", 2, program=["sh", "-c", program], stdin=subprocess.PIPE)
        assert job.stdin
        os.write(job.stdin.fileno(), b"one\n")
        wait_for("rank 0 to read no more", said.exists)
        for _ in range(20):
            with contextlib.suppress(BrokenPipeError):  # the job has ended
                os.write(job.stdin.fileno(), b"more\n")
            time.sleep(0.01)  # each a message of its own
        over.touch()
        result = bench.finish(job)
        lines = 2 if name == "closed" else 1
        expect(result.code == 0 and result.out.count("goes on") == lines, f"{name}: exit code {result.code}: {result.out}{result.err}")


class Writer(threading.Thread):
    """Writes all of a text to a job, as fast as it is taken."""

    def __init__(self, job: subprocess.Popen[str], text: bytes) -> None:
        super().__init__(daemon=True)
        assert job.stdin
        self.stream, self.text, self.taken = job.stdin, text, 0
        self.start()

    def run(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            while self.taken < len(self.text):
                self.taken += os.write(self.stream.fileno(), self.text[self.taken : self.taken + 65536])
        self.stream.close()

    def await_pause(self) -> None:
        """Until nothing has been taken for a while."""
        seen = -1
        while self.taken != seen:
            seen = self.taken
            time.sleep(0.5)


MUCH_INPUT = b"".join(b"line %d\n" % i for i in range(1 << 20))


def test_a_slow_reader_of_input_gets_all(bench: Bench) -> None:
    """What rank 0 does not read yet stays with the writer, and is there when it reads on; alone, beside others, elsewhere."""
    remote = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb", "-ppn", 1]
    for name, words in (("alone", ["-n", 1]), ("beside", ["-n", 2]), ("elsewhere", [*remote, "-n", 2])):
        part, on = bench.folder / f"{name}-part", bench.folder / f"{name}-on"
        program = (
            f'if [ "$PMI_RANK" = 1 ]; then exit 0; fi; head -c 300000 >{part}.new; mv {part}.new {part}; '
            f"until [ -e {on} ]; do sleep 0.05; done; cat >>{part}; sha256sum <{part}"
        )
        job = bench.start(*words, program=["sh", "-c", program], stdin=subprocess.PIPE)
        writer = Writer(job, MUCH_INPUT)
        wait_for("a part of the input", part.exists)
        writer.await_pause()
        expect(job.poll() is None, f"{name}: the job has ended")
        expect(writer.taken < 4 << 20, f"{name}: {writer.taken} bytes are taken, and nobody reads them")
        on.touch()
        writer.join(LIMIT_S)
        job.stdin = None
        result = bench.finish(job)
        digest = hashlib.sha256(MUCH_INPUT).hexdigest()
        expect(result.code == 0 and result.out.split()[:1] == [digest], f"{name}: exit code {result.code}: {result.out}{result.err}")
    bench.expect_nothing_left()


def test_input_that_is_echoed_comes_back(bench: Bench) -> None:
    """Neither mpiexec, which sends input, nor the daemon, which sends output, waits for the other for ever."""
    for n in (1, 2):
        job = bench.start("-n", n, program=["sh", "-c", 'test "$PMI_RANK" = 1 || exec cat'], stdin=subprocess.PIPE)
        writer = Writer(job, MUCH_INPUT)
        job.stdin = None
        result = bench.finish(job)
        writer.join(LIMIT_S)
        expect(result.code == 0 and result.out.encode() == MUCH_INPUT, f"exit code {result.code}: {len(result.out)} bytes {result.err}")


def test_input_that_waits_is_dropped_with_its_reader(bench: Bench) -> None:
    """Rank 0 closes its standard input, or ends, while much waits for it: the writer and the others go on."""
    for name, n, end in (("closed", 2, "exec <&-"), ("ended", 2, "exit 0"), ("last", 1, "exit 0")):
        on, over = bench.folder / f"{name}-on", bench.folder / f"{name}-over"
        program = (
            f'if [ "$PMI_RANK" = 0 ]; then until [ -e {on} ]; do sleep 0.05; done; {end}; fi; '
            f"until [ -e {over} ]; do sleep 0.05; done; echo goes on"
        )
        job = bench.start("-n", n, program=["sh", "-c", program], stdin=subprocess.PIPE)
        writer = Writer(job, MUCH_INPUT)
        writer.await_pause()
        expect(writer.taken < 4 << 20, f"{name}: {writer.taken} bytes are taken, and nobody reads them")
        on.touch()
        writer.join(LIMIT_S)
        expect(n == 1 or writer.taken == len(MUCH_INPUT), f"{name}: the writer still waits at {writer.taken}")
        over.touch()
        job.stdin = None
        result = bench.finish(job)
        lines = {"closed": 2, "ended": 1, "last": 0}[name]
        said = result.out.count("goes on") == lines and not result.err
        expect(result.code == 0 and said, f"{name}: exit code {result.code}: {result.out}{result.err}")
    bench.expect_nothing_left()


def test_who_reads_standard_input(bench: Bench) -> None:
    """Rank 0, all or none; the others read the end, at once.  On one host and on two."""
    readers = {"0": [0], "all": [0, 1, 2], "none": []}
    for hosts in ([], ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]):
        for words in ([], ["-s", "0"], ["-s", "all"], ["-s", "none"]):
            over = bench.folder / f"over-{len(hosts)}-{'-'.join(words)}"
            program = f'while read line; do echo "$PMI_RANK: $line"; done; echo "$PMI_RANK ends"; echo >>{over}'
            job = bench.start(*hosts, *words, "-n", 3, program=["sh", "-c", program], stdin=subprocess.PIPE)
            assert job.stdin
            job.stdin.write("one\n")
            job.stdin.flush()
            reading = readers[words[-1] if words else "0"]
            wait_for("the others to end", lambda: len(reading) == 3 or (over.exists() and over.read_text().count("\n") == 3 - len(reading)))
            with contextlib.suppress(BrokenPipeError):  # nobody reads
                job.stdin.write("two\n")
                job.stdin.close()
            job.stdin = None
            result = bench.finish(job)
            wanted = sorted([f"{rank}: {line}" for rank in reading for line in ("one", "two")] + [f"{rank} ends" for rank in range(3)])
            expect(result.code == 0 and sorted(result.out.splitlines()) == wanted, f"{words}: {result.code}: {result.out}{result.err}")
    bench.expect_nothing_left()


def test_all_readers_get_all(bench: Bench) -> None:
    """One of them is slow, one ends before, one closes its input."""
    program = (
        'case "$PMI_RANK" in 0) sleep 1; sha256sum ;; 1) head -c 5 >/dev/null ;; '
        '2) exec <&-; sleep 1; echo goes on ;; 3) sha256sum ;; esac'
    )
    for hosts in ([], ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb,cc,dd"]):
        job = bench.start(*hosts, "-s", "all", "-n", 4, program=["sh", "-c", program], stdin=subprocess.PIPE)
        writer = Writer(job, MUCH_INPUT)
        job.stdin = None
        result = bench.finish(job)
        writer.join(LIMIT_S)
        digest = hashlib.sha256(MUCH_INPUT).hexdigest()
        expect(result.code == 0 and result.out.count(digest) == 2, f"exit code {result.code}: {result.out}{result.err}")
    bench.expect_nothing_left()


def test_joining_processes_read_what_comes_later(bench: Bench) -> None:
    """With -s all; and the end of it, also if that came before them."""
    program = f'touch {bench.folder}/here-$$; read line; echo "read $line"; exec <&-; exec {bench.process} probes=2 seconds=30'
    job = bench.start(
        "-s", "all", "-n", 1, "--adapt-schedule", "2", "--adapt-log", bench.log, program=["sh", "-c", program], stdin=subprocess.PIPE
    )
    assert job.stdin
    os.write(job.stdin.fileno(), b"one\n")
    wait_for("the joining process to start", lambda: len(list(bench.folder.glob("here-*"))) == 2)
    os.write(job.stdin.fileno(), b"two\n")
    result = bench.finish(job)
    expect(result.code == 0 and sorted(result.out.splitlines()) == ["read one", "read two"], f"{result.code}: {result.out}{result.err}")
    result = bench.adapt("-s", "all", "-n", 1, "--adapt-schedule", "2,1/leave=0", words=["probes=2", "stdin=1"])
    expect_ok(bench, result, [2, 1])


def spawn(bench: Bench, *commands: dict[str, str]) -> Result:
    """A process requests that, prints the answer and ends; no value of `commands` is checked."""
    text = bench.folder / "spawn"
    lines = []
    for i, command in enumerate(commands, 1):
        keys = {"nprocs": "1", "totspawns": str(len(commands)), "spawnssofar": str(i), "argcnt": "0", "info_num": "0"}
        lines += ["mcmd=spawn", *(f"{key}={value}" for key, value in (keys | command).items()), "endcmd", ""]
    text.write_text("\n".join(line for line in lines if line) + "\n")
    program = (
        "exec 9<&$PMI_FD 8>&$PMI_FD; echo cmd=init pmi_version=1 pmi_subversion=1 >&8; read answer <&9; "
        f"cat {text} >&8; read answer <&9; echo $answer; echo cmd=finalize >&8; read answer <&9"
    )
    return bench.run("-n", 1, program=["sh", "-c", program], stdin=subprocess.PIPE)


def arguments(*args: str) -> dict[str, str]:
    return {"argcnt": str(len(args))} | {f"arg{i}": arg for i, arg in enumerate(args, 1)}


def test_spawned_processes_have_no_input(bench: Bench) -> None:
    """Nobody sends any to them: they read the end at once, also the first one."""
    done = bench.folder / "done"
    result = spawn(bench, {"execname": "sh"} | arguments("-c", f"cat; echo >>{done}"))
    expect(done.exists() and done.read_text() == "\n", f"{result.code}: {result.out}{result.err}")


def test_spawns_that_cannot_be_passed_on(bench: Bench) -> None:
    """They are refused with a reason, and the job continues."""
    sh = {"execname": "sh"}
    for reason, command in (
        ("write them to a file", sh | arguments(*["x" * 60] * 2000)),
        ("write them to a file", sh | arguments("x") | {"argcnt": "2"}),
        ("more arguments than", sh | arguments(*["x"] * 1000)),
        ("has a newline", sh | arguments("one\ntwo")),
        ("has a newline", sh | arguments("one\ntwo=three")),
        ("processes is 0", sh | {"nprocs": "0"}),
        ("processes is negative", sh | {"nprocs": "-1"}),
    ):
        result = spawn(bench, command)
        refused = result.out == "cmd=spawn_result rc=-1\n" and reason in result.err and len(result.err.splitlines()) == 1
        expect(result.code == 0 and refused, f"{reason}: {result.code}: {result.out}{result.err[:2000]}")
    bench.expect_nothing_left()


def test_spawns_of_odd_texts(bench: Bench) -> None:
    """An argument that looks like the end of the command; a path that is that of another program."""
    one, two = bench.folder / "one", bench.folder / "two"
    result = spawn(bench, {"execname": "sh"} | arguments("-c", f"echo $0 >>{one}", "sendcmd"))
    expect(one.exists() and one.read_text() == "sendcmd\n", f"{result.code}: {result.out}{result.err}")
    path = {"info_num": "1", "info_key_0": "path", "info_val_0": "/bin"}
    first, second = (arguments("-c", f"touch {name}; sleep 1") for name in (one, two))
    one.unlink()
    result = spawn(bench, {"execname": "sh"} | path | first, {"execname": "sh"} | second)
    expect("not there" not in result.err and one.exists() and two.exists(), f"{result.code}: {result.out}{result.err}")
    bench.expect_nothing_left()


def test_a_long_list_of_hosts(bench: Bench) -> None:
    hosts = ",".join(f"host{i}:1" for i in range(5000))
    result = bench.run("-launcher", "fork", "-hosts", hosts, "-n", 2, program=["sh", "-c", "echo $PMI_RANK"])
    expect(result.code == 0 and sorted(result.out.split()) == ["0", "1"], f"{result.code}: {result.out}{result.err[:2000]}")


def test_end_of_input_follows_rank_0(bench: Bench) -> None:
    result = bench.adapt("-n", 2, "--adapt-schedule", "1/leave=0,1/leave=0", words=["probes=2", "stdin=1"])
    expect_ok(bench, result, [1, 1])


def test_signals_reach_joined_processes(bench: Bench) -> None:
    job = bench.start(
        "-n", 1, "--adapt-schedule", "3", "--adapt-log", bench.log, program=[bench.process, "seconds=3", "usr1=1"]
    )
    wait_for("the adaptation", lambda: bench.events("committed"))
    job.send_signal(signal.SIGUSR1)
    result = bench.finish(job)
    expect(sorted(re.findall(r"uid (\d+) got signal", result.out)) == ["0", "1", "2"], f"got: {result.out}")


def test_exit_code_after_a_signal(bench: Bench) -> None:
    """A signal that is passed on is not the end of anything: not all that exits after it has done well."""
    here = bench.folder / "here"
    program = f"trap 'echo told; exit 5' USR1; touch {here}; while :; do sleep 0.1; done"
    job = bench.start("-n", 1, program=["sh", "-c", program])
    wait_for("the program to run", here.exists)
    job.send_signal(signal.SIGUSR1)
    result = bench.finish(job)
    expect(result.code == 5 and "told" in result.out, f"exit code {result.code}: {result.out}{result.err}")


def test_interrupt_ends_all(bench: Bench) -> None:
    job = bench.start("-n", 1, "--adapt-schedule", "3", "--adapt-log", bench.log, program=[bench.process, "seconds=30"])
    wait_for("the adaptation", lambda: bench.events("committed"))
    job.send_signal(signal.SIGINT)
    bench.finish(job)
    bench.expect_nothing_left()


def test_exit_code_of_joined_processes(bench: Bench) -> None:
    result = bench.adapt("-n", 1, "--adapt-schedule", "3,2", words=["probes=2", "end=5"])
    expect(result.code == 5, f"exit code {result.code}: {result.err}")


def test_print_all_exitcodes(bench: Bench) -> None:
    result = bench.adapt("-print-all-exitcodes", "-n", 1, "--adapt-schedule", "3,2", words=["probes=2", "end=5"])
    expect(re.search(r"Exit codes: \[\S+\] 0\n\[\S+\] 1280,0", result.out), f"printed: {result.out}")


# ---- failures ------------------------------------------------------------------------------------


def job_goes_on(bench: Bench, words: list[object], hosts: str = "") -> None:
    result = bench.adapt("-n", 2, "--adapt-schedule", "4,1s:1", words=["probes=1", "seconds=15", *words], hosts=hosts)
    expect_ok(bench, result, [1])
    failed = bench.events("failed")
    expect(
        len(failed) == 1 and "BAD TERMINATION" not in result.out,
        f"one quiet failure expected: {result.out}{result.err}",
    )


def test_joiner_killed_at_start(bench: Bench) -> None:
    job_goes_on(bench, ["fail=start"])


def test_joiner_killed_in_begin(bench: Bench) -> None:
    job_goes_on(bench, ["fail=ready"])


def test_joiner_exits_at_start(bench: Bench) -> None:
    job_goes_on(bench, ["fail=start", "code=3"])


def test_joiner_exits_in_begin(bench: Bench) -> None:
    job_goes_on(bench, ["fail=ready", "code=3"])


def test_joiner_killed_on_one_of_two_hosts(bench: Bench) -> None:
    job_goes_on(bench, ["fail=start"], hosts="aa,bb")
    bench.log.unlink()
    job_goes_on(bench, ["fail=ready"], hosts="aa,bb")


def job_ends(bench: Bench, words: list[object], code: int, hosts: str = "") -> None:
    result = bench.adapt("-n", 2, "--adapt-schedule", "4", words=["probes=1", "seconds=20", *words], hosts=hosts)
    expect(result.code == code, f"exit code {result.code}, expected {code}: {result.out}{result.err}")
    expect("assert" not in result.err, f"internal errors are shown: {result.err}")
    expect(
        re.search(r"rank 0 on node \S+ (was killed by signal 9|ended with exit code 3).*adaptation 1", result.err),
        f"no report: {result.err}",
    )
    bench.expect_nothing_left()


def test_joiner_killed_in_window(bench: Bench) -> None:
    job_ends(bench, ["fail=window"], 9)


def test_joiner_exits_in_window(bench: Bench) -> None:
    job_ends(bench, ["fail=window", "code=3"], 3)


def test_joiner_exits_in_window_alone_on_its_host(bench: Bench) -> None:
    job_ends(bench, ["fail=window", "code=3"], 3, hosts="aa,bb,cc,dd")


def test_expansion_proxy_killed(bench: Bench) -> None:
    job = bench.start(
        "-n",
        1,
        "--adapt-schedule",
        "0.3s:3,2s:2",
        "--adapt-log",
        bench.log,
        program=[bench.process, "seconds=15", "probes=1", "delay=1"],
    )

    victim = wait_for("the expansion", lambda: children(job.pid)[1:])
    os.kill(int(victim[0]), signal.SIGKILL)  # type: ignore[index]
    result = bench.finish(job)
    expect(result.code == 0 and bench.sizes() == [2], f"exit code {result.code}, sizes {bench.sizes()}: {result.err}")
    bench.expect_nothing_left()


def test_member_killed_while_hosts_start(bench: Bench) -> None:
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa:2"]
    job = bench.start(
        *launcher,
        "-n",
        2,
        "--adapt-schedule",
        "4/hosts=slow1+bb",
        "--adapt-log",
        bench.log,
        program=[bench.process, "seconds=50"],
    )
    wait_for("the expansion", lambda: bench.events("placed"))
    process = next(pid for pid in bench.processes() if os.readlink(f"/proc/{pid}/exe") == str(bench.process))
    os.kill(process, signal.SIGKILL)
    result = bench.finish(job)
    expect(result.code != 0 and "BAD TERMINATION" in result.out, f"exit code {result.code}: {result.out}")
    bench.expect_nothing_left()


def test_timeout_of_mpiexec(bench: Bench) -> None:
    script = ["/usr/bin/env", "MPIEXEC_TIMEOUT=2", str(bench.mpiexec)]
    job = subprocess.Popen(
        [*script, "-n", "1", "--adapt-schedule", "3", "--adapt-log", str(bench.log), str(bench.process), "seconds=50"],
        text=True,
        env=bench.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    bench.jobs.append(job)
    result = bench.finish(job)
    expect("APPLICATION TIMED OUT" in result.out and bench.sizes() == [3], f"{result.out} {bench.sizes()}")
    bench.expect_nothing_left()


def test_mpiexec_killed(bench: Bench) -> None:
    job = bench.start(
        "-launcher",
        "ssh",
        "-launcher-exec",
        bench.ssh,
        "-hosts",
        "aa,bb",
        "-n",
        2,
        "--adapt-schedule",
        "4",
        "--adapt-log",
        bench.log,
        program=[bench.process, "seconds=50"],
    )
    wait_for("the adaptation", lambda: bench.events("committed"))
    job.kill()
    job.wait()
    wait_for("all processes to end", lambda: not bench.processes(), 10)


# Requests a place, and starts a shell there that starts something else.
STARTS_A_SHELL = r"""
import os, struct, sys, time
pmi = int(os.environ["PMI_FD"])
allocate, start = int(sys.argv[1]), int(sys.argv[2])
def text(word):
    return struct.pack("=I", len(word)) + word
def call(number, bytes):
    os.write(pmi, f"cmd=adapt_set_call id={number} more=0 answer=1 call={bytes.hex()}\n".encode())
os.write(pmi, b"cmd=init pmi_version=1 pmi_subversion=1\n")
call(1, struct.pack("=IIII", allocate, 1, 1, 1) + text(b"*") + text(b"") + struct.pack("=II", 0, 0))
call(2, struct.pack("=II", start, 1) + text(b"/bin/sh") + struct.pack("=I", 2) + text(b"-c") + text(b"trap '' TERM; sleep 1000; :"))
time.sleep(1000)
"""


def number_of_call(name: str) -> int:
    """As a process says it to mpiexec."""
    header = (HERE.parents[1] / "src/pmi/include/pmi_adapt_set.h").read_text(encoding="utf-8")
    calls = re.search(r"^enum pmi_set_call \{(.*?)^\};", header, re.M | re.S)
    assert calls
    return 1 + re.findall(r"^    (PMI_\w+)", calls[1], re.M).index(name)


def test_mpiexec_killed_with_started_processes(bench: Bench) -> None:
    """What a program has started on a place, and what that has started, ends with mpiexec."""
    script = bench.folder / "starts.py"
    script.write_text(STARTS_A_SHELL)
    numbers = [number_of_call("PMI_TASK_ALLOCATE"), number_of_call("PMI_TASK_START")]
    job = bench.start("-n", 1, program=[sys.executable, script, *numbers])
    sleep = Path(os.path.realpath(shutil.which("sleep") or "/bin/sleep"))
    wait_for("the process behind the shell", lambda: bench.running(sleep))
    job.kill()
    job.wait()
    wait_for("all processes to end", lambda: not bench.processes(), 10)


# ---- told to end ---------------------------------------------------------------------------------

END_S = 30  # to end in, on a loaded machine; what never ends takes longer


def start_heeding(bench: Bench, count: int, *words: object, options: list[object] | None = None) -> subprocess.Popen[str]:
    """A job on two hosts whose processes have set their handlers."""
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]
    job = bench.start(*launcher, *(options or []), "-n", count, program=[bench.process, "seconds=50", *words])
    assert job.stdout
    for _ in range(count):
        line = job.stdout.readline()
        expect("heeds signals" in line, f"it says: {line}")
    return job


def finish_soon(bench: Bench, job: subprocess.Popen[str]) -> Result:
    return finish_all_soon(bench, [job])[0]


def finish_all_soon(bench: Bench, jobs: list[subprocess.Popen[str]]) -> list[Result]:
    """Jobs that run at the same time: what they wait for, they wait for together."""
    results = []
    for job in jobs:
        try:
            out, err = job.communicate(timeout=END_S)
        except subprocess.TimeoutExpired as expired:
            raise Failure(f"it has not ended {END_S} s after it was signalled") from expired
        results.append(Result(job.returncode, out or "", err or ""))
    bench.expect_nothing_left()
    return results


def test_handlers_that_hang(bench: Bench) -> None:
    """What libinfinipath's does when a signal comes at a bad moment of MPI_Init: rigid and adaptive, in MPI_Init and later."""
    kinds = (["mode=rigid", "term_at=init"], ["term_at=init"], ["mode=rigid"], [])
    jobs = [start_heeding(bench, 4, "term=hang", *words) for words in kinds]
    for job in jobs:
        job.send_signal(signal.SIGTERM)
    for words, result in zip(kinds, finish_all_soon(bench, jobs), strict=True):
        expect(result.code != 0, f"{words}: exit code {result.code}")
        expect("it is killed" in result.err, f"{words}: it says {result.err}")


def test_checkpoint_before_the_end(bench: Bench) -> None:
    """A rigid program with a handler of its own gets the time that it needs, as under stock Hydra."""
    job = start_heeding(bench, 2, "mode=rigid", "term=8")
    job.send_signal(signal.SIGTERM)
    result = finish_soon(bench, job)
    expect(result.code == 0 and result.out.count("is ready") == 2, f"{result.code}: {result.out}{result.err}")


def test_adaptive_programs_that_do_not_end(bench: Bench) -> None:
    bench.extra["MPIEXEC_ADAPT_KILL"] = "2s"
    for number in (signal.SIGTERM, signal.SIGINT):
        job = start_heeding(bench, 2, "term=ignore")
        job.send_signal(number)
        result = finish_soon(bench, job)
        expect(result.code != 0 and "has not ended" in result.err, f"{result.code}: {result.err}")
    bench.extra["MPIEXEC_ADAPT_KILL"] = "0"
    job = start_heeding(bench, 2, "term=7")
    job.send_signal(signal.SIGTERM)
    result = finish_soon(bench, job)
    expect(result.code == 0 and result.out.count("is ready") == 2, f"{result.code}: {result.out}{result.err}")


def test_second_interrupt_ends_at_once(bench: Bench) -> None:
    """Whatever state processes and daemons are in."""
    for words in (["mode=rigid"], []):
        job = start_heeding(bench, 2, "term=ignore", *words)
        daemon = bench.running(bench.mpiexec.parent / "hydra_pmi_proxy")[0]
        os.kill(daemon, signal.SIGSTOP)
        job.send_signal(signal.SIGINT)
        time.sleep(0.2)
        before = time.monotonic()
        job.send_signal(signal.SIGINT)
        result = finish_soon(bench, job)
        expect(result.code == 1, f"exit code {result.code}: {result.err}")
        expect(time.monotonic() - before < 20, "that is not at once")


def test_told_to_end_while_daemons_come(bench: Bench) -> None:
    """Those who come late are served; those who do not come are not waited for."""
    jobs = []
    for hosts in ("slow1,slow2", "aa,silent1"):
        for options in ([], ["--adapt-log", f"{bench.log}-{len(jobs)}"]):
            launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", hosts, *options]
            job = bench.start(*launcher, "-n", 2, program=["/bin/sleep", "1000"])
            wait_for("the launchers", lambda waits=job: len(children(waits.pid)) == 2)
            job.send_signal(signal.SIGTERM)
            jobs.append(job)
    finish_all_soon(bench, jobs)


def test_mpiexec_is_not_joiners_fault(bench: Bench) -> None:
    """A signal to mpiexec while processes join: nobody is blamed."""
    options = ["-n", 2, "--adapt-schedule", "4,1", "--adapt-log", bench.log]
    job = bench.start(*options, program=[bench.process, "seconds=50", "delay=50"])
    wait_for("the expansion", lambda: bench.events("placed"))
    job.send_signal(signal.SIGTERM)
    result = finish_soon(bench, job)
    expect("joins as rank" not in result.err and "adaptation" not in result.err, f"it says: {result.err}")
    reasons = [event["reason"] for event in bench.events("withdrawn")]
    expect(reasons == ["mpiexec was told to end (SIGTERM)"], f"reasons: {reasons}")


def test_what_came_to_nothing_is_told(bench: Bench) -> None:
    options = ["-n", 2, "--adapt-schedule", "4,1,100s:2", "--adapt-log", bench.log]
    result = bench.run(*options, program=[bench.process, "seconds=2", "delay=50"])
    told = [line for line in result.err.splitlines() if line]
    expect(result.code == 0 and len(told) == 2, f"exit code {result.code}: {result.err}")
    expect("the program ended first; 0 of 2 joining processes" in told[0], f"it says: {told}")
    expect("entries 2 to 3 of the adaptation schedule were never offered" in told[1], f"it says: {told}")
# ---- who does not read, does not write, or stops -------------------------------------------------


def spilt(text: str, uids: int, lines: int) -> None:
    """All lines of test_process' spill=`lines` must be there, each process' own in their order."""
    numbers: dict[str, list[int]] = {}
    for uid, number in re.findall(r"^spilt (\d+) (\d+) +\.*$", text, re.M):
        numbers.setdefault(uid, []).append(int(number))
    got = {uid: len(found) for uid, found in numbers.items()}
    expect(all(found == list(range(lines)) for found in numbers.values()) and len(got) == uids, f"lines by uid: {got}")


def ask_step(bench: Bench, line: str) -> object:
    """An answer of the step socket, which must not take long."""
    path = wait_for("the step socket", lambda: next(bench.runtime.glob("*/step-*.sock"), None))
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(str(path))
        client.sendall(line.encode() + b"\n")
        with client.makefile() as answers:
            return json.loads(answers.readline())


def start_spilling(bench: Bench, *words: object, schedule: str = "4,2", **options: object) -> subprocess.Popen[str]:
    args = ["-n", 2, "--adapt-schedule", schedule, "--adapt-log", bench.log]
    return bench.start(*args, program=[bench.process, "probes=2", "seconds=60", "spill=16000", *words], **options)


def test_reader_pauses(bench: Bench) -> None:
    """Nobody reads mpiexec's output: it adapts, answers, stays small; nothing of the output is lost."""
    job = start_spilling(bench)
    wait_for("both adaptations", lambda: len(bench.sizes()) == 2)
    expect(ask_step(bench, '{"id":1,"op":"status"}'), "no answer of the step")
    used_s = procfs.cpu_s(job.pid)
    time.sleep(1)
    expect(procfs.cpu_s(job.pid) - used_s < 0.1, "mpiexec spins")
    expect(procfs.resident_kb(job.pid) < 40000, f"mpiexec has grown to {procfs.resident_kb(job.pid)} KB")
    result = bench.finish(job)
    expect_ok(bench, result, [4, 2])
    spilt(result.out, 4, 16000)


def test_reader_comes_last(bench: Bench) -> None:
    """All processes have ended long before anybody reads: mpiexec waits with their output."""
    job = start_spilling(bench, "spill=300")
    wait_for("the processes to end", lambda: bench.events("ended") and bench.processes() == [job.pid])
    time.sleep(7)  # longer than mpiexec waits when it has failed
    expect(job.poll() is None, "mpiexec has not waited for its reader")
    result = bench.finish(job)
    expect_ok(bench, result, [4, 2])
    spilt(result.out, 4, 300)


def test_reader_pauses_and_interrupts(bench: Bench) -> None:
    """Ctrl-C while nobody reads: all processes end, and mpiexec ends without its reader."""
    job = start_spilling(bench, "probes=0", schedule="4")
    wait_for("the adaptation", lambda: bench.sizes())
    job.send_signal(signal.SIGINT)
    try:
        job.wait(LIMIT_S)
    except subprocess.TimeoutExpired as expired:
        raise Failure("mpiexec waits for its reader") from expired
    bench.expect_nothing_left()


def test_mpiexec_learns_late(bench: Bench) -> None:
    """It learns of the first adaptive process late: until then the daemon leaves output where it is, and whoever pauses
    does not keep mpiexec from hearing of it."""
    job = start_spilling(bench, "stop=1", "probes=0", schedule="4")
    wait_for("mpiexec to stop", lambda: re.search(r"^State:\s+T", Path(f"/proc/{job.pid}/status").read_text(), re.M))
    daemon = bench.running(bench.mpiexec.parent / "hydra_pmi_proxy")[0]
    time.sleep(1)
    expect(procfs.resident_kb(daemon) < 12000, f"the daemon has grown to {procfs.resident_kb(daemon)} KB")
    job.send_signal(signal.SIGCONT)
    wait_for("the adaptation", lambda: bench.sizes() == [4])
    job.send_signal(signal.SIGINT)
    finish_soon(bench, job)


def test_reader_goes(bench: Bench) -> None:
    """mpiexec ends, as every program of a pipeline whose reader has ended."""
    job = start_spilling(bench, "probes=0", schedule="4")
    wait_for("the adaptation", lambda: bench.sizes())
    assert job.stdout
    job.stdout.close()
    expect(job.wait(LIMIT_S) != 0, "exit code 0")
    wait_for("all processes to end", lambda: not bench.processes(), 10)


SMALL_BUFFERS = [
    *["unshare", "--net", "sh", "-c"],
    "ip link set lo up && echo '4096 8192 16384' | tee /proc/sys/net/ipv4/tcp_[rw]mem >/dev/null; "
    'exec "$0" -localhost 127.0.0.1 "$@"',
]


def test_plans_and_output_meet(bench: Bench) -> None:
    """Plans and output that are both larger than the buffers of the connections between mpiexec and its daemons."""
    if subprocess.run(["unshare", "--net", "true"], check=False, capture_output=True).returncode:
        prefix = []  # not permitted here: with buffers of the usual size
    else:
        prefix = SMALL_BUFFERS
    hosts = ",".join(f"{host}:12" for host in HOSTS.split(","))
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", hosts]
    words = ["probes=2", "seconds=60", "card=400", "probe_us=5000", "spill=1000"]
    options = ["-n", 48, "--adapt-schedule", "96,24", "--adapt-log", bench.log]
    job = bench.start(*launcher, *options, program=[bench.process, *words], prefix=prefix)
    result = bench.finish(job)
    expect_ok(bench, result, [96, 24])
    spilt(result.out, 96, 1000)


def test_mpiexec_stops(bench: Bench) -> None:
    """Ctrl-Z while processes print: they wait, and everything goes on afterwards."""
    job = start_spilling(bench, schedule="1s:4,2")
    wait_for("the launch", lambda: bench.events("launching") or len(children(job.pid)) > 0)
    for _ in range(3):
        job.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        job.send_signal(signal.SIGCONT)
        time.sleep(0.2)
    result = bench.finish(job)
    expect_ok(bench, result, [4, 2])
    spilt(result.out, 4, 16000)


def test_terminal_and_session(bench: Bench) -> None:
    """Processes have no terminal; where the kernel shares processors out among sessions, those of a job that may
    change share mpiexec's session, and a rigid job's have their own (wire/sessions.h)."""
    setting = Path("/proc/sys/kernel/sched_autogroup_enabled")
    autogroups = setting.exists() and setting.read_text().strip() == "1"
    program = ["sh", "-c", "(read x < /dev/tty) 2> /dev/null && echo terminal || cut -d ' ' -f 5,6,7 /proc/self/stat"]
    for options, shared in (([], False), (["--adapt-schedule", "4"], autogroups)):
        ours, terminal = os.openpty()
        try:
            job = bench.start("-n", 2, *options, program=program, prefix=["setsid", "-c"], stdin=terminal)
            result = bench.finish(job)
        finally:
            os.close(ours)
            os.close(terminal)
        expect(result.code == 0 and "terminal" not in result.out, f"it ended with {result}")
        found = [list(map(int, line.split())) for line in result.out.splitlines()]
        expect(len(found) == 2 and found[0][0] != found[1][0], f"not a process group for each: {found}")
        expect(all(terminal == 0 for _, _, terminal in found), f"with a terminal: {found}")
        sessions = {session for _, session, _ in found}
        wanted = {job.pid} if shared else {group for group, _, _ in found}
        expect(sessions == wanted, f"{options}: sessions {sessions} instead of {wanted}")


def test_daemon_stops(bench: Bench) -> None:
    """A stopped proxy makes its adaptation wait, and not mpiexec."""
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]
    options = ["-n", 2, "--adapt-schedule", "4,2", "--adapt-log", bench.log]
    job = bench.start(*launcher, *options, program=[bench.process, "probes=2", "seconds=60", "delay=1"])
    wait_for("the launch", lambda: bench.events("launching"))
    stopped = int(children(job.pid)[1])
    os.kill(stopped, signal.SIGSTOP)
    for _ in range(3):
        expect(ask_step(bench, '{"id":1,"op":"status"}'), "no answer of the step")
        time.sleep(0.5)
    expect(not bench.sizes(), "an adaptation without a daemon that stands still")
    os.kill(stopped, signal.SIGCONT)
    expect_ok(bench, bench.finish(job), [4, 2])


def test_daemon_dies_in_a_message(bench: Bench) -> None:
    """The last thing that mpiexec gets of a joining daemon is a part of a message: the growth fails, the job goes on."""
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]
    options = ["-n", 1, "--adapt-schedule", "2,2s:1", "--adapt-log", bench.log]
    words = ["probes=0", "seconds=5", "delay=30", "spill=16000", "spill_from=1"]
    job = bench.start(*launcher, *options, program=[bench.process, *words])
    daemon = int(wait_for("the joining daemon", lambda: children(job.pid)[1:])[0])  # type: ignore[index]
    wait_for("its process", lambda: children(daemon))
    job.send_signal(signal.SIGSTOP)
    time.sleep(1)  # the spilt output fills all buffers
    os.kill(daemon, signal.SIGKILL)
    job.send_signal(signal.SIGCONT)
    result = bench.finish(job)
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    expect(len(bench.events("failed")) == 1, f"one failure expected: {bench.events('failed')}")
    bench.expect_nothing_left()


# Plays ssh.  On host bb it stands between mpiexec and the proxy of two processes.  It spoils the first message with several
# reports (HYD_ADAPT_REPORTS of wire/kinds.h: outer head, then head, payload and padding of each), or sends each report that
# may go up the tree twice.
STANDS_BETWEEN = r"""#!/usr/bin/python3
import os, re, select, socket, struct, subprocess, sys

PID_LIST, EXIT_STATUS, TERMINATED, ADAPT = 5, 6, 10, 11  # enum HYD_pmcd_cmd
REPORTS, HEAD, HYDRA = 1006, struct.Struct("=IIQII"), struct.Struct("=8i")
GO_UP = (4, 7, 11, 12, 13)  # enum step_report: COMMITTED, PREPARED, GREETED, PERFORMANCE, LOOPS
how = "HOW"
words = sys.argv[1:]
while words[0].startswith("-"):
    words.pop(0)
host, command = words[0], " ".join(words[1:])
os.environ.pop("HYDI_CONTROL_FD", None)
if host != "bb":
    os.execvp("sh", ["sh", "-c", "exec " + command])
listener = socket.create_server(("127.0.0.1", 0))
address, port = re.search(r"--control-port (\S+):(\d+)", command).groups()
command = re.sub(r"(--control-port) \S+", rf"\1 127.0.0.1:{listener.getsockname()[1]}", command)
daemon = subprocess.Popen(["sh", "-c", "exec " + command])
below, above = listener.accept()[0], socket.create_connection((address, int(port)))
spoilt, received, introduction = False, b"", 4 + 16  # its number and half of the secret


def spoil(message):
    kind, epoch, size, sequence, unused = HEAD.unpack_from(message)
    if how == "endless":
        size = 1 << 62
    elif how == "larger":
        size = len(message)
    elif how == "nested":
        kind = REPORTS
    elif how == "rest":  # of which no head can be read
        size = len(message) - HEAD.size - 8
    return HEAD.pack(kind, epoch, size, sequence, unused) + message[HEAD.size :]


def twice(kind, body):
    if kind != REPORTS:
        return body
    more, at = b"", 0
    while at < len(body):
        inner, _, size, _, _ = HEAD.unpack_from(body, at)
        end = at + HEAD.size + (size + 7) // 8 * 8
        more += body[at:end] if inner in GO_UP else b""
        at = end
    if more:
        open("twice", "a").write("some\n")
    return body + more


def changed(frame):
    global spoilt
    hydra = list(HYDRA.unpack_from(frame))
    if hydra[0] != ADAPT:
        return frame
    kind, epoch, size, sequence, unused = HEAD.unpack_from(frame, HYDRA.size)
    body = frame[HYDRA.size + HEAD.size :]
    if how == "twice":
        if kind in GO_UP:
            open("twice", "a").write("one\n")
            return 2 * frame
        body = twice(kind, body)
    elif kind == REPORTS and not spoilt:
        body, spoilt = spoil(body), True
    hydra[1] = HEAD.size + len(body)
    return HYDRA.pack(*hydra) + HEAD.pack(kind, epoch, len(body), sequence, unused) + body


def whole_frames():
    global received, introduction
    frames = b""
    if introduction and len(received) >= introduction:
        frames, received, introduction = received[:introduction], received[introduction:], 0
    while not introduction and len(received) >= HYDRA.size:
        kind, bytes = HYDRA.unpack_from(received)[:2]
        bytes = 2 * 4 if kind in (PID_LIST, EXIT_STATUS) else 0 if kind == TERMINATED else bytes
        if len(received) < HYDRA.size + bytes:
            break
        frames += changed(received[: HYDRA.size + bytes])
        received = received[HYDRA.size + bytes :]
    return frames


while True:
    for ready in select.select([below, above], [], [])[0]:
        data = ready.recv(1 << 20)
        if not data:
            below.close()
            above.close()
            daemon.wait()
            sys.exit(0)
        if ready is below:
            received += data
            data = whole_frames()
        (above if ready is below else below).sendall(data)
"""


def test_malformed_reports(bench: Bench) -> None:
    """A daemon's message of several reports does not add up, in several ways: the growth fails, the job goes on."""
    for how in ("endless", "larger", "nested", "rest"):
        bench.log.unlink(missing_ok=True)
        bench.ssh.write_text(STANDS_BETWEEN.replace("HOW", how))
        launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa:1,bb:2"]
        options = ["-n", 1, "--adapt-schedule", "3,1s:1", "--adapt-log", bench.log]
        result = bench.run(*launcher, *options, program=[bench.process, "probes=0", "seconds=3"])
        expect(result.code == 0, f"{how}: exit code {result.code}: {result.err}")
        expect(len(bench.events("failed")) == 1, f"{how}: one failure expected: {bench.events('failed')}")
        bench.expect_nothing_left()


def test_a_report_that_comes_twice_counts_once(bench: Bench) -> None:
    """As after a loss in the tree of proxies, when all repeat what they have reported."""
    bench.ssh.write_text(STANDS_BETWEEN.replace("HOW", "twice"))
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa:1,bb:2"]
    options = ["-n", 1, "--adapt-schedule", "3,2", "--adapt-log", bench.log]
    result = bench.run(*launcher, *options, program=[bench.process, "probes=2"])
    expect_ok(bench, result, [3, 2])
    expect(len((bench.folder / "twice").read_text().splitlines()) >= 2, "no report was sent twice")
    expect(not bench.events("unexpected"), f"counted twice: {bench.events('unexpected')}")


# A process that sends anything on its PMI connection, and then asks properly for the set of all processes.
ASKS_FOR_SETS = r"""
import os, struct, sys, time
pmi = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)
def say(line):
    pmi.write(line.encode() + b"\n")
def ask(line):
    say(line)
    answer = b""
    while not answer.endswith(b"\n"):
        answer += pmi.read(1)
    return dict(word.split("=", 1) for word in answer.decode().split())
def fetch(id):
    answer, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        part = ask(f"cmd=adapt_set_fetch id={id} at={len(answer)}")
        answer += bytes.fromhex(part.get("data", ""))
        if 0 < int(part["bytes"]) == len(answer):
            return answer
    sys.exit("no answer")
ask("cmd=init pmi_version=1 pmi_subversion=1")
for line in ("", "id=0 more=0 call=00", "id=1 more=0 call=zz", "id=2 more=0", "id=x call=00", "more=0 call=00",
             "id=4294967296 more=0 call=00", "id=-1 call=00"):
    say("cmd=adapt_set_call " + line)
for n in range(1100):  # more than a call may have
    say("cmd=adapt_set_call id=3 more=1 call=" + 4096 * "00")
say("cmd=adapt_set_call id=3 more=0 call=00")
for id in range(10, 110):  # more than may wait
    say(f"cmd=adapt_set_call id={id} more=0 call=ff")
for line in ("", "id=0 at=0", "id=77777 at=0", "id=3 at=0", "id=1 at=4294967295", "id=x at=y"):
    assert ask("cmd=adapt_set_fetch " + line)["bytes"] == "0", line
for id in range(10, 70):  # malformed calls are answered
    assert struct.unpack_from("=I", fetch(id))[0] == 2, id
assert ask("cmd=adapt_set_fetch id=10 at=0")["bytes"] == "0", "it was fetched"
name = b"mpix://WORLD/0"
say("cmd=adapt_set_call id=1000 more=1 call=" + struct.pack("=II", 3, len(name)).hex())
say("cmd=adapt_set_call id=1000 more=0 call=" + name.hex())
answer = fetch(1000)
assert answer[:4] == bytes(4) and name in answer and answer[-20:-8] == struct.pack("=III", 1, 0, 2), answer
say("cmd=adapt_set_call id=1001 more=1 call=00")
ask("cmd=finalize")
os.write(1, b"asked\n")
"""


def test_set_calls(bench: Bench) -> None:
    """Calls on process sets that are malformed, too long, too many or never finished hurt nobody; proper ones go on."""
    script = bench.folder / "asks.py"
    script.write_text(ASKS_FOR_SETS)
    result = bench.run("-n", 2, program=[sys.executable, script])
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    expect(result.out.split() == ["asked", "asked"], f"output {result.out}")
    bench.expect_nothing_left()


# Processes that speak PMI: rank 0 says half a line, and the other half when rank 1 has been answered.
HALF_A_LINE = r"""
import os, pathlib, sys, time
pmi, rank = int(os.environ["PMI_FD"]), os.environ["PMI_RANK"]
def answer():
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(pmi, 1)
    return line
def ask(line):
    os.write(pmi, line)
    return answer()
def reach(point):
    pathlib.Path("at-" + point).touch()
def wait_for(point):
    deadline = time.monotonic() + 50
    while not os.path.exists("at-" + point):
        if time.monotonic() > deadline:
            sys.exit("waited in vain for " + point)
        time.sleep(0.02)
ask(b"cmd=init pmi_version=1 pmi_subversion=1\n")
for n, (whole, half, other) in enumerate([
    (b"", b"cmd=get_ma", b"xes\n"),
    (b"", b"cm", b"d=get_maxes\n"),
    (b"cmd=get_appnum\n", b"cmd", b"=get_maxes\n"),
    (b"cmd=get_appnum\n" * 5000, b"cmd=get_maxes", b"\n"),
]):
    if rank == "0":
        os.write(pmi, whole + half)
        for _ in range(whole.count(b"\n")):
            assert b"appnum" in answer()
        reach(f"half-{n}")
        wait_for(f"answered-{n}")
        assert b"maxes" in ask(other), n
    else:
        wait_for(f"half-{n}")
        assert b"appnum" in ask(b"cmd=get_appnum\n"), n
        reach(f"answered-{n}")
if rank == "0":
    os.write(pmi, b"cmd=fina")
    reach("end")
time.sleep(1000)
"""


def test_half_a_line(bench: Bench) -> None:
    """A process that stops in the middle of a PMI command holds up neither others nor the end of the job."""
    script = bench.folder / "half.py"
    script.write_text(HALF_A_LINE)
    job = bench.start("-n", 2, program=[sys.executable, script])
    wait_for("all halves to be said", lambda: (bench.folder / "at-end").exists() or job.poll() is not None)
    expect(job.poll() is None, f"the job has ended: {job.communicate()[1] if job.poll() is not None else ''}")
    job.send_signal(signal.SIGINT)
    bench.finish(job)
    bench.expect_nothing_left()


# Processes that speak PMI: rank 0 says more than is answered while it reads nothing, rank 1 is answered meanwhile; then rank 0
# reads all answers, in their order, and fills its connection again.
READS_NO_ANSWERS = r"""
import os, pathlib, select, sys, time
pmi, rank = int(os.environ["PMI_FD"]), os.environ["PMI_RANK"]
def answers():
    rest = b""
    while True:
        more = os.read(pmi, 65536)
        assert more, "the connection has ended"
        *lines, rest = (rest + more).split(b"\n")
        yield from lines
def reach(point):
    pathlib.Path("at-" + point).touch()
def wait_for(point):
    deadline = time.monotonic() + 50
    while not os.path.exists("at-" + point):
        if time.monotonic() > deadline:
            sys.exit("waited in vain for " + point)
        time.sleep(0.02)
answer = answers()
def ask(line):
    os.write(pmi, line)
    return next(answer)
COMMANDS = b"cmd=get_maxes\ncmd=get_appnum\n"
said = 0
def fill():
    # Until nothing is taken any more.
    global said
    os.set_blocking(pmi, False)
    while select.select([], [pmi], [], 1)[1]:
        said += os.write(pmi, (COMMANDS * 2000)[said % len(COMMANDS):])
    os.set_blocking(pmi, True)
ask(b"cmd=init pmi_version=1 pmi_subversion=1\n")
if rank == "0":
    fill()
    reach("full")
    wait_for("answered")
    for n in range(said // len(COMMANDS)):
        assert next(answer).startswith(b"cmd=maxes "), n
        assert next(answer).startswith(b"cmd=appnum "), n
    fill()
    reach("end")
else:
    wait_for("full")
    assert b"appnum" in ask(b"cmd=get_appnum\n")
    reach("answered")
time.sleep(1000)
"""


def test_answers_that_nobody_reads(bench: Bench) -> None:
    """A process that asks and does not read holds up neither others nor the end of the job, and gets all answers when it does."""
    script = bench.folder / "asks.py"
    script.write_text(READS_NO_ANSWERS)
    job = bench.start("-n", 2, program=[sys.executable, script])
    wait_for("all answers to be read", lambda: (bench.folder / "at-end").exists() or job.poll() is not None)
    expect(job.poll() is None, f"the job has ended: {job.communicate()[1] if job.poll() is not None else ''}")
    job.send_signal(signal.SIGINT)
    bench.finish(job)
    bench.expect_nothing_left()


LOOKS_UP = r"""
import os
pmi = int(os.environ["PMI_FD"])
def ask(line):
    os.write(pmi, line)
    answer = b""
    while not answer.endswith(b"\n"):
        answer += os.read(pmi, 1)
    return answer.decode()
ask(b"cmd=init pmi_version=1 pmi_subversion=1\n")
print(ask(b"cmd=lookup_name service=a\n"), end="")
ask(b"cmd=finalize\n")
"""


def test_answers_of_elasticd_that_are_cut_off(bench: Bench) -> None:
    """elasticd ends in the middle of its answer about a name, at each place: the query is repeated."""
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nport1\n"
    script, asked = bench.folder / "looks_up.py", []
    script.write_text(LOOKS_UP)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{bench.folder}/elasticd.sock")
        listening.listen()

        def answer() -> None:
            for text in (b"", whole[:10], whole[:30], whole[:-6], whole[:-3], whole[:-1], whole):
                connection, _ = listening.accept()
                with connection:
                    asked.append(connection.recv(65536))
                    connection.sendall(text)

        threading.Thread(target=answer, daemon=True).start()
        bench.extra |= {"ELASTIC_STEP_REGISTER": "00", "ELASTIC_JOB_ID": "1", "ELASTICD_SOCKET": f"{bench.folder}/elasticd.sock"}
        result = bench.run("-n", 1, program=[sys.executable, script])
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    expect(" port=port1 " in result.out, f"the name leads to: {result.out}")
    expect(len(asked) == 7 and all(text.startswith(b"GET /v1/names/a ") for text in asked), f"asked: {asked}")
    bench.expect_nothing_left()


# What is no PMI command, or lacks what it needs.
NO_COMMANDS = [
    b"hello world\n", b"-6xxxxyyyyyy\n", b"-99999garbage\n", b"999999cmd=x", bytes(100), b"cmd=nosuch a=b\n", b"cmd=init\n",
    b"cmd=init pmi_version= pmi_subversion=\n", b"cmd=publish_name\n", b"cmd=publish_name service=a\n", b"cmd=lookup_name\n",
    b"cmd=unpublish_name\n", b"cmd=put\n", b"mcmd=spawn\nnprocs=-1\nendcmd\n", b"cmd=" + 70000 * b"a" + b"\n",
]  # fmt: skip


def test_no_commands(bench: Bench) -> None:
    """Whatever a process says, mpiexec and the proxy end the job with a message, and do not crash."""
    says, file = bench.folder / "says.py", bench.folder / "line"
    says.write_text("import os, time; os.write(int(os.environ['PMI_FD']), open('line', 'rb').read()); time.sleep(20)")
    for line in NO_COMMANDS:
        file.write_bytes(line)
        result = bench.run("-n", 1, program=[sys.executable, says])
        expect(0 < result.code < 128 or result.code == 255, f"{line[:60]!r}: exit code {result.code}: {result.err}")
        told = "[proxy" in result.err or ("[mpiexec" in result.err and "(!closed)" not in result.err)
        expect(told, f"{line[:60]!r}: nobody tells what is wrong: {result.err}")
        bench.expect_nothing_left()


# ---- unauthenticated clients, and nothing left to take them in -------------------------------------------------


def ports_of(pid: int) -> list[int]:
    """TCP ports on which it listens."""
    inodes = inodes_of(pid)
    return [int(row[1].split(":")[1], 16) for row in procfs.tcp_rows() if row[3] == "0A" and int(row[9]) in inodes]


def start_slow_growth(bench: Bench, schedule: str = "2/hosts=slow1,1", probes: int = 2) -> tuple[subprocess.Popen[str], int]:
    """A growth onto a host that takes two seconds to start; the port on which mpiexec awaits its daemon."""
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa"]
    options = ["-n", 1, "--adapt-schedule", schedule, "--adapt-log", bench.log]
    job = bench.start(*launcher, *options, program=[bench.process, f"probes={probes}", "seconds=30"])
    wait_for("the launch", lambda: bench.events("launching"))
    wait_for("the port", lambda: ports_of(job.pid))
    return job, ports_of(job.pid)[-1]


def test_strangers_on_the_control_port(bench: Bench) -> None:
    """Rubbish, half a message, nothing, and many at once."""
    job, port = start_slow_growth(bench)
    with contextlib.ExitStack() as open_connections:
        for said in (b"", b"x", b"abc", b"\xff" * 4, b"\xff" * 100000, *[b"" for _ in range(100)]):
            connection = open_connections.enter_context(socket.create_connection(("127.0.0.1", port)))
            connection.setblocking(False)
            with contextlib.suppress(OSError):
                connection.send(said)
        used_s = procfs.cpu_s(job.pid)
        time.sleep(1)
        expect(procfs.cpu_s(job.pid) - used_s < 0.1, "mpiexec spins")
        result = bench.finish(job)
    expect_ok(bench, result, [2, 1])


@contextlib.contextmanager
def no_descriptors(job: subprocess.Popen[str], connect: Callable[[], socket.socket]) -> Iterator[None]:
    """Strangers hold what descriptors mpiexec may still open, and more of them wait to be taken in."""
    usual = resource.prlimit(job.pid, resource.RLIMIT_NOFILE)
    highest = max(procfs.descriptors(job.pid))
    resource.prlimit(job.pid, resource.RLIMIT_NOFILE, (highest + 2, usual[1]))
    with contextlib.ExitStack() as strangers:
        for _ in range(highest):
            strangers.enter_context(connect())
        used_s = procfs.cpu_s(job.pid)
        time.sleep(1)
        expect(procfs.cpu_s(job.pid) - used_s < 0.1, "mpiexec spins")
        yield
    resource.prlimit(job.pid, resource.RLIMIT_NOFILE, usual)


def test_no_descriptor_for_a_daemon(bench: Bench) -> None:
    """The growth waits for a descriptor; it is given up in time, and the job goes on, and grows when there are some."""
    bench.extra["MPIEXEC_ADAPT_LAUNCH"] = "4s"
    job, port = start_slow_growth(bench, "0s:2/hosts=slow1,8s:2/hosts=aa", probes=1)
    with no_descriptors(job, lambda: socket.create_connection(("127.0.0.1", port))):
        wait_for("the failure", lambda: bench.events("failed"), 30)
    result = bench.finish(job)
    expect(bench.sizes() == [2], f"sizes: {bench.sizes()}")
    expect(result.code == 0 and "no open file is left" in result.err, f"exit code {result.code}: {result.err}")
    bench.expect_nothing_left()


def test_no_descriptor_for_a_while(bench: Bench) -> None:
    job, port = start_slow_growth(bench)
    with no_descriptors(job, lambda: socket.create_connection(("127.0.0.1", port))):
        time.sleep(2)
    expect_ok(bench, bench.finish(job), [2, 1])


def test_no_descriptor_for_a_client(bench: Bench) -> None:
    job = bench.start("-n", 1, "--adapt-log", bench.log, program=[bench.process, "seconds=8"])
    path = wait_for("the step socket", lambda: next(bench.runtime.glob("*/step-*.sock"), None))

    def connect() -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(path))
        return client

    with no_descriptors(job, connect):
        pass
    expect(ask_step(bench, '{"id":1,"op":"status"}'), "no answer when there are descriptors again")
    expect(bench.finish(job).code == 0, "the job suffered")


def gaps(numbers: set[int]) -> set[int]:
    return set(range(max(numbers))) - numbers


def few_descriptors(bench: Bench, hosts: str, *launcher: object) -> None:
    """A job is requested to grow by two processes while mpiexec can open so many files more, from none to all that it needs."""
    extra = ["-hosts", hosts] if hosts else []
    program = [bench.process, "probes=2", "seconds=60"]
    job = bench.start(*launcher, *extra, "-n", 1, "--adapt-log", bench.log, program=program)
    path = wait_for("the step socket", lambda: next(bench.runtime.glob("*/step-*.sock"), None))
    wait_for("the step", lambda: '"adaptive"' in json.dumps(ask_step(bench, '{"id":1,"op":"status"}')))
    usual = resource.prlimit(job.pid, resource.RLIMIT_NOFILE)
    with contextlib.ExitStack() as clients:

        def connect() -> Callable[[object], str]:
            """A client that asks and hears."""
            client = clients.enter_context(socket.socket(socket.AF_UNIX))
            client.settimeout(LIMIT_S)
            client.connect(str(path))
            answers = clients.enter_context(client.makefile())

            def ask(operation: object) -> str:
                client.sendall(json.dumps(operation).encode() + b"\n")
                return answers.readline()

            expect(ask({"op": "status"}), "no answer")
            return ask

        ask = [connect() for _ in range(40)][0]  # a process more takes up to 44 files at once, or is refused
        wait_for("the end of an earlier client", lambda: connect() and not gaps(procfs.descriptors(job.pid)))
        opened = len(procfs.descriptors(job.pid))
        for more in range(40):
            resource.prlimit(job.pid, resource.RLIMIT_NOFILE, (opened + more, usual[1]))
            ask({"op": "resize", "size": 3})
            resource.prlimit(job.pid, resource.RLIMIT_NOFILE, usual)
            expect(job.poll() is None, f"mpiexec has ended, with {more} files: {job.returncode}")
            wait_for(
                f"the end of what was opened in vain, with {more} files",
                lambda: bench.sizes() or procfs.descriptors(job.pid) == set(range(opened)),
                30,
            )
            if bench.sizes():
                break
        ask({"op": "resize", "size": 1})
    result = bench.finish(job)
    expect_ok(bench, result, [3, 1])


def test_few_descriptors_for_a_launch(bench: Bench) -> None:
    few_descriptors(bench, "aa,bb,cc", "-launcher", "ssh", "-launcher-exec", bench.ssh)


def test_few_descriptors_for_a_local_launch(bench: Bench) -> None:
    few_descriptors(bench, "")


def test_few_descriptors_for_a_daemon(bench: Bench) -> None:
    """The proxies of the processes that stay, among them the root of the tree, can open few files more, or none."""
    bench.extra["MPIEXEC_ADAPT_FANOUT"] = "2"
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb,cc,dd,ee,ff,gg"]
    program = [bench.process, "probes=10", "seconds=100"]
    job = bench.start(*launcher, "-n", 2, "--adapt-log", bench.log, program=program)
    wait_for("the step", lambda: bench.events("adaptive"))
    for more in range(5):
        for daemon in map(int, children(job.pid)):
            usual = resource.prlimit(daemon, resource.RLIMIT_NOFILE)
            resource.prlimit(daemon, resource.RLIMIT_NOFILE, (len(procfs.descriptors(daemon)) + more, usual[1]))
        for size in (7, 2):
            over = len(bench.sizes())
            ask_step(bench, json.dumps({"op": "resize", "size": size}))
            wait_for(f"the change to {size}, with {more} files", lambda: len(bench.sizes()) > over or job.poll() is not None)
    expect_ok(bench, bench.finish(job), [7, 2] * 5)


FORK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of the process that the file FORK_FAILS names, so many calls succeed. */
pid_t fork(void)
{
    static long calls = 0;
    long pid = 0, last = 0;
    FILE *file = getenv("FORK_FAILS") ? fopen(getenv("FORK_FAILS"), "r") : NULL;

    if (file && fscanf(file, "%ld %ld", &pid, &last) != 2)
        pid = 0;
    if (file)
        fclose(file);
    if (pid == (long) getpid() && ++calls > last) {
        errno = EAGAIN;
        return -1;
    }
    return ((pid_t (*)(void)) dlsym(RTLD_NEXT, "fork"))();
}
"""


def few_processes(bench: Bench, forks: int) -> None:
    """The user may have so many processes more when a job is requested to grow onto two hosts: it stays as it was, and ends well."""
    source, library, limit = bench.folder / "fork.c", bench.folder / "fork.so", bench.folder / "limit"
    source.write_text(FORK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    bench.extra |= {"LD_PRELOAD": str(library), "FORK_FAILS": str(limit)}
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb,cc"]
    job = bench.start(*launcher, "-n", 1, "--adapt-log", bench.log, program=[bench.process, "probes=2", "seconds=60"])
    wait_for("the step", lambda: bench.events("adaptive"))
    opened = len(procfs.descriptors(job.pid))
    limit.write_text(f"{job.pid} {forks}")
    ask_step(bench, '{"id":1,"op":"resize","size":3}')
    wait_for("the failure", lambda: bench.events("failed"))
    limit.unlink()
    wait_for("the end of what was started in vain", lambda: len(procfs.descriptors(job.pid)) <= opened)
    expect(len(children(job.pid)) == 1, f"children of mpiexec: {children(job.pid, 'args')}")
    for size in (3, 1):
        ask_step(bench, json.dumps({"id": 1, "op": "resize", "size": size}))
        wait_for("the change", lambda: bench.sizes()[-1:] == [size])
    expect_ok(bench, bench.finish(job), [3, 1])


def test_no_process_for_a_launch(bench: Bench) -> None:
    few_processes(bench, 0)


def test_no_process_for_the_second_host(bench: Bench) -> None:
    few_processes(bench, 1)


# ---- the limit of a file's length ------------------------------------------------------------------


def test_no_file_may_be_written(bench: Bench) -> None:
    """As under stock; what would need one is not offered."""
    limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))}
    result = bench.run("-n", 2, program=["/bin/echo", "done"], **limits)
    expect((result.code, result.out) == (0, "done\ndone\n"), f"{result}")
    expect("no adaptations: unable to create the adapt board (File too large)" in result.err, result.err)


def test_files_may_not_grow(bench: Bench) -> None:
    """Where there is no space for a plan, or for the log, the job goes on."""
    job = bench.start("-n", 2, "--adapt-log", bench.log, program=[bench.process, "probes=2", "seconds=60"])
    wait_for("the step", lambda: bench.events("adaptive"))
    daemon = int(children(job.pid)[0])
    usual = resource.prlimit(daemon, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    ask_step(bench, '{"op":"resize","size":3}')
    wait_for("the end of the change", lambda: bench.events("withdrawn"))
    expect("no room for the plan (File too large)" in str(bench.events("withdrawn")[0]["reason"]), str(bench.events("withdrawn")))
    resource.prlimit(daemon, resource.RLIMIT_FSIZE, usual)
    ask_step(bench, '{"op":"resize","size":3}')
    wait_for("the change", lambda: bench.sizes() == [3])
    resource.prlimit(job.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    ask_step(bench, '{"op":"resize","size":2}')
    result = bench.finish(job)
    expect(result.code == 0 and "the log ends here" in result.err, f"exit code {result.code}: {result.err}")
    bench.expect_nothing_left()


# ---- the step socket -----------------------------------------------------------------------------


def test_socket_is_private_and_removed(bench: Bench) -> None:
    folder = bench.runtime / f"elastic-mpich-{os.geteuid()}"
    folder.mkdir(mode=0o700)
    stale = folder / "step-999999.sock"
    foreign = folder / "step-999999.socket"
    foreign.touch()
    new, long_new = folder / "new-00000001", folder / "new-00000002"  # their mpiexecs do not listen yet
    for path in (stale, new, long_new):
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(path))
    os.utime(long_new, (time.time() - 3600,) * 2)
    job = bench.start("-n", 1, program=[bench.process, "seconds=1"])
    mine = folder / f"step-{job.pid}.sock"
    wait_for("the socket", mine.exists)
    expect(stat.S_IMODE(folder.stat().st_mode) == 0o700, "the folder is not private")
    expect(not stale.exists(), "the socket of a dead mpiexec is still there")
    expect(bench.finish(job).code == 0, "the job failed")
    expect(sorted(folder.iterdir()) == [new, foreign], f"left behind: {list(folder.iterdir())}")


def ask(path: Path, operation: str) -> dict[str, object]:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(str(path))
        client.sendall(json.dumps({"op": operation}).encode() + b"\n")
        with client.makefile() as answer:
            return json.loads(answer.readline())  # type: ignore[no-any-return]


def test_same_pid_in_two_namespaces(bench: Bench) -> None:
    """Two containers that share the folder: each step has an id and a socket of its own, and nobody removes the other's."""
    folder = bench.runtime / f"elastic-mpich-{os.geteuid()}"
    unshare = ["--pid", "--fork", "--mount-proc", *(["--user", "--map-root-user"] if os.geteuid() else [])]
    options = [*unshare, bench.mpiexec, "-n", 1]
    ids, jobs = ("1", "1-2", "1-3"), []
    with contextlib.ExitStack() as unix:
        for count, step in enumerate(ids):
            if count == 1:  # one that is dead is nobody's
                dead = unix.enter_context(socket.socket(socket.AF_UNIX))
                dead.bind(str(folder / "step-1-2.sock"))
                dead.close()
            job = bench.start(*options, mpiexec=Path("unshare"), program=[bench.process, "seconds=60"])
            jobs.append(job)
            wait_for(f"the socket of step {step}", (folder / f"step-{step}.sock").exists)
            wait_for("it to be the living one's", lambda name=step: listens(folder / f"step-{name}.sock"))
    for step in ids:
        expect(ask(folder / f"step-{step}.sock", "hello")["step"] == step, f"step {step} calls itself otherwise")
    for job, step in zip(jobs, ids):
        expect(listens(folder / f"step-{step}.sock"), f"step {step} has lost its socket")
        for pid in bench.running(bench.mpiexec):
            if f"{job.pid}" == Path(f"/proc/{pid}/stat").read_text().split()[3]:
                os.kill(pid, signal.SIGTERM)
        bench.finish(job)
    expect(not list(folder.iterdir()), f"left: {list(folder.iterdir())}")


def listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


def test_foreign_folder_is_refused(bench: Bench) -> None:
    (bench.runtime / f"elastic-mpich-{os.geteuid()}").mkdir(mode=0o755)
    result = bench.run("-n", 1, program=[bench.process, "seconds=0.3"])
    expect(result.code == 0 and "cannot be resized from outside" in result.err, f"{result.code}: {result.err}")


LAST_WORDS = 'kill -STOP $PPID; echo last words >&2; echo cmd=abort exitcode=7 >&"$PMI_FD"; kill -CONT $PPID; sleep 60'


def test_last_words(bench: Bench) -> None:
    """What a process says right before it aborts is printed, though its daemon finds both at the same time."""
    result = bench.run("-n", 1, program=["bash", "-c", LAST_WORDS])
    expect("last words" in result.err, f"lost: {result}")
    expect(result.code == 7, f"exit code {result.code}")


def test_rigid_jobs_leave_no_trace(bench: Bench) -> None:
    job = bench.start("-n", 2, program=[bench.process, "mode=rigid", "seconds=1"])
    time.sleep(0.5)
    expect(not list(bench.runtime.iterdir()), "a rigid job has made a socket")
    expect(bench.finish(job).code == 0, "the job failed")


def test_clients_that_misbehave(bench: Bench) -> None:
    job = bench.start("-n", 1, program=[bench.process, "seconds=12"])
    path = bench.runtime / f"elastic-mpich-{os.geteuid()}" / f"step-{job.pid}.sock"
    wait_for("the socket", path.exists)
    with socket.socket(socket.AF_UNIX) as long_line, socket.socket(socket.AF_UNIX) as garbage, socket.socket(
        socket.AF_UNIX
    ) as silent:
        for client in (long_line, garbage, silent):
            client.settimeout(5)
            client.connect(str(path))
        try:
            long_line.sendall(b"x" * (5 << 20))  # a line has at most 4 MiB
            while long_line.recv(65536):
                pass
        except ConnectionError:
            pass  # cut off
        garbage.sendall(b'\x00\xff{"\n[]\n{"type":7}\n\n')
        expect(garbage.recv(65536), "no answer to garbage")
    expect(bench.finish(job).code == 0, "the job suffered")


# ---- options -------------------------------------------------------------------------------------


def test_wrong_options(bench: Bench) -> None:
    marker = bench.folder / "launched"
    for option, value in [
        ("--adapt-schedule", "4,x"),
        ("--adapt-schedule", "0"),
        ("--adapt-schedule", "3/leave=9"),
        ("--adapt-schedule", "3/program=1"),
        ("--adapt-schedule", "@/nonexistent"),
        ("--adapt-policy", "sometimes"),
        ("--adapt-range", "4:2"),
        ("--adapt-interval", "soon"),
        ("--adapt-log", "/nonexistent/log"),
        ("--pset", "ocean"),
        ("--pset", "app://"),
        ("--pset", "://ocean"),
        ("--pset", "app://the ocean"),
        ("--pset", "app://\u00f6"),
        ("--pset", "MPI://ocean"),
        ("--pset", "mpix://ocean"),
        ("--pset", "mpidynres://ocean"),
        ("--pset", "app://" + 249 * "x"),
    ]:
        result = bench.run("-n", 2, option, value, program=["/usr/bin/touch", marker])
        expect(result.code not in (0, None), f"{option} {value}: exit code {result.code}")
        expect(option in result.err and len(result.err.splitlines()) == 1, f"{option} {value}: {result.err!r}")
        expect(not marker.exists(), f"{option} {value}: the program was launched")


def test_help_names_the_options(bench: Bench) -> None:
    result = bench.run("-help", program=[])
    expect(result.code == 0 and "-adapt-schedule" in result.out, "not in the help text")
    result = bench.run("-adapt-policy", "-h", program=[])
    expect("increase-decrease" in result.out, "no help of the option")
    result = bench.run("-pset", "-h", program=[])
    expect("app://ocean" in result.out, "no help of --pset")


def test_longest_pset(bench: Bench) -> None:
    result = bench.run("-n", 1, "--pset", "app://" + 248 * "x", program=["/bin/echo", "launched"])
    expect(result.code == 0 and "launched" in result.out, f"254 characters are allowed: {result.err!r}")


# ---- what does not adapt -------------------------------------------------------------------------


def test_same_as_stock(bench: Bench) -> None:
    if not bench.reference:
        pytest.skip("needs a stock mpiexec: --reference MPIEXEC")
    for args, program in [
        (["-n", "3"], ["/bin/echo", "hello"]),
        (["-n", "2", "-l"], ["/bin/sh", "-c", "echo $PMI_RANK $PMI_SIZE"]),
        (["-n", "2"], ["/bin/sh", "-c", "exit $((PMI_RANK * 3))"]),
        (["-n", "2"], ["/bin/sh", "-c", "kill -SEGV $$"]),
        (["-n", "2"], ["/nonexistent/program"]),
        (["-print-all-exitcodes", "-n", "3"], ["/bin/sh", "-c", "exit $PMI_RANK"]),
        (["-nonsense"], ["/bin/true"]),
        (["-n", "1"], ["/bin/cat"]),
        (["-n", "1", "/bin/echo", "a", ":", "-n", "2", "/bin/echo", "b"], []),
    ]:
        seen = []
        for mpiexec in (bench.reference, bench.mpiexec):
            # who does not read its input makes stock's proxy fail, or not: a race
            reads = "/bin/cat" in program
            job = bench.start(
                *args, program=program, mpiexec=mpiexec, stdin=subprocess.PIPE if reads else subprocess.DEVNULL
            )
            result = bench.finish(job, "some input\n" if reads else None)
            text = re.sub(r"PID \d+|\([\w/.]+:\d+\)|lt-", "", result.out + result.err)
            seen.append((result.code, sorted(text.splitlines())))
        expect(seen[0] == seen[1], f"{' '.join(args + program)}: stock {seen[0]}, ours {seen[1]}")

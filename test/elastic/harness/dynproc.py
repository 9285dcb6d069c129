"""Scenarios of clients and servers: two jobs that connect, and others that mean no good."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import resource
import signal
import socket
import subprocess
from collections.abc import Iterator
import time
from pathlib import Path

from support import procfs

from . import checks, processes, scenarios_environment
from .job import Job, Skip, TestRun
from .scenarios import scenario


EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
FLOOD = 1000  # connections; more than are listened to at a time
PAUSE_S = 6.0  # longer than a side that has ended is missed


def _discard_secret(run: TestRun) -> None:
    """The user's secret is meant to stay; it is the test's own directory that goes."""
    for path in run.runtime.glob("*/secret"):
        run.check(path.stat().st_mode & 0o777 == 0o600, f"mode {path.stat().st_mode:o} of the user's secret")
        path.unlink()


def _side(run: TestRun, role: str, n: int, *more: str) -> Job:
    return run.mpiexec(run.test.options, ["--role", role, *run.test.arguments, *more], n)


def _ends_well(run: TestRun, *jobs: Job) -> None:
    for job in jobs:
        run.check(job.wait() == 0, f"exit code {job.process.returncode}")
        run.check(any(line.startswith("PASS dyn_") for line in job.lines), "no PASS line")
    _discard_secret(run)


@scenario
def dyn_two_jobs(run: TestRun, first: str = "server", second: str = "client", clients: str = "2") -> None:
    """DN2: between two mpiexecs, in either order."""
    one = _side(run, first, run.test.processes)
    two = _side(run, second, int(clients))
    _ends_well(run, one, two)


def _bodies() -> list[bytes]:
    """Invalid hellos: garbage, other protocols, hellos of wrong lengths and with a wrong seal."""
    head = b"EMDH\2\1"
    return [
        b"GET / HTTP/1.0\r\n\r\n",
        os.urandom(2000),
        b"\0" * 26,
        head + b"\xff\xff\xff\xff" + b"x" * 16,
        head + b"\0\4\0\4" + b"x" * 16 + b"namekeys" + b"y" * 16,
        head,
        b"",
    ]


@contextlib.contextmanager
def _many_files() -> Iterator[None]:
    """This process, and no job that it starts, may open as many as it needs."""
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(usual[0], min(2 * FLOOD, usual[1])), usual[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, usual)


def _listens(address: tuple[str, int]) -> bool:
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection(address, timeout=10):
        return True
    return False


def _disturb(address: tuple[str, int], held: contextlib.ExitStack) -> None:
    """Connections that send something wrong, or a part of it, and many that send nothing; they stay open."""
    bodies = _bodies()
    for i in range(FLOOD):
        connection = held.enter_context(socket.create_connection(address, timeout=10))
        with contextlib.suppress(OSError):  # it has been dropped before it has sent all
            connection.sendall(bodies[i % len(bodies)])


@scenario
def dyn_flood(run: TestRun) -> None:
    """DN7: garbage and a flood disturb no process, and fill neither the server's memory nor its table of files."""
    server = _side(run, "many", run.test.processes, "--times", "3")
    name = run.work / "name"
    run.await_value(name.exists, "name of the server")
    host, _, port = name.read_text(encoding="utf-8").rpartition(":")
    run.await_value(lambda: _listens((host, int(port))), "server to listen")  # its name comes before
    pid = _pid_of(run, "many")
    before_kib = procfs.resident_kb(pid)
    with contextlib.ExitStack() as held:
        with _many_files():
            _disturb((host, int(port)), held)
        files, more_kib = len(procfs.descriptors(pid)), procfs.resident_kb(pid) - before_kib
        run.check(files < 64 + 64, f"the server has {files} open files")
        run.check(more_kib < 2 * FLOOD, f"the server has {more_kib} KiB more after {FLOOD} connections")
        _ends_well(run, _side(run, "alone", 1, "--times", "3"), server)


@scenario
def dyn_other_secret(run: TestRun) -> None:
    """DN7: a client with another secret is refused, and one with the server's secret is accepted."""
    server = _side(run, "server", 1)
    run.await_value((run.work / "name").exists, "name of the server")
    wrong = run.work / "wrong"
    wrong.write_text("0123456789abcdef" * 4 + "\n", encoding="utf-8")
    wrong.chmod(0o600)
    options = ["-genv", "MPIEXEC_SECRET_FILE", str(wrong), "-genv", "MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT", "2"]
    outsider = run.mpiexec(options, ["--role", "no_port", *run.test.arguments], 1)
    run.check(outsider.wait() == 0, f"exit code {outsider.process.returncode} of the outsider")
    _ends_well(run, _side(run, "client", 1), server)


# The user's private directory on a disk of its own, which is full, in a namespace of mounts of its own.
FULL_DISK = """mount -t tmpfs -o size=16k,mode=700 none "$XDG_RUNTIME_DIR" && mkdir -m 700 "$XDG_RUNTIME_DIR/elastic-mpich-$(id -u)" || exit 77
dd if=/dev/zero of="$XDG_RUNTIME_DIR/fill" bs=1k 2>/dev/null
"$@"; code=$?; ls "$XDG_RUNTIME_DIR"/elastic-mpich-*; exit $code"""


@scenario
def dyn_full_disk(run: TestRun) -> None:
    """DN6: a server that cannot register a name, because the disk is full, states the reason, and leaves nothing."""
    mpiexec = [str(run.setting.prefix / "bin" / "mpiexec"), "-n", "1", run.program(), "--role", "server"]
    job = run.start(["unshare", "--mount", "sh", "-c", FULL_DISK, "sh", *mpiexec, *run.test.arguments])
    code = job.wait()
    if code == 77 or "unshare failed" in job.err:
        raise Skip("no namespaces of mounts for this user: " + job.err.strip())
    run.check(code != 0 and "cannot be written: No space left on device" in job.err, f"exit code {code}: {job.err[-500:]}")
    run.check(not job.lines, f"left on the disk: {job.lines}")


@scenario
def dyn_dies(run: TestRun, dying: str, left: str) -> None:
    """DN4: a side that has ended after the other one was taken: an error, at once, and no other one."""
    first = _side(run, dying, 1)
    other = _side(run, left, run.test.processes)
    run.check(first.wait() != 0, "who should have died has not")
    _ends_well(run, other)
    _remove_sockets(run)


@scenario
def dyn_widow(run: TestRun, dying: str, who: str = "-1", server: str = "0") -> None:
    """DN4: all processes are notified that the other side, of `dying` processes, has ended, in each kind of wait."""
    more = ["--who", who] if who != "-1" else []
    first = _side(run, "dying", int(dying), "--server", server, *more)
    other = _side(run, "widowed", run.test.processes, "--server", str(1 - int(server)))
    run.check(first.wait() != 0, "who should have died has not")
    _ends_well(run, other)
    _remove_sockets(run)


def _pids_of_ranks(job: Job, n: int) -> list[int]:
    """Of processes that have stated which they are."""
    return [int(job.await_line(rf"^PID {rank} \d+$")[0].split()[2]) for rank in range(n)]


@scenario
def dyn_widow_stopped(run: TestRun, dying: str, server: str = "0") -> None:
    """DN4: rank 0 of the side that lives is stopped; the others are notified nevertheless, and rank 0 when it
    continues."""
    first = _side(run, "dying", int(dying), "--server", server, "--until", "go")
    other = _side(run, "widowed", run.test.processes, "--server", str(1 - int(server)))
    root = _pids_of_ranks(other, 1)[0]
    os.kill(root, signal.SIGSTOP)
    try:
        (run.work / "go").touch()
        run.check(first.wait() != 0, "who should have died has not")
        for rank in range(1, run.test.processes):
            other.await_line(f"^NOTIFIED {rank}$")
        run.check("NOTIFIED 0" not in other.lines, "the stopped process was notified")
    finally:
        os.kill(root, signal.SIGCONT)
    _ends_well(run, other)
    _remove_sockets(run)


@scenario
def dyn_pauses(run: TestRun, stopped: str, server: str = "0") -> None:
    """DN4: a side that is stopped has not ended: processes that wait for it continue to wait, and get its message."""
    first = _side(run, "pausing", int(stopped), "--server", server)
    other = _side(run, "patient", run.test.processes, "--server", str(1 - int(server)))
    pids = _pids_of_ranks(first, int(stopped))
    for rank in range(run.test.processes):
        other.await_line(f"^WAITS {rank}$")
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(PAUSE_S)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    (run.work / "resumed").touch()
    _ends_well(run, first, other)


@scenario
def dyn_ends(run: TestRun, ending: str, widowed: str) -> None:
    """DN4: a side is killed during communication: only operations that wait for it fail; then other clients connect."""
    first = _side(run, ending, 1)
    other = _side(run, widowed, run.test.processes)
    run.check(first.wait() != 0, "who should have died has not")
    (run.work / "ended").touch()
    _ends_well(run, other)
    _remove_sockets(run)
    _ends_well(run, _side(run, "server", 1), _side(run, "client", 1))


def _remove_sockets(run: TestRun) -> None:
    """A killed server cannot remove its name; a server of the same name does (dyn_server_dies)."""
    for path in run.runtime.glob("*/name-*"):
        path.unlink()


def _pid_of(run: TestRun, role: str) -> int:
    def find() -> int | None:
        for process in processes.marked(run.marker):  # other tests may run the same program at the same time
            words = procfs.words(process.pid)
            if words and words[0].endswith("dyn_serve") and role in words:
                return process.pid
        return None

    return int(run.await_value(find, f"process in the role {role}"))


@scenario
def dyn_server_dies(run: TestRun) -> None:
    """DN2: a server that does not take its clients is killed; they do not hang, and the next server gets the name.

    Each server removes the names of killed processes, and leaves those that others hold.
    """
    options = ["-genv", "MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT", "3"]
    listener = _side(run, "listener", 1)
    listener.await_line("^LISTENING$")
    client = run.mpiexec(options, ["--role", "no_name", *run.test.arguments], run.test.processes)
    client.await_line("^WAITING$")
    os.kill(_pid_of(run, "listener"), signal.SIGKILL)
    run.check(listener.wait() != 0, "the server has not died")
    _ends_well(run, client)
    (left,) = run.runtime.glob("*/name-*.sock")
    reservations = [left.with_name(f"name-{digit * 16}.job") for digit in "01"]
    with reservations[0].open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        reservations[1].touch()
        _ends_well(run, _side(run, "server", 1, "--name", "another"), _side(run, "client", 1, "--name", "another"))
        names = list(run.runtime.glob("*/name-*"))
        run.check(names == [reservations[0]], f"left over: {names}")
    reservations[0].unlink()
    _ends_well(run, _side(run, "server", 1), _side(run, "client", 1))


@scenario
def dyn_client_dies(run: TestRun) -> None:
    """DN6: a client that goes away while it waits, for a server that is busy, is skipped."""
    server = _side(run, "busy", run.test.processes)
    server.await_line("^BUSY$")
    client = _side(run, "client", 1)
    client.await_line("^CONNECTING$")
    os.kill(_pid_of(run, "client"), signal.SIGKILL)
    run.check(client.wait() != 0, "the client has not died")
    (run.work / "go").touch()
    _ends_well(run, _side(run, "client", 1), server)


@scenario
def dyn_one_job(run: TestRun) -> None:
    """A test of one job in which names have ports: the user's secret stays, and has its mode."""
    checks.ordinary(run)
    _discard_secret(run)


@scenario
def dyn_outside(run: TestRun, how: str) -> None:
    """Not started by our mpiexec: a server that is named by its host and port works; its secret remains."""
    {"singleton": scenarios_environment.singleton, "under_stock": scenarios_environment.under_stock}[how](run)
    _discard_secret(run)


@scenario
def dyn_no_mpiexec(run: TestRun) -> None:
    """DS4: a singleton without mpiexec on PATH, or with one that ends at once, as ours: errors, and nothing hangs."""
    folder = run.work / "path"
    folder.mkdir()
    for how in ("no mpiexec on PATH", "ended before", "ended before"):
        job = run.start(["/usr/bin/env", f"PATH={folder}", run.program(), *run.test.arguments])
        run.check(job.wait() == 0, f"exit code {job.process.returncode}: {job.err}")
        run.check(len(job.lines) == 1 and job.lines[0].startswith("PASS dyn_wrong"), f"{job.lines}")
        run.check(how in job.err and "mpiexec -n 1" in job.err, f"prints {job.err}")
        run.check(not re.search(r"^(mpiexec:|\[mpiexec)", job.err, re.MULTILINE), f"mpiexec prints {job.err}")
        (folder / "mpiexec").unlink(missing_ok=True)
        if how == "no mpiexec on PATH":
            (folder / "mpiexec").write_text("#!/bin/sh\nexit 3\n")
            (folder / "mpiexec").chmod(0o755)
        else:
            (folder / "mpiexec").symlink_to(run.setting.prefix / "bin" / "mpiexec")


def _make_examples(run: TestRun, *names: str) -> Path:
    """Makes these programs of examples/dynamic; the folder in which they are."""
    folder = run.work / "examples"
    make = ["make", "-C", str(EXAMPLES), f"MPICC={run.setting.prefix}/bin/mpicc", f"BUILD={folder}"]
    programs = [f"{folder}/dynamic/{name}" for name in names]
    done = subprocess.run([*make, *programs], capture_output=True, text=True, check=False)
    run.check(done.returncode == 0, f"{done.stdout}{done.stderr}")
    return folder / "dynamic"


@scenario
def dyn_examples(run: TestRun, server: str, client: str) -> None:
    """DX3: the server of examples/dynamic, clients that have numbers added up, and one that ends it."""
    folder = _make_examples(run, server, client)
    serving = run.mpiexec([], ["the sums"], run.test.processes, f"{folder}/{server}")
    clients = [
        run.mpiexec([], ["the sums", *(str(number) for number in range(1, 10 + i))], 1 + i % 2, f"{folder}/{client}")
        for i in range(3)
    ]
    for i, job in enumerate(clients):
        run.check(job.wait() == 0, f"exit code {job.process.returncode} of client {i}")
        run.check(f"sum {sum(range(1, 10 + i))}" in job.lines, f"client {i} prints {job.lines}")
    last = run.mpiexec([], ["the sums"], 1, f"{folder}/{client}")
    run.check(last.wait() == 0 and serving.wait() == 0, "an exit code is not 0")
    printed = sorted(serving.lines)
    run.check(printed == sorted(f"a client's sum is {n}" for n in (45, 55, 66, 0)), f"the server prints {printed}")


@scenario
def dyn_farm(run: TestRun) -> None:
    """DX2: examples/dynamic/taskfarm; every run has its number, and no process is left."""
    program = f"{_make_examples(run, 'taskfarm')}/taskfarm"
    runs = 60
    job = run.mpiexec([], [str(runs), "sh", "-c", "echo run $0; exit $(($0 % 3))"], run.test.processes, program)
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    printed = sorted(line for line in job.lines if line.startswith("run "))
    run.check(printed == sorted(f"run {number}" for number in range(runs)), f"runs: {printed}")
    ends = [line for line in job.lines if "ended with" in line]
    run.check(ends == [f"{runs // 3} runs ended with {code}" for code in range(3)], f"{ends}")


@scenario
def dyn_lines(run: TestRun) -> None:
    """DA6: processes that write their lines in pieces at the same time; each line is whole."""
    program = f"{_make_examples(run, 'taskfarm')}/taskfarm"
    text = 'for i in 1 2 3 4 5 6 7 8 9 10; do printf "begin $0 "; sleep 0.01; printf "$i end\\n"; done; printf "last $0\\n"'
    job = run.mpiexec(["--adapt-range", "1:8"], ["40", "sh", "-c", text], 1, program)
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    wanted = [f"begin {number} {i} end" for number in range(40) for i in range(1, 11)] + [f"last {number}" for number in range(40)]
    found = [line for line in job.lines if not line.endswith("runs ended with 0")]
    run.check(sorted(found) == sorted(wanted), f"lines are mixed: {sorted(set(found) - set(wanted))[:4]}")


@scenario
def dyn_many(run: TestRun) -> None:
    """DA6: lines are whole also if more processes run than the proxy's limit of descriptors permits, which they have."""
    job = run.mpiexec()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}: {job.err}")
    mixed = [line for line in job.lines if line not in ("begin 128", "PASS processes many")]
    run.check(len(job.lines) == 271 and not mixed, f"{len(job.lines)} lines, mixed: {mixed[:4]}")


@scenario
def dyn_descriptors(run: TestRun) -> None:
    """DA6: a process that is started for a request has its input and its output, and no other descriptor."""
    program = f"{_make_examples(run, 'taskfarm')}/taskfarm"
    job = run.mpiexec(["--adapt-range", "1:4"], ["6", "sh", "-c", "ls /proc/$$/fd; :"], 1, program)
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    found = sorted(line for line in job.lines if line.isdigit())
    run.check(found == sorted(["0", "1", "2"] * 6), f"descriptors: {found}")


@scenario
def dyn_size(run: TestRun) -> None:
    """DX1: examples/dynamic/dynsize, of one and of three, given by arguments and by standard input."""
    program = f"{_make_examples(run, 'dynsize')}/dynsize"
    for processes, numbers, sizes in ((1, (3, -2), (4, 2)), (3, (1, -1), (4, 3)), (2, (0, 0), (2,))):
        job = run.mpiexec([], [str(number) for number in numbers], processes, program)
        run.check(job.wait() == 0, f"exit code {job.process.returncode}")
        expected = [f"pi is about 3.1415926536, by {size} processes" for size in sizes]
        run.check([line.split(" (")[0] for line in job.lines] == expected, f"{job.lines}")

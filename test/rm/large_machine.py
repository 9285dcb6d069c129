"""An elasticd with very many nodes, jobs and ended jobs, and clients of it: for test/rm/latency and bench/harness/elasticd.py.

The back end is `local`, whose nodes are only numbers.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import multiprocessing
import os
import re
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from daemon_under_test import Daemon, Failure, Programs, Reply, UnixConnection, processes_of, read_reply
from history_tests import longest_turn, make_history

Make = Callable[[str], Daemon]

PIPELINE = 64  # requests that a writer sends before it reads their answers: they share commits
KEEP = 1 << 40  # bytes: nothing is deleted
RECONNECT_S = 2
NOBODY = 65534
CONFIG = """[limits]
rate_per_s = 1000000
jobs = {jobs}
jobs_per_user = {jobs}
connections_per_user = 200
bytes_per_user = {keep}
[history]
bytes = {keep}
[scheduling]
policy = "easy"
"""


@contextlib.contextmanager
def large_machines(programs: Programs, nodes: int, cores: int, jobs: int) -> Iterator[Make]:
    """Makes elasticds, which are not started, for so many jobs; none of their processes and files is left at the end."""
    folder = Path(tempfile.mkdtemp(prefix="large-machine-"))
    folder.chmod(0o711)
    made: list[Daemon] = []

    def make(name: str) -> Daemon:
        (folder / name).mkdir()
        config = CONFIG.format(jobs=jobs + 100, keep=KEEP)
        made.append(Daemon(programs, folder / name, [f"--nodes={nodes}", f"--cores={cores}"], config))
        return made[-1]

    try:
        yield make
    finally:
        for daemon in made:
            if daemon.process and daemon.process.poll() is None:
                daemon.kill()
        for pid in processes_of(folder):
            with contextlib.suppress(ProcessLookupError):  # one goes with another
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def run_until_terminated(client: Callable[..., None], *arguments: object) -> None:
    """Without handlers of signals that the parent has set."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    client(*arguments)


@contextlib.contextmanager
def in_background(client: Callable[..., None], *arguments: object) -> Iterator[multiprocessing.Process]:
    """A client that runs in a process of its own meanwhile."""
    process = multiprocessing.Process(target=run_until_terminated, args=(client, *arguments), daemon=True)
    process.start()
    try:
        yield process
    finally:
        process.terminate()
        process.join()


# ---- what it has before ----------------------------------------------------------------------------


class Pipeline:
    """Requests of one connection whose answers are read together."""

    def __init__(self, socket_path: Path) -> None:
        self.connections = [UnixConnection(socket_path) for _ in range(PIPELINE)]

    def send(self, method: str, path: str, body: bytes, count: int) -> None:
        for connection in self.connections[:count]:
            connection.request(method, path, body)
        for connection in self.connections[:count]:
            if (reply := read_reply(connection)).status >= 300:
                raise Failure(f"{method} {path}: {reply.status} {reply.body}")


def add_waiting_jobs(daemon: Daemon, jobs: int, cores: int) -> None:
    """One job of one core runs, the first in the queue wants the whole machine, and all others wait for it."""
    daemon.submit("sleep", "100000")
    daemon.submit("true", min=cores)
    spec = json.dumps(daemon.spec("true", min=2, max=8)).encode()
    pipeline = Pipeline(daemon.socket)
    for begin in range(0, jobs, PIPELINE):
        pipeline.send("POST", "/v1/jobs", spec, min(PIPELINE, jobs - begin))


def add_ended_jobs(daemon: Daemon, count: int) -> None:
    """elasticd is not running afterwards."""
    daemon.wait_end(daemon.submit("true"))
    daemon.stop()
    make_history(daemon, count)


def start_with_ended_jobs(daemons: Sequence[Daemon], count: int) -> None:
    """Until each has read so many."""
    for daemon in daemons:
        daemon.start()
    for daemon in daemons:
        wait_for_history(daemon, count)


def wait_for_history(daemon: Daemon, count: int) -> None:
    deadline = time.monotonic() + 600
    while daemon.get("/v1/report").body["jobs"] < count:
        if time.monotonic() > deadline:
            raise Failure(f"elasticd has not read {count} ended jobs in 600 s")
        time.sleep(0.2)


# ---- clients ---------------------------------------------------------------------------------------


def paths(last: int, now_ms: int) -> list[str]:
    return [
        "/v1/version", "/v1/summary", "/v1/jobs?order=queue&limit=500", f"/v1/jobs/{last}", "/v1/report", "/v1/report?by=user",
        f"/v1/timeline?groups=64&columns=240&from_ms={now_ms - 300000}", "/v1/timeline?first=n0&last=n2&limit=4000",
        "/v1/nodes?state=down,drained,draining&limit=200", "/v1/nodes?first=n0&last=n2", "/v1/records?since=-100&limit=100", "/metrics",
    ]  # fmt: skip


def query(connection: UnixConnection, path: str) -> Reply:
    connection.request("GET", path)
    reply = read_reply(connection)
    if reply.status != 200:
        raise Failure(f"{path}: {reply.status} {reply.body}")
    return reply


def write(socket_path: Path, first: int, rate: int, sent: ctypes.c_long) -> None:
    """Names one job after the other, at the rate: an event each, and a decision."""
    pipeline = Pipeline(socket_path)
    begin = time.monotonic()
    while True:
        late = int((time.monotonic() - begin) * rate) - sent.value
        if late < 8:
            time.sleep(0.002)
            continue
        count = min(late, PIPELINE)
        body = json.dumps({"priority": 0, "name": f"n{sent.value}"}).encode()
        pipeline.send("POST", f"/v1/jobs/{first + sent.value % 1000}/update", body, count)
        sent.value += count


def read_again(socket_path: Path, queried: list[str], pause_s: float) -> None:
    """One path after the other, again and again."""
    connection = UnixConnection(socket_path)
    while True:
        for path in queried:
            query(connection, path)
            time.sleep(pause_s)


def read_slowly(socket_path: Path, count: int) -> None:
    """Long answers, one after the other, of which each connection takes 4 KiB ten times a second.  elasticd disconnects who
    has too much under way; such a client connects again after RECONNECT_S.  As another user, if there is one: limits of
    connections and bytes are for each user."""
    if os.getuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    requests = ["/v1/jobs?all=true&limit=10000", "/v1/records?limit=10000", "/v1/timeline?from_ms=0", "/v1/nodes"]
    held: list[socket.socket | None] = [None] * count
    due = [0.0] * count
    while True:
        for number, connection in enumerate(held):
            if connection is None and time.monotonic() < due[number]:
                continue
            try:
                if connection is None:
                    connection = held[number] = socket.socket(socket.AF_UNIX)
                    connection.setblocking(False)
                    connection.connect(str(socket_path))
                    path = requests[number % len(requests)]
                    connection.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 4)
                elif not connection.recv(4096):
                    raise ConnectionResetError
            except BlockingIOError:
                continue
            except OSError:
                if connection:
                    connection.close()
                held[number], due[number] = None, time.monotonic() + RECONNECT_S
        time.sleep(0.1)


# ---- the loop --------------------------------------------------------------------------------------


class Turns:
    """The turns of elasticd's loop since this was made: how many took how long, of the processor's time."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.before, self.longest_before_s = self.counts(), longest_turn(daemon)

    def counts(self) -> dict[float, int]:
        text = query(UnixConnection(self.daemon.socket), "/metrics").body
        return {float(bound): int(count) for bound, count in re.findall(r'elasticd_turn_seconds_bucket{le="([^"]+)"} (\d+)', text)}

    def since(self) -> dict[float, int]:
        return {bound: count - self.before[bound] for bound, count in self.counts().items()}

    def longer_than(self, limit_ms: float) -> int:
        """Turns that surely were: elasticd counts them in steps."""
        counts = self.since()
        return counts[math.inf] - counts[min(bound for bound in counts if bound * 1000 >= limit_ms)]

    def longest_ms(self) -> float:
        """Exactly, if no turn before was longer; else at most so much."""
        longest_s = longest_turn(self.daemon)
        if longest_s == self.longest_before_s:
            counts = self.since()
            longest_s = min(longest_s, *(bound for bound, count in counts.items() if count == counts[math.inf]))
        return longest_s * 1000

    def describe(self) -> str:
        return f"longest turn of the loop at most {self.longest_ms():.1f} ms of the processor's time, of {self.since()[math.inf]}"

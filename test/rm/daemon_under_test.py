"""A real elasticd with a folder of its own, and its interface for tests.  Nothing outlives a test: the bench ends all
that it started."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import http.client
import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from support import procfs
from support.checks import WAIT_S, Failure, Skip, expect, wait_for

HERE = Path(__file__).resolve().parent


@dataclasses.dataclass
class Programs:
    elasticd: Path
    stepd: Path
    mpiexec: Path
    mpi: Path | None


def find_programs(folder: Path, mpi: Path | None) -> Programs:
    folder = folder.resolve()
    stepd = [folder / "elastic-stepd", folder.parent / "libexec/elastic-mpich/elastic-stepd"]
    return Programs(
        folder / "elasticd",
        next((path for path in stepd if path.exists()), stepd[0]),
        mpi.resolve() / "bin/mpiexec" if mpi else HERE / "fake_mpiexec",
        mpi.resolve() if mpi else None,
    )


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path, timeout: float = WAIT_S) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        # Test folders may be deeper than a socket's address allows.
        folder = os.open(self.path.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/{self.path.name}")
        finally:
            os.close(folder)


@dataclasses.dataclass
class Reply:
    status: int
    body: Any
    headers: dict[str, str]

    def error(self) -> str:
        return self.body.get("error", {}).get("code", "") if isinstance(self.body, dict) else ""


class Daemon:
    """One elasticd; it may be killed and started again on the same store."""

    def __init__(self, programs: Programs, folder: Path, options: list[str], config: str) -> None:
        self.programs, self.folder, self.options = programs, folder, options
        self.state = folder / "state"
        self.socket = folder / "d" / "elasticd.sock"
        self.log = folder / "elasticd.log"
        self.config = folder / "elasticd.toml"
        self.config.write_text(config)
        self.process: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        return [
            str(self.programs.elasticd),
            f"--config={self.config}",
            f"--state-dir={self.state}",
            f"--socket={self.socket}",
            f"--mpiexec={self.programs.mpiexec}",
            f"--stepd={self.programs.stepd}",
            *self.options,
        ]

    def start(self) -> Daemon:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for("elasticd to answer", self.answers)
        return self

    def answers(self) -> bool:
        expect(self.process and self.process.poll() is None, "elasticd has ended instead of starting")
        try:
            return self.get("/healthz").status == 200
        except OSError:
            return False

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        assert self.process
        self.process.terminate()
        return self.process.wait(timeout=WAIT_S)

    def request(self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None) -> Reply:
        connection = UnixConnection(self.socket)
        try:
            data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
            connection.request(method, path, data, headers or {})
            return read_reply(connection)
        finally:
            connection.close()

    def get(self, path: str, **query: object) -> Reply:
        return self.request("GET", path + ("?" + urlencode(query) if query else ""))

    def post(self, path: str, **body: object) -> Reply:
        return self.request("POST", path, body)

    # ---- jobs

    def spec(self, *command: str, **fields: object) -> dict[str, object]:
        spec: dict[str, object] = {
            "command": list(command),
            "directory": str(self.folder),
            "environment": {"PATH": os.environ["PATH"], "HOME": str(self.folder), "TMPDIR": "/tmp"},
        }
        return spec | fields

    def submit(self, *command: str, **fields: object) -> int:
        reply = self.request("POST", "/v1/jobs", self.spec(*command, **fields))
        expect(reply.status in (200, 201), f"a submission was answered with {reply.status}: {reply.body}")
        return reply.body["job"]["id"]

    def job(self, number: int) -> dict[str, Any]:
        reply = self.get(f"/v1/jobs/{number}")
        expect(reply.status == 200, f"job {number}: {reply.status} {reply.body}")
        return reply.body["job"]

    def wait_state(self, number: int, *states: str) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            job = self.job(number)
            return job if job["state"] in states else None

        try:
            return wait_for(f"job {number} to be {' or '.join(states)}", reached)
        except Failure as failure:
            raise Failure(f"{failure}; it is {json.dumps(self.job(number))}") from None

    def wait_end(self, number: int) -> dict[str, Any]:
        return self.wait_state(number, "DONE", "FAILED", "CANCELLED")

    def records(self, **query: object) -> list[dict[str, Any]]:
        return self.get("/v1/records", limit=10000, **query).body["records"]


def read_reply(connection: http.client.HTTPConnection) -> Reply:
    response = connection.getresponse()
    text = response.read()
    is_json = response.headers.get("Content-Type", "").startswith("application/json")
    return Reply(response.status, json.loads(text) if is_json and text else text.decode(), dict(response.headers))


class HangingFolder:
    """A folder in which every file access hangs, as on a failed server: a FUSE file system without a server process."""

    def __init__(self, path: Path) -> None:
        self.path, self.device = path, -1
        self.libc = ctypes.CDLL(None, use_errno=True)

    def __enter__(self) -> Path:
        self.path.mkdir()
        try:
            self.device = os.open("/dev/fuse", os.O_RDWR)
        except OSError as error:
            raise Skip(f"needs /dev/fuse: {error}") from None
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        if self.libc.mount(b"none", os.fsencode(self.path), b"fuse", 0, options) != 0:
            os.close(self.device)
            raise Skip(f"cannot mount: {os.strerror(ctypes.get_errno())}")
        return self.path

    def __exit__(self, *_: object) -> None:
        self.libc.umount2(os.fsencode(self.path), 2)
        os.close(self.device)  # who still hangs gets an error now


class ControlGroup:
    """A control group (cgroup v2) of our own."""

    def __init__(self, mount: Path) -> None:
        self.mount, self.path = mount, mount / f"elastic-test-{os.getpid()}"
        self.libc = ctypes.CDLL(None, use_errno=True)

    def __enter__(self) -> Path:
        self.mount.mkdir()
        if self.libc.mount(b"none", os.fsencode(self.mount), b"cgroup2", 0, None) != 0:
            raise Skip(f"cannot mount cgroup2: {os.strerror(ctypes.get_errno())}")
        self.path.mkdir()
        return self.path

    def __exit__(self, *_: object) -> None:
        for group in sorted(self.path.rglob("*/"), reverse=True):
            group.rmdir()
        self.path.rmdir()
        self.libc.umount2(os.fsencode(self.mount), 2)


def processes_of(folder: Path) -> list[int]:
    """Processes whose command line or working directory names the folder, or something in it."""
    named = re.compile(re.escape(str(folder)) + r"(?![\w.-])")  # not mixture-10 for mixture-1
    found = []
    for pid in procfs.pids():
        with contextlib.suppress(OSError):
            if pid != os.getpid() and named.search("\0".join([*procfs.words(pid), os.readlink(f"/proc/{pid}/cwd")])):
                found.append(pid)
    return found


class Bench:
    """The objects of one test: its folder, its daemons."""

    def __init__(self, programs: Programs, folder: Path, full: bool, seed: int, patience: float = 1.0) -> None:
        self.programs, self.folder, self.full, self.seed = programs, folder, full, seed
        self.patience = patience  # a factor on times, on a machine that runs other tests, too
        self.daemons: list[Daemon] = []

    def daemon(self, *options: str, config: str = "", name: str = "one", nodes: int = 4, cores: int = 4) -> Daemon:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        sizes = [f"--nodes={nodes}", f"--cores={cores}"]
        daemon = Daemon(self.programs, folder, [*sizes, *options], config)
        self.daemons.append(daemon)
        return daemon

    def start(self, *options: str, **named: Any) -> Daemon:
        return self.daemon(*options, **named).start()

    def needs_mpi(self) -> Path:
        if not self.programs.mpi:
            raise Skip("needs an installed Elastic MPICH (--mpi)")
        return self.programs.mpi

    def finish(self) -> None:
        """A test that passed leaves no process, no folder of a step, and no socket."""
        for daemon in self.daemons:
            if daemon.process and daemon.process.poll() is None:
                expect(daemon.stop() == 0, "elasticd did not end with 0 at SIGTERM")
                expect(not daemon.socket.exists(), "the socket is still there after elasticd has stopped")
        rest = wait_for_none(lambda: processes_of(self.folder))
        expect(not rest, f"processes are left: {rest}")
        steps = [path for path in self.folder.glob("*/state/steps/*")]
        expect(not steps, f"folders of steps are left: {steps}")

    def logs(self) -> str:
        return "\n".join(daemon.log.read_text()[-4000:] for daemon in self.daemons if daemon.log.exists())

    def clean(self) -> None:
        for daemon in self.daemons:
            if daemon.process and daemon.process.poll() is None:
                daemon.kill()
        for pid in processes_of(self.folder):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass


def wait_for_none(list_them: Callable[[], list[int]], limit_s: float = 60) -> list[int]:
    try:
        wait_for("the end", lambda: not list_them(), limit_s)
    except Failure:
        return list_them()
    return []


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def configurations_are_refused(bench: Bench, cases: dict[str, str]) -> None:
    """For each text of a configuration: the error of elasticd, when it checks it and when it is to start with it."""
    daemon = bench.daemon()
    options: list[list[str]] = [["--check-config"], []]
    for config, wanted in cases.items():
        daemon.config.write_text(config)
        for more in options:
            done = subprocess.run([*daemon.command(), *more], capture_output=True, text=True, check=False, timeout=WAIT_S)
            expect(done.returncode == 1 and wanted in done.stderr, f"{config} {more}: {done}")

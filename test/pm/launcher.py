"""mpiexec, its proxies and the adapt board, without libmpi: the common part of all tests of this folder."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
    """Inodes of the descriptors that it has open, without those that it closes meanwhile."""
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
            reported = self.log.read_text().splitlines()[-8:] if self.log.exists() else []
            raise Failure("\n".join([f"mpiexec has not ended after {LIMIT_S} s", *reported])) from expired
        return Result(job.returncode, out or "", err or "")

    def run(self, *args: object, **options: Any) -> Result:
        return self.finish(self.start(*args, **options))

    def adapt(self, *args: object, words: Sequence[object] = (), hosts: str = "") -> Result:
        """A job of test processes with a log."""
        launcher = ["-launcher", "ssh", "-launcher-exec", self.ssh, "-hosts", hosts] if hosts else []
        return self.run(*launcher, "--adapt-log", self.log, *args, program=[self.process, *words])

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
        expect(not list(self.runtime.glob("*/*")), "a socket is left over")

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


def expect_ok(bench: Bench, result: Result, sizes: list[int]) -> None:
    expect(result.code == 0, f"exit code {result.code}: {result.err.strip()}")
    expect(bench.sizes() == sizes, f"sizes {bench.sizes()}, expected {sizes}; {result.err.strip()}")
    bench.expect_nothing_left()


def compile_c(text: str, output: Path, *more: str) -> None:
    subprocess.run(["cc", "-xc", "-", "-xnone", *more, "-o", str(output)], input=text, text=True, check=True)


# ---- the tree of proxies ---------------------------------------------------------------------

HOSTS = ",".join(f"host{i}" for i in range(12))


# ---- signals to end ---------------------------------------------------------------------------------

END_S = 30  # to end in, on a loaded machine; what never ends takes longer


def finish_soon(bench: Bench, job: subprocess.Popen[str]) -> Result:
    return finish_all_soon(bench, [job])[0]


def finish_all_soon(bench: Bench, jobs: list[subprocess.Popen[str]]) -> list[Result]:
    """Jobs that run at the same time, so that their waiting times overlap."""
    results = []
    for job in jobs:
        try:
            out, err = job.communicate(timeout=END_S)
        except subprocess.TimeoutExpired as expired:
            raise Failure(f"it has not ended {END_S} s after it was signalled") from expired
        results.append(Result(job.returncode, out or "", err or ""))
    bench.expect_nothing_left()
    return results


def query_step(bench: Bench, line: str) -> object:
    """An answer of the step socket, which must not take long."""
    path = wait_for("the step socket", lambda: next(bench.runtime.glob("*/step-*.sock"), None))
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(str(path))
        client.sendall(line.encode() + b"\n")
        with client.makefile() as answers:
            return json.loads(answers.readline())


# ---- unauthenticated clients, and nothing left to take them in -------------------------------------------------


def ports_of(pid: int) -> list[int]:
    """TCP ports on which it listens."""
    inodes = inodes_of(pid)
    return [int(row[1].split(":")[1], 16) for row in procfs.tcp_rows() if row[3] == "0A" and int(row[9]) in inodes]


def start_slow_growth(bench: Bench, schedule: str = "2/hosts=slow1,1", probes: int = 2) -> tuple[subprocess.Popen[str], int]:
    """A growth onto a host that takes two seconds to start; the port on which mpiexec awaits its proxy."""
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa"]
    options = ["-n", 1, "--adapt-schedule", schedule, "--adapt-log", bench.log]
    job = bench.start(*launcher, *options, program=[bench.process, f"probes={probes}", "seconds=30"])
    wait_for("the launch", lambda: bench.events("launching"))
    wait_for("the port", lambda: ports_of(job.pid))
    return job, ports_of(job.pid)[-1]


def query(path: Path, operation: str) -> dict[str, object]:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(str(path))
        client.sendall(json.dumps({"op": operation}).encode() + b"\n")
        with client.makefile() as answer:
            return json.loads(answer.readline())

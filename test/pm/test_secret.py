"""The secret of the job: only its proxies may connect."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from launcher import Bench, Result, expect_ok
from support import procfs
from support.checks import Failure, expect, wait_for


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
    """Of a process group, as the command line of one of its proxies (or of its launcher) shows."""

    def poll() -> int | None:
        for pid in bench.processes():
            words = procfs.words(pid)
            if "--control-port" in words and words[words.index("--pgid") + 1] == str(group):
                return int(words[words.index("--control-port") + 1].rsplit(":", 1)[1])
        return None

    return wait_for("a proxy", poll, limit_s)


def expect_cut_off(port: int, printed: bytes) -> None:
    """Another program receives only the end of the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as other:
        other.sendall(printed)
        if len(printed) < 20:
            other.shutdown(socket.SHUT_WR)
        try:
            got = other.recv(65536)
        except ConnectionError:
            got = b""
        except TimeoutError as late:
            raise Failure(f"{printed!r} is left waiting") from late
    expect(got == b"", f"{printed!r} was answered: {got[:80]!r}")

STRANGERS = [number.to_bytes(4, sys.byteorder) + wrong for number in (0, 1) for wrong in (b"", bytes(16), b"x" * 16)]

STRANGERS += [b"", b"\0", b"\0\0\0"]


def expect_reported_once(result: Result) -> None:
    reported = [line for line in result.err.splitlines() if "did not have this job's secret" in line]
    expect(result.code == 0 and len(reported) == 1, f"exit code {result.code}, it prints: {result.err}")


@pytest.mark.load_sensitive  # the job runs for 3 s
def test_unauthenticated_connections_after_the_proxies(bench: Bench) -> None:
    """A connection with a proxy's id and without the secret is closed; adaptive and rigid jobs continue."""
    for words in (["seconds=3"], ["seconds=3", "mode=rigid"]):
        launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]
        job = bench.start(*launcher, "-n", 2, program=[bench.process, *words])
        port = control_port(bench)
        wait_for("the processes", lambda: len(bench.running(bench.process)) == 2)
        with contextlib.ExitStack() as silent:  # more than are stored
            for _ in range(80):
                silent.enter_context(socket.create_connection(("127.0.0.1", port)))
            for printed in STRANGERS:
                expect_cut_off(port, printed)
        expect_reported_once(bench.finish(job))
        bench.expect_nothing_left()


def test_unauthenticated_connections_before_the_proxies(bench: Bench) -> None:
    """A connection before that of the proxy, or at the same time, does not replace it: at launch and at a growth."""
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "slow1,slow2"]
    options = ["--adapt-schedule", "4/hosts=slow3+slow4", "--adapt-log", bench.log]
    job = bench.start(*launcher, "-n", 2, *options, program=[bench.process, "probes=1", "seconds=40"])
    with contextlib.ExitStack() as silent:
        for group in (0, 1):
            port = control_port(bench, group)
            for printed in STRANGERS:
                expect_cut_off(port, printed)
            for _ in range(80):
                silent.enter_context(socket.create_connection(("127.0.0.1", port)))
        result = bench.finish(job)
    expect_reported_once(result)
    expect_ok(bench, result, [4])
    expect(len(bench.events("stranger")) == 1, f"{len(bench.events('stranger'))} events")


def test_each_byte_of_the_secret_counts(bench: Bench) -> None:
    """A process that knows all but one byte of the secret does not replace a proxy."""
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
    expect_reported_once(bench.finish(job))


def test_secret_is_nowhere_to_be_read(bench: Bench) -> None:
    """It is sent to the launcher's standard input, and is in no command line and no environment."""
    bench.ssh.write_text(KEEPS_STDIN)
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]
    options = ["-v", "--adapt-schedule", "3", "--adapt-log", bench.log]
    job = bench.start(*launcher, *options, "-n", 2, program=[bench.process, "seconds=3"])
    wait_for("the adaptation", lambda: bench.events("committed"))
    given = {file.read_text().strip() for file in bench.folder.glob("given.*")}
    expect(len(given) == 1 and re.fullmatch("[0-9a-f]{64}", next(iter(given))), f"given: {given}")
    examined = 0
    for entry in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                text = (entry / name).read_bytes()
                examined += bool(text)
                expect(not any(secret.encode() in text for secret in given), f"it is in {entry / name}: {text!r}")
    expect(examined > 8, f"{examined} files seen")
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
    """An error states the reason and the remedy, and no process waits; the user's own file is the alternative."""
    deaf = bench.folder / "deaf"
    deaf.write_text(f'#!/bin/sh\nexec {bench.ssh} "$@" </dev/null\n')
    deaf.chmod(0o755)
    with_log: list[list[object]] = [[], ["--adapt-log", bench.log]]
    for options in with_log:
        launcher = ["-launcher", "ssh", "-launcher-exec", deaf, "-hosts", "aa,bb"]
        result = bench.run(*launcher, *options, "-n", 2, program=["/bin/true"])
        expect(result.code not in (0, None), f"exit code {result.code}: {result.err}")
        expect("has not received the job's secret" in result.err and "MPIEXEC_SECRET_FILE" in result.err, result.err)
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


def test_proxy_does_nothing_for_an_impostor(bench: Bench) -> None:
    """A process that listens instead of mpiexec, and receives the proxy's half of the secret, does not know the other
    one."""
    proxy = bench.mpiexec.parent / "hydra_pmi_proxy"
    with socket.create_server(("127.0.0.1", 0)) as impostor:
        words = ["--control-port", f"127.0.0.1:{impostor.getsockname()[1]}", "--launcher", "ssh", "--demux", "poll"]
        words += ["--pgid", "0", "--retries", "1", "--usize", "-2", "--pmi-port", "0", "--gpus-per-proc", "-2"]
        job = bench.start(*words, "--secret", "stdin", "--proxy-id", "0", mpiexec=proxy, program=[], stdin=subprocess.PIPE)
        assert job.stdin
        job.stdin.write("0123456789abcdef" * 2 + "fedcba9876543210" * 2 + "\n")
        job.stdin.flush()
        impostor.settimeout(20)
        with impostor.accept()[0] as connection:
            connection.settimeout(20)
            printed = b""
            while len(printed) < 20:
                printed += connection.recv(64)
            expect(printed == bytes(4) + bytes.fromhex("0123456789abcdef" * 2), f"the proxy sends {printed!r}")
            connection.sendall(printed[4:])
            result = bench.finish(job)
    expect(result.code != 0 and "is not this job's mpiexec" in result.err, f"{result.code}: {result.err}")

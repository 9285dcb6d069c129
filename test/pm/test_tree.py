"""The tree of proxies: commands and reports of many hosts."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from pathlib import Path

from launcher import HOSTS, Bench, children, expect_ok, inodes_of, query_step
from support import procfs
from support.checks import expect, wait_for


def links_between_proxies(bench: Bench) -> int:
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


def test_tree_of_proxies(bench: Bench) -> None:
    """Twelve proxies with a fan-out of two: four levels."""
    job = start_tree(bench, "12,9,12,2s:8", "probes=4", "seconds=60")
    wait_for("the third adaptation", lambda: len(bench.sizes()) == 3)
    links = links_between_proxies(bench)
    expect_ok(bench, bench.finish(job), [12, 9, 12, 8])
    expect(links >= 10, f"{links} connections between proxies")


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
    expect(links_between_proxies(bench) == 0, "proxies are connected")
    expect_ok(bench, bench.finish(job), [12, 8])


def free_ports(count: int) -> tuple[int, int]:
    """First and last of consecutive ports on which no process listens, and which the kernel assigns to no
    connection."""
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    while True:
        first = random.randrange(10000, max(low, 20000) - count)
        with contextlib.suppress(OSError), contextlib.ExitStack() as held:
            for port in range(first, first + count):
                held.enter_context(socket.socket()).bind(("", port))
            return first, first + count - 1


def test_tree_without_ports(bench: Bench) -> None:
    """Proxies that join find no port to listen on (mpiexec has two, the first proxies have seven): mpiexec sends to them directly."""
    first, last = free_ports(9)
    bench.extra["MPIEXEC_PORT_RANGE"] = f"{first}:{last}"
    result = bench.finish(start_tree(bench, "0.5s:12,9", "probes=2", "seconds=60"))
    expect_ok(bench, result, [12, 9])


def test_no_port_for_a_launch(bench: Bench) -> None:
    """mpiexec has the ports of the launch alone: a growth fails, with the reason, and the job continues."""
    first, last = free_ports(2)
    bench.extra["MPIEXEC_PORT_RANGE"] = f"{first}:{last}"
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]
    options = ["-n", 1, "--adapt-log", bench.log]
    job = bench.start(*launcher, *options, program=[bench.process, "probes=1", "seconds=60"])
    wait_for("the step", lambda: bench.events("adaptive"))
    with contextlib.ExitStack() as held:
        for port in range(first, last + 1):
            with contextlib.suppress(OSError):  # mpiexec's, or the proxy's
                listener = held.enter_context(socket.socket())
                listener.bind(("", port))
                listener.listen()
        query_step(bench, '{"op":"resize","size":2}')
        wait_for("the failure", lambda: bench.events("failed"))
    expect("no free port" in str(bench.events("failed")[0]["reason"]), f"{bench.events('failed')}")
    query_step(bench, '{"op":"resize","size":2}')
    expect_ok(bench, bench.finish(job), [2])


def test_tree_loses_proxies(bench: Bench) -> None:
    """A proxy is killed while it forwards commands: the job continues, or ends because of it; no process waits for
    ever."""
    for round_number in range(8):
        bench.log.unlink(missing_ok=True)
        job = start_tree(bench, "0.3s:12,9", "probes=1", "seconds=50")
        wait_for("the launch", lambda: bench.events("launching"))
        time.sleep(random.uniform(0, 0.1))
        proxies = children(job.pid)
        struck = random.randrange(max(len(proxies), 1))
        with contextlib.suppress(ProcessLookupError, IndexError):  # all may be over
            os.kill(int(proxies[struck]), signal.SIGKILL)
        result = bench.finish(job)
        reported = f"round {round_number}, proxy {struck}: exit code {result.code}, {bench.sizes()}: {result.err}"
        if result.code == 0:
            expect(bench.sizes() in ([9], [12]), reported)
        else:
            expect("is lost" in result.err or "was lost" in result.err, reported)
        bench.expect_nothing_left()

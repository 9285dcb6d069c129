"""Limits of descriptors, processes and file sizes."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import subprocess
import time
from collections.abc import Callable, Iterator

from launcher import LIMIT_S, Bench, children, expect_ok, query_step, start_slow_growth
from support import procfs
from support.checks import expect, wait_for


@contextlib.contextmanager
def no_descriptors(job: subprocess.Popen[str], connect: Callable[[], socket.socket]) -> Iterator[None]:
    """Other programs occupy all descriptors that mpiexec may still open, and more connections wait to be accepted."""
    usual = resource.prlimit(job.pid, resource.RLIMIT_NOFILE)
    highest = max(procfs.descriptors(job.pid))
    resource.prlimit(job.pid, resource.RLIMIT_NOFILE, (highest + 2, usual[1]))
    with contextlib.ExitStack() as connections:
        for _ in range(highest):
            connections.enter_context(connect())
        used_s = procfs.cpu_s(job.pid)
        time.sleep(1)
        expect(procfs.cpu_s(job.pid) - used_s < 0.1, "mpiexec spins")
        yield
    resource.prlimit(job.pid, resource.RLIMIT_NOFILE, usual)


def test_no_descriptor_for_a_proxy(bench: Bench) -> None:
    """The growth waits for a descriptor; it is given up in time; the job continues, and grows when descriptors are
    free."""
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
    expect(query_step(bench, '{"id":1,"op":"status"}'), "no answer when there are descriptors again")
    expect(bench.finish(job).code == 0, "the job suffered")


def gaps(numbers: set[int]) -> set[int]:
    return set(range(max(numbers))) - numbers


def few_descriptors(bench: Bench, hosts: str, *launcher: object) -> None:
    """A job is requested to grow by two processes while mpiexec can open so many files more, from none to all that it needs."""
    extra = ["-hosts", hosts] if hosts else []
    program = [bench.process, "probes=2", "seconds=60"]
    job = bench.start(*launcher, *extra, "-n", 1, "--adapt-log", bench.log, program=program)
    path = wait_for("the step socket", lambda: next(bench.runtime.glob("*/step-*.sock"), None))
    wait_for("the step", lambda: '"adaptive"' in json.dumps(query_step(bench, '{"id":1,"op":"status"}')))
    usual = resource.prlimit(job.pid, resource.RLIMIT_NOFILE)
    with contextlib.ExitStack() as clients:

        def connect() -> Callable[[object], str]:
            """A client that queries and receives."""
            client = clients.enter_context(socket.socket(socket.AF_UNIX))
            client.settimeout(LIMIT_S)
            client.connect(str(path))
            answers = clients.enter_context(client.makefile())

            def query(operation: object) -> str:
                client.sendall(json.dumps(operation).encode() + b"\n")
                return answers.readline()

            expect(query({"op": "status"}), "no answer")
            return query

        query = [connect() for _ in range(40)][0]  # a process more takes up to 44 files at once, or is refused

        def has_no_gaps() -> bool:
            connect()
            return not gaps(procfs.descriptors(job.pid))

        wait_for("the end of an earlier client", has_no_gaps)
        opened = len(procfs.descriptors(job.pid))
        for more in range(40):
            resource.prlimit(job.pid, resource.RLIMIT_NOFILE, (opened + more, usual[1]))
            query({"op": "resize", "size": 3})
            resource.prlimit(job.pid, resource.RLIMIT_NOFILE, usual)
            expect(job.poll() is None, f"mpiexec has ended, with {more} files: {job.returncode}")
            wait_for(
                f"the end of what was opened in vain, with {more} files",
                lambda: bench.sizes() or procfs.descriptors(job.pid) == set(range(opened)),
                30,
            )
            if bench.sizes():
                break
        query({"op": "resize", "size": 1})
    result = bench.finish(job)
    expect_ok(bench, result, [3, 1])


def test_few_descriptors_for_a_launch(bench: Bench) -> None:
    few_descriptors(bench, "aa,bb,cc", "-launcher", "ssh", "-launcher-exec", bench.ssh)


def test_few_descriptors_for_a_local_launch(bench: Bench) -> None:
    few_descriptors(bench, "")


def test_few_descriptors_for_a_proxy(bench: Bench) -> None:
    """The proxies of the processes that stay, among them the root of the tree, can open few files more, or none."""
    bench.extra["MPIEXEC_ADAPT_FANOUT"] = "2"
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb,cc,dd,ee,ff,gg"]
    program = [bench.process, "probes=10", "seconds=100"]
    job = bench.start(*launcher, "-n", 2, "--adapt-log", bench.log, program=program)
    wait_for("the step", lambda: bench.events("adaptive"))
    for more in range(5):
        for proxy in map(int, children(job.pid)):
            usual = resource.prlimit(proxy, resource.RLIMIT_NOFILE)
            resource.prlimit(proxy, resource.RLIMIT_NOFILE, (len(procfs.descriptors(proxy)) + more, usual[1]))
        for size in (7, 2):
            over = len(bench.sizes())
            query_step(bench, json.dumps({"op": "resize", "size": size}))
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
    query_step(bench, '{"id":1,"op":"resize","size":3}')
    wait_for("the failure", lambda: bench.events("failed"))
    limit.unlink()
    wait_for("the end of what was started in vain", lambda: len(procfs.descriptors(job.pid)) <= opened)
    expect(len(children(job.pid)) == 1, f"children of mpiexec: {children(job.pid, 'args')}")
    for size in (3, 1):
        query_step(bench, json.dumps({"id": 1, "op": "resize", "size": size}))
        wait_for("the change", lambda: bench.sizes()[-1:] == [size])
    expect_ok(bench, bench.finish(job), [3, 1])


def test_no_process_for_a_launch(bench: Bench) -> None:
    few_processes(bench, 0)


def test_no_process_for_the_second_host(bench: Bench) -> None:
    few_processes(bench, 1)


# ---- the limit of a file's length ------------------------------------------------------------------


def test_no_file_may_be_written(bench: Bench) -> None:
    """As under stock; adaptations, which need files, are not offered."""
    limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))}
    result = bench.run("-n", 2, program=["/bin/echo", "done"], **limits)
    expect((result.code, result.out) == (0, "done\ndone\n"), f"{result}")
    expect("no adaptations: unable to create the adapt board (File too large)" in result.err, result.err)


def test_files_may_not_grow(bench: Bench) -> None:
    """If there is no space for a plan, or for the log, the job continues."""
    job = bench.start("-n", 2, "--adapt-log", bench.log, program=[bench.process, "probes=2", "seconds=60"])
    wait_for("the step", lambda: bench.events("adaptive"))
    proxy = int(children(job.pid)[0])
    usual = resource.prlimit(proxy, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    query_step(bench, '{"op":"resize","size":3}')
    wait_for("the end of the change", lambda: bench.events("withdrawn"))
    expect("cannot store the plan (File too large)" in str(bench.events("withdrawn")[0]["reason"]), str(bench.events("withdrawn")))
    resource.prlimit(proxy, resource.RLIMIT_FSIZE, usual)
    query_step(bench, '{"op":"resize","size":3}')
    wait_for("the change", lambda: bench.sizes() == [3])
    resource.prlimit(job.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    query_step(bench, '{"op":"resize","size":2}')
    result = bench.finish(job)
    expect(result.code == 0 and "the log ends here" in result.err, f"exit code {result.code}: {result.err}")
    bench.expect_nothing_left()

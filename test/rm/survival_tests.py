"""A reboot, a faulty node, a full disk, or an error of the user: no job is missing, and elasticd continues."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from daemon_under_test import Bench, Daemon, Skip, UnixConnection, expect, read_reply, wait_for
from hostile_tests import BAD, GOOD, run_as, two_users


def stepd_of(daemon: Daemon, number: int) -> int:
    (folder,) = (daemon.state / "steps").glob(f"{number}.*")
    return json.loads((folder / "stepd.json").read_text())["stepd_pid"]


def a_node_that_is_shut_down_requeues_its_jobs(bench: Bench) -> None:
    """elastic-stepd gets SIGTERM, as at a reboot: however the program takes it, and with elasticd there or not."""
    daemon = bench.start(config='[scheduling]\nstart_pause = "10ms"\n')
    good = "#!/bin/sh\ntrap 'exit 0' TERM\nsleep 1000 & wait\n"
    jobs = [daemon.submit("s", script=good, requeue=True), daemon.submit("sleep", "1000", requeue=True), daemon.submit("s", script=good)]
    for number in jobs:
        daemon.wait_state(number, "RUNNING")
        wait_for("the step's file", lambda: list((daemon.state / "steps").glob(f"{number}.*/stepd.json")))
    time.sleep(0.5)  # the shell has set its trap
    for number in jobs:
        os.kill(stepd_of(daemon, number), signal.SIGTERM)
    for number in jobs[:2]:
        wait_for(f"job {number} to run again", lambda: daemon.job(number)["step"] == 2)
        reasons = [record["data"].get("reason", "") for record in daemon.records(job=number) if record["event"] == "requeued"]
        expect(reasons == ["the step is lost: its node was shut down in order"], f"the record of job {number}: {reasons}")
    job = daemon.wait_end(jobs[2])
    expect(job["state"] == "FAILED" and "shut down in order" in job["reason"], f"without requeue: {job}")
    for number in jobs[:2]:
        daemon.wait_state(number, "RUNNING")
        wait_for("the step's file", lambda: list((daemon.state / "steps").glob(f"{number}.2/stepd.json")))
    stepd = stepd_of(daemon, jobs[1])
    daemon.kill()
    os.kill(stepd, signal.SIGTERM)
    wait_for("elastic-stepd to end", lambda: not Path(f"/proc/{stepd}").exists() or "Z" in Path(f"/proc/{stepd}/stat").read_text())
    daemon.start()
    wait_for("the job to run again", lambda: daemon.job(jobs[1])["step"] == 3)
    for number in jobs[:2]:
        daemon.post(f"/v1/jobs/{number}/cancel")
        daemon.wait_end(number)


def a_node_that_starts_nothing_is_drained(bench: Bench) -> None:
    """elastic-stepd is missing: the queue waits instead of becoming FAILED, and continues when the program exists
    again."""
    stepd = bench.folder / "elastic-stepd"
    daemon = bench.daemon(nodes=2, cores=2, config='[scheduling]\nstart_pause = "100ms"\n')
    daemon.options.append(f"--stepd={stepd}")
    daemon.start()
    jobs = [daemon.submit("true") for _ in range(6)]

    def drained() -> bool:
        nodes = daemon.get("/v1/nodes").body["nodes"]
        return all(node["state"] == "drained" and "3 steps could not be started" in node["reason"] for node in nodes)

    wait_for("both nodes to be drained", drained)
    states = {daemon.job(number)["state"] for number in jobs}
    expect(states == {"PENDING"}, f"the queue waits: {states}")
    expect(any("could not be started on node n" in record["data"].get("reason", "") for record in daemon.records()), "the record states it")
    stepd.symlink_to(bench.programs.stepd)
    for node in ("n0", "n1"):
        expect(daemon.post(f"/v1/nodes/{node}/resume").status == 200, "resumed")
    for number in jobs:
        expect(daemon.wait_end(number)["state"] == "DONE", "it is run when the node is well again")


def a_program_gets_no_descriptors_and_no_secrets(bench: Bench) -> None:
    """Of elasticd's parent, of elasticd and of elastic-stepd; files of a step are the user's alone; groups are those of now."""
    daemon, work = two_users(bench)
    daemon.stop()
    leak = os.open("/etc/passwd", os.O_RDONLY)
    os.set_inheritable(leak, True)
    try:
        import subprocess

        with daemon.log.open("ab") as log:
            daemon.process = subprocess.Popen(daemon.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, close_fds=False)
        wait_for("elasticd to answer", daemon.answers)
        script = "#!/bin/sh\nls /proc/self/fd > fds\nid -G > groups\nulimit -n > limit\nsleep 1000\n"
        spec = daemon.spec("s", script=script) | {"directory": str(work)}
        number = run_as(GOOD, lambda: daemon.request("POST", "/v1/jobs", spec).body["job"]["id"])
        wait_for("the program to read it", (work / "limit").exists)
        time.sleep(0.2)
        fds = (work / "fds").read_text().split()
        expect(fds == ["0", "1", "2", "3"], f"descriptors of the program (3 is the folder that ls reads): {fds}")
        expect((work / "groups").read_text().split() == [str(each) for each in sorted(os.getgrouplist("daemon", GOOD))], "its groups")
        (folder,) = (daemon.state / "steps").glob(f"{number}.*")
        for name in ("hosts", "script"):
            status = (folder / name).stat()
            expect(stat.S_IMODE(status.st_mode) & 0o077 == 0 and status.st_uid == GOOD, f"{name}: {status}")
        daemon.post(f"/v1/jobs/{number}/cancel")
        daemon.wait_end(number)
    finally:
        os.close(leak)


def a_hold_of_an_administrator_stays(bench: Bench) -> None:
    daemon, work = two_users(bench)
    spec = daemon.spec("true", held=True) | {"directory": str(work)}
    number = run_as(GOOD, lambda: daemon.request("POST", "/v1/jobs", spec).body["job"]["id"])
    expect(daemon.post(f"/v1/jobs/{number}/hold").status == 200, "held by root")
    reply = run_as(GOOD, lambda: vars(daemon.post(f"/v1/jobs/{number}/release")))
    expect(reply["status"] == 409 and "administrator" in reply["body"]["error"]["message"], f"released by its user: {reply}")
    expect(daemon.job(number)["reason"] == "held by an administrator", "the reason")
    expect(daemon.post(f"/v1/jobs/{number}/release").status == 200, "released by root")
    daemon.wait_end(number)


@contextmanager
def small_disk(path: Path, megabytes: int, files: int = 1000000) -> Iterator[Path]:
    libc = ctypes.CDLL(None, use_errno=True)
    path.mkdir()
    if libc.mount(b"none", os.fsencode(path), b"tmpfs", 0, f"size={megabytes}m,nr_inodes={files},mode=755".encode()) != 0:
        raise Skip(f"cannot mount: {os.strerror(ctypes.get_errno())}")
    try:
        yield path
    finally:
        libc.umount2(os.fsencode(path), 2)


def fill(disk: Path) -> None:
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(b"x" * 65536)


def a_full_disk_stops_submissions_alone(bench: Bench) -> None:
    if os.getuid() != 0:
        raise Skip("needs root: to mount a small disk")
    with small_disk(bench.folder / "disk", 64) as disk:
        daemon = bench.daemon(config="[history]\ndisk_reserve = 8000000\n")
        daemon.state = disk / "state"
        daemon.start()
        expect((daemon.state / "reserve").stat().st_size == 8000000, "the reserve")
        ends = bench.folder / "ends"
        running = [daemon.submit("sh", "-c", f"until [ -e {ends} ]; do sleep 0.1; done") for _ in range(3)]
        waiting = daemon.submit("true", held=True)
        for number in running:
            daemon.wait_state(number, "RUNNING")
        fill(disk)

        def refused() -> Any:
            reply = daemon.request("POST", "/v1/jobs", daemon.spec("true", script="#!/bin/sh\n" + "#" * 100000, held=True))
            return reply if reply.status != 201 else None

        reply = wait_for("a submission to be refused", refused)
        expect(reply.status == 503 and reply.error() == "storage" and "disk" in reply.body["error"]["message"], f"it reports it: {reply}")
        expect(daemon.get("/healthz").status == 503, "and so does the health")
        ends.touch()
        for number in running:
            expect(daemon.wait_end(number)["state"] == "DONE", "jobs end")
        expect(daemon.post(f"/v1/jobs/{waiting}/release").status == 200, "a job can be released")
        expect(daemon.wait_end(waiting)["state"] in ("DONE", "FAILED"), "and is scheduled")
        (disk / "filler").unlink()
        wait_for("submissions to be accepted again", lambda: daemon.get("/healthz").status == 200)
        daemon.wait_end(daemon.submit("true"))
        for job in daemon.get("/v1/jobs").body["jobs"]:
            daemon.post(f"/v1/jobs/{job['id']}/cancel")
        expect(daemon.stop() == 0, "elasticd ends")


def scripts_of_starting_jobs_leave_the_reserve(bench: Bench) -> None:
    """Jobs with large scripts start on a full disk: ends and cancellations of others are stored, and no node is drained."""
    if os.getuid() != 0:
        raise Skip("needs root: to mount a small disk")
    with small_disk(bench.folder / "disk", 64) as disk:
        daemon = bench.daemon(config="[history]\ndisk_reserve = 8000000\n")
        daemon.state = disk / "state"
        daemon.start()
        script = "#!/bin/sh\n" + "#" * 2000000 + "\nsleep 1000\n"
        large = [daemon.submit("large", script=script, held=True) for _ in range(6)]
        running = [daemon.submit("sleep", "1000") for _ in range(2)]
        for number in running:
            daemon.wait_state(number, "RUNNING")
        fill(disk)
        for number in large:
            daemon.post(f"/v1/jobs/{number}/release")
        wait_for("a step to wait for space", lambda: "waits for space" in daemon.log.read_text())
        cause = "elasticd cannot start jobs now, and will try again: the disk of its store is full"
        reasons = [job["reason"] for number in large if (job := daemon.job(number))["state"] == "PENDING"]
        expect(reasons and set(reasons) == {cause}, f"the reason: {reasons}")
        for number in running:
            reply = daemon.post(f"/v1/jobs/{number}/cancel")
            expect(reply.status == 200, f"a cancellation on a full disk: {reply}")
            expect(daemon.wait_end(number)["state"] == "CANCELLED", "it ends")
        nodes = daemon.get("/v1/nodes").body["nodes"]
        expect(all(node["state"] == "up" for node in nodes), f"no node is to blame: {nodes}")
        (disk / "filler").unlink()
        for number in large[:4]:
            daemon.wait_state(number, "RUNNING")
        for number in large:
            daemon.post(f"/v1/jobs/{number}/cancel")
        for number in large:
            daemon.wait_end(number)
        expect(daemon.stop() == 0, "elasticd ends")


def elasticd_starts_nothing(daemon: Daemon, jobs: list[int], ask: Any, cause: str) -> None:
    """Released jobs wait, with the reason; no node is drained, however often it tries."""
    for number in jobs:
        expect(ask("POST", f"/v1/jobs/{number}/release").status == 200, "released")
    wait_for("four tries", lambda: daemon.log.read_text().count("cannot start a step at present") >= 4)
    for number in jobs:
        job = ask("GET", f"/v1/jobs/{number}").body["job"]
        wanted = f"elasticd cannot start jobs now, and will try again: {cause}"
        expect((job["state"], job["reason"]) == ("PENDING", wanted), f"it waits: {job['state']}, {job['reason']}")
    nodes = ask("GET", "/v1/nodes").body["nodes"]
    expect(all(node["state"] == "up" for node in nodes), f"no node is to blame: {nodes}")


def elasticd_without_descriptors_blames_no_node(bench: Bench) -> None:
    daemon = bench.start(nodes=2, config='[scheduling]\nstart_pause = "100ms"\n')
    assert daemon.process
    jobs = [daemon.submit("true", held=True) for _ in range(4)]
    connection = UnixConnection(daemon.socket)

    def ask(method: str, path: str) -> Any:
        connection.request(method, path)
        return read_reply(connection)

    ask("GET", "/healthz")
    used = {int(name) for name in os.listdir(f"/proc/{daemon.process.pid}/fd")}
    lowest = min(set(range(len(used) + 1)) - used)
    limits = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (lowest, limits[1]))
    elasticd_starts_nothing(daemon, jobs, ask, "Too many open files")
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, limits)
    connection.close()
    for number in jobs:
        expect(daemon.wait_end(number)["state"] == "DONE", "it is run when there are descriptors again")
    wait_for("the folders of steps to be removed", lambda: not list((daemon.state / "steps").iterdir()))


def a_disk_without_files_blames_no_node(bench: Bench) -> None:
    """There is space, and yet nothing can be made there."""
    if os.getuid() != 0:
        raise Skip("needs root: to mount a small disk")
    with small_disk(bench.folder / "disk", 64, files=300) as disk:
        daemon = bench.daemon(nodes=2, config='[history]\ndisk_reserve = 8000000\n[scheduling]\nstart_pause = "100ms"\n')
        daemon.state = disk / "state"
        daemon.start()
        jobs = [daemon.submit("true", held=True) for _ in range(4)]
        with contextlib.suppress(OSError):
            for number in range(300):
                (disk / f"file{number}").touch()
        elasticd_starts_nothing(daemon, jobs, daemon.request, "No space left on device")
        for path in disk.glob("file*"):
            path.unlink()
        for number in jobs:
            expect(daemon.wait_end(number)["state"] == "DONE", "it is run when files can be made again")
        expect(daemon.stop() == 0, "elasticd ends")


def scripts_of_ended_jobs_do_not_fill_the_disk(bench: Bench) -> None:
    """One user submits and cancels large scripts: the store stays within his quota, another one's history stays."""
    daemon, work = two_users(bench, "[limits]\nbytes_per_user = 4000000\n")

    def submit(uid: int, size: int) -> Any:
        spec = daemon.spec("s", script="#!/bin/sh\n" + "#" * size, held=True) | {"directory": str(work)}
        return run_as(uid, lambda: vars(daemon.request("POST", "/v1/jobs", spec)))

    cancelled = submit(GOOD, 100000)["body"]["job"]["id"]
    daemon.post(f"/v1/jobs/{cancelled}/cancel")
    accepted = 0
    end = time.monotonic() + (60 if bench.full else 8)
    while time.monotonic() < end:
        reply = submit(BAD, 1000000)
        expect(reply["status"] in (201, 503), f"a submission: {reply}")
        if reply["status"] == 201:
            accepted += 1
            daemon.post(f"/v1/jobs/{reply['body']['job']['id']}/cancel")
        else:
            expect(reply["body"]["error"]["code"] == "full", f"refused: {reply}")
    stored = (daemon.state / "store.sqlite").stat().st_size
    print(f"# {accepted} scripts of 1 MB were accepted, the store has {stored // 1000} kB")
    expect(accepted >= 5 and stored < 16000000, f"{accepted} scripts, {stored} bytes")
    expect(len(run_as(GOOD, lambda: daemon.get(f"/v1/jobs/{cancelled}/script").body)) > 100000, "another user's script is there")


def a_user_with_too_many_processes_reads_it(bench: Bench) -> None:
    daemon, work = two_users(bench, '[scheduling]\nstart_pause = "100ms"\n')
    assert daemon.process
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NPROC, (1, 1))  # of each user's processes; root has no limit
    others = [subprocess.Popen(["sleep", "1000"], user=BAD, group=BAD, cwd="/") for _ in range(3)]
    try:
        spec = daemon.spec("true") | {"directory": str(work)}
        number = run_as(BAD, lambda: daemon.request("POST", "/v1/jobs", spec).body["job"]["id"])
        job = daemon.wait_end(number)
    finally:
        for process in others:
            process.kill()
            process.wait()
    expect("the user has too many processes on this host (ulimit -u): cannot run" in job["reason"], f"the reason: {job['reason']}")

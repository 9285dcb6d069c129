"""Jobs that send false data to elasticd, beside a good one: elasticd continues, bounded, and the good job is not
affected."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from daemon_under_test import WAIT_S, Bench, Daemon, HangingFolder, Skip, UnixConnection, expect, free_port, read_reply, wait_for
from malleable_tests import CONFIG, finish_work, resize, submit_work, wait_size, work_program
from support import procfs

HERE = Path(__file__).resolve().parent
HOSTILE = HERE / "hostile_step.py"


def metric(daemon: Daemon, name: str) -> int:
    found = re.search(rf"^{name} (\d+)", str(daemon.get("/metrics").body), re.M)
    return int(found.group(1)) if found else 0


def resident_kb(daemon: Daemon) -> int:
    assert daemon.process
    return procfs.resident_kb(daemon.process.pid)


def hostile(daemon: Daemon, kind: str, *arguments: str, most: int = 2) -> int:
    number = daemon.submit(str(HOSTILE), kind, *arguments, script=HOSTILE.read_text(), min=1, max=most, kind="malleable", name=kind)
    daemon.wait_state(number, "RUNNING", "ADAPTING")
    return number


def cut_off(daemon: Daemon, number: int) -> dict[str, Any]:
    def marked() -> dict[str, Any] | None:
        job = daemon.job(number)
        return job if (job["reason"] or "").startswith("step protocol broken: ") else None

    return wait_for(f"job {number} to be marked", marked)


def a_step_that_breaks_the_protocol_is_cut_off_and_its_job_marked(bench: Bench) -> None:
    daemon = bench.start(nodes=4, cores=4)
    good = daemon.submit("sleep", "1000", name="good")
    jobs = {kind: hostile(daemon, kind) for kind in ("types", "long", "deep")}
    for kind, number in jobs.items():
        if kind == "types":  # the first resize is answered wrongly
            wait_for("the job to be adaptive", lambda: daemon.job(number)["adaptive"] is not None)
            daemon.post(f"/v1/jobs/{number}/resize", size=1)
        job = cut_off(daemon, number)
        expect(job["state"] == "RUNNING" and job["adaptive"] is False, f"{kind}: it goes on, rigid: {job}")
        expect(daemon.post(f"/v1/jobs/{number}/resize", size=2).error() == "rigid", f"{kind}: it must not be resized")
    expect(daemon.job(good)["state"] == "RUNNING", "the good job")
    expect(metric(daemon, "elasticd_steps_broken_total") == 3, "the metric")
    daemon.kill()
    daemon.start()
    for number in jobs.values():
        expect(daemon.job(number)["reason"].startswith("step protocol broken"), "it is marked after a restart, too")
        daemon.post(f"/v1/jobs/{number}/cancel")
        job = daemon.wait_end(number)
        expect(job["state"] == "CANCELLED" and "step protocol broken" in job["reason"], f"the mark stays: {job}")
    daemon.post(f"/v1/jobs/{good}/cancel")
    daemon.wait_end(good)


def the_last_report_of_a_step_arrives(bench: Bench) -> None:
    """A busy elasticd finds a whole change, and the end of the job after it."""
    daemon = bench.start(nodes=4, cores=4)
    number = hostile(daemon, "hasty", str(bench.folder))
    wait_for("the job to be adaptive", lambda: daemon.job(number)["adaptive"] is not None)
    daemon.post(f"/v1/jobs/{number}/resize", size=1)
    requested = bench.folder / "requested"
    wait_for("the resize", requested.exists)
    stepd = int(requested.read_text())
    assert daemon.process
    daemon.process.send_signal(signal.SIGSTOP)
    (bench.folder / "go").touch()
    wait_for("elastic-stepd to end", lambda: procfs.has_ended(stepd))
    daemon.process.send_signal(signal.SIGCONT)
    job = daemon.wait_end(number)
    expect(job["counts"] == {"committed": 1, "failed": 0, "withdrawn": 0} and job["size"] == 1, f"the last change: {job}")


def floods_of_a_step_cost_nobody_anything(bench: Bench) -> None:
    daemon = bench.start(nodes=4, cores=4)
    floods = [hostile(daemon, "flood"), hostile(daemon, "talk")]
    time.sleep(1)
    before = daemon.get("/v1/summary").status, metric(daemon, 'elasticd_events_total{event="step_freed"}')
    size = resident_kb(daemon)
    stored = (daemon.state / "store.sqlite").stat().st_size
    end = time.monotonic() + (20 if bench.full else 3)
    served = 0
    while time.monotonic() < end:
        number = daemon.submit("true", name="good")
        expect(daemon.wait_end(number)["state"] == "DONE", "the good job")
        served += 1
    expect(before[0] == 200 and served > 0, "somebody else was served")
    expect(metric(daemon, 'elasticd_events_total{event="step_freed"}') == before[1], "what changes nothing was stored")
    expect(resident_kb(daemon) < size + 50000, f"memory grew from {size} to {resident_kb(daemon)} kB")
    grown = (daemon.state / "store.sqlite").stat().st_size - stored
    expect(grown < served * 100000 + 1000000, f"the store grew by {grown} bytes for {served} jobs")
    for number in floods:
        daemon.post(f"/v1/jobs/{number}/cancel")
        daemon.wait_end(number)


def a_step_socket_that_hangs_hangs_nobody_else(bench: Bench) -> None:
    daemon = bench.start(config='[job]\nkill_grace = "1s"\n')
    with HangingFolder(daemon.folder / "hanging") as hanging:
        number = daemon.submit(str(HOSTILE), "hang", str(hanging), script=HOSTILE.read_text(), min=1, max=2)
        daemon.wait_state(number, "RUNNING")
        time.sleep(0.5)  # elasticd has learnt of the socket
        for _ in range(3):
            expect(daemon.wait_end(daemon.submit("true"))["state"] == "DONE", "another job")
        daemon.post(f"/v1/jobs/{number}/cancel")
        expect(daemon.wait_end(number)["state"] == "CANCELLED", "it can be cancelled")


# ---- processes of a real mpiexec ----------------------------------------------------------------


def launchers_of(daemon: Daemon) -> dict[int, int]:
    """Resident kB of mpiexec and of the proxies by job, the most of each job."""
    found: dict[int, int] = {}
    for pid in procfs.pids():
        with contextlib.suppress(OSError, LookupError):
            if str(daemon.folder) not in os.readlink(f"/proc/{pid}/cwd") or not re.match("mpiexec|hydra", procfs.name(pid)):
                continue
            job = int(procfs.environment(pid)["ELASTIC_JOB_ID"])
            found[job] = max(found.get(job, 0), procfs.resident_kb(pid))
    return found


def processes_that_lie_harm_their_own_job_alone(bench: Bench) -> None:
    """To their proxy, on the socket of their step and on each port, while a good job is resized beside them."""
    program = work_program(bench)
    kinds = ("waits", "wishes", "names", "deaf", "endless", "step", "ports")
    daemon = bench.start(config=CONFIG, nodes=2, cores=8)
    good = submit_work(daemon, program, "good", 1, 2)
    command = ("python3", str(HERE / "hostile_process.py"))
    bad = {kind: daemon.submit(*command, kind, name=kind, places=2, output=f"{kind}.txt") for kind in kinds}
    for kind in kinds:
        output = daemon.folder / f"{kind}.txt"
        wait_for(f"{kind} to begin", lambda: output.exists() and "begins" in output.read_text())
    before = resident_kb(daemon)
    end = time.monotonic() + (30 if bench.full else 4)
    resizes = 0
    while time.monotonic() < end or resizes < 4:
        size = 1 + resizes % 2
        resize(daemon, good, size)
        wait_size(daemon, good, size, size)
        resizes += 1
    launchers = launchers_of(daemon)
    sizes = {kind: launchers.get(number, 0) for kind, number in bad.items()}
    print(f"# beside hostile jobs: elasticd {resident_kb(daemon)} kB, their launchers {sizes} kB, {resizes} resizes")
    expect(resident_kb(daemon) < before + 50000, f"elasticd grew from {before} to {resident_kb(daemon)} kB")
    expect(max(sizes.values()) < 40000, f"resident kB of their launchers: {sizes}")
    for number in bad.values():
        daemon.post(f"/v1/jobs/{number}/cancel")
    for kind, number in bad.items():
        expect(daemon.wait_end(number)["state"] in ("CANCELLED", "FAILED"), f"{kind}: {daemon.job(number)}")
    finish_work(daemon, good)


# ---- two users -------------------------------------------------------------------------------

GOOD, BAD = 1, 65534  # users of every Debian: daemon, nobody


def run_as(uid: int, task: Callable[[], Any]) -> Any:
    """The result of the task, executed by a process of that user."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            result = {"value": task()}
        except BaseException as error:  # noqa: BLE001  it is reported below
            result = {"error": repr(error)}
        os.write(writing, json.dumps(result).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as reported:
        result = json.load(reported)
    os.waitpid(child, 0)
    expect("error" not in result, f"as user {uid}: {result}")
    return result["value"]


def two_users(bench: Bench, config: str = "") -> tuple[Daemon, Path]:
    if os.getuid() != 0:
        raise Skip("needs root: only then are there two users")
    bench.folder.chmod(0o755)
    daemon = bench.start(config=config)
    work = bench.folder / "work"
    work.mkdir()
    work.chmod(0o1777)
    return daemon, work


def submit_as(daemon: Daemon, uid: int, work: Path, kind: str) -> int:
    spec = daemon.spec(str(HOSTILE), kind, script=HOSTILE.read_text(), min=1, max=2, kind="malleable", name=kind)
    spec["directory"] = str(work)
    return run_as(uid, lambda: daemon.request("POST", "/v1/jobs", spec).body["job"]["id"])


def jobs_of_a_hostile_user_leave_a_good_one_alone(bench: Bench) -> None:
    daemon, work = two_users(bench)
    bad = [submit_as(daemon, BAD, work, kind) for kind in ("types", "flood", "long", "deep")]
    for number in bad:
        daemon.wait_state(number, "RUNNING", "ADAPTING")
    good = submit_as(daemon, GOOD, work, "good")
    daemon.wait_state(good, "RUNNING", "ADAPTING")
    wait_for("the good job to be adaptive", lambda: daemon.job(good)["adaptive"])
    for size in (1, 2, 1):
        daemon.wait_state(good, "RUNNING")
        reply = run_as(GOOD, lambda: daemon.request("POST", f"/v1/jobs/{good}/resize", {"size": size}).body)
        expect("job" in reply, f"resize to {size}: {reply}")
        wait_for(f"the good job to have {size}", lambda: daemon.job(good)["size"] == size)
    seen = run_as(BAD, lambda: daemon.request("GET", f"/v1/jobs/{good}").status)
    ended = run_as(BAD, lambda: daemon.request("POST", f"/v1/jobs/{good}/cancel", {}).status)
    expect(ended in (403, 404) and seen in (200, 404), f"the bad user: {seen}, {ended}")
    expect(run_as(GOOD, lambda: daemon.request("POST", f"/v1/jobs/{good}/cancel", {}).status) == 200, "the good user")
    daemon.wait_end(good)
    size = resident_kb(daemon)
    stored = sum(path.stat().st_size for path in daemon.state.glob("store.sqlite*"))
    print(f"# elasticd beside four hostile jobs: {size} kB resident, store {stored // 1024} kB")
    expect(size < 200000 and stored < 20 << 20, f"{size} kB, {stored} bytes")
    for number in bad:
        daemon.post(f"/v1/jobs/{number}/cancel")
        daemon.wait_end(number)


def silent_connections_of_a_user_shut_nobody_out(bench: Bench) -> None:
    daemon, _ = two_users(bench, "[limits]\nconnections = 8\nconnections_per_user = 6\n")

    held = [hold_as(BAD, daemon) for _ in range(9)]
    held[-1].settimeout(30)
    expect(read_reply_of(held[-1]) == 429, "the connections of one user")
    expect(run_as(GOOD, lambda: daemon.get("/v1/version").status) == 200, "another user")
    held += [hold_as(GOOD, daemon) for _ in range(2)]
    expect(daemon.get("/v1/version").status == 200, "root gets in when all connections are taken")
    full = run_as(2, lambda: daemon.get("/v1/version").status)
    expect(full == 503, f"others get: {full}")
    for connection in held:
        connection.close()
    wait_for("somebody else to get in", lambda: run_as(2, lambda: daemon.get("/v1/version").status) == 200)


def hold_as(uid: int, daemon: Daemon) -> socket.socket:
    """A silent connection of that user: the credentials of a Unix socket are those of its moment of connecting."""
    os.seteuid(uid)
    try:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(daemon.socket))
        return connection
    finally:
        os.seteuid(0)


def read_reply_of(connection: socket.socket) -> int:
    text = connection.recv(4096).decode()
    return int(text.split()[1]) if text.startswith("HTTP/1.1 ") else 0


def who_has_no_token_sends_no_body(bench: Bench) -> None:
    port = free_port()
    tokens = bench.folder / "tokens"
    tokens.write_text("a-long-secret-of-root root admin\n")
    tokens.chmod(0o600)
    daemon = bench.start(config=f'[listen]\ntcp = "127.0.0.1:{port}"\ntokens_file = "{tokens}"\n[limits]\nconnections_per_user = 6\n')
    for header, status in (("", 401), ("Authorization: Bearer wrong-token-wrong-token\r\n", 401),
                           ("Authorization: Bearer a-long-secret-of-root\r\n", 0)):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(f"POST /v1/jobs HTTP/1.1\r\nHost: x\r\n{header}Content-Length: 1000000\r\n\r\n".encode())
            connection.settimeout(30 if status else 0.5)
            try:
                reported = read_reply_of(connection)
            except TimeoutError:
                reported = 0
            expect(reported == status, f"{header!r}: {reported} before the body, expected {status}")
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(12)]
    held[0].settimeout(30)
    expect(held[0].recv(1) == b"", "the oldest connections of one address give way to new ones")
    expect(daemon.get("/v1/version").status == 200, "the Unix socket has connections of its own")
    for connection in held:
        connection.close()


def a_hostile_user_over_tcp_leaves_a_good_one_alone(bench: Bench) -> None:
    """Nonsense, depth, length and haste of one user, while another's job is submitted, changed and ended."""
    if os.getuid() != 0:
        raise Skip("needs root: only then are there two users")
    port = free_port()
    tokens = bench.folder / "tokens"
    tokens.write_text("a-long-secret-of-daemon daemon\na-long-secret-of-nobody nobody\n")
    tokens.chmod(0o600)
    listen = f'[listen]\ntcp = "127.0.0.1:{port}"\ntokens_file = "{tokens}"\n[limits]\nrate_per_s = 200\n'
    daemon = bench.start(config=listen)
    begun = resident_kb(daemon)

    def request(user: str, method: str, path: str, body: bytes | None = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request(method, path, body, {"Authorization": f"Bearer a-long-secret-of-{user}"})
            return read_reply(connection)
        finally:
            connection.close()

    bodies = [b"[" * 200000 + b"]" * 200000, b'{"command":' + b"[" * 1000, b"\0" * 1000, b"x" * (6 << 20), b'{"min":1e999}',
              b'{"command":["a"],"directory":5}', b'{"priority":' + b"9" * 100000 + b"}"]  # fmt: skip
    stop = threading.Event()
    seen: set[int] = set()

    def attack() -> None:
        while not stop.is_set():
            for body in bodies:
                try:
                    seen.add(request("nobody", "POST", "/v1/jobs", body).status)
                except (OSError, http.client.HTTPException):
                    seen.add(0)  # cut off
            for _ in range(100):
                seen.add(request("nobody", "GET", "/v1/jobs/1").status)

    attackers = [threading.Thread(target=attack) for _ in range(3)]
    for attacker in attackers:
        attacker.start()
    try:
        for number in range(1, 11):
            spec = json.dumps(daemon.spec("sleep", "1000", min=1, held=True) | {"directory": "/tmp", "output": "/dev/null"})
            job = request("daemon", "POST", "/v1/jobs", spec.encode())
            expect(job.status == 201 and job.body["job"]["id"] == number, f"submitted: {job}")
            expect(request("daemon", "POST", f"/v1/jobs/{number}/update", b'{"min":2,"max":2}').status == 200, "changed")
            expect(request("nobody", "POST", f"/v1/jobs/{number}/cancel", b"{}").status in (404, 429), "by another")
            expect(request("daemon", "POST", f"/v1/jobs/{number}/cancel", b"{}").status == 200, "ended")
    finally:
        stop.set()
        for attacker in attackers:
            attacker.join()
    expect(seen <= {0, 400, 404, 413, 429} and {400, 404} <= seen, f"the hostile user got {seen}")
    expect(resident_kb(daemon) < begun + 100000, f"memory grew from {begun} to {resident_kb(daemon)} kB")


def processor_seconds(daemon: Daemon) -> float:
    assert daemon.process
    user, system = Path(f"/proc/{daemon.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def requests_of_uncertain_length_are_refused(bench: Bench) -> None:
    """Where a proxy and elasticd could see different ends; a second request in such a body is not answered."""
    daemon = bench.start()
    post, second = "POST /v1/jobs HTTP/1.1\r\nHost: x\r\n", "GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n"
    long_line = "2;" + "a" * 200000
    for head, status in [
        (f"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{second}", 411),
        (f"Transfer-Encoding: chunked\r\n\r\n{long_line}", 411),
        ("Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 411),
        (f"Content-Length: 2\r\nContent-Length: 40\r\n\r\n{{}}{second}", 400),
        (f"Transfer-Encoding : chunked\r\nContent-Length: 2\r\n\r\n{{}}{second}", 400),
    ]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(WAIT_S)
            connection.connect(str(daemon.socket))
            used = processor_seconds(daemon)
            with contextlib.suppress(OSError):
                connection.sendall((post + head).encode())
            answer = b""
            with contextlib.suppress(OSError):
                while block := connection.recv(65536):
                    answer += block
        expect(answer.startswith(f"HTTP/1.1 {status} ".encode()), f"{head[:70]!r}: {answer[:300]!r}")
        expect(answer.count(b"\r\nDate: ") == 1 and b"200 OK" not in answer, f"{head[:70]!r}: no second answer: {answer!r}")
        time.sleep(0.2)
        expect(processor_seconds(daemon) - used < 0.15, f"{head[:70]!r}: elasticd does not poll")


def slow_clients_are_disconnected(bench: Bench) -> None:
    daemon = bench.start(config='[limits]\nrequest_time = "3s"\nanswer_time = "1s"\n')
    script = daemon.submit("s", script="#!/bin/sh\n" + "#" * (4 << 20 - 1), held=True)
    silent, slow, deaf = (socket.socket(socket.AF_UNIX) for _ in range(3))
    for connection in (silent, slow, deaf):
        connection.settimeout(60)
        connection.connect(str(daemon.socket))
    slow.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.sendall(f"GET /v1/jobs/{script}/script HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    reported = {"silent": silent.recv(1), "slow": b""}
    try:
        reported["slow"] = slow.recv(4096)
    except ConnectionResetError:
        pass
    expect(reported["silent"] == b"" and b"201" not in reported["slow"], f"they are cut off: {reported}")
    wait_for("the one that does not read to be cut off", lambda: metric(daemon, "elasticd_connections") <= 1)
    received = 0
    try:
        while data := deaf.recv(1 << 16):
            received += len(data)
    except ConnectionResetError:
        pass
    expect(received < 4 << 20, f"it has got all: {received} bytes")
    patient = UnixConnection(daemon.socket)
    patient.request("GET", f"/v1/jobs/{script}?until=ended&wait_ms=5000")
    expect(read_reply(patient).status == 200, "who waits for an answer is not slow")
    daemon.post(f"/v1/jobs/{script}/cancel")


def a_user_has_so_many_bytes(bench: Bench) -> None:
    daemon, work = two_users(bench, "[limits]\nbytes_per_user = 1000000\n")

    def submit(uid: int, size: int) -> Any:
        spec = daemon.spec("s", script="#!/bin/sh\n" + "#" * size, held=True) | {"directory": str(work)}
        return run_as(uid, lambda: daemon.request("POST", "/v1/jobs", spec).body)

    jobs = [submit(BAD, 400000)["job"]["id"] for _ in range(2)]
    refused = submit(BAD, 400000)
    expect(refused["error"]["code"] == "full" and "1000000 bytes" in refused["error"]["message"], f"too much: {refused}")
    good = submit(GOOD, 400000)["job"]["id"]
    daemon.kill()
    daemon.start()
    expect(submit(BAD, 400000)["error"]["code"] == "full", "it is counted after a restart, too")
    daemon.post(f"/v1/jobs/{jobs[0]}/cancel")
    # Until its stored jobs have ended.
    jobs.append(wait_for("space for another one", lambda: submit(BAD, 400000).get("job"))["id"])
    for number in (*jobs[1:], good):
        daemon.post(f"/v1/jobs/{number}/cancel")

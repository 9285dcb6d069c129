"""An unprivileged user attacks elasticd over both sockets while another one's jobs run: no honest request is refused,
memory and the store stay bounded, and no request holds the loop.  The seed determines the data that is sent."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import socket
import threading
import time
from pathlib import Path
from typing import Any

from daemon_under_test import Bench, Daemon, Skip, UnixConnection, expect, free_port, read_reply
from history_tests import longest_turn
from hostile_tests import BAD, GOOD, hold_as, metric, resident_kb, run_as, two_users

API = Path(__file__).resolve().parents[2] / "src/rm/api"
SOURCES = "".join(path.read_text() for path in sorted(API.glob("api*.cpp")))
# The interface of elasticd: each path, each field of a body, each part of a query.
ROUTES = [
    (method, path.replace("nodes/*", "nodes/n0").replace("**", "ID").replace("*", "ID"))
    for method, path in re.findall(r'\{"(GET|POST|PUT|DELETE)", "([^"]+)", &Api::', SOURCES)
] + [("GET", "/v1/jobs/ID_2"), ("POST", "/v1/jobs/ID_1/hold"), ("POST", "/v1/jobs/ID_[1-5]/cancel")]
FIELDS = sorted({"after_any", "after_ok", "environment", "error", "input", "kind", "output"} | set(re.findall(r'\b(?:body|given|speedup|sizes|limits|\w+)\.(?:text|required_text|texts|number|flag|has|object|ids|ratio)'
                               r'\(\s*"(\w+)"', SOURCES)))  # fmt: skip
QUERY = sorted(set(re.findall(r'\b(?:query|reader)\.(?:text|number|flag|list|numbers)\("(\w+)"', SOURCES)))
VALUES: list[Any] = [
    None, True, 0, 1, -1, 2**31, 2**63, -(2**63), 2**64, 1e308, 0.5, "", "x", "-id", "queue", "started", "\x1b[2J", "\u009b31m", "a\nb", "\0",
    "../../etc/passwd", "\ud800", "'; DROP TABLE event; --", "%s%n", "9" * 400, "y" * 70000, [], [1, 2, 3], ["a"], [[[[]]]], {}, {"a": {"b": {}}},
    {"rule": "multiple", "of": 3}, {"law": "amdahl", "serial": 0.1}, {"nofile": -1}, "/tmp", "TERM", "malleable",
]  # fmt: skip


MEMORY_MAX_KB = 300 << 10


def hostile_request(chance: random.Random) -> tuple[str, str, bytes | None]:
    method, path = chance.choice(ROUTES)
    if chance.random() < 0.1:
        method = chance.choice(["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH"])
    path = path.replace("ID", str(chance.choice([1, 2, 3, 0, -1, 10**18, 2**64, "x", "%00", "..", "%ff"])))
    def value() -> Any:
        return chance.choice(VALUES)

    names = chance.sample(QUERY, chance.randrange(4))
    if method == "GET" and names:
        path += "?" + "&".join(f"{name}={chance.choice(['', '1', '0', '-1', '10000', '9' * 30, 'x', '%00', '%1b', 'true', '1,2,3'])}" for name in names)
        path = path.replace("wait_ms=10000", "wait_ms=100")
    if method == "GET" or chance.random() < 0.05:
        return method, path, None
    if chance.random() < 0.2:
        return method, path, chance.choice([b"{", b"[" * 5000, b"\0" * 100, b"\xff\xfe", b"null", b'{"a":1,"a":2}', b"z" * (1 << 20)])
    body = {name: value() for name in chance.sample(FIELDS, chance.randrange(6))}
    if path == "/v1/jobs" and chance.random() < 0.7:
        body = {"command": ["true"], "directory": "/tmp", "output": "/dev/null", "held": True, "environment": {}} | body
    return method, path, json.dumps(body).encode()


class Attack:
    """The simultaneous actions of one user, in processes of that user."""

    def __init__(self, daemon: Daemon, port: int, secret: str, seed: int, end: float) -> None:
        self.daemon, self.port, self.secret, self.seed, self.end = daemon, port, secret, seed, end
        self.counts: dict[str, int] = {}

    def connect(self, over_tcp: bool) -> tuple[http.client.HTTPConnection, dict[str, str]]:
        if over_tcp:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20), {"Authorization": f"Bearer {self.secret}"}
        return UnixConnection(self.daemon.socket, timeout=20), {}

    def values(self, number: int) -> None:
        chance = random.Random(self.seed + number)
        while time.monotonic() < self.end:
            connection, headers = self.connect(number % 2 == 0)
            request = hostile_request(chance)
            try:
                connection.request(*request, headers)
                status = read_reply(connection).status
            except (OSError, http.client.HTTPException, ValueError):
                status = 0
            finally:
                connection.close()
            self.counts[str(status)] = self.counts.get(str(status), 0) + 1
            if status == 500:
                self.counts[f"500 of {request[:2]} {(request[2] or b'')[:200]!r}"] = 1

    def never_reads(self, number: int) -> None:
        """Long answers, one after the other, on a connection that is never read."""
        paths = ["/v1/jobs?all=true&limit=10000", "/v1/records?limit=10000", "/v1/timeline?from_ms=0", "/v1/report?by=user", "/v1/nodes"]
        while time.monotonic() < self.end:
            head = f"Authorization: Bearer {self.secret}\r\n" if number % 2 == 0 else ""
            text = f"GET {paths[number % len(paths)]} HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode() * 20
            try:
                if number % 2 == 0:
                    connection = socket.create_connection(("127.0.0.1", self.port), timeout=5)
                else:
                    connection = socket.socket(socket.AF_UNIX)
                    connection.settimeout(5)
                    connection.connect(str(self.daemon.socket))
                with connection:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    connection.sendall(text)
                    time.sleep(min(3, max(self.end - time.monotonic(), 0)))
            except OSError:
                time.sleep(0.05)

    def outsider(self, number: int) -> None:
        """From many addresses of this machine: silent, with wrong tokens, with half a request."""
        chance = random.Random(self.seed + number)
        held: list[socket.socket] = []
        while time.monotonic() < self.end:
            try:
                connection = socket.socket()
                connection.settimeout(5)
                connection.bind((f"127.{chance.randrange(1, 250)}.{chance.randrange(250)}.{chance.randrange(1, 250)}", 0))
                connection.connect(("127.0.0.1", self.port))
                kind = chance.randrange(3)
                if kind == 0:
                    connection.sendall(f"GET /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {chance.random()}xxxxxxxxxxxx\r\n\r\n".encode())
                elif kind == 1:
                    connection.sendall(b"POST /v1/jobs HTTP/1.1\r\nHo")
                held.append(connection)
            except OSError:
                time.sleep(0.01)
            if len(held) > 8:
                held.pop(0).close()
            time.sleep(0.01)

    def run(self) -> dict[str, int]:
        kinds = [*[self.values] * 24, *[self.never_reads] * 32, *[self.outsider] * 8]
        threads = [threading.Thread(target=kind, args=(number,)) for number, kind in enumerate(kinds)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.counts


def an_unprivileged_user_attacks_with_all_there_is(bench: Bench) -> None:
    if os.getuid() != 0:
        raise Skip("needs root: only then are there two users")
    port, seconds = free_port(), 1800 if os.environ.get("ELASTIC_ATTACK") == "long" else 300 if bench.full else 20
    tokens = bench.folder / "tokens"
    tokens.write_text("a-long-secret-of-daemon daemon\na-long-secret-of-nobody nobody\n")
    tokens.chmod(0o600)
    daemon, work = two_users(bench, f'[listen]\ntcp = "127.0.0.1:{port}"\ntokens_file = "{tokens}"\n[limits]\nbytes_per_user = 20000000\n')
    begun = resident_kb(daemon)

    def honest(method: str, path: str, body: object = None, over_tcp: bool = False) -> Any:
        if over_tcp:
            connection: http.client.HTTPConnection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        else:
            connection = UnixConnection(daemon.socket, timeout=60)
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, {"Authorization": "Bearer a-long-secret-of-daemon"} if over_tcp else {})
            return read_reply(connection)
        finally:
            connection.close()

    expect(honest("GET", "/v1/version", over_tcp=True).status == 200, "the honest user's token")
    served = 0
    slowest = 0.0

    def serve(over_tcp: bool) -> float:
        """An honest job; how long after its submission it has started."""
        nonlocal served, slowest
        begin, sent_ms = time.monotonic(), time.time() * 1000
        spec = daemon.spec("true", name="good") | {"directory": str(work)}
        job = run_as(GOOD, lambda: vars(honest("POST", "/v1/jobs", spec, over_tcp)))
        expect(job["status"] == 201, f"an honest submission (tcp: {over_tcp}): {job}")
        slowest = max(slowest, time.monotonic() - begin)
        path = f"/v1/jobs/{job['body']['job']['id']}?until=ended&wait_ms=60000"
        ended = run_as(GOOD, lambda: vars(honest("GET", path, None, over_tcp)))
        expect(ended["status"] == 200 and ended["body"]["job"]["state"] == "DONE", f"an honest job: {ended}")
        served += 1
        return (ended["body"]["job"]["start_ms"] - sent_ms) / 1000

    alone = max(serve(number % 2 == 0) for number in range(8))  # on a machine that others may use, too
    end = time.monotonic() + seconds
    attack = Attack(daemon, port, "a-long-secret-of-nobody", bench.seed, end)
    reported: dict[str, Any] = {}
    attacker = threading.Thread(target=lambda: reported.update(counts=run_as(BAD, attack.run)))
    attacker.start()
    largest = 0
    starts: list[float] = []
    try:
        while time.monotonic() < end:
            starts += [serve(False), serve(True)]
            largest = max(largest, resident_kb(daemon))
    finally:
        attacker.join()
    counts = reported["counts"]
    p99 = sorted(starts)[int(0.99 * (len(starts) - 1))]
    print(f"# {seconds} s of attack: {counts}; {served} honest jobs, a submission took {slowest:.2f} s at most, from submission to start "
          f"p99 {p99:.2f} s (without attack {alone:.2f} s at most), memory {begun} -> {largest} kB, longest turn {longest_turn(daemon) * 1000:.1f} ms")
    expect(not bench.full or p99 <= bench.patience * max(1, 4 * alone), f"an honest job starts {p99:.2f} s after its submission, without attack {alone:.2f} s")
    expect(not any(status.startswith("500") for status in counts), f"a hostile request has found a bug: {counts}")
    expect(largest < MEMORY_MAX_KB, f"memory grew from {begun} to {largest} kB")
    stored = sum(path.stat().st_size for path in daemon.state.glob("store.sqlite*"))
    expect(stored < 300 << 20, f"the store has {stored} bytes")
    expect("a wrong token" in daemon.log.read_text(), "wrong tokens are logged")
    for job in daemon.get("/v1/jobs", limit=10000).body["jobs"]:
        daemon.post(f"/v1/jobs/{job['id']}/cancel")


def answers_that_nobody_reads_are_bounded(bench: Bench) -> None:
    """64 connections of one user, each with a script of 4 MiB under way."""
    daemon, work = two_users(bench)
    spec = daemon.spec("s", script="#!/bin/sh\n" + "#" * (4 << 20 - 1), held=True) | {"directory": str(work)}
    number = run_as(BAD, lambda: daemon.request("POST", "/v1/jobs", spec).body["job"]["id"])
    begun = resident_kb(daemon)
    held = [hold_as(BAD, daemon) for _ in range(60)]
    for connection in held:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(f"GET /v1/jobs/{number}/script HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    largest, end = begun, time.monotonic() + 5
    while time.monotonic() < end:
        largest = max(largest, resident_kb(daemon))
        time.sleep(0.05)
    print(f"# 60 answers of 4 MiB that nobody reads: memory {begun} -> {largest} kB")
    expect(largest < begun + 100000, f"memory grew from {begun} to {largest} kB")
    expect("does not read its answers" in daemon.log.read_text(), "it is logged")
    expect(metric(daemon, "elasticd_connections") < 30, "who exceeds the bytes under way is disconnected")
    expect(run_as(BAD, lambda: len(daemon.get(f"/v1/jobs/{number}/script").body)) > 1 << 20, "who reads gets the answer")
    for connection in held:
        connection.close()
    daemon.post(f"/v1/jobs/{number}/cancel")


def unauthenticated_connections_take_no_capacity_of_users(bench: Bench) -> None:
    """Silent connections from many addresses: a user with a token gets in, and the oldest unauthenticated clients go."""
    port = free_port()
    tokens = bench.folder / "tokens"
    tokens.write_text("a-long-secret-of-root root admin\n")
    tokens.chmod(0o600)
    limits = "[limits]\nconnections = 16\nconnections_per_user = 8\n"
    daemon = bench.start(config=f'[listen]\ntcp = "127.0.0.1:{port}"\ntokens_file = "{tokens}"\n{limits}')
    held = []
    for number in range(100):
        connection = socket.socket()
        connection.bind((f"127.9.{number}.7", 0))
        connection.connect(("127.0.0.1", port))
        held.append(connection)
    right = {"Authorization": "Bearer a-long-secret-of-root"}

    def request(headers: dict[str, str]) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("GET", "/v1/summary", None, headers)
            return read_reply(connection).status
        finally:
            connection.close()

    for _ in range(5):
        expect(request(right) == 200, "a user gets in beside 100 outsiders")
    held[0].settimeout(30)
    expect(held[0].recv(1) == b"", "the oldest outsider is disconnected")
    wrong = [request({"Authorization": f"Bearer wrong-{number}-wrong-wrong"}) for number in range(30)]
    expect(wrong[0] == 401 and wrong[-1] == 429, f"wrong tokens: {wrong}")
    expect(request(right) == 200, "a token that has been right from here is right meanwhile")
    expect("a wrong token" in daemon.log.read_text(), "wrong tokens are logged")
    for connection in held:
        connection.close()

"""How elasticd treats requests: bad input, web pages, tokens, other users, repetitions, limits."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from daemon_under_test import Bench, Daemon, Skip, UnixConnection, expect, free_port, read_reply, wait_for


def bad_input_is_refused_with_a_reason(bench: Bench) -> None:
    daemon = bench.start()
    good = daemon.spec("true")
    cases: list[tuple[object, str]] = [
        (b"", "field"), (b"[]", "syntax"), (b"{", "syntax"), (b"\xff\xfe", "syntax"), (b"{}{}", "syntax"),
        (b"[" * 100000, "syntax"), (b'{"a":' * 5000, "syntax"),
        (good | {"comand": 1}, "field"), (good | {"command": []}, "field"), (good | {"command": "true"}, "field"),
        (good | {"command": ["a\0b"]}, "field"), (good | {"command": [1]}, "field"),
        (good | {"min": 0}, "field"), (good | {"min": -1}, "field"), (good | {"min": 1.5}, "field"), (good | {"min": "2"}, "field"),
        (good | {"min": 2**70}, "field"), (good | {"min": 4, "max": 2}, "range"), (good | {"min": 17}, "range"),
        (good | {"min": 3, "max": 3, "sizes": {"rule": "power_of_two"}}, "range"), (good | {"sizes": {"rule": "odd"}}, "field"),
        (good | {"sizes": {"rul": "any"}}, "field"), (good | {"kind": "rigid", "max": 2}, "range"),
        (good | {"directory": "relative"}, "field"), (good | {"environment": {"A=B": "x"}}, "field"),
        (good | {"environment": {"A": 1}}, "field"), (good | {"environment": []}, "field"),
        (good | {"script": "echo no interpreter"}, "field"), (good | {"name": "x" * 129}, "field"), (good | {"name": ""}, "field"),
        (good | {"time_limit_ms": 1}, "field"), (good | {"priority": 10**9}, "field"), (good | {"key": "k" * 41}, "field"),
        ({k: v for k, v in good.items() if k != "environment"}, "field"), (good | {"environment": {"A": "x" * 1100000}}, "field"),
    ]  # fmt: skip
    for body, code in cases:
        reply = daemon.request("POST", "/v1/jobs", body)
        shown = repr(body)[:120]
        expect(400 <= reply.status < 500 and reply.error() == code, f"{shown}: {reply.status} {reply.body}, wanted {code}")
        expect(len(reply.body["error"]["message"]) > 10, f"{shown}: no message")
    expect(daemon.request("POST", "/v1/jobs", b" " * (7 << 20)).error() == "too_large", "a body of 7 MiB")
    expect(daemon.get("/v1/jobs", all="true").body["jobs"] == [], "a refused submission has left a job")
    for method, path, status in (("GET", "/v1/nothing", 404), ("DELETE", "/v1/jobs", 405), ("GET", "/v1/jobs/x", 404),
                                 ("GET", "/v1/jobs/99999", 404), ("GET", "/v1/jobs?limit=0", 400), ("GET", "/v1/jobs?what=1", 400),
                                 ("GET", "/v1/jobs?state=NICE", 400), ("POST", "/v1/jobs/1/cancel", 404),
                                 ("GET", "/../../etc/passwd", 404)):  # fmt: skip
        reply = daemon.request(method, path)
        expect(reply.status == status, f"{method} {path}: {reply.status} {reply.body}, wanted {status}")
    for text in (b"\0\0\0\0\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\n\r\n", b"X" * 300000):
        raw(daemon, text)
    expect(daemon.get("/healthz").status == 200, "the daemon must stay up")


def raw(daemon: Daemon, text: bytes) -> bytes:
    connection = UnixConnection(daemon.socket, timeout=3)
    connection.connect()
    try:
        connection.sock.sendall(text)
        connection.sock.shutdown(socket.SHUT_WR)
        return connection.sock.recv(65536)
    except OSError:
        return b""
    finally:
        connection.close()


def a_web_page_cannot_act_for_its_reader(bench: Bench) -> None:
    daemon = bench.start()
    reply = daemon.request("POST", "/v1/jobs", daemon.spec("true"), {"Origin": "http://evil.example"})
    expect(reply.status == 403 and reply.error() == "forbidden", f"{reply.status} {reply.body}")
    body = json.dumps(daemon.spec("true")).encode()
    slow = UnixConnection(daemon.socket)
    slow.connect()
    try:
        slow.putrequest("POST", "/v1/jobs")
        slow.putheader("Origin", "http://evil.example")
        slow.putheader("Content-Length", str(len(body)))
        slow.endheaders()
        for part in (body[:10], body[10:]):
            time.sleep(0.2)
            slow.send(part)
        reply = read_reply(slow)
    finally:
        slow.close()
    expect(reply.status == 403 and reply.error() == "forbidden", f"to who writes slowly: {reply.status} {reply.body}")
    policy = daemon.get("/").headers.get("Content-Security-Policy", "")
    expect("default-src 'self'" in policy and "script-src" not in policy, f"only the page's own script may run: {policy!r}")


def tokens_and_foreign_jobs(bench: Bench) -> None:
    if os.getuid() != 0:
        raise Skip("needs root: only then are there two users")
    port, folder = free_port(), bench.folder
    tokens = folder / "tokens"
    tokens.write_text("a-long-secret-of-root root admin\nthe-token-of-nobody nobody\n")
    tokens.chmod(0o600)
    folder.chmod(0o755)
    daemon = bench.start(config=f'[listen]\ntcp = "127.0.0.1:{port}"\ntokens_file = "{tokens}"\n')
    import http.client

    def tcp(method: str, path: str, token: str = "", body: object = None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        return read_reply(connection)

    expect(tcp("GET", "/v1/jobs").status == 401, "without a token")
    expect(tcp("GET", "/v1/jobs", "wrong-token-wrong-token").status == 401, "with a wrong token")
    unknown = tcp("GET", "/v1/version").body
    expect(all(unknown[name] is None for name in ("user", "host", "boot_id")), f"version without a token: {unknown}")
    roots = daemon.submit("sleep", "1000")
    expect(tcp("GET", f"/v1/jobs/{roots}", "the-token-of-nobody").status == 404, "a foreign job must not be seen")
    expect(tcp("POST", f"/v1/jobs/{roots}/cancel", "the-token-of-nobody", {}).status == 404, "a foreign job must not be cancelled")
    expect(tcp("GET", "/v1/jobs", "the-token-of-nobody").body["jobs"] == [], "foreign jobs must not be listed")
    expect(all(r["job"] != roots for r in tcp("GET", "/v1/records", "the-token-of-nobody").body["records"]), "foreign records")
    expect(tcp("POST", "/v1/nodes/n0/drain", "the-token-of-nobody", {"reason": "x"}).status == 403, "drain by a user")
    work = folder / "work"
    work.mkdir()
    shutil.chown(work, "nobody")
    spec = daemon.spec("sh", "-c", "id -un > who", directory=str(work), output="/dev/null")
    reply = tcp("POST", "/v1/jobs", "the-token-of-nobody", spec)
    expect(reply.status == 201, f"nobody's submission: {reply.status} {reply.body}")
    job = daemon.wait_end(reply.body["job"]["id"])
    expect(job["state"] == "DONE" and (work / "who").read_text() == "nobody\n", f"must run as nobody: {job}")
    expect(tcp("GET", f"/v1/jobs/{job['id']}", "a-long-secret-of-root").status == 200, "the administrator sees it")
    environment = {**os.environ, "ELASTICD_URL": f"http://127.0.0.1:{port}/", "ELASTICD_TOKEN": "a-long-secret-of-root"}
    command = [str(daemon.programs.elasticd.parent / "elastic"), "run", "-q", "sh", "-c", "echo out; exit 3"]
    done = subprocess.run(command, env=environment, cwd=work, capture_output=True, text=True, timeout=60, check=False)
    expect((done.returncode, done.stdout) == (3, "out\n"), f"elastic run with ELASTICD_URL: {done}")
    pipes_of_other_machines_and_users(daemon, environment, folder)
    daemon.post(f"/v1/jobs/{roots}/cancel")
    daemon.wait_end(roots)


def pipes_of_other_machines_and_users(daemon: Daemon, environment: dict[str, str], folder: Path) -> None:
    """`elastic run` and `alloc` whose pipes the job cannot open submit nothing.  A machine with another boot is another one."""
    (folder / "boot_id").write_text("00000000-0000-4000-8000-000000000000\n")
    there = f"mount --bind {folder}/boot_id /proc/sys/kernel/random/boot_id && exec \"$@\""
    elastic, before = str(daemon.programs.elasticd.parent / "elastic"), daemon.get("/v1/summary").body["seq"]
    of_nobody = environment | {"ELASTICD_TOKEN": "the-token-of-nobody"}
    elsewhere = ["unshare", "-m", "sh", "-c", there, "sh"]
    cases = ((elsewhere, environment, "which is another machine"), (["env"], of_nobody, "the job would run as nobody"))
    for words in (["run", "true"], ["run", "-o", "out", "cat"], ["alloc", "true"]):
        for prefix, variables, wanted in cases:
            done = subprocess.run([*prefix, elastic, *words], env=variables, cwd=folder, input="", capture_output=True, text=True,
                                  timeout=60, check=False)  # fmt: skip
            expect(done.returncode == 2 and wanted in done.stderr and "elastic submit" in done.stderr, f"{words}: {done}")
    expect(daemon.get("/v1/summary").body["seq"] == before, "a job was submitted")
    submit = [*elsewhere, elastic, "submit", "--wait", "-o", str(folder / "there"), "sh", "-c", "echo there"]
    subprocess.run(submit, env=environment, cwd=folder, timeout=60, check=True)
    expect((folder / "there").read_text() == "there\n", "elastic submit")


def a_repeated_submission_makes_one_job(bench: Bench) -> None:
    daemon = bench.start()
    spec = daemon.spec("true", key="once")
    replies = [daemon.request("POST", "/v1/jobs", spec) for _ in range(3)]
    expect([reply.status for reply in replies] == [201, 200, 200], f"statuses: {[reply.status for reply in replies]}")
    numbers = {reply.body["job"]["id"] for reply in replies}
    expect(len(numbers) == 1, "one key has made several jobs")
    daemon.wait_end(numbers.pop())


def limits_hold(bench: Bench) -> None:
    daemon = bench.start(config="[limits]\njobs = 3\nrate_per_s = 5\nconnections_per_user = 4\n")
    statuses = [daemon.request("POST", "/v1/jobs", daemon.spec("true", held=True)).status for _ in range(4)]
    expect(statuses == [201, 201, 201, 503], f"a queue of 3: {statuses}")
    statuses = [daemon.get("/v1/version").status for _ in range(40)]
    expect(429 in statuses, f"5 requests per second: {statuses}")
    wait_for("the rate to allow requests again", lambda: daemon.get("/v1/version").status == 200)
    connections = [UnixConnection(daemon.socket) for _ in range(6)]
    for connection in connections:
        connection.connect()
    time.sleep(1)
    connections[-1].request("GET", "/v1/version")
    reply = read_reply(connections[-1])
    expect(reply.status == 429 and "connections" in reply.body["error"]["message"], f"6 connections: {reply}")
    for connection in connections:
        connection.close()

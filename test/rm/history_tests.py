"""Long history: readers of it delay no other request, and every page of it can be reached."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
from typing import Any

from daemon_under_test import HERE, WAIT_S, Bench, Daemon, UnixConnection, expect, read_reply, wait_for
from hostile_tests import BAD, GOOD, run_as, two_users
from processor_speed import ProcessorSpeed

TURN_MAX_S = 0.010


def longest_turn(daemon: Daemon) -> float:
    (longest,) = re.findall(r"^elasticd_turn_longest_seconds (\S+)", str(daemon.get("/metrics").body), re.M)
    return float(longest)


def sum_of(seq: int, body: bytes) -> int:
    """As the store's rows have it: Fowler, Noll and Vo's, 32 bits, of the number and the body."""
    value = 2166136261
    for byte in seq.to_bytes(8, "little") + body:
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


def set_number(database: sqlite3.Connection, name: str, number: int) -> None:
    """In the snapshots, which state how many records and jobs there have been (CBOR: a key, then a number)."""
    key = bytes([0x60 + len(name)]) + name.encode()
    for seq, body in database.execute("SELECT seq, body FROM snapshot").fetchall():
        at = body.index(key) + len(key)
        length = 1 + {0x18: 1, 0x19: 2, 0x1A: 4, 0x1B: 8}.get(body[at], 0)
        changed = body[:at] + b"\x1a" + number.to_bytes(4, "big") + body[at + length :]
        database.execute("UPDATE snapshot SET body = ?, sum = ? WHERE seq = ?", (changed, sum_of(seq, changed), seq))


def make_history(daemon: Daemon, count: int) -> None:
    """Copies of one ended job and of its records, of the user that ran it, while no elasticd uses the store."""
    database = sqlite3.connect(daemon.state / "store.sqlite")
    database.execute("PRAGMA cache_size = -400000")  # KiB: pages of indices are written once
    first, uid, submitted, ended, body = database.execute("SELECT job, uid, submitted_ms, ended_ms, body FROM ended").fetchone()
    launch = database.execute("SELECT body, script FROM launch WHERE job = ?", (first,)).fetchone()
    records = database.execute("SELECT time_ms, event, data FROM record WHERE job = ? ORDER BY number", (first,)).fetchall()
    (number,) = database.execute("SELECT max(number) FROM record").fetchone()
    (seq,) = database.execute("SELECT max(seq) FROM launch").fetchone()
    job, ids, per_job = json.loads(body), range(first + 1, first + count + 1), len(records)
    with database:
        database.executemany("INSERT INTO ended VALUES (?, ?, ?, ?, ?)", ((each, uid, submitted, ended, json.dumps(job | {"id": each})) for each in ids))
        database.executemany("INSERT INTO launch VALUES (?, ?, ?, ?, ?, NULL)", ((seq + 1000000 + each, each, uid, *launch) for each in ids))
        database.executemany("INSERT INTO record VALUES (?, ?, ?, ?, NULL, ?, ?)", (
            (number + at * per_job + i, time_ms, event, each, data, uid)
            for at, each in enumerate(ids) for i, (time_ms, event, data) in enumerate(records, 1)
        ))  # fmt: skip
        set_number(database, "records", number + count * per_job)
        set_number(database, "last_job", first + count)
    database.close()


def long_history_holds_up_nobody(bench: Bench) -> None:
    """The owner and another user read all that can be read of it, and the loop's longest turn stays short."""
    keep = 1 << 40  # bytes: nothing is deleted
    daemon, work = two_users(bench, f"[limits]\nrate_per_s = 100000\nbytes_per_user = {keep}\n[history]\nbytes = {keep}\n")
    count = 1000000 if os.environ.get("ELASTIC_HISTORY") == "long" else 100000 if bench.full else 1500
    spec = daemon.spec("true") | {"directory": str(work)}
    number = run_as(GOOD, lambda: daemon.request("POST", "/v1/jobs", spec).body["job"]["id"])
    daemon.wait_end(number)
    daemon.stop()
    begin = time.monotonic()
    make_history(daemon, count)
    made_s = time.monotonic() - begin
    daemon.start()
    wait_for("the past to be read", lambda: daemon.get("/v1/report").body["jobs"] >= count, 4 * WAIT_S)
    last = daemon.get("/v1/summary").body["seq"]
    paths = ["/v1/records", "/v1/records?since=1&limit=10000", "/v1/records?since=-10000&limit=10000", "/v1/jobs?all=true&limit=10000",
             "/v1/jobs?all=true&order=-id&limit=10000", "/v1/jobs?all=true&name=none", "/v1/jobs?state=FAILED&limit=10000",
             "/v1/jobs?order=queue&limit=10000", f"/v1/jobs/{number}/records", f"/v1/jobs/{number}", f"/v1/jobs/{number}/script",
             "/v1/timeline?from_ms=0", "/v1/timeline?from_ms=0&groups=1000", "/v1/report", "/v1/report?by=user", "/v1/nodes"]  # fmt: skip

    speed = ProcessorSpeed()

    def read(uid: int) -> dict[str, Any]:
        begin, first = time.monotonic(), len(speed.times)
        for path in paths:
            reply = daemon.request("GET", path)
            expect(reply.status in (200, 404), f"{path}: {reply.status} {reply.body}")
            speed.sample()
        return {"seconds": time.monotonic() - begin, "times": speed.times[first:]}

    seconds = {}
    for uid in (GOOD, BAD, 0):
        found = run_as(uid, lambda: read(uid))
        seconds[uid] = found["seconds"]
        speed.times += found["times"]
    seen = run_as(BAD, lambda: [record for record in daemon.records() if record["job"]])
    expect(not seen, f"another user's records: {seen[:3]}")
    pages, since, records = 0, 1, 0
    while since <= last and pages < 20:
        page = run_as(GOOD, lambda: daemon.get("/v1/records", since=since, limit=10000).body)
        expect(page["next"] > since, f"a page leads on: {page['next']} after {since}")
        since, pages, records = page["next"], pages + 1, records + len(page["records"])
    expect(records > 1000, f"the owner has seen {records} records in {pages} pages")
    expect([job["id"] for job in run_as(GOOD, lambda: page_of_jobs(daemon, 300))] == list(range(number + count, number + count - 300, -1)),
           "the newest jobs, page by page")  # fmt: skip
    threads = [threading.Thread(target=read, args=(0,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    turn, limit = longest_turn(daemon), TURN_MAX_S * speed.slowdown
    print(f"# {count} ended jobs, {last} records (made in {made_s:.0f} s): longest turn {turn * 1000:.1f} ms of {limit * 1000:.1f}, "
          f"all requests: owner {seconds[GOOD]:.2f} s, another user {seconds[BAD]:.2f} s, root {seconds[0]:.2f} s")  # fmt: skip
    expect(turn < limit, f"the longest turn took {turn * 1000:.1f} ms of processor time, the limit is {limit * 1000:.1f} ms")


def large_arrays_hold_up_nobody(bench: Bench) -> None:
    """Arrays of 1000 tasks are submitted, held, released and cancelled, behind a job that has all cores."""
    daemon = bench.start(config="[limits]\nrate_per_s = 100000\njobs_per_user = 10000\n", nodes=1, cores=4)
    first = daemon.submit("sleep", "1000", min=4)
    daemon.wait_state(first, "RUNNING")
    speed, tasks = ProcessorSpeed(), 1000
    arrays = []
    for _ in range(3):
        arrays.append(daemon.submit("true", array=f"1-{tasks}"))
        speed.sample()
    submitted = longest_turn(daemon), TURN_MAX_S * speed.slowdown
    daemon.stop()
    daemon.start()
    for change in ("hold", "release", "cancel"):
        for array in arrays:
            reply = daemon.post(f"/v1/jobs/{array}/{change}")
            expect(reply.status == 200, f"{change} of array {array}: {reply.status} {reply.body}")
            speed.sample()
    changed = longest_turn(daemon), TURN_MAX_S * speed.slowdown
    for name, (turn, limit) in {"submitted": submitted, "changed": changed}.items():
        print(f"# three arrays of {tasks} tasks are {name}: longest turn {turn * 1000:.1f} ms of {limit * 1000:.1f}")
        expect(turn < limit, f"{name}: a turn took {turn * 1000:.1f} ms of processor time, the limit is {limit * 1000:.1f} ms")
    ended = page_of_jobs(daemon, 3 * tasks)
    expect([job["id"] for job in ended] == [array + i for array in reversed(arrays) for i in reversed(range(tasks))], "all tasks")
    expect(all(job["state"] == "CANCELLED" for job in ended), "all tasks are cancelled")
    for array in arrays:
        records = daemon.records(job=array + tasks - 1)
        expect(bool(records) and records[-1]["event"] == "ended", f"records of the last task of array {array}: {records}")
    daemon.post(f"/v1/jobs/{first}/cancel")
    daemon.wait_end(first)


def long_answers_at_once_hold_up_nobody(bench: Bench) -> None:
    """48 clients request all nodes of a large machine, their timeline and all jobs, at the same moment, three times."""
    daemon = bench.start(config="[limits]\nrate_per_s = 100000\nconnections_per_user = 100\n", nodes=10000, cores=4)
    jobs = [daemon.submit("sleep", "1000", min=3) for _ in range(4)]
    for job in jobs:
        daemon.wait_state(job, "RUNNING")
    speed, before = ProcessorSpeed(), longest_turn(daemon)
    paths = ["/v1/nodes", "/v1/timeline?from_ms=0", "/v1/nodes?state=down", "/v1/jobs?all=true&limit=10000"]
    connections = [UnixConnection(daemon.socket) for _ in range(48)]
    for connection in connections:
        connection.request("GET", "/v1/version")  # it is accepted, and its user known
        expect(read_reply(connection).status == 200, "a version")
    for _ in range(3):
        for number, connection in enumerate(connections):
            connection.request("GET", paths[number % len(paths)])
        for connection in connections:
            reply = read_reply(connection)
            expect(reply.status == 200, f"{reply.status} {str(reply.body)[:200]}")
        speed.sample()
    turn, limit = longest_turn(daemon), TURN_MAX_S * speed.slowdown
    print(f"# 48 long answers at once: longest turn {turn * 1000:.1f} ms of {limit * 1000:.1f} (before: {before * 1000:.1f})")
    expect(turn < limit or turn == before, f"a turn took {turn * 1000:.1f} ms of processor time, the limit is {limit * 1000:.1f} ms")
    for job in jobs:
        daemon.post(f"/v1/jobs/{job}/cancel")
        daemon.wait_end(job)


def latency_fails_if_a_turn_is_long(bench: Bench) -> None:
    """test/rm/latency with a small machine: by the processor time of the loop's turns, on a busy machine, too"""
    command = [sys.executable, str(HERE / "latency"), f"--rm={bench.programs.elasticd.parent}", "--nodes=50", "--jobs=1200",
               "--seconds=2", "--limit-ms=0"]  # fmt: skip

    def run(*words: str) -> tuple[int, str]:
        done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=WAIT_S, check=False)
        return done.returncode, done.stdout + done.stderr

    code, text = run()
    expect(code == 0 and "longest turn of the loop" in text and "failed" not in text, f"{code}: {text}")
    code, text = run("--turn-ms=0.01")
    expect(code == 1 and "turns of the loop took more than" in text, f"{code}: {text}")


def jobs_of_a_time(bench: Bench) -> None:
    """GET /v1/jobs with from_ms and to_ms: jobs that waited or ran then, page by page"""
    daemon = bench.start()
    for _ in range(5):
        daemon.wait_end(daemon.submit("true"))
    running = daemon.submit("sleep", "1000")
    daemon.wait_state(running, "RUNNING")
    time.sleep(0.05)
    last_ms = max(daemon.job(number)["end_ms"] for number in range(1, 6)) + 1

    def numbers(**query: object) -> list[int]:
        found: list[int] = []
        after = 0
        while True:
            page = daemon.get("/v1/jobs", all="true", limit=2, after=after, **query).body
            found += [job["id"] for job in page["jobs"]]
            if not page["more"]:
                return found
            after = page["last"]

    for _ in range(2):  # then the same from the store alone
        third = daemon.job(3)
        expect(numbers() == [1, 2, 3, 4, 5, running], f"all: {numbers()}")
        expect(numbers(to_ms=third["submit_ms"]) == [1, 2, 3], f"submitted by then: {numbers(to_ms=third['submit_ms'])}")
        expect(numbers(from_ms=third["end_ms"]) == [3, 4, 5, running], f"not ended by then: {numbers(from_ms=third['end_ms'])}")
        expect(numbers(from_ms=last_ms) == [running], "the one that runs")
        expect(numbers(to_ms=daemon.job(1)["submit_ms"] - 1) == [] == numbers(from_ms=1, to_ms=2), "none was there")
        daemon.kill()
        daemon.start()
    reply = daemon.get("/v1/jobs", from_ms=5, to_ms=4)
    expect(reply.status == 400 and reply.body["error"]["field"] == "to_ms", f"{reply}")
    for wrong in ("x", "-1", "99999999999999999999"):
        expect(daemon.get("/v1/jobs", from_ms=wrong).status == 400, f"from_ms={wrong}")
    daemon.post(f"/v1/jobs/{running}/cancel")
    daemon.wait_end(running)


def page_of_jobs(daemon: Daemon, count: int) -> list[dict[str, object]]:
    jobs: list[dict[str, object]] = []
    before = 0
    while len(jobs) < count:
        page = daemon.get("/v1/jobs", all="true", order="-id", limit=100, before=before).body
        jobs += page["jobs"]
        before = page["jobs"][-1]["id"]
        expect(page["more"], "there are more")
    return jobs[:count]

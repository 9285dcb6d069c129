"""Conditions that a job may wait for, changes of a job, and the signal before its limit: against a real elasticd."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from daemon_under_test import Bench, Daemon, expect, wait_for
from hostile_tests import BAD, GOOD, run_as, two_users
from performance_tests import elastic

FOREVER = ("sleep", "1000")


def cancel(daemon: Daemon, *numbers: int) -> None:
    for number in numbers:
        daemon.post(f"/v1/jobs/{number}/cancel")
        daemon.wait_end(number)


def jobs_wait_for_others_and_for_a_time(bench: Bench) -> None:
    daemon = bench.start()
    first = daemon.submit("sh", "-c", f"until [ -e {daemon.folder}/go ]; do sleep 0.1; done")
    failing = daemon.submit("sh", "-c", f"until [ -e {daemon.folder}/go ]; do sleep 0.1; done; exit 3")
    started = daemon.submit("true", after=[first])
    done = daemon.submit("true", after_ok=[first], after_any=[first, failing])
    never = daemon.submit("true", after_ok=[failing])
    chained = daemon.submit("true", after_ok=[never])
    begins = daemon.submit("true", begin_ms=int(time.time() * 1000) + 1500)
    expect(daemon.wait_end(started)["state"] == "DONE", "it waits for a start")
    job = daemon.job(done)
    expect(job["state"] == "PENDING" and f"job {first} ends" in job["reason"], f"it waits: {job}")
    expect({"kind": "after_ok", "job": first} in job["waits_for"] and len(job["dependencies"]) == 3, f"{job}")
    daemon.kill()
    daemon.start()
    expect(daemon.job(done)["waits_for"] == job["waits_for"], "it waits for the same after a restart")
    (daemon.folder / "go").touch()
    expect(daemon.wait_end(done)["state"] == "DONE", "it has waited for the ends")
    for number, cause in ((never, failing), (chained, never)):
        job = daemon.wait_end(number)
        expect(job["state"] == "CANCELLED" and f"job {cause}" in job["reason"], f"it could never start: {job}")
    job = daemon.wait_end(begins)
    expect(job["state"] == "DONE" and job["start_ms"] >= job["begin_ms"], f"it began at its time: {job}")
    expect(daemon.request("POST", "/v1/jobs", daemon.spec("true", after_ok=[failing])).error() == "state", "too late")
    expect(daemon.wait_end(daemon.submit("true", after_ok=[first], after_any=[failing]))["state"] == "DONE", "met already")


def what_a_job_wants_can_be_changed(bench: Bench) -> None:
    daemon = bench.start(nodes=1, cores=4)
    running = daemon.submit(*FOREVER, min=4, time_limit_ms=600000, output="%x.txt")
    waiting = daemon.submit(*FOREVER, min=4)
    daemon.wait_state(running, "RUNNING")
    job = daemon.job(waiting)
    expect(job["reason"] == "resources" and job["expected_after"] == running, f"whom it waits for: {job}")
    known = {"processes": 4, "room": 0, "full": [], "giving": [], "overdue": [], "suspended": [], "nodes": None, "open_nodes": None}
    expect(job["shortage"] == known, f"what it lacks: {job['shortage']}")
    expect(0 <= job["expected_start_ms"] - daemon.job(running)["start_ms"] - 600000 < 60000, f"until when: {job}")
    second = daemon.job(daemon.submit(*FOREVER, min=4))
    expect(second["reason"] == f"priority: job {waiting} is first", f"who is first: {second}")
    changed = daemon.post(f"/v1/jobs/{second['id']}/update", name="heat", priority=2, min=2, max=2, time_limit_ms=5000).body["job"]
    expect([changed[name] for name in ("name", "priority", "min", "max", "time_limit_ms")] == ["heat", 2, 2, 2, 5000], f"{changed}")
    expect([job["id"] for job in daemon.get("/v1/jobs", order="queue").body["jobs"]] == [running, waiting, second["id"]]
           or daemon.job(waiting)["reason"].startswith("priority"), "its position in the queue")  # fmt: skip
    renamed = daemon.post(f"/v1/jobs/{running}/update", name="other").body["job"]
    expect(renamed["name"] == "other" and renamed["output"].endswith("/sleep.txt"), f"its files keep their names: {renamed}")
    daemon.kill()
    daemon.start()
    expect(daemon.job(second["id"])["name"] == "heat", "it is durable")
    daemon.post(f"/v1/jobs/{running}/update", time_limit_ms=1000)
    job = daemon.wait_end(running)
    expect("time limit of 1 s" in job["reason"], f"the new limit: {job}")
    expect(daemon.post(f"/v1/jobs/{running}/update", name="x").error() == "state", "it has ended")
    cancel(daemon, waiting, second["id"])


HOSTILE_UPDATES: list[dict[str, Any]] = [
    {"name": ""}, {"name": "x" * 129}, {"name": 5}, {"name": "a\0b"}, {"time_limit_ms": 0}, {"time_limit_ms": -1},
    {"time_limit_ms": 1 << 63}, {"time_limit_ms": "1h"}, {"time_limit_ms": 1e300}, {"priority": 1 << 40}, {"priority": None, "x": 1},
    {"min": 0}, {"min": 3, "max": 2}, {"max": -1}, {"max": 1 << 31}, {"preferred": -1}, {"min": [1]}, {"state": "DONE"},
    {"may_extend": True}, {"min": 1000, "max": 1000},
]  # fmt: skip
HOSTILE_SUBMISSIONS: list[dict[str, Any]] = [
    {"begin_ms": -1}, {"begin_ms": 1 << 62}, {"begin_ms": "now"}, {"after": 1}, {"after": [0]}, {"after": ["1"]}, {"after": [-1]},
    {"after": [1.5]}, {"after": [1] * 101}, {"after_ok": [1 << 64]}, {"after_any": {"1": 1}}, {"after": [99]},
    {"limit_signal": "USR1"}, {"limit_signal": {"signal": "USR9"}, "time_limit_ms": 60000}, {"limit_signal": {"signal": "USR1"}},
    {"limit_signal": {"signal": "USR1", "before_ms": -1}, "time_limit_ms": 60000},
]  # fmt: skip


def impossible_jobs_are_refused(bench: Bench) -> None:
    daemon = bench.start()
    number = daemon.submit("true", held=True)
    before = daemon.job(number)
    for body in HOSTILE_UPDATES:
        reply = daemon.post(f"/v1/jobs/{number}/update", **body)
        expect(reply.status in (400, 403) and daemon.job(number) == before, f"{body}: {reply}")
    for fields in HOSTILE_SUBMISSIONS:
        reply = daemon.request("POST", "/v1/jobs", daemon.spec("true", **fields))
        expect(reply.status in (400, 404), f"{fields}: {reply}")
    expect(daemon.post("/v1/jobs/77/update", name="x").status == 404, "no such job")
    cancel(daemon, number)


def another_users_job_is_neither_changed_nor_waited_for(bench: Bench) -> None:
    daemon, work = two_users(bench)

    def submit(uid: int, *command: str, **fields: object) -> Any:
        spec = daemon.spec(*command, **fields) | {"directory": str(work)}
        return run_as(uid, lambda: daemon.request("POST", "/v1/jobs", spec).body)

    def update(uid: int, number: int, **fields: object) -> int:
        return run_as(uid, lambda: daemon.request("POST", f"/v1/jobs/{number}/update", fields).status)

    good = submit(GOOD, *FOREVER, time_limit_ms=600000)["job"]["id"]
    daemon.wait_state(good, "RUNNING")
    expect(update(BAD, good, name="mine") == 404 and daemon.job(good)["name"] == "sleep", "another's job")
    for name in ("after", "after_any", "after_ok"):
        refused = submit(BAD, "true", **{name: [good]})
        expect(refused.get("error", {}).get("code") == "not_found", f"{name}: {refused}")
    expect(update(GOOD, good, time_limit_ms=700000) == 409, "only administrators extend what runs")
    expect(update(GOOD, good, time_limit_ms=500000) == 200 and update(0, good, time_limit_ms=700000) == 200, "shorter, or root")
    expect(update(GOOD, good, priority=1) == 403 and update(GOOD, good, priority=-1) == 200, "above 0 for administrators")
    cancel(daemon, good)


def a_signal_comes_before_the_limit_without_elasticd(bench: Bench) -> None:
    daemon = bench.start(config='[job]\nkill_grace = "1s"\n')
    seen = daemon.folder / "seen"
    command = ("sh", "-c", f"trap 'echo got >>{seen}; exit 0' USR1; while :; do sleep 0.1; done")
    number = daemon.submit(*command, time_limit_ms=600000, limit_signal={"signal": "USR1", "before_ms": 592000})
    job = daemon.wait_state(number, "RUNNING")
    expect(job["limit_signal"] == {"signal": "USR1", "before_ms": 592000}, f"it is shown: {job}")
    daemon.kill()
    wait_for("the signal", seen.exists)
    daemon.start()
    job = daemon.wait_end(number)
    expect(job["state"] == "DONE" and seen.read_text() == "got\n", f"it has ended in time: {job}")


def a_changed_limit_holds_without_elasticd(bench: Bench) -> None:
    daemon = bench.start(config='[job]\nkill_grace = "1s"\n')
    seen, ready = daemon.folder / "seen", daemon.folder / "ready"
    command = ("sh", "-c", f"trap 'echo got >>{seen}' USR1; touch {ready}; while :; do sleep 0.1; done")
    shorter = daemon.submit(*command, time_limit_ms=600000, limit_signal={"signal": "USR1", "before_ms": 2000})
    wait_for("the program", ready.exists)
    longer = daemon.submit(*FOREVER, time_limit_ms=12000)
    started = {number: daemon.wait_state(number, "RUNNING")["start_ms"] for number in (shorter, longer)}
    expect(daemon.post(f"/v1/jobs/{longer}/update", time_limit_ms=600000).status == 200, "longer")
    limit_ms = int(time.time() * 1000) - started[shorter] + 5000
    expect(daemon.post(f"/v1/jobs/{shorter}/update", time_limit_ms=limit_ms).status == 200, "shorter")
    time.sleep(0.3)  # the orders are on their way to elastic-stepd
    daemon.kill()
    ends: dict[int, Path] = {number: daemon.state / "steps" / f"{number}.1" / "exit.json" for number in (shorter, longer)}
    wait_for("elastic-stepd to end the step", ends[shorter].exists)
    expect(seen.read_text() == "got\n", "the signal came before the new limit")
    time.sleep(max(started[longer] / 1000 + 16 - time.time(), 0))  # its first limit has passed, and the slack
    expect(not ends[longer].exists(), "the other one goes on")
    daemon.start()
    expect("time limit" in daemon.wait_end(shorter)["reason"], "the limit")
    expect(daemon.job(longer)["state"] == "RUNNING", "it runs")
    cancel(daemon, longer)


def limits_of_a_user_and_fair_share(bench: Bench) -> None:
    config = '[limits]\nrunning_per_user = 2\ncores_per_user = 3\n[scheduling]\nfair_share = "1h"\n'
    daemon = bench.start(nodes=1, cores=8, config=config)
    jobs = [daemon.submit(*FOREVER, min=size) for size in (2, 1, 1)]
    for number in jobs[:2]:
        daemon.wait_state(number, "RUNNING")
    waiting = daemon.job(jobs[2])
    limit = f"the limit of user {waiting['user']}: 2 of 2 running jobs, 3 of 3 cores"
    expect(waiting["reason"] == limit, f"why it waits: {waiting}")
    expect(limit in elastic(bench, daemon, "why", str(jobs[2])), "the command shows it")
    expect(waiting["fair_share"]["delay_ms"] >= 0, f"fair share: {waiting['fair_share']}")
    expect(daemon.request("POST", "/v1/jobs", daemon.spec("true", min=4)).error() == "range", "more than a user may have")
    daemon.kill()
    daemon.start()
    expect(daemon.job(jobs[2])["reason"] == waiting["reason"], "the same after a restart")
    cancel(daemon, jobs[1])
    daemon.wait_state(jobs[2], "RUNNING")
    cancel(daemon, jobs[0], jobs[2])

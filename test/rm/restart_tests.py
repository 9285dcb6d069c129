"""kill -9 of all processes of elasticd, and the state of the restarted daemon."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

from daemon_under_test import Bench, ControlGroup, Daemon, HangingFolder, UnixConnection, expect, read_reply, wait_for


def a_killed_daemon_finds_its_steps_again(bench: Bench) -> None:
    daemon = bench.start()
    go = daemon.folder / "go"
    wait_and = f"while [ ! -e {go} ]; do sleep 0.05; done; exit 5"
    first, second = daemon.submit("sh", "-c", wait_and), daemon.submit("sleep", "1000")
    waiting = daemon.submit("true", min=16)
    for number in (first, second):
        daemon.wait_state(number, "RUNNING")
    daemon.kill()
    daemon.start()
    expect([daemon.job(n)["state"] for n in (first, second, waiting)] == ["RUNNING", "RUNNING", "PENDING"], "after the restart")
    go.touch()
    expect(daemon.wait_end(first)["exit_code"] == 5, "its exit code")
    daemon.post(f"/v1/jobs/{second}/cancel")
    expect(daemon.wait_end(second)["state"] == "CANCELLED", "still in hand")
    expect(daemon.wait_end(waiting)["state"] == "DONE", "the waiting job runs in the end")
    ends = [record["job"] for record in daemon.records() if record["event"] == "ended"]
    expect(sorted(ends) == [first, second, waiting], f"each job ends once: {ends}")


def a_step_that_ended_meanwhile_is_reported(bench: Bench) -> None:
    daemon = bench.start()
    go = daemon.folder / "go"
    number = daemon.submit("sh", "-c", f"while [ ! -e {go} ]; do sleep 0.05; done; exit 9")
    daemon.wait_state(number, "RUNNING")
    daemon.kill()
    go.touch()
    exit_file = daemon.state / "steps" / f"{number}.1" / "exit.json"
    wait_for("elastic-stepd to write the end", exit_file.exists)
    daemon.start()
    job = daemon.wait_end(number)
    expect(job["state"] == "FAILED" and job["exit_code"] == 9, f"job: {job}")


def a_store_older_than_its_steps_ends_nothing(bench: Bench) -> None:
    daemon = bench.start()
    daemon.stop()
    shutil.copy(daemon.state / "store.sqlite", daemon.folder / "older.sqlite")
    daemon.start()
    number = daemon.submit("sleep", "1000")
    daemon.wait_state(number, "RUNNING")
    daemon.kill()
    for name in ("store.sqlite", "store.sqlite-wal", "store.sqlite-shm"):
        (daemon.state / name).rename(daemon.folder / name)
    shutil.copy(daemon.folder / "older.sqlite", daemon.state / "store.sqlite")
    pid = json.loads((daemon.state / "steps" / f"{number}.1" / "stepd.json").read_text())["pid"]
    done = subprocess.run(daemon.command(), capture_output=True, text=True, check=False, timeout=60)
    expect(done.returncode == 1 and "not in the store" in done.stderr, f"it must refuse: {done}")
    os.kill(pid, 0)
    for name in ("store.sqlite", "store.sqlite-wal", "store.sqlite-shm"):
        (daemon.folder / name).rename(daemon.state / name)
    daemon.start()
    expect(daemon.job(number)["state"] == "RUNNING", "the right store is back, and so is the job")
    daemon.kill()
    for name in ("store.sqlite-wal", "store.sqlite-shm"):
        (daemon.state / name).unlink()
    shutil.copy(daemon.folder / "older.sqlite", daemon.state / "store.sqlite")
    daemon.options.append("--end-unknown-steps")
    daemon.start()
    wait_for("the step to be ended", lambda: not Path(f"/proc/{pid}").exists())
    daemon.stop()
    daemon.start()
    wait_for("its folder to be removed", lambda: not list((daemon.state / "steps").iterdir()))


def without_elasticd_a_step_keeps_its_limit(bench: Bench) -> None:
    daemon = bench.start(config='[job]\nkill_grace = "1s"\n')
    number = daemon.submit("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done", time_limit_ms=2000)
    daemon.wait_state(number, "RUNNING")
    daemon.kill()
    exit_file = daemon.state / "steps" / f"{number}.1" / "exit.json"
    wait_for("elastic-stepd to end the step", exit_file.exists)
    daemon.start()
    job = daemon.wait_end(number)
    expect(job["state"] == "FAILED" and "time limit" in job["reason"], f"job: {job}")


def without_elasticd_a_cancelled_step_is_killed(bench: Bench) -> None:
    daemon = bench.start(config='[job]\nkill_grace = "2s"\n')
    ready = daemon.folder / "ready"
    number = daemon.submit("sh", "-c", f"trap '' TERM; touch {ready}; while :; do sleep 0.1; done")
    wait_for("the program", ready.exists)
    daemon.wait_state(number, "RUNNING")
    daemon.post(f"/v1/jobs/{number}/cancel")
    daemon.wait_state(number, "COMPLETING")
    time.sleep(0.3)  # the order is on its way to elastic-stepd
    daemon.kill()
    exit_file = daemon.state / "steps" / f"{number}.1" / "exit.json"
    wait_for("elastic-stepd to kill the step", exit_file.exists)
    daemon.start()
    expect(daemon.wait_end(number)["state"] == "CANCELLED", "cancelled")


def a_job_whose_files_hang_can_be_cancelled(bench: Bench) -> None:
    daemon = bench.start(config='[job]\nkill_grace = "1s"\n')
    with HangingFolder(daemon.folder / "hanging") as folder:
        hanging = daemon.submit("sleep", "1000", output=f"{folder}/out")
        daemon.wait_state(hanging, "STARTING", "RUNNING")
        good = daemon.submit("true")
        expect(daemon.wait_end(good)["state"] == "DONE", "another job must not notice")
        daemon.post(f"/v1/jobs/{hanging}/cancel")
        expect(daemon.wait_end(hanging)["state"] == "CANCELLED", "cancelled")
        # A file of its own: of two that open the same one the kernel lets one wait for the other.
        limited = daemon.submit("sleep", "1000", output=f"{folder}/another", time_limit_ms=1000)
        daemon.wait_state(limited, "STARTING", "RUNNING")
        daemon.kill()
        exit_file = daemon.state / "steps" / f"{limited}.1" / "exit.json"
        wait_for("elastic-stepd to end the step at its limit", exit_file.exists)
        daemon.start()
        expect(daemon.wait_end(limited)["state"] == "FAILED", "limited")


# It leaves even the descriptors that Hydra's proxy waits for.
HIDE = (
    'import subprocess as s; s.Popen(["/bin/sleep", "7654"], env={}, start_new_session=True, '
    "stdin=s.DEVNULL, stdout=s.DEVNULL, stderr=s.DEVNULL)"
)


def commands_in(group: Path) -> set[str]:
    """The command lines of a control group's processes, folders left out."""
    commands = set()
    for pid in (group / "cgroup.procs").read_text().split():
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")
            commands.add(" ".join(words).strip().rpartition("/")[2])
    return commands


def a_control_group_holds_what_hides(bench: Bench) -> None:
    """A process with a session, a parent and an environment of its own, whose elastic-stepd is killed."""
    with ControlGroup(bench.folder / "groups") as groups:
        daemon = bench.start(config=f'[job]\ncontrol_groups = "{groups}"\n')
        hide = f"/usr/bin/python3 -c '{HIDE}'; "
        number, ordinary = daemon.submit("sh", "-c", hide + "sleep 1000"), daemon.submit("sh", "-c", hide + "true")
        expect(daemon.wait_end(ordinary)["state"] == "DONE", "the end of an ordinary step")
        daemon.wait_state(number, "RUNNING")
        group = groups / f"{number}.1"
        wait_for("all to be in the group", lambda: {"sleep 7654", "sleep 1000"} <= commands_in(group))
        os.kill(stepd_of(daemon, number), signal.SIGKILL)
        expect(daemon.wait_end(number)["state"] == "FAILED", "it failed")
        wait_for("the groups to be removed", lambda: not list(groups.glob("*/")))
        daemon.stop()


def stepd_of(daemon: Daemon, number: int) -> int:
    started = daemon.state / "steps" / f"{number}.1" / "stepd.json"
    wait_for("stepd.json", started.exists)
    return json.loads(started.read_text())["stepd_pid"]


def a_killed_stepd_loses_the_step_and_nothing_else(bench: Bench) -> None:
    daemon = bench.start()
    number, other = daemon.submit("sleep", "1000"), daemon.submit("sleep", "1000")
    for each in (number, other):
        daemon.wait_state(each, "RUNNING")
    os.kill(stepd_of(daemon, number), signal.SIGKILL)
    job = daemon.wait_end(number)
    expect(job["state"] == "FAILED" and job["reason"] and job["exit_code"] is None, f"job: {job}")
    expect(daemon.job(other)["state"] == "RUNNING", "the other job must not notice")
    daemon.kill()
    os.kill(stepd_of(daemon, other), signal.SIGKILL)
    daemon.start()
    expect(daemon.wait_end(other)["state"] == "FAILED", "failed without a poll")


def a_killed_mpiexec_ends_its_job(bench: Bench) -> None:
    daemon = bench.start()
    number = daemon.submit("sleep", "1000", min=2)
    daemon.wait_state(number, "RUNNING")
    started = daemon.state / "steps" / f"{number}.1" / "stepd.json"
    wait_for("stepd.json", started.exists)
    os.kill(json.loads(started.read_text())["pid"], signal.SIGKILL)
    job = daemon.wait_end(number)
    expect(job["state"] == "FAILED" and job["exit_code"] == 137, f"job: {job}")


def kill_in_a_loop_loses_and_doubles_nothing(bench: Bench) -> None:
    """Clients that submit with keys and repeat requests without an answer, while the daemon is killed repeatedly."""
    rounds = 30 if bench.full else 6
    seed = bench.seed
    chance = random.Random(seed)
    daemon = bench.start(config="[history]\nsnapshot_events = 50\n")
    stopping = threading.Event()
    accepted: dict[str, int] = {}
    wrong: list[str] = []

    def submit(worker: int) -> None:
        count = 0
        while not stopping.is_set():
            key = f"{worker}-{count}"
            spec = daemon.spec("sh", "-c", f"echo {key} >> {daemon.folder}/ran", key=key, output="/dev/null")
            try:
                reply = daemon.request("POST", "/v1/jobs", spec)
            except (OSError, ValueError, Exception):  # noqa: BLE001  the killed daemon may fail in any way: repeat
                time.sleep(0.02)
                continue
            if reply.status in (200, 201):
                accepted[key] = reply.body["job"]["id"]
                count += 1
            elif reply.status != 503:
                wrong.append(f"{key}: {reply.status} {reply.body}")
            time.sleep(0.05)

    workers = [threading.Thread(target=submit, args=(worker,)) for worker in range(3)]
    for worker in workers:
        worker.start()
    for _ in range(rounds):
        time.sleep(chance.uniform(0.05, 1.0))
        daemon.kill()
        daemon.start()
    stopping.set()
    for worker in workers:
        worker.join()
    expect(not wrong, f"seed {seed}: {wrong[:3]}")
    wait_for("all jobs to end", lambda: not daemon.get("/v1/jobs").body["jobs"], 300)
    ran = Path(daemon.folder / "ran").read_text().split()
    expect(len(set(accepted.values())) == len(accepted), f"seed {seed}: two keys have one job")
    missing, doubled = set(accepted) - set(ran), {key for key in ran if ran.count(key) > 1}
    expect(not missing and not doubled, f"seed {seed}: missing {sorted(missing)[:5]}, doubled {sorted(doubled)[:5]} of {len(accepted)}")
    check_records(daemon, seed)


def check_records(daemon: Daemon, seed: int) -> None:
    records, since = [], 1
    while batch := daemon.get("/v1/records", since=since, limit=10000).body:
        if not batch["records"]:
            break
        records += batch["records"]
        since = batch["next"]
    numbers = [record["seq"] for record in records]
    expect(numbers == list(range(1, len(numbers) + 1)), f"seed {seed}: records have gaps or doubles")
    ends = [record["job"] for record in records if record["event"] == "ended"]
    expect(len(ends) == len(set(ends)), f"seed {seed}: a job has ended twice")


def the_log_replayed_gives_the_same_decisions(bench: Bench) -> None:
    """SPEC-performance X4: and the same numbers that made them."""
    daemon = bench.start(config="[history]\nsnapshot_events = 20\n")
    for index in range(30):
        daemon.submit("sh", "-c", "exit $((ELASTIC_JOB_ID % 3))", min=1 + index % 5)
        if index == 15:
            daemon.kill()
            daemon.start()
    wait_for("all jobs to end", lambda: not daemon.get("/v1/jobs").body["jobs"], 120)
    daemon.stop()
    done = subprocess.run([*daemon.command(), "--replay"], capture_output=True, text=True, check=False, timeout=120)
    expect(done.returncode == 0 and "the same" in done.stdout, f"replay: {done}")
    import sqlite3

    with sqlite3.connect(daemon.state / "store.sqlite") as database:  # as an older elasticd has stored it
        older = "UPDATE record SET data = json_remove(data, '$.spec.begin_ms', '$.spec.dependencies') WHERE event = 'submitted'"
        expect(database.execute(older).rowcount == 30, "all wishes")
        older = "UPDATE record SET data = json_remove(data, '$.why') WHERE event = 'placed' AND job % 2 = 0"
        expect(database.execute(older).rowcount == 15, "every second start")
        older = "UPDATE record SET data = json_set(data, '$.reason', 'in the words of that version') WHERE event = 'ended'"
        expect(database.execute(older).rowcount == 30, "every end")
    done = subprocess.run([*daemon.command(), "--replay"], capture_output=True, text=True, check=False, timeout=120)
    expect(done.returncode == 0 and "the same" in done.stdout, f"replay of an older log: {done}")
    with sqlite3.connect(daemon.state / "store.sqlite") as database:
        other = "UPDATE record SET data = json_set(data, '$.why.room', 99) WHERE event = 'placed' AND job = 7"
        expect(database.execute(other).rowcount == 1, "a start")
    done = subprocess.run([*daemon.command(), "--replay"], capture_output=True, text=True, check=False, timeout=120)
    printed = done.stdout + done.stderr
    expect(done.returncode == 1 and "differs" in printed and '"room":99' in printed, f"other numbers must be reported: {done}")
    with sqlite3.connect(daemon.state / "store.sqlite") as database:
        database.execute("UPDATE record SET data = json_remove(data, '$.why') WHERE event = 'placed' AND job = 7")
        other = "UPDATE record SET data = json_set(data, '$.state', 'CANCELLED') WHERE event = 'ended' AND job = 9"
        expect(database.execute(other).rowcount == 1, "an end")
    done = subprocess.run([*daemon.command(), "--replay"], capture_output=True, text=True, check=False, timeout=120)
    expect(done.returncode == 1 and '"CANCELLED"' in done.stdout + done.stderr, f"another state must be reported: {done}")
    with sqlite3.connect(daemon.state / "store.sqlite") as database:
        database.execute("UPDATE record SET data = json_set(data, '$.state', 'DONE') WHERE event = 'ended' AND job = 9")
        database.execute("UPDATE record SET data = '{}' WHERE number = (SELECT max(number) - 3 FROM record)")
    done = subprocess.run([*daemon.command(), "--replay"], capture_output=True, text=True, check=False, timeout=120)
    expect(done.returncode == 1 and "differs" in done.stdout + done.stderr, f"a replay that differs must be reported: {done}")


def requests_of_all_kinds_survive_a_kill(bench: Bench) -> None:
    """An answered request is in effect after kill -9 right after the answer."""
    daemon = bench.start(nodes=1, cores=1)
    running = daemon.submit("sleep", "1000")
    daemon.wait_state(running, "RUNNING")
    held, cancelled, released = daemon.submit("true"), daemon.submit("true"), daemon.submit("true", held=True)
    for method in (f"jobs/{held}/hold", f"jobs/{cancelled}/cancel", f"jobs/{released}/release", "nodes/n0/drain"):
        body = {"reason": "test"} if method.endswith("drain") else {}
        connection = UnixConnection(daemon.socket)
        connection.request("POST", f"/v1/{method}", json.dumps(body))
        expect(read_reply(connection).status == 200, method)
        connection.close()
        daemon.kill()
        daemon.start()
    jobs = {number: daemon.job(number) for number in (held, cancelled, released, running)}
    expect(jobs[held]["held"] and not jobs[released]["held"], f"held: {jobs}")
    expect(jobs[cancelled]["state"] == "CANCELLED" and jobs[running]["state"] == "RUNNING", f"states: {jobs}")
    expect(daemon.get("/v1/nodes/n0").body["node"]["state"] == "draining", "drain")
    for number in (held, released, running):
        daemon.post(f"/v1/jobs/{number}/cancel")
        daemon.wait_end(number)

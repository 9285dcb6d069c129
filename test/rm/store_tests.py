"""The store of elasticd: a full disk, a second daemon, stores of others, damage."""

from __future__ import annotations

import contextlib
import resource
import shutil
import subprocess
import time

from daemon_under_test import Bench, Daemon, expect


def a_full_disk_loses_nothing(bench: Bench) -> None:
    """A limit on the size of files stands for the disk: requests that cannot be stored are refused, and work again
    later."""
    daemon = bench.start()
    assert daemon.process
    held = daemon.submit("true", held=True)
    running = daemon.submit("sh", "-c", "sleep 0.5; exit 4")
    daemon.wait_state(running, "RUNNING")
    pid = daemon.process.pid
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))
    reply = daemon.request("POST", "/v1/jobs", daemon.spec("true"))
    expect(reply.status == 503 and reply.error() == "storage", f"on a full disk: {reply.status} {reply.body}")
    expect(daemon.get("/healthz").status == 503, "healthz must report it")
    expect(daemon.job(held)["state"] == "PENDING", "reading goes on")
    time.sleep(1.0)  # the running job ends meanwhile
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    job = daemon.wait_end(running)
    expect(job["exit_code"] == 4, f"the end of a job is missing: {job}")
    expect(daemon.submit("true", held=True) > held, "works again")


def two_daemons_on_one_store(bench: Bench) -> None:
    daemon = bench.start()
    second = Daemon(bench.programs, daemon.folder, [], "")
    second.socket = daemon.folder / "d" / "other.sock"
    done = subprocess.run(second.command(), capture_output=True, text=True, check=False, timeout=60)
    assert daemon.process
    expect(done.returncode == 1 and "another elasticd" in done.stderr and str(daemon.process.pid) in done.stderr, f"store: {done}")
    third = Daemon(bench.programs, daemon.folder, [], "")
    third.state = daemon.folder / "other"
    done = subprocess.run(third.command(), capture_output=True, text=True, check=False, timeout=60)
    expect(done.returncode == 1 and "another elasticd listens" in done.stderr, f"socket: {done}")
    expect(daemon.get("/healthz").status == 200, "the first one must not notice")


def a_newer_or_foreign_store_is_refused(bench: Bench) -> None:
    import sqlite3

    daemon = bench.start()
    daemon.submit("true", held=True)
    daemon.stop()
    store = daemon.state / "store.sqlite"
    with sqlite3.connect(store) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
    for statement, word in (("PRAGMA user_version = 99", "newer elasticd"), ("PRAGMA application_id = 1", "not a store of elasticd")):
        with sqlite3.connect(store) as database:
            database.execute(statement)
        done = subprocess.run(daemon.command(), capture_output=True, text=True, check=False, timeout=60)
        expect(done.returncode == 1 and word in done.stderr, f"{statement}: {done}")
        with sqlite3.connect(store) as database:
            database.execute(f"PRAGMA user_version = {version}")
    with sqlite3.connect(store) as database:
        database.execute(f"PRAGMA application_id = {0x656C6173}")
    daemon.start()


def a_damaged_event_is_put_into_quarantine(bench: Bench) -> None:
    """Each event of a short history, also the submission of a job that runs: elasticd starts, and the jobs are there."""
    import sqlite3

    daemon = bench.start()
    jobs = [daemon.submit("sleep", "1000"), daemon.submit("true", held=True), daemon.submit("sleep", "1000")]
    for number in (jobs[0], jobs[2]):
        daemon.wait_state(number, "RUNNING")
    daemon.post(f"/v1/jobs/{jobs[1]}/release")
    daemon.wait_end(jobs[1])
    daemon.kill()
    store = daemon.state / "store.sqlite"
    done = subprocess.run([*daemon.command(), "--quarantine-event=2"], capture_output=True, text=True, check=False, timeout=60)
    expect(done.returncode == 1 and "nothing was changed" in done.stderr, f"a good event: {done}")
    with sqlite3.connect(store) as database:
        database.execute("DELETE FROM snapshot")
        submits = [seq for (seq,) in database.execute("SELECT seq FROM launch ORDER BY seq")]
        (last,) = database.execute("SELECT max(seq) FROM event").fetchone()
        database.execute("UPDATE record SET data = 'x' WHERE number = 2")
    for seq in (*submits, last):
        with sqlite3.connect(store) as database:
            database.execute("DELETE FROM snapshot")
            database.execute("UPDATE event SET body = '{' WHERE seq = ?", (seq,))
        daemon.start()
        expect(f'"seq":{seq}' in daemon.log.read_text() and "put into quarantine" in daemon.log.read_text(), f"event {seq} is reported")
        states = [daemon.job(number)["state"] for number in jobs]
        ended = ("DONE", "FAILED") if seq == last else ("DONE",)  # the last one may have reported its end
        expect(states[0] == states[2] == "RUNNING" and states[1] in ended, f"without event {seq}: {states}")
        daemon.kill()
    daemon.start()
    for number in (jobs[0], jobs[2]):
        daemon.post(f"/v1/jobs/{number}/cancel")
        daemon.wait_end(number)


def a_store_without_a_table_is_reported(bench: Bench) -> None:
    """elasticd either ends with a message or starts; it does not crash."""
    import sqlite3

    daemon = bench.start()
    daemon.wait_end(daemon.submit("true"))
    daemon.kill()
    store, copy = daemon.state / "store.sqlite", daemon.folder / "copy.sqlite"
    with contextlib.closing(sqlite3.connect(store)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    shutil.copy(store, copy)
    expect(len(tables) > 5, f"the tables: {tables}")
    for table in tables:
        for end in ("", "-wal", "-shm"):
            store.with_name(store.name + end).unlink(missing_ok=True)
        shutil.copy(copy, store)
        with contextlib.closing(sqlite3.connect(store)) as database:
            database.execute(f"DROP TABLE {table}")
            database.commit()
        done = subprocess.run([*daemon.command(), "--replay"], capture_output=True, text=True, check=False, timeout=60)
        expect(done.returncode in (0, 1), f"--replay without {table}: {done}")
        running = subprocess.Popen(daemon.command(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            _, error = running.communicate(timeout=2)
        except subprocess.TimeoutExpired:
            running.kill()
            _, error = running.communicate()
            expect(running.returncode == -9, f"without {table} it starts: {error}")
        else:
            expect(running.returncode == 1 and table in error, f"without {table}: {running.returncode} {error}")


def a_damaged_launch_concerns_its_job_alone(bench: Bench) -> None:
    """What a job is to run cannot be read: it ends, or fails, with a reason; everything else is written as before."""
    import sqlite3

    daemon = bench.start(config='[scheduling]\nstart_pause = "10ms"\n')
    running, waiting, array = daemon.submit("sleep", "1000"), daemon.submit("true", held=True), daemon.submit("true", held=True, array="1-2")
    daemon.wait_state(running, "RUNNING")
    daemon.kill()
    with sqlite3.connect(daemon.state / "store.sqlite") as database:
        database.execute("UPDATE launch SET body = '{'")
    daemon.start()
    for number in (running, array):
        daemon.post(f"/v1/jobs/{number}/cancel")
        expect(daemon.wait_end(number)["state"] == "CANCELLED", f"job {number}: {daemon.job(number)}")
    daemon.post(f"/v1/jobs/{waiting}/release")
    job = daemon.wait_end(waiting)
    expect(job["state"] == "FAILED" and job["reason"], f"what it is to run is not known: {job}")
    expect(daemon.get("/healthz").status == 200, "the store is written")
    expect(daemon.wait_end(daemon.submit("true"))["state"] == "DONE", "other jobs run")
    expect(all(node["state"] == "up" for node in daemon.get("/v1/nodes").body["nodes"]), "the node is not to blame")

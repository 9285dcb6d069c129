"""elasticd while it runs: jobs, nodes, records, metrics."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import threading
import time
from pathlib import Path

from daemon_under_test import Bench, UnixConnection, expect, read_reply, wait_for


def starts_with_nothing_configured(bench: Bench) -> None:
    folder = bench.folder / "home"
    folder.mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": str(folder)}
    done = subprocess.run(
        [bench.programs.elasticd, "--print-config"], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    expect(done.returncode == 0, f"--print-config ended with {done.returncode}: {done.stderr}")
    printed = folder / "printed.toml"
    printed.write_text(done.stdout)
    again = subprocess.run(
        [bench.programs.elasticd, "--config", printed, "--print-config"], env=environment, capture_output=True, text=True, check=False
    )
    expect(again.stdout == done.stdout, f"what is printed is not what is read: {again.stdout} {again.stderr}")
    daemon = bench.start()
    version = daemon.get("/v1/version").body
    expect(version["name"] == "elasticd" and version["api"] == 1, f"version: {version}")
    expect(version["user"]["uid"] == os.getuid(), f"the caller is not known: {version}")
    nodes = daemon.get("/v1/nodes").body
    expect([node["name"] for node in nodes["nodes"]] == ["n0", "n1", "n2", "n3"], f"nodes: {nodes}")
    expect(nodes["cores"] == 16 and nodes["cores_used"] == 0, f"cores: {nodes}")


def check_config_names_what_is_wrong(bench: Bench) -> None:
    cases = {
        "polcy = 1": "there is no setting polcy",
        '[scheduling]\npolicy = "best"': "must be one of fcfs, easy, fill",
        "[job]\nkill_grace = 5": "must be a time",
        "[limits]\njobs = 0": "must be from 1",
        '[listen]\ntcp = "127.0.0.1:1"': "needs listen.tokens_file",
        "[backend\nnodes = 3": ":1:",
        '[job]\ndefault_time_limit = "2h"\nmax_time_limit = "1h"': "above job.max_time_limit",
    }
    for text, wanted in cases.items():
        path = bench.folder / "bad.toml"
        path.write_text(text)
        done = subprocess.run(
            [bench.programs.elasticd, "-c", path, "--check-config"], capture_output=True, text=True, check=False, timeout=60
        )
        expect(done.returncode == 1 and wanted in done.stderr, f"{text!r}: {done.returncode} {done.stderr!r}, wanted {wanted!r}")


def a_job_runs_and_its_output_is_there(bench: Bench) -> None:
    daemon = bench.start()
    number = daemon.submit("sh", "-c", "echo to-out; echo to-err >&2; echo id=$ELASTIC_JOB_ID", name="first", min=2)
    job = daemon.wait_end(number)
    expect(job["state"] == "DONE" and job["exit_code"] == 0, f"job: {job}")
    expect(job["output"] == str(daemon.folder / f"elastic-{number}.out"), f"output: {job['output']}")
    text = Path(job["output"]).read_text()
    expect("to-out" in text and "to-err" in text and f"id={number}" in text, f"output: {text!r}")
    expect(job["submit_ms"] <= job["start_ms"] <= job["end_ms"], f"times: {job}")
    events = [record["event"] for record in daemon.records(job=number)]
    expect(events[0] == "submitted" and events[-1] == "ended" and "placed" in events, f"records: {events}")


def a_job_has_the_mask_and_limits_of_its_submission(bench: Bench) -> None:
    daemon = bench.start()
    command = ("sh", "-c", "umask; ulimit -Sn; ulimit -Sc")
    reported = daemon.submit(*command, umask=0o037, limits={"nofile": 200, "core": 0})
    most = daemon.submit(*command, limits={"nofile": -1})
    untold = daemon.submit(*command)
    own, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for number, mask, descriptors in ((reported, 0o037, 200), (most, 0o022, hard), (untold, 0o022, own)):
        words = Path(daemon.wait_end(number)["output"]).read_text().split()
        expect(int(words[0], 8) == mask and words[1] == str(descriptors), f"wanted {mask:o}, {descriptors}: {words}")
        expect(number != reported or words[2] == "0", f"the limit on core files: {words}")
    reply = daemon.request("POST", "/v1/jobs", daemon.spec("true", limits={"memory": 1}))
    expect(reply.status == 400 and "memory" in reply.body["error"]["message"], f"an unknown limit: {reply}")


def a_low_limit_of_descriptors_is_raised_and_jobs_keep_it(bench: Bench) -> None:
    """elasticd needs one for each connection; its jobs have the limit that it was started with"""
    low, count = 100, 150
    own, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    daemon = bench.daemon(config=f"[limits]\nconnections_per_user = {2 * count}\n")
    resource.setrlimit(resource.RLIMIT_NOFILE, (low, hard))
    try:
        daemon.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (own, hard))
    assert daemon.process
    limits = Path(f"/proc/{daemon.process.pid}/limits").read_text().split("Max open files")[1].split()
    expect(limits[:2] == [str(hard)] * 2 or hard == resource.RLIM_INFINITY, f"elasticd's own: {limits[:2]}")
    connections = [UnixConnection(daemon.socket) for _ in range(count)]
    for connection in connections:
        connection.connect()
    number = daemon.submit("sh", "-c", "ulimit -Sn; ulimit -Hn")
    words = Path(daemon.wait_end(number)["output"]).read_text().split()
    expect(words[0] == str(low), f"the job's limits: {words}")
    for connection in (connections[0], connections[-1]):
        connection.request("GET", "/v1/version")
        expect(read_reply(connection).status == 200, f"one of {count} connections at a time")
    for connection in connections:
        connection.close()


def exit_codes_and_signals_are_reported(bench: Bench) -> None:
    daemon = bench.start(config='[scheduling]\nstart_pause = "100ms"\n')
    failing = daemon.submit("sh", "-c", "exit 7")
    killed = daemon.submit("sh", "-c", "kill -KILL $$")
    missing = daemon.submit("sh", "-c", "true", directory="/nowhere/at/all")
    unwritable = daemon.submit("sh", "-c", "true", output="/proc/nobody/can/write")
    job = daemon.wait_end(failing)
    expect(job["state"] == "FAILED" and job["exit_code"] == 7, f"exit 7: {job}")
    if not bench.programs.mpi:
        job = daemon.wait_end(killed)
        expect(job["state"] == "FAILED" and job["exit_code"] == 137, f"killed: {job}")
    for number, word in ((missing, "/nowhere/at/all"), (unwritable, "/proc/nobody/can/write")):
        job = daemon.wait_end(number)
        expect(job["state"] == "FAILED" and word in (job["reason"] or ""), f"job {number} must name {word}: {job}")


def a_script_gets_its_allocation(bench: Bench) -> None:
    daemon = bench.start()
    script = "#!/bin/sh\necho size=$ELASTIC_JOB_SIZE args=$1,$2\ncat $HYDRA_HOST_FILE\n"
    number = daemon.submit("my-script", "a", "b c", script=script, min=6, output="script-%j-%x.txt")
    job = daemon.wait_end(number)
    expect(job["state"] == "DONE" and job["script"], f"job: {job}")
    text = (daemon.folder / f"script-{number}-my-script.txt").read_text()
    expect("size=6 args=a,b c" in text, f"output: {text!r}")
    hosts = dict(re.findall(r"^(n\d):(\d+)$", text, re.M))
    expect(sum(map(int, hosts.values())) == 6, f"hosts: {text!r}")
    reply = daemon.get(f"/v1/jobs/{number}/script")
    expect(reply.body == script, f"the script is not given back: {reply.body!r}")


def jobs_wait_hold_release_and_cancel(bench: Bench) -> None:
    daemon = bench.start(nodes=1, cores=2)
    running = daemon.submit("sleep", "1000", min=2)
    daemon.wait_state(running, "RUNNING")
    waiting = daemon.submit("true", min=1)
    held = daemon.submit("true", min=1, held=True)
    expect(daemon.job(waiting)["state"] == "PENDING", "the second job must wait")
    expect(daemon.post(f"/v1/jobs/{waiting}/hold").status == 200, "hold")
    expect(daemon.post(f"/v1/jobs/{running}/hold").error() == "state", "a running job cannot be held")
    order = [job["id"] for job in daemon.get("/v1/jobs", order="queue").body["jobs"]]
    expect(order == [running, waiting, held], f"queue: {order}")
    expect(daemon.post(f"/v1/jobs/{held}/cancel").body["job"]["state"] == "CANCELLED", "a waiting job is cancelled at once")
    expect(daemon.post(f"/v1/jobs/{running}/cancel", reason="enough").status == 200, "cancel")
    job = daemon.wait_end(running)
    expect(job["state"] == "CANCELLED", f"cancelled: {job}")
    expect(daemon.job(waiting)["state"] == "PENDING", "a held job must not start")
    expect(daemon.post(f"/v1/jobs/{waiting}/release").status == 200, "release")
    expect(daemon.wait_end(waiting)["state"] == "DONE", "the released job must run")
    expect(daemon.post(f"/v1/jobs/{waiting}/cancel").error() == "state", "an ended job cannot be cancelled")


def what_ignores_sigterm_is_killed(bench: Bench) -> None:
    daemon = bench.start(config='[job]\nkill_grace = "500ms"\n')
    script = "#!/bin/sh\ntrap '' TERM\n(trap '' TERM; sleep 1000) &\nwhile :; do sleep 0.1; done\n"
    number = daemon.submit("stubborn", script=script)
    daemon.wait_state(number, "RUNNING")
    daemon.post(f"/v1/jobs/{number}/cancel")
    expect(daemon.wait_end(number)["state"] == "CANCELLED", "must be cancelled")


def a_time_limit_ends_a_job(bench: Bench) -> None:
    daemon = bench.start()
    number = daemon.submit("sleep", "1000", time_limit_ms=1000)
    job = daemon.wait_end(number)
    expect(job["state"] != "DONE" and "limit" in (job["reason"] or ""), f"job: {job}")


def signals_reach_a_script(bench: Bench) -> None:
    daemon = bench.start()
    ready = daemon.folder / "ready"
    script = f"#!/bin/sh\ntrap 'echo got-usr1; exit 3' USR1\ntouch {ready}\nwhile :; do sleep 0.1; done\n"
    number = daemon.submit("waits", script=script)
    wait_for("the script to be ready", ready.exists)
    expect(daemon.post(f"/v1/jobs/{number}/signal", signal="USR1").status == 200, "signal")
    job = daemon.wait_end(number)
    expect(job["exit_code"] == 3 and "got-usr1" in Path(job["output"]).read_text(), f"job: {job}")
    expect(daemon.post(f"/v1/jobs/{number}/signal", signal="USR1").error() == "state", "signal to an ended job")
    expect(daemon.post(f"/v1/jobs/{number}/signal", signal="NONE").error() == "field", "an unknown signal")


def output_may_go_to_fifos(bench: Bench) -> None:
    daemon = bench.start()
    out, into = daemon.folder / "out", daemon.folder / "in"
    os.mkfifo(out)
    os.mkfifo(into)
    reader = os.open(out, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(into, os.O_RDWR)
    number = daemon.submit("sh", "-c", "read line; echo got $line", output=str(out), input=str(into))
    os.write(writer, b"hello\n")
    os.set_blocking(reader, True)
    daemon.wait_end(number)
    text = os.read(reader, 1000).decode()
    os.close(reader)
    os.close(writer)
    expect(text == "got hello\n", f"through the FIFO came {text!r}")


def nodes_drain_and_resume(bench: Bench) -> None:
    daemon = bench.start(nodes=2, cores=1)
    expect(daemon.post("/v1/nodes/n0/drain").error() == "field", "a reason is required")
    expect(daemon.post("/v1/nodes/nx/drain", reason="x").status == 404, "an unknown node")
    reply = daemon.post("/v1/nodes/n0/drain", reason="broken fan")
    expect(reply.status == 200 and reply.body["node"]["state"] == "drained", f"drain: {reply.body}")
    first, second = daemon.submit("sleep", "1000"), daemon.submit("true")
    job = daemon.wait_state(first, "RUNNING")
    expect(job["nodes"] == [{"name": "n1", "processes": 1}], f"allocated on {job['nodes']}")
    expect(daemon.job(second)["state"] == "PENDING", "nothing may start on a drained node")
    expect(daemon.post("/v1/nodes/n0/resume").body["node"]["state"] == "up", "resume")
    expect(daemon.wait_end(second)["nodes"] is not None, "runs after the resume")
    daemon.post(f"/v1/jobs/{first}/cancel")
    daemon.wait_end(first)


def records_can_be_waited_for(bench: Bench) -> None:
    daemon = bench.start()
    since = daemon.get("/v1/records").body["next"]
    found: list[dict] = []
    thread = threading.Thread(target=lambda: found.append(daemon.get("/v1/records", since=since, wait_ms=50000).body))
    thread.start()
    time.sleep(0.2)  # that it does not answer before is checked by what it answers
    number = daemon.submit("true")
    thread.join()
    expect(found and found[0]["records"] and found[0]["records"][0]["job"] == number, f"waited: {found}")
    begin = time.monotonic()
    body = daemon.get(f"/v1/jobs/{number}", until="ended", wait_ms=60000).body
    expect(body["job"]["state"] == "DONE" and time.monotonic() - begin < 59, f"until=ended: {body}")
    daemon.wait_end(number)


def metrics_summary_timeline_and_report(bench: Bench) -> None:
    daemon = bench.start()
    numbers = [daemon.submit("sh", "-c", "sleep 0.2", min=2) for _ in range(3)]
    for number in numbers:
        daemon.wait_end(number)
    text = daemon.get("/metrics").body
    for line in text.splitlines():
        expect(re.fullmatch(r'#.*|[a-z_]+(\{[a-z]+="[^"]*"\})? -?[0-9.e+-]+|[a-z_]+_bucket\{le="[^"]+"\} \d+', line), f"metrics: {line!r}")
    doc = (Path(__file__).resolve().parents[2] / "doc/admin/elasticd-metrics.md").read_text()
    reported = set(zip(re.findall(r"^# TYPE (\w+ \w+)$", text, re.M), re.findall(r"^# HELP \w+ (.*)$", text, re.M)))
    known = {(f"{name} {kind}", what) for name, kind, what in re.findall(r"^\| `((?:elasticd|process)_\w+)` \| (\w+) \| [^|]* \| (.*) \|$", doc, re.M)}
    expect(reported == known, f"/metrics and doc/admin/elasticd-metrics.md differ: {reported ^ known}")
    expect('elasticd_jobs{state="DONE"} 3' in text and "elasticd_cores 16" in text, "metrics do not show the state")
    report = daemon.get("/v1/report").body
    expect(report["jobs"] == 3 and report["done"] == 3 and report["makespan_ms"] >= 200, f"report: {report}")
    expect(report["core_ms"] >= 3 * 2 * 190 and 0 < report["utilisation"] <= 1, f"report: {report}")
    (user,) = daemon.get("/v1/report", by="user").body["users"]
    expect(user["user"] == daemon.job(numbers[0])["user"] and user["core_ms"] == report["core_ms"], f"by user: {user}")
    expect(daemon.get("/v1/report", by="node").status == 400, "by what is unknown")
    segments = daemon.get("/v1/timeline").body["segments"]
    expect(sum(s["cores"] for s in segments) == 6 and all(s["to_ms"] for s in segments), f"timeline: {segments}")
    summary = daemon.get("/v1/summary").body
    expect(summary["jobs"]["DONE"] == 3 and summary["cores"] == 16, f"summary: {summary}")


def metrics_follow_conventions(bench: Bench) -> None:
    """Base units, _total for counters and for them alone; Grafana's dashboard shows metrics that exist."""
    daemon = bench.start()
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", daemon.get("/metrics").body, re.M))
    units = ("seconds", "bytes", "ratio")
    for name, kind in kinds.items():
        words = name.removesuffix("_total").split("_")
        expect((kind == "counter") == name.endswith("_total"), f"{name} is a {kind}")
        expect(kind != "histogram" or words[-1] in units, f"{name} names no unit")
        other = {"ms", "us", "milliseconds", "minutes", "hours", "kb", "mb", "percent", "ppm", "share"} & set(words)
        expect(not other, f"{name}: {other} is no base unit")
        expect(not any(word in units for word in words[:-1]), f"{name}: the unit comes last")
    series = {f"{name}_{part}" for name, kind in kinds.items() if kind == "histogram" for part in ("bucket", "sum", "count")} | set(kinds)
    board = json.loads((Path(__file__).resolve().parents[2] / "src/rm/service/grafana-elasticd.json").read_text())
    variables = {entry["name"] for entry in board["templating"]["list"]}
    panels = board["panels"]
    expect(len({panel["id"] for panel in panels}) == len(panels) > 10 and board["uid"] and board["schemaVersion"] >= 36, "the dashboard's head")
    cells: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        own = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        expect(not own & cells and at["x"] + at["w"] <= 24, f"{panel['title']} overlaps")
        cells |= own
        for target in panel["targets"]:
            used = set(re.findall(r"\b(?:elasticd|process)_\w+", target["expr"]))
            expect(used and used <= series, f"{panel['title']} shows {used - series or 'nothing'}")
            named = set(re.findall(r"\$\{?(\w+)", target["expr"] + panel["datasource"]["uid"])) - {"__rate_interval"}
            expect(named <= variables, f"{panel['title']}: {named - variables} is no variable")


def submissions_are_fast(bench: Bench) -> None:
    """200 submissions in a second, each durable when it is answered; p99 of their times below 100 ms."""
    count, workers = (2000, 8) if bench.full else (400, 8)
    daemon = bench.start(config="[limits]\nrate_per_s = 100000\n")
    spec = json.dumps(daemon.spec("true", held=True)).encode()
    times: list[float] = []

    def submit(share: int) -> None:
        connection = UnixConnection(daemon.socket)
        for _ in range(share):
            begin = time.monotonic()
            connection.request("POST", "/v1/jobs", spec)
            if read_reply(connection).status == 201:
                times.append(time.monotonic() - begin)
        connection.close()

    begin = time.monotonic()
    threads = [threading.Thread(target=submit, args=(count // workers,)) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - begin
    p99 = sorted(times)[int(0.99 * len(times))] * 1000
    print(f"# {count / took:.0f} submissions per second, p99 {p99:.1f} ms")
    expect(len(times) == count, f"{count - len(times)} submissions failed")
    for line in daemon.get("/metrics").body.splitlines():
        if line.startswith("elasticd_commit_seconds_"):
            print(f"# {line}")
    daemon.kill()
    daemon.start()
    expect(daemon.get("/v1/summary").body["jobs"]["PENDING"] == count, "accepted submissions are missing after kill -9")
    expect(count / took > 20 and p99 < 1000, f"{count / took:.0f} per second, p99 {p99:.1f} ms")


def real_mpi_jobs_run(bench: Bench) -> None:
    bench.needs_mpi()
    daemon = bench.start()
    number = daemon.submit("sh", "-c", "echo rank $PMI_RANK of $PMI_SIZE", min=6)
    job = daemon.wait_end(number)
    lines = sorted(Path(job["output"]).read_text().split("\n"))
    expect(job["state"] == "DONE" and lines[1:] == [f"rank {rank} of 6" for rank in range(6)], f"{job} {lines}")
    number = daemon.submit("two", script="#!/bin/sh\nmpiexec sh -c 'echo one $PMI_SIZE'\nmpiexec -n 2 sh -c 'echo two $PMI_SIZE'\n", min=3)
    job = daemon.wait_end(number)
    text = Path(job["output"]).read_text()
    expect(text.count("one 3") == 3 and text.count("two 2") == 2, f"a script with two mpiexec: {job} {text!r}")


def a_stopped_daemon_leaves_its_steps(bench: Bench) -> None:
    daemon = bench.start()
    number = daemon.submit("sleep", "1000")
    daemon.wait_state(number, "RUNNING")
    expect(daemon.stop() == 0, "SIGTERM")
    daemon.start()
    expect(daemon.job(number)["state"] == "RUNNING", "the job must run on")
    daemon.post(f"/v1/jobs/{number}/cancel")
    expect(daemon.wait_end(number)["state"] == "CANCELLED", "and be cancellable")

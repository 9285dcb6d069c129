"""What elasticd does while it lives: jobs, access, bad input, limits."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

from daemon_under_test import Bench, Daemon, Skip, UnixConnection, expect, read_reply, wait_for


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
    expect(job["nodes"] == [{"name": "n1", "processes": 1}], f"placed on {job['nodes']}")
    expect(daemon.job(second)["state"] == "PENDING", "nothing may start on a drained node")
    expect(daemon.post("/v1/nodes/n0/resume").body["node"]["state"] == "up", "resume")
    expect(daemon.wait_end(second)["nodes"] is not None, "runs after the resume")
    daemon.post(f"/v1/jobs/{first}/cancel")
    daemon.wait_end(first)


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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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
    expect(tcp("GET", "/v1/version").body["user"] is None, "version without a token")
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
    daemon.post(f"/v1/jobs/{roots}/cancel")
    daemon.wait_end(roots)


def a_repeated_submission_makes_one_job(bench: Bench) -> None:
    daemon = bench.start()
    spec = daemon.spec("true", key="once")
    replies = [daemon.request("POST", "/v1/jobs", spec) for _ in range(3)]
    expect([reply.status for reply in replies] == [201, 200, 200], f"statuses: {[reply.status for reply in replies]}")
    numbers = {reply.body["job"]["id"] for reply in replies}
    expect(len(numbers) == 1, "one key has made several jobs")
    daemon.wait_end(numbers.pop())


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
    doc = (Path(__file__).resolve().parents[2] / "doc/admin/elasticd-api.md").read_text()
    reported = set(zip(re.findall(r"^# TYPE (\w+ \w+)$", text, re.M), re.findall(r"^# HELP \w+ (.*)$", text, re.M)))
    known = {(f"{name} {kind}", what) for name, kind, what in re.findall(r"^\| `((?:elasticd|process)_\w+)` \| (\w+) \| [^|]* \| (.*) \|$", doc, re.M)}
    expect(reported == known, f"/metrics and doc/admin/elasticd-api.md differ: {reported ^ known}")
    expect('elasticd_jobs{state="DONE"} 3' in text and "elasticd_cores 16" in text, "metrics do not tell the state")
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
    board = json.loads((Path(__file__).resolve().parents[2] / "src/rm/daemon/grafana-elasticd.json").read_text())
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
    expect(daemon.get("/v1/summary").body["jobs"]["PENDING"] == count, "accepted submissions were lost by kill -9")
    expect(count / took > 20 and p99 < 1000, f"{count / took:.0f} per second, p99 {p99:.1f} ms")


def a_full_disk_loses_nothing(bench: Bench) -> None:
    """A limit on the size of files stands for the disk: what cannot be stored is refused, and later works again."""
    daemon = bench.start()
    assert daemon.process
    kept = daemon.submit("true", held=True)
    running = daemon.submit("sh", "-c", "sleep 0.5; exit 4")
    daemon.wait_state(running, "RUNNING")
    pid = daemon.process.pid
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))
    reply = daemon.request("POST", "/v1/jobs", daemon.spec("true"))
    expect(reply.status == 503 and reply.error() == "storage", f"on a full disk: {reply.status} {reply.body}")
    expect(daemon.get("/healthz").status == 503, "healthz must tell")
    expect(daemon.job(kept)["state"] == "PENDING", "reading goes on")
    time.sleep(1.0)  # the running job ends meanwhile
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    job = daemon.wait_end(running)
    expect(job["exit_code"] == 4, f"the end of a job was lost: {job}")
    expect(daemon.submit("true", held=True) > kept, "works again")


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
        ended = ("DONE", "FAILED") if seq == last else ("DONE",)  # the last one may have told of its end
        expect(states[0] == states[2] == "RUNNING" and states[1] in ended, f"without event {seq}: {states}")
        daemon.kill()
    daemon.start()
    for number in (jobs[0], jobs[2]):
        daemon.post(f"/v1/jobs/{number}/cancel")
        daemon.wait_end(number)


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

"""An elasticd of the tests' own: it answers as in doc/admin/elasticd-api.md, on a Unix socket, and runs jobs as plain processes.

It has nothing of the real one's decisions: a job starts as soon as it is not held, with its greatest size, on one node.
It produces rare conditions that the command must handle: missing answers, temporary refusals, invalid answers, absence.
Fields that the interface does not have are refused, so that a misspelt request cannot pass here.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import pwd
import re
import signal
import socket
import socketserver
import subprocess
import threading
import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fake_loops import now_ms

Json = dict[str, Any]

SUBMIT_FIELDS = {
    "command", "script", "directory", "environment", "min", "max", "preferred", "kind", "sizes", "nodes",
    "cores_per_process", "processes_per_node", "nodes_max", "exclusive", "requeue", "name", "time_limit_ms", "priority", "held",
    "output", "error", "input", "mpiexec", "umask", "limits", "key", "begin_ms", "after", "after_any", "after_ok",
    "after_not_ok", "array", "singleton", "memory_per_core_mib", "memory_per_node_mib", "gpus_per_process", "gpus_per_node",
    "limit_signal", "slurm_environment", "test_only", "mail", "nodelist", "exclude", "partition", "reservation", "gpus",
}  # fmt: skip
USER = pwd.getpwuid(os.getuid()).pw_name
ENDED = ("DONE", "FAILED", "CANCELLED")
CODES = {"PENDING": "PD", "STARTING": "ST", "RUNNING": "R", "ADAPTING": "AD", "SUSPENDED": "S", "COMPLETING": "CG",
         "DONE": "CD", "FAILED": "F", "CANCELLED": "CA"}  # fmt: skip
RESERVATIONS = [{"name": "course", "state": "active", "from_ms": 1000, "until_ms": 2000, "nodes": ["n0", "n1"], "may_use": True},
                {"name": "maintenance", "state": "waits", "from_ms": 1000, "until_ms": 2000, "nodes": None, "may_use": False}]  # fmt: skip
SIGNALS = ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "CONT", "TSTP", "KILL")


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class FakeElasticd:
    """Jobs, nodes and records under one lock; threads of the server and one for each job."""

    def __init__(self, path: Path, cores: int = 8) -> None:
        self.socket = path
        self.lock = threading.Condition()
        self.jobs: dict[int, Json] = {}
        self.requests: list[tuple[str, str, Json]] = []  # method, path, body: for the tests
        self.keys: dict[str, int] = {}
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self.records: list[Json] = []
        self.nodes = {name: {"name": name, "cores": cores, "state": "up", "reason": None} for name in ("n0", "n1")}
        self.lose_answers = 0  # of the next POST /v1/jobs: done, but not answered
        self.refuse: list[Refused] = []  # the next POST /v1/jobs
        self.boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        self.uid = os.getuid()  # the user of all requests
        self.hold_answers: threading.Event | None = None  # POST /v1/jobs waits for it
        self.empty_pages = False  # the first page of a list holds no job
        self.answer_nonsense = False
        self.resize_result = "committed"
        self.server: socketserver.BaseServer | None = None
        self.connections: list[socket.socket] = []
        self.listen()

    # ---------------------------------------------------------------- coming and going

    def listen(self) -> None:
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def address_string(self) -> str:
                return "unix"

            def log_message(self, format: str, *arguments: Any) -> None:
                del format, arguments

            def do_GET(self) -> None:
                fake.answer(self, "GET", {})

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", "0"))
                fake.answer(self, "POST", json.loads(self.rfile.read(length)))

        class Server(socketserver.ThreadingUnixStreamServer):
            daemon_threads = True
            request_queue_size = 64

            def process_request(self, request: Any, client_address: Any) -> None:
                fake.connections.append(request)
                super().process_request(request, client_address)

            def handle_error(self, request: Any, client_address: Any) -> None:
                del request, client_address  # the client, or go_away(), has closed it

        self.socket.unlink(missing_ok=True)
        self.server = Server(str(self.socket), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def go_away(self) -> None:
        """As after kill -9: connections break, jobs continue."""
        assert self.server
        self.server.shutdown()
        self.server.server_close()
        self.socket.unlink(missing_ok=True)
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.connections.clear()

    def close(self) -> None:
        self.go_away()
        for process in self.processes.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    # ---------------------------------------------------------------- HTTP

    def answer(self, handler: http.server.BaseHTTPRequestHandler, method: str, body: Json) -> None:
        url = urllib.parse.urlsplit(handler.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        status = 200
        try:
            with self.lock:
                self.requests.append((method, handler.path, body))
                if url.path == "/v1/jobs" and method == "POST" and self.refuse:
                    raise self.refuse.pop(0)
            if url.path == "/v1/jobs" and method == "POST" and self.hold_answers:
                self.hold_answers.wait()
                raise Refused(503, "full", "too late")
            result = self.route(method, url.path, query, body)
            if url.path == "/v1/jobs" and method == "POST":
                status = 201
                if self.lose_answers > 0:
                    self.lose_answers -= 1
                    handler.close_connection = True
                    return
        except Refused as error:
            status, result = error.status, {"error": {"code": error.code, "message": str(error)}}
        text = result if isinstance(result, str) else json.dumps(result)
        data = (b"<html>" if self.answer_nonsense else text.encode()) + b"\n" * (not isinstance(result, str))
        handler.send_response(500 if self.answer_nonsense else status)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def route(self, method: str, path: str, query: dict[str, str], body: Json) -> Json | str:
        routes: list[tuple[str, str, Callable[..., Json | str]]] = [
            ("POST", r"/v1/jobs", lambda: self.submit(body)),
            ("GET", r"/v1/jobs", lambda: self.list_jobs(query)),
            ("GET", r"/v1/jobs/(\d+)", lambda id: self.get_job(int(id), query)),
            ("GET", r"/v1/jobs/(\d+)/script", lambda id: self.job(int(id))["_request"].get("script", "")),
            ("GET", r"/v1/jobs/(\d+)/loops", lambda id: self.get_loops(int(id), query)),
            ("GET", r"/v1/jobs/(\d+)/records", lambda id: self.get_records({**query, "job": id})),
            ("POST", r"/v1/jobs/(\d+)/cancel", lambda id: self.cancel(int(id), body)),
            ("POST", r"/v1/jobs/(\d+)/(suspend|resume)", lambda id, verb: self.suspend(int(id), verb)),
            ("POST", r"/v1/jobs/(\d+)/(hold|release)", lambda id, verb: self.hold(int(id), verb == "hold")),
            ("POST", r"/v1/jobs/(\d+)/resize", lambda id: self.resize(int(id), body)),
            ("POST", r"/v1/jobs/(\d+)/update", lambda id: self.update(int(id), body)),
            ("POST", r"/v1/jobs/(\d+)/signal", lambda id: self.send_signal(int(id), body)),
            ("GET", r"/v1/records", lambda: self.get_records(query)),
            ("GET", r"/v1/nodes", lambda: self.list_nodes(query)),
            ("GET", r"/v1/reservations", lambda: {"reservations": RESERVATIONS}),
            ("POST", r"/v1/reservations(?:/[^/]+/(update|delete))?", lambda task: {"reservation": body, "jobs": [] if task else [3, 4]}),
            ("POST", r"/v1/nodes/([^/]+)/(drain|resume)", lambda name, verb: self.set_node(name, verb, body)),
            ("GET", r"/v1/version", self.version),
            ("GET", r"/v1/summary", self.summary),
            ("GET", r"/v1/timeline", lambda: self.timeline(query)),
            ("GET", r"/v1/report", lambda: self.report(query)),
        ]
        known = False
        for verb, pattern, function in routes:
            match = re.fullmatch(pattern, urllib.parse.unquote(path))
            known = known or match is not None
            if match and verb == method:
                with self.lock:
                    return function(*match.groups())
        raise Refused(405 if known else 404, "method" if known else "not_found", f"there is no {method} {path}")

    # ---------------------------------------------------------------- jobs

    def job(self, number: int) -> Json:
        if number not in self.jobs:
            raise Refused(404, "not_found", f"there is no job {number} of yours")
        return self.jobs[number]

    @staticmethod
    def public(job: Json) -> Json:
        return {name: value for name, value in job.items() if not name.startswith("_")}

    def record(self, event: str, job: int | None, node: str | None = None, **data: Any) -> None:
        self.records.append(
            {"seq": len(self.records) + 1, "time_ms": now_ms(), "event": event, "job": job, "node": node, "data": data}
        )
        self.lock.notify_all()

    def set_state(self, job: Json, state: str) -> None:
        job["state"], job["code"] = state, CODES[state]

    def submit(self, body: Json) -> Json:
        unknown = set(body) - SUBMIT_FIELDS
        missing = {"command", "directory", "environment"} - set(body)
        if unknown or missing:
            raise Refused(400, "field", f"unknown fields {sorted(unknown)}, missing {sorted(missing)}")
        if body.get("key") in self.keys:
            return {"job": self.public(self.job(self.keys[body["key"]]))}
        low = body.get("min", 1)
        high = body.get("max", low)
        if low > high or low > 16:
            raise Refused(400, "range", f"{low} processes are more than the 16 cores of this machine")
        if body.get("test_only"):
            return {"test": {"expected_start_ms": 1700000000000, "expected_after": None, "min": low, "max": high}}
        number = len(self.jobs) + 1
        default_output = f"elastic-{number}.out"
        output = self.path(body, body.get("output", default_output), number)
        job: Json = {
            "id": number, "name": body.get("name", os.path.basename(body["command"][0])), "user": USER,
            "uid": os.getuid(), "reason": None, "kind": body.get("kind", "rigid" if low == high else "malleable"),
            "adaptive": None, "min": low, "max": high, "preferred": body.get("preferred"),
            "sizes": body.get("sizes", {"rule": "any"}), "cores_per_process": body.get("cores_per_process", 1),
            "processes_per_node": body.get("processes_per_node"), "exclusive": body.get("exclusive", False),
            "requeue": body.get("requeue", False), "size": 0, "nodes": [], "priority": body.get("priority", 0),
            "held": body.get("held", False), "time_limit_ms": body.get("time_limit_ms"), "submit_ms": now_ms(),
            "start_ms": None, "end_ms": None, "exit_code": None, "step": 0, "epoch": 0, "adaptation": None,
            "counts": {"committed": 0, "withdrawn": 0, "failed": 0}, "standstill_ms": 0, "command": body["command"],
            "script": "script" in body, "directory": body["directory"], "output": output,
            "error": self.path(body, body["error"], number) if "error" in body else output,
            "input": self.path(body, body.get("input", "/dev/null"), number), "step_socket": None, "performance": None,
            "_request": body,
        }  # fmt: skip
        self.set_state(job, "PENDING")
        job["reason"] = "Held" if job["held"] else None
        self.jobs[number] = job
        if "key" in body:
            self.keys[body["key"]] = number
        self.record("submitted", number, spec={"name": job["name"], "minimum": low, "maximum": high, "elasticity": job["kind"]})
        if not job["held"]:
            self.start(job)
        return {"job": self.public(job)}

    @staticmethod
    def path(body: Json, path: str, number: int) -> str:
        return os.path.join(body["directory"], path.replace("%j", str(number)).replace("%x", body.get("name", "")))

    def start(self, job: Json) -> None:
        self.set_state(job, "RUNNING")
        job.update(start_ms=now_ms(), size=job["max"], step=1, reason=None, adaptive=job["kind"] == "malleable")
        job["nodes"] = [{"name": "n0", "processes": job["max"]}]
        self.record("placed", job["id"], step=1, size=job["max"], blocks=[{"node": "n0", "processes": job["max"]}],
                    waited_ms=now_ms() - job["submit_ms"])  # fmt: skip
        self.record("started", job["id"], step=1, size=job["max"])
        threading.Thread(target=self.run, args=(job,), daemon=True).start()

    def run(self, job: Json) -> None:
        try:
            self.execute(job)
        except OSError as problem:  # its folder may not exist any more
            self.end(job, "FAILED", None, f"cannot open {problem.filename}: {problem.strerror}")

    def execute(self, job: Json) -> None:
        """One process instead of mpiexec; files are opened as in the interface."""
        body = job["_request"]
        environment = {**body["environment"], "ELASTIC_JOB_ID": str(job["id"])}
        with (
            open(job["input"], "rb") as input,
            open(job["output"], "ab", buffering=0) as output,
            open(job["error"], "ab", buffering=0) as error,
        ):
            command = body["command"]
            if "script" in body:
                script = Path(f"{self.socket}.script-{job['id']}")
                script.write_text(body["script"])
                script.chmod(0o700)
                command = [str(script), *command[1:]]
            try:
                process = subprocess.Popen(command, stdin=input, stdout=output, stderr=error, env=environment,
                                           cwd=job["directory"], start_new_session=True)  # fmt: skip
            except OSError as problem:
                return self.end(job, "FAILED", None, f"cannot start {command[0]}: {problem.strerror}")
            with self.lock:
                self.processes[job["id"]] = process
            code = process.wait()
        code = code if code >= 0 else 128 - code
        cancelled = job.get("_cancelled")
        self.end(job, "CANCELLED" if cancelled else "FAILED" if code else "DONE", code, cancelled)

    def end(self, job: Json, state: str, code: int | None, reason: str | None) -> None:
        with self.lock:
            self.set_state(job, state)
            job.update(end_ms=now_ms(), exit_code=code, reason=reason, nodes=[], adaptation=None)
            self.record("ended", job["id"], state=state, exit_code=code, reason=reason, step=job["step"])

    def list_jobs(self, query: dict[str, str]) -> Json:
        jobs = sorted(self.jobs.values(), key=lambda job: job["id"], reverse=query.get("order") == "-id")
        states = query["state"].split(",") if "state" in query else None
        if states:
            jobs = [job for job in jobs if job["state"] in states or job["code"] in states]
        elif query.get("all") != "true" and "ids" not in query:
            jobs = [job for job in jobs if job["state"] not in ENDED]
        if "ids" in query:
            jobs = [job for job in jobs if str(job["id"]) in query["ids"].split(",")]
        if "user" in query:
            jobs = [job for job in jobs if query["user"] == job["user"]]
        if "name" in query:
            jobs = [job for job in jobs if job["name"] == query["name"]]
        jobs = [job for job in jobs if (job["end_ms"] or 1 << 62) >= int(query.get("from_ms", 0))]
        jobs = [job for job in jobs if job["submit_ms"] <= int(query.get("to_ms", 1 << 62))]
        jobs = [job for job in jobs if int(query.get("after", 0)) < job["id"] < int(query.get("before", 1 << 62))]
        jobs = jobs[int(query.get("skip", 0)) :]
        limit = min(int(query.get("limit", 1000)), 3)  # small, so that pages are needed
        if self.empty_pages and jobs and not {"after", "before"} & set(query):
            # As if the first alone had been read, and were not wanted.
            return {"jobs": [], "more": True, "last": jobs[0]["id"]}
        more = len(jobs) > limit
        return {"jobs": [self.public(job) for job in jobs[:limit]], "more": more,
                "last": jobs[limit - 1]["id"] if more else None}  # fmt: skip

    def get_job(self, number: int, query: dict[str, str]) -> Json:
        job = self.job(number)
        deadline = time.monotonic() + int(query.get("wait_ms", 0)) / 1000

        def reached() -> bool:
            started = job["state"] not in ("PENDING", "STARTING")
            return job["state"] in ENDED if query.get("until") == "ended" else started

        while not reached() and time.monotonic() < deadline:
            self.lock.wait(min(0.05, max(0.0, deadline - time.monotonic())))
        return {"job": self.public(job)}

    def get_loops(self, number: int, query: dict[str, str]) -> Json:
        """The use of time of a job, if a test has set it (`_loops`)."""
        if set(query) - {"max_age_ms"}:
            raise Refused(400, "field", f"unknown parameters {sorted(query)}")
        job = self.job(number)
        nothing = {"available": False, "reason": "no sample has been taken yet", "history": []}
        return {"job": number, "performance": job.get("performance"), "sampled_ms": None, **job.get("_loops", nothing)}

    def cancel(self, number: int, body: Json) -> Json:
        job = self.job(number)
        if job["state"] in ENDED:
            raise Refused(409, "state", f"job {number} has ended already")
        job["_cancelled"] = body.get("reason") or "CancelledByUser"
        if number in self.processes:
            os.killpg(self.processes[number].pid, signal.SIGTERM)
        elif job["state"] == "PENDING":
            self.set_state(job, "CANCELLED")
            job.update(end_ms=now_ms(), reason=job["_cancelled"])
            self.record("ended", number, state="CANCELLED", exit_code=None, reason=job["reason"], step=0)
        return {"job": self.public(job)}

    def hold(self, number: int, held: bool) -> Json:
        job = self.job(number)
        if job["state"] != "PENDING":
            raise Refused(409, "state", f"job {number} does not wait, it is {job['state']}")
        job.update(held=held, reason="Held" if held else None)
        self.record("held" if held else "released", number)
        if not held:
            self.start(job)
        return {"job": self.public(job)}

    def suspend(self, number: int, verb: str) -> Json:
        if (job := self.job(number))["state"] != "SUSPENDED" and verb == "resume":
            raise Refused(409, "state", f"job {number} is {job['state']}: it is not suspended")
        self.set_state(job, "SUSPENDED" if verb == "suspend" else "RUNNING")
        return {"job": self.public(job)}

    def update(self, number: int, body: Json) -> Json:
        job = self.job(number)
        if job["state"] in ENDED:
            raise Refused(409, "state", f"job {number} is {job['state']}")
        unknown = set(body) - {"name", "time_limit_ms", "priority", "min", "max", "preferred"}
        if unknown:
            raise Refused(400, "field", f"unknown fields {sorted(unknown)}")
        job.update(body)
        return {"job": self.public(job)}

    def resize(self, number: int, body: Json) -> Json:
        job = self.job(number)
        if job["kind"] != "malleable":
            raise Refused(409, "rigid", f"job {number} cannot be resized")
        if not job["min"] <= body["size"] <= job["max"]:
            raise Refused(400, "range", f"{body['size']} is not within {job['min']}:{job['max']}")
        request = job["counts"]["committed"] + 1
        data = {"step": 1, "request": request, "old_size": job["size"], "size": body["size"]}
        job["adaptation"] = {"request": request, "phase": "asked", "from": job["size"], "size": body["size"],
                             "by_user": True, "reason": body.get("reason"), "since_ms": now_ms()}  # fmt: skip
        self.record("requested", number, **data, by_user=True)
        answer = {"job": self.public(json.loads(json.dumps(job)))}
        job["adaptation"] = None
        if self.resize_result == "committed":
            job.update(size=body["size"], epoch=job["epoch"] + 1)
            job["counts"]["committed"] += 1
            self.record("committed", number, **data, epoch=job["epoch"], duration_ms=12, standstill_ms=3,
                        blocks=[{"node": "n0", "processes": body["size"]}])  # fmt: skip
        else:
            self.record(self.resize_result, number, **data, reason="the test wants it so")
        return answer

    def send_signal(self, number: int, body: Json) -> Json:
        job = self.job(number)
        if body["signal"] not in SIGNALS:
            raise Refused(400, "field", f"signal: {body['signal']} is not among {', '.join(SIGNALS)}")
        if job["state"] != "RUNNING" or number not in self.processes:
            raise Refused(409, "state", f"job {number} does not run")
        os.killpg(self.processes[number].pid, getattr(signal, "SIG" + body["signal"]))
        return {"job": self.public(job)}

    # ---------------------------------------------------------------- the rest

    def get_records(self, query: dict[str, str]) -> Json:
        since = int(query.get("since", 1))
        wanted = int(query["job"]) if "job" in query else None
        deadline = time.monotonic() + int(query.get("wait_ms", 0)) / 1000
        if since < 0:
            since = max(1, len(self.records) + 1 + since)

        def found() -> list[Json]:
            return [r for r in self.records[since - 1 :] if wanted is None or r["job"] == wanted]

        while not found() and time.monotonic() < deadline:
            self.lock.wait(min(0.05, max(0.0, deadline - time.monotonic())))
        records = found()[: min(int(query.get("limit", 1000)), 5)]
        full = len(records) < len(found())
        return {"records": records, "next": records[-1]["seq"] + 1 if full else len(self.records) + 1, "oldest": 1}

    def get_nodes(self) -> Json:
        nodes = []
        for node in self.nodes.values():
            uses = [{"job": job["id"], "cores": node_share["processes"], "processes": node_share["processes"]}
                    for job in self.jobs.values() for node_share in job["nodes"] if node_share["name"] == node["name"]]  # fmt: skip
            nodes.append({**node, "cores_used": sum(use["cores"] for use in uses), "jobs": uses})
        return {"nodes": nodes, "cores": 16, "cores_used": sum(node["cores_used"] for node in nodes)}

    def set_node(self, name: str, verb: str, body: Json) -> Json:
        if name not in self.nodes:
            raise Refused(404, "not_found", f"there is no node {name}")
        if verb == "drain" and not body.get("reason"):
            raise Refused(400, "field", "reason: why the node is drained")
        self.nodes[name].update(state="draining" if verb == "drain" else "up", reason=body.get("reason"))
        self.record("node_draining" if verb == "drain" else "node_resumed", None, name, **body)
        return {"node": self.nodes[name]}

    def version(self) -> Json:
        return {"name": "elasticd", "version": "fake", "api": 1, "cluster": "test", "policy": "fill",
                "backend": "local", "started_ms": 1, "now_ms": now_ms(), "host": "far", "boot_id": self.boot_id,
                "user": {"name": "ann" if self.uid != os.getuid() else USER, "uid": self.uid, "administrator": True}}  # fmt: skip

    def list_nodes(self, query: dict[str, str]) -> Json:
        del query
        return self.get_nodes()

    def summary(self) -> Json:
        nodes = self.get_nodes()
        counts: dict[str, int] = {}
        for job in self.jobs.values():
            counts[job["state"]] = counts.get(job["state"], 0) + 1
        return {"now_ms": now_ms(), "policy": "fill", "cores": 16, "cores_used": nodes["cores_used"],
                "nodes": {"up": 2, "draining": 0, "drained": 0, "down": 0}, "jobs": counts,
                "adaptations": {"committed": 0, "withdrawn": 0, "failed": 0}, "seq": len(self.records)}  # fmt: skip

    def timeline(self, query: dict[str, str]) -> Json:
        segments = [{"job": job["id"], "name": job["name"], "node": "n0", "cores": job["max"],
                     "from_ms": job["start_ms"], "to_ms": job["end_ms"]}
                    for job in self.jobs.values() if job["start_ms"]]  # fmt: skip
        start = int(query.get("from_ms", now_ms() - 3600_000))
        newest = int(query.get("before", len(segments)))  # a segment a page
        next_page = newest - 1 if newest > 1 else None
        return {"from_ms": start, "to_ms": int(query.get("to_ms", now_ms())), "segments": segments[max(newest - 1, 0):newest],
                "next": next_page, "more": next_page is not None,
                "nodes": [] if "before" in query else [{"name": node["name"], "cores": node["cores"]} for node in self.nodes.values()]}  # fmt: skip

    def report(self, query: dict[str, str]) -> Json:
        times = {"mean": 1500.0, "p95": 4000, "max": 4000}
        ended = [job for job in self.jobs.values() if job["state"] in ENDED]
        users = {"users": [{"user": name, "jobs": 3, "done": 2, "failed": 1, "cancelled": 0, "wait_ms": times, "core_ms": used,
                            "adaptations": {"committed": 2}} for name, used in (("ann", 682500), ("bob", 227500))]}  # fmt: skip
        by_user = users if query.get("by") == "user" else {}
        metrics = [{"title": "Makespan", "path": ["makespan_ms"], "unit": "ms"}, {"title": "Wait, mean", "path": ["wait_ms", "mean"], "unit": "ms"},
                   {"title": "Utilisation", "path": ["utilisation"], "unit": "part"}]  # fmt: skip
        return by_user | {"metrics": metrics, "jobs": len(self.jobs), "done": len([j for j in ended if j["state"] == "DONE"]), "failed": 0,
                "cancelled": 0, "makespan_ms": 65000, "wait_ms": times, "turnaround_ms": times, "utilisation": 0.875,
                "adaptations": {"committed": 2, "withdrawn": 1, "failed": 0}, "standstill_ms": 12,
                "core_ms": 910000}  # fmt: skip

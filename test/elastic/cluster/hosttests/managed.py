"""elasticd on a host of the testbed, and jobs under it: the common part of the tests of its back ends.

elasticd runs on one host (`head`, or where a user would start it); its socket and folders lie on the shared file system.  The
jobs run the conformance programs `serve` (until its folder holds a file `stop`) and `cycle`, which check every world they are in
and print one PASS line with the number of adaptations and the last size.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.job import Job

from .hostrun import HostRun

ENDED = ("DONE", "FAILED", "CANCELLED")
# Pauses short enough for a test.
PAUSES = '[scheduling]\noffer_pause = "200ms"\nrefusal_pause = "1s"\n'


class Managed:
    """One elasticd."""

    before: Sequence[str] = ()  # put before the commands elasticd and elastic: to be somebody else

    def __init__(self, run: HostRun, backend: str = "", options: Sequence[str] = (), host: str = "head") -> None:
        self.run, self.host, self.options = run, host, list(options)
        self.config = run.folder / "elasticd.toml"
        self.config.write_text(f"{PAUSES}{backend}", encoding="utf-8")
        self.socket = run.folder / "d" / "elasticd.sock"
        self.state = run.folder / "state"
        run.environment |= {"ELASTICD_SOCKET": str(self.socket)}
        self.job = self.start()

    def start(self) -> Job:
        words = [
            *self.before,
            f"{self.run.setting.prefix}/bin/elasticd",
            f"--config={self.config}",
            f"--state-dir={self.state}",
            f"--socket={self.socket}",
            *self.options,
        ]
        job = Job(self.run, self.run.inside(words, self.host), None)
        self.run.jobs.append(job)
        self.run.await_value(lambda: self.answers(job), "answer of elasticd")
        return job

    def signal(self, number: signal.Signals) -> int:
        """To elasticd itself, which is a child of the command that enters the host; the exit code."""
        for pid in self.run.pids(self.host, "elasticd"):
            os.kill(pid, number)
        return self.job.wait()

    def answers(self, job: Job) -> bool:
        if job.process.poll() is not None:
            self.run.fail(f"elasticd has ended: {job.err[-600:]}")
        return self.elastic("queue").returncode == 0  # one that was killed has left its socket

    def elastic(self, *words: str, limit_s: float = 60) -> Any:
        done = self.run.on(
            self.host, *self.before, f"{self.run.setting.prefix}/bin/elastic", *words, limit_s=limit_s
        )
        if done.returncode == 0:
            del self.run.notes[-1 - len((done.stdout + done.stderr).splitlines()) :]  # queried often
        return done

    def query(self, *words: str) -> list[dict[str, Any]]:
        done = self.elastic(*words, "--json")
        self.run.check(done.returncode == 0, f"elastic {' '.join(words)}: {done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    # ---- nodes

    def node(self, name: str) -> dict[str, Any]:
        for node in self.query("nodes"):
            if node["name"] == name:
                return node
        return {"name": name, "state": "unknown", "reason": ""}

    def await_node(self, name: str, *states: str) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            node = self.node(name)
            return node if node["state"] in states else None

        found: dict[str, Any] = self.run.await_value(reached, f"node {name} that is {' or '.join(states)}")
        return found

    # ---- jobs

    def submit(self, name: str, size: str, program: str, *arguments: str, options: Sequence[str] = ()) -> int:
        """Each job has a folder of its own name."""
        folder = self.run.work / name
        folder.mkdir(exist_ok=True)
        path = program if program.startswith("/") else self.run.program(program)
        words = ["submit", "--parsable", "-J", name, "-n", size, "-D", str(folder), "-o", f"{folder}/out", *options]
        done = self.elastic(*words, "--program", path, *arguments)
        self.run.check(done.returncode == 0, f"elastic submit: {done.stderr}")
        return int(done.stdout)

    def resize(self, job: int, size: int) -> None:
        """Requests until it is accepted, or until an adaptation that was under way has led to that size."""

        def accepted() -> bool:
            done = self.elastic("resize", str(job), str(size))
            return done.returncode == 0 or "has that size already" in done.stderr

        self.run.await_value(accepted, f"accepted resize of job {job} to {size}")

    def show(self, job: int) -> dict[str, Any]:
        return self.query("show", str(job))[0]

    def await_job(self, job: int, what: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            shown = self.show(job)
            if holds(shown):
                return shown
            if shown["state"] in ENDED:
                self.run.fail(f"job {job} has ended instead of: {what}: {json.dumps(shown)}\n{self.output(shown)[-600:]}")
            return None

        found: dict[str, Any] = self.run.await_value(reached, f"job {job}: {what}; {json.dumps(self.show(job))}")
        return found

    def await_size(self, job: int, size: int) -> dict[str, Any]:
        return self.await_job(job, f"{size} processes", lambda j: j["size"] == size and j["state"] == "RUNNING")

    def await_adaptive(self, job: int) -> dict[str, Any]:
        return self.await_job(job, "an adaptive program", lambda j: j["state"] == "RUNNING" and bool(j["adaptive"]))

    def await_end(self, job: int, *states: str) -> dict[str, Any]:
        shown: dict[str, Any] = self.run.await_value(
            lambda: next((j for j in [self.show(job)] if j["state"] in ENDED), None), f"end of job {job}"
        )
        self.run.check(shown["state"] in states, f"job {job}: {json.dumps(shown)}\n{self.output(shown)[-800:]}")
        return shown

    def slots(self, job: int) -> dict[str, int]:
        """How many processes of its world are on each node that has any, without those that are leaving."""
        shown = self.show(job)
        counts: dict[str, int] = {}
        for node in shown["nodes"] if shown["state"] not in ENDED else []:
            counts[node["name"]] = counts.get(node["name"], 0) + node["processes"]
        return counts

    @staticmethod
    def output(shown: dict[str, Any]) -> str:
        path = Path(shown["output"])
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""

    def let_end(self, job: int) -> dict[str, Any]:
        """Stops a `serve` and checks its result."""
        (Path(self.show(job)["output"]).parent / "stop").touch()
        return self.good_end(job)

    def good_end(self, job: int) -> dict[str, Any]:
        shown = self.await_end(job, "DONE")
        passed = re.findall(r"^PASS epoch=(\d+) size=(\d+)$", self.output(shown), re.M)
        self.run.check(len(passed) == 1, f"job {job} has no PASS line: {self.output(shown)[-600:]}")
        self.run.check(int(passed[0][1]) == shown["size"], f"job {job}: {passed} is not {json.dumps(shown)}")
        return shown

    def records(self, event: str, job: int | None = None) -> list[dict[str, Any]]:
        rows = self.query("events")
        return [row for row in rows if row["event"] == event and job in (None, row["job"])]

    # ---- what must not be

    def on_host(self, host: str) -> list[int]:
        """Processes of ours there."""
        return [pid for name in ("hydra_pmi_proxy", "serve", "cycle") for pid in self.run.pids(host, name)]

    def await_nothing_on(self, host: str) -> None:
        """Neither processes nor segments: the node can be given to others."""

        def left() -> list[str]:
            segments = self.run._private_files(self.run.host(host)) - self.run.files_before[host]
            return [str(pid) for pid in self.on_host(host)] + sorted(segments)

        self.run.await_value(lambda: not left(), f"end of what is left on {host}: {left()}")

    def stop(self) -> None:
        """With all jobs ended, nothing of elasticd is left but its store."""
        self.run.check(not self.query("queue"), "jobs are left in the queue")
        code = self.signal(signal.SIGTERM)
        self.run.check(code == 0, f"elasticd ended with {code}: {self.job.err[-400:]}")
        self.run.check(not self.socket.exists(), "elasticd has left its socket")
        steps = list((self.state / "steps").glob("*"))
        self.run.check(not steps, f"folders of steps are left: {steps}")

"""One test while it runs: its folders, environment, launched jobs and leftovers."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from support.checks import Skip

from . import processes
from .build import EPOP, Programs
from .testlist import Test

GRACE_S = 15.0
POLL_S = 0.02
LAST_LINES = 25


class TestFailure(Exception):
    """Why a test failed."""

    __test__ = False  # pytest: not a class of tests


@dataclass
class Setting:
    """The common data of all tests of a run."""

    prefix: Path
    programs: Programs
    folder: Path
    seed: int
    stock_mpiexec: Path | None
    patience_factor: float = 1.0


class Job:
    """A launched command; output goes to files, so that it can be watched while it grows."""

    def __init__(self, run: "TestRun", command: Sequence[str], stdin: str | None) -> None:
        number = len(run.jobs) + 1
        self.run = run
        self.command = list(command)
        self.out_path = run.folder / f"out{number}"
        self.err_path = run.folder / f"err{number}"
        with self.out_path.open("wb") as out, self.err_path.open("wb") as err:
            self.process = processes.start(
                self.command,
                stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=run.environment,
                cwd=run.work,
            )
        if stdin is not None and self.process.stdin:
            self.process.stdin.write(stdin.encode())
            self.process.stdin.close()

    @property
    def out(self) -> str:
        return self.out_path.read_text(encoding="utf-8", errors="replace")

    @property
    def err(self) -> str:
        return self.err_path.read_text(encoding="utf-8", errors="replace")

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def wait(self) -> int:
        """The exit code; the test's deadline counts."""
        try:
            return self.process.wait(timeout=self.run.time_left())
        except subprocess.TimeoutExpired:
            self.run.stacks = processes.stacks(self.run.marker)
            self.run.fail(f"not finished after {self.run.deadline_s:.0f} s")

    def await_line(self, pattern: str, count: int = 1) -> list[str]:
        """Waits until so many lines of the output match; they are returned."""
        expression = re.compile(pattern)

        def found() -> list[str] | None:
            hits = [line for line in self.lines if expression.search(line)]
            if len(hits) >= count:
                return hits
            if self.process.poll() is not None:
                self.run.fail(f"ended (exit code {self.process.returncode}) before '{pattern}'")
            return None

        return self.run.await_value(found, f"'{pattern}' in the output")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=GRACE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@dataclass
class TestRun:
    """A test in progress."""

    __test__ = False  # pytest: not a class of tests

    test: Test
    setting: Setting
    folder: Path
    started: float = field(default_factory=time.monotonic)
    jobs: list[Job] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stacks: str = ""

    def __post_init__(self) -> None:
        self.marker = uuid.uuid4().hex
        self.work = self.folder / "work"
        self.temporary = self.folder / "tmp"
        self.runtime = self.folder / "run"
        for folder in (self.work, self.temporary, self.runtime):
            folder.mkdir(mode=0o700, parents=True)
        self.environment = self._environment()
        for name, text in self.test.files.items():
            (self.work / name).write_text(text, encoding="utf-8")
        self.before = processes.shared_names()
        self.log_path = self.work / "adapt.log"

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ)
        for name in list(environment):
            if name.startswith(("PMI_", "HYDRA_", "HYDI_", "MPIEXEC_", "MPIR_", "MPICH_")):
                del environment[name]
        environment.update(
            {
                processes.MARKER: self.marker,
                "PATH": f"{self.setting.prefix / 'bin'}:{environment.get('PATH', '')}",
                "TMPDIR": str(self.temporary),
                "XDG_RUNTIME_DIR": str(self.runtime),
                "LC_ALL": "C",
            }
        )
        environment.update(self.test.environment)
        return environment

    # ---- time and conditions

    @property
    def deadline_s(self) -> float:
        return self.test.deadline_s * self.setting.patience_factor

    def time_left(self) -> float:
        return max(0.1, self.started + self.deadline_s - time.monotonic())

    def fail(self, why: str) -> NoReturn:
        raise TestFailure(why)

    def check(self, condition: object, why: str) -> None:
        if not condition:
            self.fail(why)

    def await_value(self, probe: Callable[[], Any], what: str) -> Any:
        """Waits until probe() gives something true."""
        while True:
            value = probe()
            if value:
                return value
            if self.time_left() <= 0.1:
                self.stacks = processes.stacks(self.marker)
                self.fail(f"no {what} after {self.deadline_s:.0f} s")
            time.sleep(POLL_S)

    # ---- commands

    def program(self, name: str | None = None) -> str:
        name = name or self.test.program
        if failure := self.setting.programs.failure(name):
            self.fail("does not compile:\n" + failure)
        return str(self.setting.programs.program(name))

    def start(self, command: Sequence[str], stdin: str | None = None) -> Job:
        job = Job(self, command, stdin)
        self.jobs.append(job)
        return job

    def mpiexec(
        self,
        options: Sequence[str] | None = None,
        arguments: Sequence[str] | None = None,
        n: int | None = None,
        program: str | None = None,
        stdin: str | None = None,
    ) -> Job:
        """Launches the test's program; arguments that are not given are taken from the list."""
        count = self.test.processes if n is None else n
        command = [str(self.setting.prefix / "bin" / "mpiexec"), "-n", str(count)]
        command += self.complete_options(self.test.options if options is None else options, count)
        command += self._preload()
        if self.test.events is not None and "--adapt-log" not in command:
            command += ["--adapt-log", str(self.log_path)]
        path = program if program and "/" in program else self.program(program)
        if Path(path).name.startswith(EPOP):
            command += [str(self.setting.prefix / "bin" / "epop"), *self.test.driver]
        command.append(path)
        command += self.test.arguments if arguments is None else arguments
        return self.start(command, stdin)

    def complete_options(self, options: Sequence[str], n: int) -> list[str]:
        """Options of an mpiexec that starts n processes: a run on several hosts adds these."""
        return list(options)

    def _preload(self) -> list[str]:
        """Options that load the test's tool into the processes, and only there."""
        if not self.test.tool:
            return []
        tools = [self.program(self.test.tool)]
        if self.test.around:
            library = self.setting.prefix / "lib"
            tools.insert(0, str(library / "libelastic_tool_before.so"))
            tools.append(str(library / "libelastic_tool_after.so"))
        return ["-genv", "LD_PRELOAD", " ".join(tools)]

    def elastic(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.setting.prefix / "bin" / "elastic"), *arguments]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                env=self.environment,
                cwd=self.work,
                timeout=self.time_left(),
                check=False,
            )
        except subprocess.TimeoutExpired:
            self.stacks = processes.stacks(self.marker)
            self.fail(f"'{shlex.join(command)}' does not end")
        self.notes.append(f"$ elastic {shlex.join(arguments)} -> {done.returncode}")
        self.notes += (done.stdout + done.stderr).splitlines()
        return done

    def step(self) -> dict[str, Any]:
        """The one running step of this test, as `elastic ps --json` shows it."""

        def find() -> dict[str, Any] | None:
            done = self.elastic("ps", "--json")
            del self.notes[:]  # queried often
            rows = [json.loads(line) for line in done.stdout.splitlines()]
            return rows[0] if rows else None

        result: dict[str, Any] = self.await_value(find, "step in 'elastic ps'")
        return result

    def events(self, path: Path | None = None) -> list[dict[str, Any]]:
        """The adapt log so far (the last line may be incomplete)."""
        path = path or self.log_path
        if not path.exists():
            return []
        text = path.read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def await_event(
        self, name: str, count: int = 1, where: Callable[[dict[str, Any]], bool] = lambda event: True
    ) -> dict[str, Any]:
        """Waits for the count-th event of this name, and for which `where` holds, in the adapt log."""

        def matching() -> list[dict[str, Any]]:
            return [event for event in self.events() if event["event"] == name and where(event)]

        def find() -> dict[str, Any] | None:
            hits = matching()
            if len(hits) < count and self.jobs and self.jobs[-1].process.poll() is not None:
                hits = matching()
                if len(hits) < count:
                    self.fail(f"the job ended without event {count} '{name}'")
            return hits[count - 1] if len(hits) >= count else None

        result: dict[str, Any] = self.await_value(find, f"event '{name}'")
        return result

    # ---- end

    def leftovers(self) -> list[str]:
        """Ends the test; returns the leftovers that should not exist, as sentences."""
        for job in self.jobs:
            job.stop()
        left = processes.await_end_of_processes(self.marker, GRACE_S)
        found = [f"left over: {process}" for process in left]
        processes.kill(left)
        processes.await_end_of_processes(self.marker, GRACE_S)
        processes.collect_orphans()
        found += [f"left over: file {path}" for path in processes.new_files(self.before)]
        found += [f"left over: file {path.name} in TMPDIR" for path in self.temporary.iterdir()]
        sockets = [path for path in self.runtime.glob("*/*")]
        found += [f"left over: {path.relative_to(self.runtime)}" for path in sockets]
        return found

    def log(self) -> str:
        """Everything about this test, for a file."""
        text = ""
        for job in self.jobs:
            text += f"$ {shlex.join(job.command)}\n--- standard output\n{job.out}"
            text += f"--- standard error\n{job.err}--- exit code {job.process.returncode}\n"
        if self.notes:
            text += "--- notes\n" + "\n".join(self.notes) + "\n"
        if self.log_path.exists():
            text += "--- adapt log\n" + self.log_path.read_text(encoding="utf-8")
        if self.stacks:
            text += "--- stacks\n" + self.stacks
        return text

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

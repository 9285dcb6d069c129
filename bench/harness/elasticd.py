"""elasticd on a large machine, by test/rm/large_machine.py: what a long history, a long queue, and readers that do not read
cost an honest user, and how long the loop serves nobody else.  The cost of `elastic why` by src/rm/sim/bench_main.cpp.

Four elasticds of the installed tree run beside each other, one for each state, and are measured by turns: with nothing; with
ended jobs; with waiting jobs as well; with slow readers as well.  In each a client reads all that the interface has
meanwhile.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from . import stats
from .bars import BARS
from .bench import Bench
from .launch import RunFailure
from .result import Case, Rounds, Variant, ratio_case, value_case

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "test"), str(ROOT / "test" / "rm")]
import large_machine  # noqa: E402
from daemon_under_test import Daemon, Failure, UnixConnection, find_programs  # noqa: E402
from history_tests import longest_turn  # noqa: E402
from processor_speed import ProcessorSpeed  # noqa: E402

NODES, CORES = 10_000, 4
READERS = 64
STARTS, QUERIES = 5, 40  # of a round
PAUSE_S = 0.02  # of the client that reads everything
PRIORITY = 10  # so that the honest jobs are in front of the queue
WAITING_LEAST = 100  # of rm_bench
POINTS = {"start": "submission to start", "status": "status of a job"}


class Measured:
    """One elasticd, and the honest user of it."""

    def __init__(self, daemon: Daemon, ended: int, waiting: int, readers: int) -> None:
        self.daemon, self.readers = daemon, readers
        self.ended, self.waiting = ended, waiting
        self.speed = ProcessorSpeed()

    def start_ms(self) -> tuple[int, float]:
        """An honest job, and how long after its submission it has started."""
        sent_ms = time.time() * 1000
        number = self.daemon.submit("true", priority=PRIORITY)
        reply = self.daemon.get(f"/v1/jobs/{number}?until=ended&wait_ms=60000")
        job = reply.body["job"] if reply.status == 200 else {"state": "unknown"}
        if job["state"] != "DONE":
            raise RunFailure(f"an honest job is not done within a minute: {reply.status} {json.dumps(reply.body)}")
        return number, max(job["start_ms"] - sent_ms, 1)  # it has whole milliseconds

    def serve(self) -> dict[str, list[float]]:
        starts: list[float] = []
        queries: list[float] = []
        connection = UnixConnection(self.daemon.socket)
        for _ in range(STARTS):
            number, ms = self.start_ms()
            starts.append(ms)
            for _ in range(QUERIES // STARTS):
                begin = time.monotonic()
                large_machine.query(connection, f"/v1/jobs/{number}")
                queries.append((time.monotonic() - begin) * 1000)
            self.speed.sample()
        connection.close()
        return {"start": starts, "status": queries}

    def round(self) -> dict[str, list[float]]:
        queried = large_machine.paths(self.ended + self.waiting + 1, int(time.time() * 1000))
        with large_machine.in_background(large_machine.read_again, self.daemon.socket, queried, PAUSE_S) as reader:
            if self.readers:
                with large_machine.in_background(large_machine.read_slowly, self.daemon.socket, self.readers):
                    samples = self.serve()
            else:
                samples = self.serve()
            if not reader.is_alive():
                raise RunFailure("the client that reads everything has ended")
        return samples


def prepare(bench: Bench, make: large_machine.Make, ended: int, waiting: int) -> dict[str, Measured]:
    """The history is made once and copied."""
    bench.progress.report(f"{ended} ended jobs", force=True)
    found = {name: Measured(make(name), *sizes) for name, sizes in {
        "nothing": (0, 0, 0), "ended": (ended, 0, 0), "waiting": (ended, waiting, 0), "readers": (ended, waiting, READERS),
    }.items()}  # fmt: skip
    daemons = {name: measured.daemon for name, measured in found.items()}
    daemons["nothing"].start()
    large_machine.add_ended_jobs(daemons["ended"].start(), ended)
    for name in ("waiting", "readers"):
        shutil.copytree(daemons["ended"].state, daemons[name].state)
    bench.progress.report(f"{ended} ended jobs are read", force=True)
    large_machine.start_with_ended_jobs([daemons[name] for name in ("ended", "waiting", "readers")], ended)
    for name in ("waiting", "readers"):
        bench.progress.report(f"{waiting} waiting jobs ({name})", force=True)
        large_machine.add_waiting_jobs(daemons[name], waiting, NODES * CORES)
    return found


def turn_case(name: str, longest_ms: float, slowdown: float) -> Case:
    """Other programs make a processor slower: the interval begins with what the turn would have taken without them."""
    low = longest_ms / slowdown
    note = f"the same work took up to {slowdown:.1f} times the processor's time"
    return Case(BARS["elasticd_turn"], name, "ms", [longest_ms], [], longest_ms, low, longest_ms, note=note)


def p99_of_rounds(samples: list[list[float]]) -> list[list[float]]:
    return [[stats.percentile(each, 99)] for each in samples]


def elasticd(bench: Bench) -> list[Case]:
    ended, waiting = bench.amount.pick((50_000, 10_000), (1_000_000, 100_000), (1_000_000, 100_000))
    named = {
        "nothing": "nothing", "ended": f"{ended} ended", "waiting": f"{ended} ended, {waiting} waiting",
        "readers": f"{ended} ended, {waiting} waiting, {READERS} slow readers",
    }  # fmt: skip
    programs = find_programs(bench.ours.bin, bench.ours.prefix)
    try:
        with large_machine.large_machines(programs, NODES, CORES, waiting) as make:
            states = prepare(bench, make, ended, waiting)
            variants: dict[str, Variant] = {name: measured.round for name, measured in states.items()}
            rounds = Rounds.measure(variants, bench.amount.pick(30, 120, 300), bench.progress, least=3)
            turns = {name: (longest_turn(measured.daemon) * 1000, measured.speed.slowdown) for name, measured in states.items()}
    except Failure as failure:
        raise RunFailure(str(failure)) from failure
    bench.extra["elasticd"] = {"longest_turn_ms": {named[name]: round(ms, 2) for name, (ms, _) in turns.items()}}
    cases = [turn_case(named[name], ms, slowdown) for name, (ms, slowdown) in turns.items()]
    for bar, state, reference in (
        ("elasticd_history", "ended", "nothing"), ("elasticd_queue", "waiting", "ended"), ("elasticd_readers", "readers", "waiting"),
    ):  # fmt: skip
        for point, title in POINTS.items():
            ours, theirs = rounds.of(state, point), rounds.of(reference, point)
            for what, mine, other in ((title, ours, theirs), (f"{title}, p99", p99_of_rounds(ours), p99_of_rounds(theirs))):
                cases.append(ratio_case(bar, what, mine, other, "ms", rounds.others, rounds.note()))
        cases.append(ratio_case(bar, "longest turn", [[turns[state][0]]], [[turns[reference][0]]], "ms"))
    for name in states:
        for point, title in POINTS.items():
            samples = [ms for each in rounds.of(name, point) for ms in each]
            cases.append(value_case(f"elasticd_{point}", f"{named[name]}: {title}", [stats.percentile(samples, 99)], "ms"))
    return cases


# ---- elastic why -----------------------------------------------------------------------------------


def build(bench: Bench) -> Path:
    """From the objects of the installed elasticd, if the folder of the build has them."""
    folder = Path(os.environ.get("ELASTIC_BUILD") or ROOT / "build").resolve() / "rm"
    version = folder / "version"
    words = ["make", "-s", f"-j{os.cpu_count()}", "-f", "src/rm/Makefile", f"BUILD={folder}", f"PREFIX={bench.ours.prefix}"]
    if version.exists():
        words.append(f"VERSION={version.read_text().split()[0]}")
    with (bench.folder / "rm_bench-build.log").open("w") as log:
        if subprocess.run([*words, str(folder / "rm_bench")], cwd=ROOT, stdout=log, stderr=log, check=False).returncode != 0:
            raise RunFailure(f"rm_bench cannot be compiled: {log.name}")
    return folder / "rm_bench"


def costs_of_why(printed: str) -> dict[str, float]:
    """By policy: milliseconds of the longest answer."""
    found = re.findall(r"^(\w+) +why, .*: at most ([0-9.]+) ms", printed, re.M)
    if not found:
        raise ValueError(f"rm_bench why has printed {printed!r}")
    return {policy: float(ms) for policy, ms in found}


def why(bench: Bench) -> list[Case]:
    program = build(bench)
    least, most = WAITING_LEAST, bench.amount.pick(10_000, 100_000, 100_000)
    costs: dict[tuple[str, int], list[float]] = {}
    for number in range(bench.amount.pick(3, 5, 10)):
        for waiting in (least, most):
            bench.progress.report(f"why, round {number + 1}, {waiting} waiting jobs")
            done = subprocess.run([str(program), "why", str(waiting)], capture_output=True, text=True, check=False, timeout=300)
            for policy, ms in costs_of_why(done.stdout).items():
                costs.setdefault((policy, waiting), []).append(ms)
    policies = sorted({policy for policy, _ in costs})
    values = [
        value_case("elasticd_why", f"{policy}, {waiting} waiting", samples, "ms") for (policy, waiting), samples in sorted(costs.items())
    ]
    ratios = [
        ratio_case(
            "elasticd_why_queue", f"{policy}, {most} waiting against {least}", [[ms] for ms in costs[policy, most]],
            [[ms] for ms in costs[policy, least]], "ms",
        )
        for policy in policies
    ]  # fmt: skip
    return values + ratios

"""The reasons of a job's size, and of its wait, as in `elastic show`; and a program that exaggerates its speed."""

from __future__ import annotations

import re
import subprocess
from typing import Any

from daemon_under_test import Bench, Daemon, expect, wait_for
from hostile_tests import hostile
from malleable_tests import finish_work, submit_work, wait_size, work_program
from performance_tests import CONFIG, cancel, compile_phases, elastic, sizes_of, submit_phases

# a busy machine wakes processes late: limits far from what they make of that
EFFICIENT = CONFIG.replace('policy = "easy"\n', 'policy = "efficient"\nmtct_lower = 0.1\nmtct_upper = 0.3\n')
MEASURED = CONFIG.replace('policy = "easy"\n', 'policy = "measured"\n')
PATIENT = '[scheduling]\npolicy = "fill"\noffer_pause = "200ms"\nadapt_patience = "1s"\n[step]\nanswer_timeout = "1s"\n'
HOUR_MS = 3600 * 1000
MPI_TAKES = r"MPI takes [\d.]+ of the computing time \(recently [\d.]+\)"
LOOP = r"in the loop that probes \(%d ranks, \d+ iterations of [\d.]+ s\)"


def why(bench: Bench, daemon: Daemon, number: int) -> str:
    text = elastic(bench, daemon, "show", str(number))
    return text.split("Why=")[1].splitlines()[0]


def shows(bench: Bench, daemon: Daemon, number: int, pattern: str) -> str:
    """Until a line matches all of it."""
    printed = [""]

    def matches() -> bool:
        printed[0] = why(bench, daemon, number)
        return re.fullmatch(pattern, printed[0]) is not None

    try:
        wait_for(f"job {number} to show {pattern}", matches)
    except Exception as failure:
        raise type(failure)(f"{failure}; it prints: {printed[0]}") from None
    return printed[0]


def whys(daemon: Daemon, number: int, event: str) -> list[dict[str, Any]]:
    records = daemon.get(f"/v1/jobs/{number}/records", limit=10000).body["records"]
    return [record["data"]["why"] for record in records if record["event"] == event]


def a_running_job_shows_the_reason_of_its_size(bench: Bench) -> None:
    """SPEC-performance X3, X1: the reason of its last shrink, and the reason why it does not grow."""
    program = compile_phases(bench, "phases")
    daemon = bench.start(config=EFFICIENT, nodes=1, cores=8)
    gives = submit_phases(daemon, program, "-w 1600 -m 0.6", min=2, max=4, preferred=4, sizes={"rule": "power_of_two"})
    between = submit_phases(daemon, program, "-w 3000 -m 0.2", min=1, max=3, preferred=3)
    shows(bench, daemon, gives, rf"2 processes: {MPI_TAKES}; more than 0.3, but it has its smallest size\. "
         rf"Reduced 4 -> 2 at \S+ \(request 1, stood still [\d.]+ s\): {MPI_TAKES}, more than 0.3, {LOOP % 4}\.")  # fmt: skip
    shows(bench, daemon, between, rf"3 processes: {MPI_TAKES}; unchanged, as it is not surely outside of 0.1 to 0.3")
    for number in (gives, between):
        (start,) = whys(daemon, number, "placed")
        expect(start["rule"] == "start" and start["fits"] <= start["room"] and start["ahead"] is None, f"its start: {start}")
    (reduced,) = whys(daemon, gives, "requested")
    expect(reduced["rule"] == "reduce" and reduced["loop"]["processes"] == 4, f"its change: {reduced}")
    expect(reduced["range"]["mtct_ppm"] > reduced["range"]["upper_ppm"], f"by its own numbers: {reduced}")
    expect(not whys(daemon, between, "requested"), "nothing was requested of the job between")
    cancel(daemon, gives)
    cancel(daemon, between)


def a_waiting_job_shows_the_jobs_balanced_for_it(bench: Bench) -> None:
    """SPEC-performance X3, Q6c, G 14.9: two that end at different times are to end together, so that a third starts sooner."""
    program = compile_phases(bench, "phases")
    daemon = bench.start(config=EFFICIENT, nodes=1, cores=8)
    fields: dict[str, Any] = {"min": 1, "max": 8, "preferred": 4, "time_limit_ms": HOUR_MS}
    first = submit_phases(daemon, program, "-w 2000 -m 0.001", expect_ms=120000, **fields)
    second = submit_phases(daemon, program, "-w 2000 -m 0.001", expect_ms=480000, **fields)
    waits = daemon.submit("true", min=8, max=8, time_limit_ms=HOUR_MS)
    brief = daemon.submit("true", min=1, max=1, time_limit_ms=HOUR_MS)  # would take what the third needs
    shows(bench, daemon, waits, rf"needs capacity for 8 processes, there is (none|capacity for \d)(; job \d gives \d cores)?; "
         rf"starts at \S+ at the latest, when job ({first}|{second}) ends; for this job, job {first} now has [23] processes "
         rf"instead of 4, job {second} now has [56] instead of 4")  # fmt: skip
    sizes = [sizes_of(daemon, number)[-2:] for number in (first, second)]  # the first was alone in the beginning
    expect(sizes in ([[4, 2], [4, 6]], [[4, 3], [4, 5]]), f"their sizes: {sizes}")
    for number in (first, second):
        change = whys(daemon, number, "requested")[-1]
        expect(change["rule"] == "balance" and change["for"] == [waits], f"for whom: {change}")
    text = why(bench, daemon, brief)
    expect(text.startswith("needs capacity for 1 processes, there is none; starts at "), f"one that waits after it: {text}")
    cancel(daemon, brief)
    cancel(daemon, first)
    cancel(daemon, second)
    expect(daemon.wait_end(waits)["state"] == "DONE", "it starts when they have ended")


def who_boasts_gives_as_any_other(bench: Bench) -> None:
    """A step that reports that it becomes the faster the more it has, however much: others that wait get their share of it."""
    daemon = bench.start(config=MEASURED, nodes=1, cores=8)
    number = hostile(daemon, "boasts", most=8)

    def has_data() -> bool:
        known = daemon.job(number)["performance"]
        return bool(known and known["has_data"])

    wait_for("it to be measured", has_data)
    expect(daemon.job(number)["size"] == 8, "alone it has all")
    other = daemon.submit("sleep", "1000", min=4, max=4)
    daemon.wait_state(other, "RUNNING")
    expect(daemon.job(number)["size"] == 4, f"it has given: {daemon.job(number)}")
    wait_for("it to be measured at its new size", has_data)
    expect(daemon.job(other)["state"] == "RUNNING", "nothing is taken from who is rigid")
    cancel(daemon, other)
    wait_for("it to have all again", lambda: daemon.job(number)["size"] == 8)
    cancel(daemon, number)


def who_does_not_probe_is_not_counted_on(bench: Bench) -> None:
    """Issue 15, bad input: a program that never probes.  Its shrink is agreed on and does not happen: others start on
    cores that are really free, and when it probes later, it shrinks."""
    program = work_program(bench)
    daemon = bench.daemon(config=PATIENT, nodes=1, cores=5)
    (daemon.folder / "stop-silent.silent").touch()
    daemon.start()
    silent = submit_work(daemon, program, "silent", 1, 4)
    wait_size(daemon, silent, 4, 4)
    waits = daemon.submit("true", min=2, max=2, time_limit_ms=60000)
    wait_for("its request", lambda: daemon.job(silent)["adaptation"])
    brief = daemon.submit("true", min=1, max=1, time_limit_ms=60000)
    expect(daemon.job(brief)["state"] == "PENDING", "the idle core is promised")
    wait_for("nobody to count on it", lambda: daemon.job(silent)["adaptation"]["overdue"])
    expect(daemon.wait_end(brief)["state"] == "DONE", "it starts with what is free")
    job = daemon.job(waits)
    expect(job["state"] == "PENDING" and job["shortage"]["overdue"] == [{"job": silent, "cores": 1}], f"the other waits: {job}")
    text = elastic(bench, daemon, "show", str(waits))
    expect(f"job {silent} was to give 1 cores, and does not reach a probe" in text, text)
    text = elastic(bench, daemon, "show", str(silent))
    expect("4 processes of 1:4; since " in text and "its program has not reached a probe" in text, text)
    text = elastic(bench, daemon, "history", str(silent))
    expect("overdue" in text and "too late to withdraw" in text, text)
    expect('"overdue"' in bench.logs(), "the log shows it")

    daemon.kill()
    daemon.start()
    expect(daemon.job(silent)["adaptation"]["overdue"], "after a restart")
    (daemon.folder / "stop-silent.silent").unlink()
    expect(daemon.wait_end(waits)["state"] == "DONE", "when it probes it gives")
    wait_size(daemon, silent, 4, 4)  # it grows again, as any other
    expect(finish_work(daemon, silent)["counts"]["committed"] >= 2, "changes of its size")
    daemon.stop()
    done = subprocess.run([*daemon.command(), "--replay"], capture_output=True, text=True, check=False, timeout=120)
    expect(done.returncode == 0 and "the same" in done.stdout, f"replay: {done}")

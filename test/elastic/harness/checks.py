"""Checks of the result of an ordinary test."""

from __future__ import annotations

import re
from collections import Counter

from . import schedule
from .job import Job, Skip, TestRun

ENDS = ("committed", "withdrawn", "failed")


def exit_code(run: TestRun, job: Job) -> None:
    code = job.wait()
    wanted = run.test.exit_code
    if wanted == "nonzero":
        run.check(code != 0, "exit code 0, expected another")
    else:
        run.check(code == int(wanted), f"exit code {code}, expected {wanted}")


def pass_line(run: TestRun, job: Job, epoch: int, size: int) -> None:
    """Exactly one process prints PASS, with the epoch and size that the schedule leads to."""
    printed = [line for line in job.lines if line.startswith("PASS")]
    wanted = f"PASS epoch={epoch} size={size}"
    run.check(printed == [wanted], f"expected one '{wanted}', got {printed}")


def patterns(run: TestRun, text: str, wanted: list[str], where: str) -> None:
    for pattern in wanted:
        found = re.search(pattern, text, re.MULTILINE)
        run.check(found, f"no line on {where} matches '{pattern}'")


def member_lines(run: TestRun, job: Job, changes: list[schedule.Change]) -> None:
    """I5 and C3: every process that joins or leaves is reported, once."""
    for word, wanted in (
        ("JOINED", schedule.joined_lines(changes)),
        ("LEFT", schedule.left_lines(changes)),
    ):
        printed = Counter(line for line in job.lines if line.startswith(word + " "))
        missing = sorted(wanted - set(printed))
        extra = sorted((printed - Counter(wanted)).elements())
        run.check(not missing, f"missing: {missing[:4]}")
        run.check(not extra, f"not expected: {extra[:4]}")


def ends(run: TestRun, wanted: list[str]) -> None:
    """How the adaptations ended, in order (SPEC: each accepted request has exactly one end)."""
    events = run.events()
    got = [event["event"] for event in events if event["event"] in ENDS]
    run.check(got == wanted, f"the adaptations ended {got}, expected {wanted}")
    requested = [event["request"] for event in events if event["event"] == "requested"]
    ended = [event["request"] for event in events if event["event"] in ENDS]
    run.check(requested == ended, f"requests {requested}, ends {ended}")


def ordinary(run: TestRun) -> None:
    """A test without a scenario: launch, wait, compare."""
    job = run.mpiexec()
    result(run, job)


def result(run: TestRun, job: Job) -> None:
    """Checks the statements of the list about the job."""
    exit_code(run, job)
    test = run.test
    for line in job.lines:
        if line.startswith("SKIP "):
            raise Skip(line[5:])
    if test.expect:
        patterns(run, job.out, test.expect, "standard output")
    elif test.exit_code == "0":
        pass_line(run, job, len(test.changes), test.final_size)
    patterns(run, job.err, test.errors, "standard error")
    if test.lines and test.exit_code == "0" and not test.expect:
        member_lines(run, job, test.changes)
    if test.events is not None:
        ends(run, test.events)
    failed = [line for line in job.err.splitlines() if line.startswith("FAIL ")]
    run.check(not failed, failed[0] if failed else "")

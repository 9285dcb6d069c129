"""Options of mpiexec: wrong ones, the help text, the same as stock."""

from __future__ import annotations

import re
import subprocess

import pytest
from launcher import Bench
from support.checks import expect


# ---- options -------------------------------------------------------------------------------------


def test_wrong_options(bench: Bench) -> None:
    marker = bench.folder / "launched"
    for option, value in [
        ("--adapt-schedule", "4,x"),
        ("--adapt-schedule", "0"),
        ("--adapt-schedule", "3/leave=9"),
        ("--adapt-schedule", "3/program=1"),
        ("--adapt-schedule", "@/nonexistent"),
        ("--adapt-policy", "sometimes"),
        ("--adapt-range", "4:2"),
        ("--adapt-interval", "soon"),
        ("--adapt-log", "/nonexistent/log"),
        ("--pset", "ocean"),
        ("--pset", "app://"),
        ("--pset", "://ocean"),
        ("--pset", "app://the ocean"),
        ("--pset", "app://\u00f6"),
        ("--pset", "MPI://ocean"),
        ("--pset", "mpix://ocean"),
        ("--pset", "mpidynres://ocean"),
        ("--pset", "app://" + 249 * "x"),
    ]:
        result = bench.run("-n", 2, option, value, program=["/usr/bin/touch", marker])
        expect(result.code not in (0, None), f"{option} {value}: exit code {result.code}")
        expect(option in result.err and len(result.err.splitlines()) == 1, f"{option} {value}: {result.err!r}")
        expect(not marker.exists(), f"{option} {value}: the program was launched")


def test_help_names_the_options(bench: Bench) -> None:
    result = bench.run("-help", program=[])
    expect(result.code == 0 and "-adapt-schedule" in result.out, "not in the help text")
    result = bench.run("-adapt-policy", "-h", program=[])
    expect("increase-decrease" in result.out, "no help of the option")
    result = bench.run("-pset", "-h", program=[])
    expect("app://ocean" in result.out, "no help of --pset")


def test_longest_pset(bench: Bench) -> None:
    result = bench.run("-n", 1, "--pset", "app://" + 248 * "x", program=["/bin/echo", "launched"])
    expect(result.code == 0 and "launched" in result.out, f"254 characters are allowed: {result.err!r}")


# ---- what does not adapt -------------------------------------------------------------------------


def test_same_as_stock(bench: Bench) -> None:
    if not bench.reference:
        pytest.skip("needs a stock mpiexec: --reference MPIEXEC")
    commands: list[tuple[list[str], list[str]]] = [
        (["-n", "3"], ["/bin/echo", "hello"]),
        (["-n", "2", "-l"], ["/bin/sh", "-c", "echo $PMI_RANK $PMI_SIZE"]),
        (["-n", "2"], ["/bin/sh", "-c", "exit $((PMI_RANK * 3))"]),
        (["-n", "2"], ["/bin/sh", "-c", "kill -SEGV $$"]),
        (["-n", "2"], ["/nonexistent/program"]),
        (["-print-all-exitcodes", "-n", "3"], ["/bin/sh", "-c", "exit $PMI_RANK"]),
        (["-nonsense"], ["/bin/true"]),
        (["-n", "1"], ["/bin/cat"]),
        (["-n", "1", "/bin/echo", "a", ":", "-n", "2", "/bin/echo", "b"], []),
    ]
    for args, program in commands:
        seen = []
        for mpiexec in (bench.reference, bench.mpiexec):
            # who does not read its input makes stock's proxy fail, or not: a race
            reads = "/bin/cat" in program
            job = bench.start(
                *args, program=program, mpiexec=mpiexec, stdin=subprocess.PIPE if reads else subprocess.DEVNULL
            )
            result = bench.finish(job, "some input\n" if reads else None)
            text = re.sub(r"PID \d+|\([\w/.]+:\d+\)|lt-", "", result.out + result.err)
            seen.append((result.code, sorted(text.splitlines())))
        expect(seen[0] == seen[1], f"{' '.join(args + program)}: stock {seen[0]}, ours {seen[1]}")

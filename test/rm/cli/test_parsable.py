"""Fields between bars (--parsable, -P), of each command that lists something.  No MPI is needed."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from cli_setup import Setup  # noqa: E402
from fake_elasticd import USER  # noqa: E402
from fake_loops import measured_loops, now_ms  # noqa: E402
from support.checks import expect  # noqa: E402

# What is not a list: it starts, changes or follows something, or prints one number or versions.
NO_LISTS = {"run", "submit", "alloc", "attach", "version", "resize", "update", "cancel", "requeue", "suspend", "resume", "hold",
            "release", "drain", "reservation"}  # fmt: skip


def table(here: Setup, *words: str) -> list[dict[str, str]]:
    """Rows of the command with -P, by title.  --parsable has the same with a bar at the end, --noheader has no titles."""
    out = here.call(*words, "-P")[0].splitlines()
    expect(out and all(line.count("|") == out[0].count("|") for line in out), out)
    if words[0] not in ("queue", "show", "top"):  # they have present times
        expect([f"{line}|" for line in out] == here.call(*words, "--parsable")[0].splitlines(), "--parsable")
        expect(out[1:] == here.call(*words, "--parsable2", "--noheader")[0].splitlines(), "--noheader")
    titles = out[0].split("|")
    expect(len(set(titles)) == len(titles) and out[0] == out[0].upper(), titles)
    return list(csv.DictReader(out, delimiter="|", quoting=csv.QUOTE_NONE))


def test_each_list(here: Setup) -> None:
    """every command that prints a list has --parsable"""
    lines = here.call("--help")[0].partition("Subcommands:")[2].splitlines()
    commands = {line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "}
    expect(len(commands) > 25 and commands >= NO_LISTS, commands)
    for command in sorted(commands - NO_LISTS):
        expect("--parsable2" in here.call(command, "--help")[0], command)


def test_records(here: Setup) -> None:
    """events, events JOB, history JOB: records; bars and control characters in them become ?"""
    here.call("submit", "--hold", "-J", "a|b\tc", "true")
    here.call("cancel", "1", "--reason", "no|more\x1b[1m")
    for words in (("events",), ("events", "1"), ("history", "1")):
        rows = table(here, *words)
        expect([row["NUMBER"] for row in rows] == ["1", "2"][: len(rows)] and rows[0]["EVENT"] == "submitted", rows)
        expect(rows[-1]["EVENT"] == "ended" and rows[-1]["JOB"] == "1" and rows[-1]["TIME"].count(":") == 2, rows)
        expect("no?more?[1m" in rows[-1]["DETAIL"], rows[-1])
    expect([row["NUMBER"] for row in table(here, "events", "--since", "2")] == ["2"], "since")


def test_jobs(here: Setup) -> None:
    """show, why: a row for each job, one heading for all"""
    here.call("submit", "-n", "1:8", "-J", "a|b", "sleep", "1000")
    here.call("submit", "--hold", "true")
    here.fake.jobs[1].update(why="8 processes: it uses all|", scaling={"curve": [{"size": 1, "speedup": 1}, {"size": 2, "speedup": 1.95}]})
    first, second = table(here, "show", "1", "2")
    expect((first["JOBID"], first["NAME"], first["USER"], first["STATE"], first["RANGE"]) == ("1", "a?b", USER, "RUNNING", "1:8"), first)
    expect(second["JOBID"] == "2" and second["STATE"] == "PENDING", second)
    first, second = table(here, "why", "1", "2")
    expect((first["JOBID"], first["SIZE"], first["RANGE"], first["SPEEDUPS"]) == ("1", "8", "1:8", "1:1.00,2:1.95"), first)
    expect(first["WHY"].startswith("8 processes: it uses all?") and second["SPEEDUPS"] == "-", (first, second))
    here.call("show", "7", "-P", code=3)
    here.call("cancel", "1")


def test_loops(here: Setup) -> None:
    """loops: a row for each loop, with the progress; no measurements: the heading alone"""
    here.call("submit", "--", "sleep", "1000")
    out, err = here.call("loops", "1", "-P")
    expect("no measurements" in err and out.startswith("PROCESSES|") and len(out.splitlines()) == 1, (out, err))
    here.fake.jobs[1]["_loops"] = measured_loops([(now_ms(), 2, 5.0, 0.25)])
    probe, inner = table(here, "loops", "1")
    expect((probe["PROCESSES"], probe["PROBES"], probe["PER_SECOND"], probe["LOOP"]) == ("2", "20", "5", "probe"), probe)
    expect((probe["ITERATION_MS"], probe["MPI_PERCENT"], probe["MPI_PERCENT_MAX"], probe["CALLS"]) == ("200", "25.0", "40.0", "-"), probe)
    expect((inner["LOOP"], inner["RANKS"], inner["ITERATIONS"], inner["CALLS"]) == ("heat2d+0x393e", "0-1", "800", "p2p, collective, ..."), inner)
    here.fake.jobs[1]["_loops"]["loops"] = []
    (row,) = table(here, "loops", "1")
    expect(row["PROBES"] == "20" and row["LOOP"] == "-", row)
    here.call("cancel", "1")


def test_others(here: Setup) -> None:
    """top: three lists; reservation show: that of reservations; a long cell is complete"""
    here.call("submit", "-J", "x" * 120, "-o", f"/{'y' * 500}", "--hold", "true")
    lists = [block.splitlines() for block in here.call("top", "-P")[0].split("\n\n")]
    expect([block[0].split("|")[0] for block in lists] == ["TIME", "NODE", "JOBID"], lists)
    expect(len(lists[0]) == 2 and len(lists[1]) == 3 and len(lists[2]) == 2, lists)
    expect(len(here.call("top", "--parsable", "--noheader")[0].splitlines()) == 6, "top --noheader")
    expect(table(here, "reservation", "show", "course") == [row for row in table(here, "reservations") if row["NAME"] == "course"], "show")
    here.fake.nodes["n0"]["reason"] = "z" * 600
    expect(any("z" * 600 in line for line in here.call("nodes", "-P")[0].splitlines()), "a long cell")
    expect(table(here, "ps") == [], "no step")

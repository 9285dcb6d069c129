"""Adaptations by schedule and policy: sizes, hosts, slots, arguments, labels."""

from __future__ import annotations

import os
import re
import signal
import time

from launcher import Bench, children, expect_ok
from support import procfs
from support.checks import expect, wait_for


# ---- the six steps -------------------------------------------------------------------------------


def test_grow_and_shrink(bench: Bench) -> None:
    expect_ok(bench, bench.adapt("-n", 2, "--adapt-schedule", "4,2,6,1", words=["probes=4"]), [4, 2, 6, 1])


def test_single_dash_and_equals(bench: Bench) -> None:
    expect_ok(bench, bench.adapt("-n", 1, "-adapt-schedule=3,1", words=["probes=2"]), [3, 1])


def test_leave_rank_0_and_migrate(bench: Bench) -> None:
    schedule = "3/leave=0,2/leave=0+1+2,6/leave=1"
    expect_ok(bench, bench.adapt("-n", 3, "--adapt-schedule", schedule, words=["probes=3"]), [3, 2, 6])


def test_schedule_from_a_file(bench: Bench) -> None:
    (bench.folder / "list").write_text("# sizes\n3\n0.1s:2\n")
    expect_ok(bench, bench.adapt("-n", 1, "--adapt-schedule", "@list", words=["probes=2"]), [3, 2])


def test_policy_increase_decrease(bench: Bench) -> None:
    args = ["--adapt-policy", "increase-decrease", "--adapt-range", "1:3", "--adapt-interval", "0"]
    expect_ok(bench, bench.adapt("-n", 1, *args, words=["probes=4"]), [2, 3, 2, 1])


def test_processes_of_different_speed(bench: Bench) -> None:
    words = ["probes=6", "slow=40", "probe_us=50"]
    expect_ok(bench, bench.adapt("-n", 3, "--adapt-schedule", "5,2,4,1,3,2", words=words), [5, 2, 4, 1, 3, 2])


def test_many_adaptations_leak_nothing(bench: Bench) -> None:
    rounds = 60
    schedule = ",".join(["3", "2"] * (rounds // 2 + 10))
    job = bench.start(
        "-n", 2, "--adapt-schedule", schedule, "--adapt-log", bench.log, program=[bench.process, "seconds=40"]
    )
    wait_for("the launch", lambda: children(job.pid))
    proxy = children(job.pid)[0]

    def descriptors() -> tuple[int, int]:
        return len(procfs.descriptors(job.pid)), len(procfs.descriptors(int(proxy)))

    def stable(epochs: int) -> tuple[int, int]:
        wait_for(f"{epochs} adaptations", lambda: len(bench.events("committed")) >= epochs)
        least = descriptors()
        for _ in range(30):
            time.sleep(0.02)
            least = min(least, descriptors())
        return least

    before, after = stable(10), stable(rounds)
    left = children(job.pid, "stat")
    job.send_signal(signal.SIGTERM)
    bench.finish(job)
    expect(after[0] <= before[0] and after[1] <= before[1], f"descriptors {before} became {after}")
    expect(len(left) <= 5, f"children of mpiexec: {left}")


# ---- hosts ---------------------------------------------------------------------------------------


def test_placement_fills_free_slots(bench: Bench) -> None:
    result = bench.adapt("-n", 2, "--adapt-schedule", "5,2,1s:3", words=["probes=3"], hosts="aa:2,bb:2,cc:2")
    expect_ok(bench, result, [5, 2, 3])
    hosts = [event["hosts"] for event in bench.events("placed")]
    expect(hosts == [["bb", "bb", "cc"], ["bb"]], f"slots on {hosts}")


def test_placement_on_given_hosts(bench: Bench) -> None:
    result = bench.adapt(
        "-n", 2, "--adapt-schedule", "4/hosts=cc+new,2,3/hosts=new", words=["probes=3"], hosts="aa,bb,cc"
    )
    expect_ok(bench, result, [4, 2, 3])
    hosts = [event["hosts"] for event in bench.events("placed")]
    expect(hosts == [["cc", "new"], ["new"]], f"slots on {hosts}")


# ---- what comes with a process --------------------------------------------------------------------


def test_environment_and_directory(bench: Bench) -> None:
    script = bench.folder / "show"
    script.write_text(
        f'#!/bin/sh\necho "uid=$PMI_ADAPT | $1 $2 | $FROM_GENV $FROM_ENV | $PWD | $(umask)"\nexec {bench.process} probes=1\n'
    )
    script.chmod(0o755)
    (bench.folder / "there").mkdir()
    result = bench.run(
        "-genv",
        "FROM_GENV",
        "g",
        "-n",
        1,
        "-env",
        "FROM_ENV",
        "e",
        "-wdir",
        bench.folder / "there",
        "--adapt-schedule",
        "3",
        program=[script, "first", "second word"],
        umask=0o027,
    )
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    seen = [line.split(" | ", 1)[1] for line in result.out.splitlines() if " | " in line]
    expect(len(seen) == 3 and len(set(seen)) == 1, f"processes differ: {result.out}")
    expect(seen[0] == f"first second word | g e | {bench.folder}/there | 0027", f"seen {seen[0]}")


def test_joining_processes_of_another_program(bench: Bench) -> None:
    """Also where the first proxy runs none of the second program's processes."""
    script = bench.folder / "show"
    script.write_text(f'#!/bin/sh\necho "$1 $FROM_ENV"\nexec {bench.process} probes=3\n')
    script.chmod(0o755)
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb:2"]
    schedule = ["--adapt-schedule", "5/program=1,6,7/leave=0+1/program=1"]
    first = ["-n", 1, "-env", "FROM_ENV", "one", script, "first", ":"]
    second = ["-n", 2, "-env", "FROM_ENV", "two"]
    result = bench.run(*launcher, "--adapt-log", bench.log, *schedule, *first, *second, program=[script, "second"])
    expect_ok(bench, result, [5, 6, 7])
    ran = [result.out.splitlines().count(words) for words in ("first one", "second two")]
    expect(ran == [2, 7], f"the first program ran {ran[0]} times, the second {ran[1]} times")
    programs = [event.get("program") for event in bench.events("requested")]
    expect(programs == [1, None, 1], f"events name the programs {programs}")


def test_binding_takes_free_slots(bench: Bench) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        return
    script = bench.folder / "show"
    script.write_text(
        f'#!/bin/sh\necho "$PMI_ADAPT allowed $(grep Cpus_allowed_list /proc/self/status)"\nexec {bench.process} probes=2\n'
    )
    script.chmod(0o755)
    result = bench.run(
        "-bind-to", "core", "-n", 2, "--adapt-schedule", "1/leave=1,1s:2", "--adapt-log", bench.log, program=[script]
    )
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    cores = dict(re.findall(r"uid=(\d+) .*Cpus_allowed_list:\s*(\S+)", result.out))
    expect(len(cores) == 3 and cores["0"] != cores["1"], f"bound to {cores}")
    expect(cores["2"] == cores["1"], f"the free core was rank 1's: {cores}")


def test_labels_are_world_ranks(bench: Bench) -> None:
    result = bench.adapt("-l", "-n", 2, "--adapt-schedule", "4/leave=0", words=["probes=1", "verbose=1"])
    expect_ok(bench, result, [4])
    ends = sorted(re.findall(r"\[(\d+)\] uid (\d+): ends as rank (-?\d+)", result.out))
    expect(
        ends == [("0", "0", "-1"), ("0", "1", "0"), ("1", "2", "1"), ("2", "3", "2"), ("3", "4", "3")], f"labels {ends}"
    )

"""GPUs that a resource manager has booked for a step: mpiexec gives each process its own."""

from __future__ import annotations

import json

import pytest
from launcher import MARK, Bench, expect_ok, query_step
from support import procfs
from support.checks import expect, wait_for

SHOW = ["/bin/sh", "-c", 'echo "$PMI_RANK ${CUDA_VISIBLE_DEVICES-unset} ${ROCR_VISIBLE_DEVICES-unset}"']


def gpus_of(bench: Bench, booked: str, *args: object) -> list[str]:
    bench.extra = {"ELASTIC_STEP_GPUS": booked, "CUDA_VISIBLE_DEVICES": "7"}
    result = bench.run("-launcher", "ssh", "-launcher-exec", bench.ssh, *args, program=SHOW)
    expect(result.code == 0, result.err)
    return [line.split(" ", 1)[1] for line in sorted(result.out.splitlines())]


@pytest.mark.parametrize(
    ("booked", "args", "expected"),
    [
        ("CUDA_VISIBLE_DEVICES:2:aa=0,1,2,3;bb=4,5", ["-hosts", "aa:2,bb:1", "-n", 3], ["0,1 unset", "2,3 unset", "4,5 unset"]),
        ("CUDA_VISIBLE_DEVICES:1:aa,bb=0,2", ["-hosts", "aa:2,bb:2", "-n", 4], ["0 unset", "2 unset", "0 unset", "2 unset"]),
        ("CUDA_VISIBLE_DEVICES:0:aa=1,3", ["-hosts", "aa", "-n", 2], ["1,3 unset", "1,3 unset"]),
        ("CUDA_VISIBLE_DEVICES,ROCR_VISIBLE_DEVICES:1:aa=5,63", ["-hosts", "aa", "-n", 2], ["5 5", "63 63"]),
        # more processes than were booked; another host; nothing to understand
        ("CUDA_VISIBLE_DEVICES:1:aa=0,1", ["-hosts", "aa:3", "-n", 3], ["0 unset", "1 unset", "0 unset"]),
        ("CUDA_VISIBLE_DEVICES:1:a,aaa=0", ["-hosts", "aa", "-n", 1], ["7 unset"]),
        ("CUDA_VISIBLE_DEVICES", ["-hosts", "aa", "-n", 1], ["7 unset"]),
        (";:=,:;", ["-hosts", "aa", "-n", 1], ["7 unset"]),
    ],
)
def test_each_process_has_its_own(bench: Bench, booked: str, args: list[object], expected: list[str]) -> None:
    found = gpus_of(bench, booked, *args)
    expect(found == expected, f"{booked}: {found}")


def test_a_file_has_them(bench: Bench) -> None:
    booked = bench.folder / "gpus"
    booked.write_text("CUDA_VISIBLE_DEVICES:1:aa=3,1\n")
    found = gpus_of(bench, f"@{booked}", "-hosts", "aa:2", "-n", 2)
    expect(found == ["3 unset", "1 unset"], f"in the order of the file: {found}")
    found = gpus_of(bench, f"@{booked}.not-there", "-hosts", "aa:2", "-n", 1)
    expect(found == ["7 unset"], f"without the file: {found}")


def test_processes_before_on_the_same_host(bench: Bench) -> None:
    found = gpus_of(bench, "CUDA_VISIBLE_DEVICES:1:aa=0,1,2;bb=4", "-hosts", "aa:1,bb:1,aa:2", "-n", 4)
    expect(sorted(found) == ["0 unset", "1 unset", "2 unset", "4 unset"], f"each has another one: {found}")


def test_joining_processes_have_those_of_the_request(bench: Bench) -> None:
    bench.extra = {"ELASTIC_STEP_GPUS": "CUDA_VISIBLE_DEVICES:1:aa=0"}
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]
    job = bench.start(*launcher, "-n", 1, "--adapt-log", bench.log, program=[bench.process, "probes=2", "seconds=60"])
    wait_for("the step", lambda: bench.events("adaptive"))

    def devices() -> list[str]:
        marked = procfs.marked(MARK, str(bench.folder))
        processes = [pid for pid in marked if procfs.words(pid)[:1] == [str(bench.process)]]
        return sorted(procfs.environment(pid).get("CUDA_VISIBLE_DEVICES", "none") for pid in processes)

    for wrong in ("aa=1", "aa:1=", "aa:1=1,x", "aa:1=1=2", "aa:1=-1"):
        answer = json.dumps(query_step(bench, json.dumps({"op": "resize", "size": 2, "hosts": [wrong]})))
        expect('"field"' in answer and "NAME:COUNT=GPUS" in answer, f"{wrong}: {answer}")
    query_step(bench, json.dumps({"op": "resize", "size": 4, "hosts": ["aa:1=3", "bb:2=1,2"]}))
    wait_for("the growth", lambda: bench.sizes()[-1:] == [4])
    expect(devices() == ["0", "1", "2", "3"], f"devices: {devices()}")
    query_step(bench, json.dumps({"op": "resize", "size": 1}))
    wait_for("the shrink", lambda: bench.sizes()[-1:] == [1])
    expect_ok(bench, bench.finish(job), [4, 1])

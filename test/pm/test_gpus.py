"""GPUs that a resource manager has booked for a step: mpiexec gives each process its own."""

from __future__ import annotations

import pytest
from launcher import Bench
from support.checks import expect

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

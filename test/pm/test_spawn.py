"""Spawned processes: standard input, arguments, lists of hosts."""

from __future__ import annotations

import subprocess

from launcher import Bench, Result
from support.checks import expect


def spawn(bench: Bench, *commands: dict[str, str]) -> Result:
    """A process requests that, prints the answer and ends; no value of `commands` is checked."""
    text = bench.folder / "spawn"
    lines = []
    for i, command in enumerate(commands, 1):
        keys = {"nprocs": "1", "totspawns": str(len(commands)), "spawnssofar": str(i), "argcnt": "0", "info_num": "0"}
        lines += ["mcmd=spawn", *(f"{key}={value}" for key, value in (keys | command).items()), "endcmd", ""]
    text.write_text("\n".join(line for line in lines if line) + "\n")
    program = (
        "exec 9<&$PMI_FD 8>&$PMI_FD; echo cmd=init pmi_version=1 pmi_subversion=1 >&8; read answer <&9; "
        f"cat {text} >&8; read answer <&9; echo $answer; echo cmd=finalize >&8; read answer <&9"
    )
    return bench.run("-n", 1, program=["sh", "-c", program], stdin=subprocess.PIPE)


def arguments(*args: str) -> dict[str, str]:
    return {"argcnt": str(len(args))} | {f"arg{i}": arg for i, arg in enumerate(args, 1)}


def test_spawned_processes_have_no_input(bench: Bench) -> None:
    """They get no input: each reads the end of the stream at once, also the first one."""
    done = bench.folder / "done"
    result = spawn(bench, {"execname": "sh"} | arguments("-c", f"cat; echo >>{done}"))
    expect(done.exists() and done.read_text() == "\n", f"{result.code}: {result.out}{result.err}")


def test_spawns_that_cannot_be_passed_on(bench: Bench) -> None:
    """They are refused with a reason, and the job continues."""
    sh = {"execname": "sh"}
    for reason, command in (
        ("write them to a file", sh | arguments(*["x" * 60] * 2000)),
        ("write them to a file", sh | arguments("x") | {"argcnt": "2"}),
        ("more arguments than", sh | arguments(*["x"] * 1000)),
        ("has a newline", sh | arguments("one\ntwo")),
        ("has a newline", sh | arguments("one\ntwo=three")),
        ("processes is 0", sh | {"nprocs": "0"}),
        ("processes is negative", sh | {"nprocs": "-1"}),
    ):
        result = spawn(bench, command)
        refused = result.out == "cmd=spawn_result rc=-1\n" and reason in result.err and len(result.err.splitlines()) == 1
        expect(result.code == 0 and refused, f"{reason}: {result.code}: {result.out}{result.err[:2000]}")
    bench.expect_nothing_left()


def test_spawns_of_odd_texts(bench: Bench) -> None:
    """An argument that resembles the end of the command; a path that is that of another program."""
    one, two = bench.folder / "one", bench.folder / "two"
    result = spawn(bench, {"execname": "sh"} | arguments("-c", f"echo $0 >>{one}", "sendcmd"))
    expect(one.exists() and one.read_text() == "sendcmd\n", f"{result.code}: {result.out}{result.err}")
    path = {"info_num": "1", "info_key_0": "path", "info_val_0": "/bin"}
    bench.extra["MALLOC_PERTURB_"] = "165"  # a path that was freed leads nowhere
    first, second = (arguments("-c", f"touch {name}; sleep 1") for name in (one, two))
    one.unlink()
    result = spawn(bench, {"execname": "sh"} | path | first, {"execname": "sh"} | second)
    expect("not there" not in result.err and one.exists() and two.exists(), f"{result.code}: {result.out}{result.err}")
    bench.expect_nothing_left()


def test_a_long_list_of_hosts(bench: Bench) -> None:
    hosts = ",".join(f"host{i}:1" for i in range(5000))
    result = bench.run("-launcher", "fork", "-hosts", hosts, "-n", 2, program=["sh", "-c", "echo $PMI_RANK"])
    expect(result.code == 0 and sorted(result.out.split()) == ["0", "1"], f"{result.code}: {result.out}{result.err[:2000]}")

"""Launches by a program such as ssh: its additional arguments, its limits, and a launcher that cannot be started."""

from __future__ import annotations

from launcher import SSH, Bench, compile_c
from support.checks import expect

# A system that starts no further process.
NO_FORK = """
#include <errno.h>
#include <unistd.h>
pid_t fork(void) { errno = EAGAIN; return -1; }
"""


def test_additional_arguments_of_each_launch(bench: Bench) -> None:
    """Also a later launch passes on all of them."""
    launches = bench.folder / "launches"
    bench.ssh.write_text(SSH.replace("while :;", f'echo "$*" >>{launches}\nwhile :;', 1))
    bench.extra["HYDRA_LAUNCHER_EXTRA_ARGS"] = "-one -two -three"
    result = bench.adapt("-n", 1, "--adapt-schedule", "2/hosts=bb", words=["probes=2"], hosts="aa")
    expect(result.code == 0 and bench.sizes() == [2], f"{result.code}: {bench.sizes()}: {result.err}")
    found = launches.read_text().splitlines()
    expect(len(found) == 2 and all(" -one -two -three " in line for line in found), f"{found}")


def test_a_high_limit_of_launches(bench: Bench) -> None:
    """Above the time of that limit: the table of launches has as many entries as the limit."""
    bench.extra |= {"HYDRA_LAUNCHER_SSH_LIMIT": "1000000", "HYDRA_LAUNCHER_SSH_LIMIT_TIME": "1"}
    result = bench.run("-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa", "-n", 1, program=["true"])
    expect(result.code == 0, f"exit code {result.code}: {result.err}")


def test_a_launcher_that_cannot_be_started(bench: Bench) -> None:
    library = bench.folder / "no_fork.so"
    compile_c(NO_FORK, library, "-shared", "-fPIC")
    result = bench.run(
        *("-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb", "-n", 2),
        program=["true"],
        prefix=["env", f"LD_PRELOAD={library}"],
    )
    expect(result.code > 0 and "fork error" in result.err, f"exit code {result.code}: {result.err}")
    bench.expect_nothing_left()

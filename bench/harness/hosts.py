"""Two hosts on one machine: the testbed of test/elastic/cluster, with launches by ssh and tcp between hosts.

Needs root, iproute2 and openssh-server.  A testbed of its own, which is taken away at the end with all
processes on its hosts.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .bench import Bench, Skipped
from .result import Case
from .windows import host_cases

CLUSTER = Path(__file__).resolve().parent.parent.parent / "test" / "elastic" / "cluster"
sys.path[:0] = [str(CLUSTER), str(CLUSTER.parents[1])]
from testbed import command, hosts, state  # noqa: E402


@contextlib.contextmanager
def two_hosts() -> Iterator[state.Cluster]:
    """A short path, because sockets lie in the folder."""
    why = hosts.impossible()
    if why:
        raise Skipped(why)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        testbed_folder = Path(folder) / "c"
        try:
            try:
                yield command.up(testbed_folder, 2)
            except state.TestbedError as error:
                raise Skipped(str(error)) from error
        finally:
            command.down(testbed_folder)


def standstill(bench: Bench) -> list[Case]:
    with two_hosts() as cluster:
        first, second = cluster.hosts[:2]
        environment = hosts.environment(Path(cluster.folder), {"FI_PROVIDER": "tcp"})
        return host_cases(
            bench,
            first.name,
            second.name,
            options=["-launcher", "ssh", "-hosts", f"{first.name},{second.name}", "-ppn", "1"],
            before=tuple(hosts.enter(first, [], str(bench.folder))),
            environment=environment,
            deadline_s=90,
        )

"""The command line of the testbed: up, down, status, shell, and faults to try."""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from . import files, hosts, slurm, state
from .state import Cluster, TestbedError


def up(
    folder: Path, nodes: int, with_slurm: bool = False, cpus: Sequence[int] = (4,), accounting: bool = False
) -> Cluster:
    """Brings a testbed up; the remains of an earlier one that has failed are removed before.

    `cpus`: that the nodes claim to have under Slurm, by turns.
    """
    why = hosts.impossible() or (slurm.impossible(accounting) if with_slurm else "")
    if why:
        raise TestbedError(why)
    if not 1 <= nodes <= hosts.MOST_HOSTS:
        raise TestbedError(f"--nodes must be 1 to {hosts.MOST_HOSTS}")
    known = state.load(folder)
    if known and all(hosts.alive(host) for host in [known.head, *known.hosts]):
        raise TestbedError(f"it is up already ({len(known.hosts)} hosts); take it down first, or choose a --name")
    down(folder)
    try:
        return _up(folder, nodes, with_slurm, cpus, accounting)
    except BaseException as error:
        tails = _log_tails(folder)
        down(folder)
        if tails and isinstance(error, TestbedError):
            raise TestbedError(f"{error}\n{tails}") from error
        raise


def _up(folder: Path, nodes: int, with_slurm: bool, cpus: Sequence[int], accounting: bool) -> Cluster:
    names = hosts.addresses(nodes)
    files.write(folder, names)
    if with_slurm:
        turns = itertools.cycle(cpus)
        slurm.write(folder, {name: next(turns) for name in names if name != "head"}, accounting)
    cluster = hosts.start(folder, nodes)
    if with_slurm:
        slurm.start(cluster, accounting)
    state.save(cluster)
    return cluster


def _log_tails(folder: Path) -> str:
    """The last lines of the logs, which go with the folder."""
    text = ""
    for path in sorted((folder / "log").glob("*")):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
        text += "".join(f"  {path.name}: {line}\n" for line in lines)
    return text.rstrip()


def down(folder: Path) -> bool:
    """Ends and removes everything of a testbed.  Whether there was anything."""
    if os.environ.get(state.MARKER) == str(folder):
        raise TestbedError("this shell is inside the testbed; leave it first")
    ended = hosts.end_all(folder)
    existed = folder.exists()
    state.remove_files(folder)
    return bool(ended) or existed


def loaded(folder: Path) -> Cluster:
    cluster = state.load(folder)
    if cluster is None:
        raise TestbedError("no testbed is up here; ./run cluster up --nodes 4 makes one")
    return cluster


def command_up(options: argparse.Namespace, folder: Path) -> int:
    start = time.monotonic()
    with state.locked(folder):
        cluster = up(folder, options.nodes, options.slurm or options.accounting, options.cpus, options.accounting)
    names = ",".join(host.name for host in cluster.hosts)
    extra = f" with {' '.join(cluster.daemons)}" if cluster.daemons else ""
    shell = f"{'sudo ' if 'SUDO_UID' in os.environ else ''}./run cluster shell"
    print(f"{names} are up{extra} after {time.monotonic() - start:.1f} s; {shell} enters {options.first}")
    return 0


def command_down(_: argparse.Namespace, folder: Path) -> int:
    with state.locked(folder):
        existed = down(folder)
    print("everything is gone" if existed else "there was nothing to take down")
    return 0


def _ssh_works(cluster: Cluster, host: state.Host) -> str:
    try:
        done = hosts.run(cluster, cluster.head, "ssh", host.name, "true", limit_s=15)
    except subprocess.TimeoutExpired:
        return "no answer"
    return "ok" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no"])[-1]


def command_status(_: argparse.Namespace, folder: Path) -> int:
    cluster = loaded(folder)
    all_hosts = [*cluster.hosts, cluster.head]
    states = slurm.node_states(cluster) if cluster.daemons and hosts.alive(cluster.head) else {}
    print(f"{'host':6} {'address':14} {'state':6} {'processes':>9}  {'slurm':10} ssh")
    for host in all_hosts:
        living = hosts.alive(host)
        ssh = _ssh_works(cluster, host) if living and hosts.alive(cluster.head) else "-"
        count = str(len(hosts.processes(host))) if living else "-"
        word = "up" if living else "dead"
        print(f"{host.name:6} {host.address:14} {word:6} {count:>9}  {states.get(host.name, '-'):10} {ssh}")
    return 0 if all(hosts.alive(host) for host in all_hosts) else 1


def command_shell(options: argparse.Namespace, folder: Path) -> int:
    cluster = loaded(folder)
    host = cluster.host(options.host or options.first)
    if not hosts.alive(host):
        raise TestbedError(f"host {host.name} is dead; ./run cluster status shows all")
    command = options.command or [os.environ.get("SHELL", "/bin/bash"), "-i"]
    words = hosts.enter(host, command, os.getcwd())
    sys.stdout.flush()
    os.execvpe(words[0], words, hosts.environment(folder, dict(os.environ)))


def command_crash(options: argparse.Namespace, folder: Path) -> int:
    hosts.crash(loaded(folder).host(options.host))
    return 0


def command_link(options: argparse.Namespace, folder: Path) -> int:
    cluster = loaded(folder)
    hosts.set_link(cluster, cluster.host(options.host), options.state)
    return 0


def _counts(text: str) -> list[int]:
    counts = [int(word) for word in text.split(",")]
    if min(counts) < 1:
        raise ValueError
    return counts


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="./run cluster", description="A private cluster of network namespaces on this machine (doc/developer/testbed.md)."
    )
    top.add_argument("--name", default="default", help="which testbed, if there are several")
    top.add_argument("--state", metavar="FOLDER", help="its folder, instead of one by its name")
    top.set_defaults(first="h1")
    commands = top.add_subparsers(dest="what", required=True, metavar="COMMAND")
    one = commands.add_parser("up", help="bring it up")
    one.add_argument("--nodes", type=int, default=4, help="number of hosts: h1, h2, ... (default 4)")
    one.add_argument("--slurm", action="store_true", help="with a stock Slurm, its controller on the host `head`")
    one.add_argument("--accounting", action="store_true", help="--slurm with slurmdbd and MariaDB")
    one.add_argument(
        "--cpus",
        type=_counts,
        default=[4],
        metavar="N[,N...]",
        help="that each node claims to have under Slurm, by turns (default 4)",
    )
    one.set_defaults(function=command_up)
    commands.add_parser("down", help="end and remove it").set_defaults(function=command_down)
    commands.add_parser("status", help="show its hosts").set_defaults(function=command_status)
    one = commands.add_parser("shell", help="a shell, or one command, on a host")
    one.add_argument("--host", help="on which one (default h1)")
    one.add_argument("command", nargs=argparse.REMAINDER, metavar="CMD", help="instead of a shell")
    one.set_defaults(function=command_shell)
    one = commands.add_parser("crash", help="kill a host with everything on it")
    one.add_argument("host")
    one.set_defaults(function=command_crash)
    one = commands.add_parser("link", help="pull or plug in the cable of a host")
    one.add_argument("host")
    one.add_argument("state", choices=("up", "down"))
    one.set_defaults(function=command_link)
    return top


def main(words: list[str] | None = None) -> int:
    options = parser().parse_args(words)
    try:
        return int(options.function(options, state.folder_of(options.name, options.state)))
    except TestbedError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1

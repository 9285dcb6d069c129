"""Hosts as namespaces: starting, wiring, entering, crashing and removing them.

Each host has network, name, process, IPC and mount namespaces of its own; only files are shared (a cluster with one
file system), except /dev/shm and /run.  Nothing is made in the namespaces of the caller: links are created inside the
switch, and all namespaces are held by their processes alone, so that they end with these.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from support import procfs

from .state import MARKER, Cluster, Host, TestbedError

HERE = Path(__file__).resolve().parent.parent
TOOLS = ("ip", "unshare", "nsenter", "setpriv", "ssh", "ssh-keygen", "/usr/sbin/sshd")
UNSHARE = ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
NETWORK = "10.77"  # nobody outside sees it: every testbed has the same addresses
MOST_HOSTS = 250
START_LIMIT_S = 30.0
# Set by tests: hosts end with the process that has started them, however that ends.
end_with_this_process = False
END_LIMIT_S = 20.0


def impossible() -> str:
    """Why there can be no testbed here; empty if there can."""
    if os.geteuid() != 0:
        return "it takes root to make network namespaces; repeat with sudo"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"missing: {' '.join(missing)} (Debian: iproute2 util-linux openssh-client openssh-server)"
    script = "mount -t tmpfs tmpfs /run && ip link add br0 type bridge && ip link add a0 type veth peer name a1"
    done = subprocess.run([*UNSHARE, "sh", "-c", script], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        printed = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return f"this system does not permit namespaces with a bridge ({printed})"
    return ""


# ---- processes, from outside -----------------------------------------------------------------------


def start_time(pid: int) -> int:
    fields = procfs.stat(pid)
    return int(fields[19]) if fields and fields[0] != "Z" else -1


def alive(host: Host) -> bool:
    return start_time(host.pid) == host.started


def _namespace(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def processes(host: Host) -> list[int]:
    """All processes of a living host, as numbered outside, its first one left out."""
    if not alive(host):
        return []
    inside = _namespace(host.pid)
    return [pid for pid in procfs.pids() if pid != host.pid and _namespace(pid) == inside]


def inner_pid(pid: int) -> int:
    """The number that a process has in its own namespace."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return pid


def outer_pid(host: Host, inner: int) -> int | None:
    """The number outside of a process of the host."""
    for pid in processes(host):
        with contextlib.suppress(OSError):
            if inner_pid(pid) == inner:
                return pid
    return None


def marked(folder: Path) -> list[int]:
    """Processes that name this testbed in their environment, ourselves left out."""
    return procfs.marked(MARKER, str(folder))


# ---- entering --------------------------------------------------------------------------------------


def enter(host: Host, command: Sequence[str], where: str = "/") -> list[str]:
    """The command line that runs a command on a host: it gets SIGTERM if its parent ends before."""
    spaces = ["--mount", "--uts", "--ipc", "--net", "--pid", f"--wdns={where}"]
    return ["nsenter", "-t", str(host.pid), *spaces, "setpriv", "--pdeathsig", "TERM", "--", *command]


def environment(folder: Path, base: dict[str, str]) -> dict[str, str]:
    """The environment of a command on a host."""
    return {**base, MARKER: str(folder), "XDG_RUNTIME_DIR": f"/run/user/{os.getuid()}"}


def run(cluster: Cluster, host: Host, *command: str, limit_s: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs a command on a host and returns its output."""
    return subprocess.run(
        enter(host, command),
        capture_output=True,
        text=True,
        timeout=limit_s,
        env=environment(Path(cluster.folder), dict(os.environ)),
        stdin=subprocess.DEVNULL,
        check=False,
    )


# ---- starting --------------------------------------------------------------------------------------


class Starting:
    """A host that is coming up."""

    def __init__(self, name: str, address: str, folder: Path, bridge: bool) -> None:
        self.name, self.address, self.log = name, address, folder / "log" / f"init-{name}"
        tied = ["setpriv", "--pdeathsig", "KILL", "--"] if end_with_this_process else []
        command = [*tied, *UNSHARE, str(HERE / "host-init"), name, str(folder), f"{address}/16"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command + ["bridge"] * bridge,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(Path.home()), MARKER: str(folder)},
                cwd="/",
                start_new_session=True,
            )

    def await_word(self, word: str) -> None:
        assert self.process.stdout
        readable, _, _ = select.select([self.process.stdout], [], [], START_LIMIT_S)
        printed = self.process.stdout.readline().decode().strip() if readable else ""
        if printed != word:
            why = " / ".join(self.log.read_text(errors="replace").split("\n")).strip(" /")
            raise TestbedError(f"host {self.name} did not come up: {why or 'no message'}")

    def go(self) -> None:
        assert self.process.stdin
        self.process.stdin.write(b"go\n")
        self.process.stdin.close()

    def host(self) -> Host:
        """The first process of the namespaces: the child of the one that made them."""
        for pid in procfs.pids():
            fields = procfs.stat(pid)
            if fields and int(fields[1]) == self.process.pid:
                return Host(self.name, self.address, pid, start_time(pid))
        raise TestbedError(f"host {self.name} ended while it came up (see {self.log})")


def _wire(head: Host, hosts: list[Host]) -> None:
    """Plugs every host into the switch: pairs of links are made there and one end is handed over."""
    lines = []
    for host in hosts:
        lines.append(f"link add {host.name} type veth peer name eth0 netns {host.pid}")
        lines.append(f"link set {host.name} master br0 up")
    done = subprocess.run(
        ["nsenter", "-t", str(head.pid), "--net", "ip", "-batch", "-"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise TestbedError(f"the hosts cannot be connected: {done.stderr.strip()}")


def addresses(count: int) -> dict[str, str]:
    """Names and addresses: head, h1, h2, ..."""
    return {"head": f"{NETWORK}.255.1"} | {f"h{i}": f"{NETWORK}.0.{i}" for i in range(1, count + 1)}


def start(folder: Path, count: int) -> Cluster:
    """Brings the hosts up; if this fails, `end_all` ends those that are up."""
    starting = [Starting(name, address, folder, name == "head") for name, address in addresses(count).items()]
    for one in starting:
        one.await_word("ready")
    head, *hosts = [one.host() for one in starting]
    _wire(head, hosts)
    for one in starting:
        one.go()
    for one in starting:
        one.await_word("up")
    return Cluster(str(folder), head, hosts)


# ---- faults and the end ----------------------------------------------------------------------------


def crash(host: Host) -> None:
    """Kills a host with all that runs on it."""
    if not alive(host):
        raise TestbedError(f"host {host.name} is not alive")
    os.kill(host.pid, signal.SIGKILL)
    _await(lambda: not alive(host), f"host {host.name} does not end")


def set_link(cluster: Cluster, host: Host, state: str) -> None:
    """Pulls (`down`) or plugs in (`up`) the cable of a host, at the switch."""
    done = run(cluster, cluster.head, "ip", "link", "set", host.name, state)
    if done.returncode != 0:
        raise TestbedError(f"the link of {host.name} cannot be set {state}: {done.stderr.strip()}")


def _await(condition: Callable[[], bool], complaint: str, limit_s: float = END_LIMIT_S) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            raise TestbedError(complaint)
        time.sleep(0.01)


def end_all(folder: Path) -> int:
    """Ends every process of a testbed and returns how many that were; fine if there is none."""
    ended: set[int] = set()

    def all_ended() -> bool:
        left = [pid for pid in marked(folder) if start_time(pid) >= 0]
        for pid in left:
            ended.add(pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    _await(all_ended, f"processes of the testbed {folder} do not end; see who names it in /proc/*/environ")
    return len(ended)

"""Data of a process from /proc.  A process that has ended, or belongs to another user, has no arguments, no environment
and no state."""

from __future__ import annotations

import os
from pathlib import Path


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def stat(pid: int) -> list[str]:
    """State, parent, process group, session, ... (proc(5), from the third field on)."""
    return _read(pid, "stat").decode(errors="replace").rpartition(") ")[2].split()


def has_ended(pid: int) -> bool:
    return (stat(pid) or "X")[0] in "ZX"


def name(pid: int) -> str:
    """Of the program, 15 characters of it."""
    return _read(pid, "comm").decode(errors="replace").strip()


def words(pid: int) -> list[str]:
    """Of the command line."""
    return _read(pid, "cmdline").decode(errors="replace").split("\0")[:-1]


def environment(pid: int) -> dict[str, str]:
    entries = os.fsdecode(_read(pid, "environ")).split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def marked(variable: str, value: str) -> list[int]:
    """Processes that have this in their environment, ourselves left out."""
    entry = os.fsencode(f"{variable}={value}")
    return [pid for pid in pids() if pid != os.getpid() and entry in _read(pid, "environ").split(b"\0")]


def descriptors(pid: int) -> set[int]:
    return {int(number) for number in os.listdir(f"/proc/{pid}/fd")}


def resident_kb(pid: int) -> int:
    return int(_read(pid, "statm").split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def cpu_s(pid: int) -> float:
    return sum(map(int, stat(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def tcp_rows() -> list[list[str]]:
    """/proc/net/tcp without its heading."""
    return [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]

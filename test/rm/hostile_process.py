#!/usr/bin/python3
"""A process of a job that keeps neither to PMI nor to the step protocol, as fast as it can: hostile_process.py KIND.

    waits    calls that wait for what never comes, of which it states that it awaits no answer
    wishes   requests slots, and releases them
    names    requests names without waiting for answers
    deaf     queries without end, and reads no answer
    endless  sends one line of 64 MB
    step     rubbish, depth, length and no bytes on the socket of its own step
    ports    the same on each port on which its launcher listens

It continues until it is killed, or its daemon has closed the connection; then it waits.
"""

import contextlib
import itertools
import os
import re
import select
import socket
import struct
import sys
import time
from pathlib import Path

KIND = sys.argv[1]
PMI = int(os.environ["PMI_FD"])
LINE_MAX = 4096
GET, ALLOCATE, CANCEL, RELEASE = 8, 28, 30, 31  # enum pmi_set_call
RUBBISH = [
    b"\0\xff{\"\n[]\n{\"type\":7}\n\n", b"[" * 200000 + b"\n", b'{"id":1,"op":"grant","wish":1,"grant":1,"hosts":["a:9999999"]}\n',
    b'{"id":1,"op":"slots","most":-1}\n', b'{"id":1e999,"op":"resize","size":99999999}\n', b"x" * (1 << 20), b'{"id":1,"op":"events"',
]  # fmt: skip


def send(line: bytes) -> None:
    os.write(PMI, line)


def receive() -> None:
    """Receives available data; waits for a peer that does not read."""
    while select.select([PMI], [], [], 0)[0] and os.read(PMI, 65536):
        pass


def query(line: bytes) -> None:
    send(line)
    answer = b""
    while not answer.endswith(b"\n"):
        answer += os.read(PMI, 1)


def number(*values: int) -> bytes:
    return struct.pack(f"={len(values)}I", *values)


def text(value: bytes) -> bytes:
    return number(len(value)) + value


def call(number_of_call: int, bytes_of_call: bytes, how: str = "") -> None:
    for at in range(0, len(bytes_of_call), LINE_MAX):
        part, more = bytes_of_call[at : at + LINE_MAX], int(at + LINE_MAX < len(bytes_of_call))
        send(f"cmd=adapt_set_call id={number_of_call} more={more} {how} call={part.hex()}\n".encode())


def wait_for_what_never_comes() -> None:
    world = b"mpix://WORLD/0"
    question = number(GET) + text(world) + number(0) + text(world) + number(1, 1) + text(b"never")
    for n in itertools.count(1):
        call(n, question, "answer=0")


def request_slots() -> None:
    words = text(b"tag=" + b"x" * 60000)
    for n in itertools.count(1, 64):
        call(n, number(ALLOCATE, n, 64, n % 2) + text(b"*") + (words if n % 640 == 1 else text(b"")) + number(0, 0))
        for i in range(n, n + 64):
            call(i + 1, number(CANCEL if i % 2 else RELEASE, i))
        for i in range(n, n + 66):
            query(f"cmd=adapt_set_fetch id={i} at=0\n".encode())


def query_names() -> None:
    for n in itertools.count():
        send(f"cmd=lookup_name service=nobody-{n}-{'x' * 200}\n".encode())
        receive()


def be_deaf() -> None:
    while True:
        send(b"cmd=get_maxes\n" * 100)


def send_one_line() -> None:
    for _ in range(64):
        send(b"x" * (1 << 20))


def attack(family: socket.AddressFamily, address: tuple[str, int] | str) -> None:
    """Everything of the list, then no bytes of many."""
    with contextlib.ExitStack() as silent:
        for printed in RUBBISH + 100 * [b""]:
            connection = silent.enter_context(socket.socket(family))
            connection.settimeout(5)
            with contextlib.suppress(OSError):
                connection.connect(address)
                connection.sendall(printed)
        time.sleep(0.5)


def attack_the_step() -> None:
    socket_of_step = Path(f"/tmp/elastic-mpich-{os.geteuid()}/step-{os.getppid()}.sock")
    paths = [socket_of_step] if socket_of_step.exists() else sorted(socket_of_step.parent.glob("step-*.sock"))
    while True:
        for path in paths:
            attack(socket.AF_UNIX, str(path))


def listening_ports() -> list[int]:
    """Of its ancestors, which are its daemon and mpiexec."""
    inodes, pid = set(), os.getppid()
    while pid > 1 and "mpi" in (name := Path(f"/proc/{pid}/comm").read_text()) + ("mpi" if "hydra" in name else ""):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if found := re.match(r"socket:\[(\d+)\]", os.readlink(link)):
                    inodes.add(found.group(1))
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes]


def attack_the_ports() -> None:
    while True:
        for port in listening_ports():
            attack(socket.AF_INET, ("127.0.0.1", port))
        time.sleep(0.1)


DOES = {
    "waits": wait_for_what_never_comes, "wishes": request_slots, "names": query_names, "deaf": be_deaf,
    "endless": send_one_line, "step": attack_the_step, "ports": attack_the_ports,
}  # fmt: skip


def main() -> None:
    query(b"cmd=init pmi_version=1 pmi_subversion=1\n")
    print("begins", flush=True)
    with contextlib.suppress(OSError):
        DOES[KIND]()
    time.sleep(1000)


main()

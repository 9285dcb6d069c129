#!/usr/bin/python3
"""A job that claims to be an adaptive step and does not keep to the protocol: hostile_step.py KIND [FOLDER].

    good    for comparison: does what it is requested
    hasty   so does this one, once, when there is a file FOLDER/go, and ends at once; FOLDER/requested has the number of its parent
    hang    its socket is in FOLDER, where every access hangs
    types   answers the first resize with a field of a wrong type
    flood   sends events as fast as they are read, most of them repeated
    long    one line of 60 MB
    deep    one line that is nested 200000 deep
    talk    registers sockets without end
  requested what its processes do with their time:
    honest      answers
    lies        of other epochs and sizes, and of the past
    unasked     answers all the time, without a query
    silent      does not answer
    nonsense    answers with a field of a wrong type
    boasts      does what it is requested, and states that it is the faster the more it has, however much
"""

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]
KIND = sys.argv[1]
PATH = f"/tmp/hostile-{os.getpid()}.sock"


def register(path: str) -> None:
    name = b"\0" + bytes.fromhex(os.environ["ELASTIC_STEP_REGISTER"])
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.sendto(path.encode(), name)


def send(connection: socket.socket, *messages: object) -> None:
    connection.sendall(b"".join(json.dumps(message).encode() + b"\n" for message in messages))


def wait_to_go() -> None:
    folder = Path(sys.argv[2])
    (folder / "written").write_text(str(os.getppid()))
    (folder / "written").rename(folder / "requested")
    while not (folder / "go").exists():
        time.sleep(0.01)


def be_good(connection: socket.socket) -> None:
    lines = connection.makefile("r")
    lines.readline()
    send(connection, {"id": "events", "ok": True, "oldest": 1, "next": 1}, {"event": "adaptive", "seq": 1})
    number = 1
    for request, line in enumerate(lines, 1):
        requested = json.loads(line)
        if requested.get("op") != "resize":
            continue
        if KIND == "hasty":
            wait_to_go()
        same = {"request": request, "time_ms": number}
        send(connection, {"id": requested["id"], "ok": True, **same})
        for event in ({"event": "requested", "tag": requested["tag"]}, {"event": "plan"}, {"event": "target"},
                      {"event": "committed", "epoch": requested["if_epoch"] + 1}, {"event": "freed", "epoch": requested["if_epoch"] + 1}):
            number += 1
            send(connection, event | same | {"seq": number})
        if KIND == "hasty":
            return


def performance(number: int, **other: object) -> dict[str, object]:
    """An answer of a step of two processes with a constant behaviour."""
    loop: Json = {"key": "probe", "parent": None, "ranks": "0-1", "processes": 2, "iterations": 20 * number, "measured_every": 1,
                  "loop_us": 2000000 * number, "mpi_us": 500000 * number, "ratio_min": 0.2, "ratio_max": 0.3, "slowest": []}  # fmt: skip
    return {
        "id": f"performance-{number}", "ok": True, "available": True, "epoch": 0, "size": 2, "processes": 2, "stale": 0,
        "progress": {"probes": 10 * number, "ms": 1000 * number, "per_second": 10, "recent_per_second": None}, "loops": [loop],
    } | other  # fmt: skip


def be_measured(connection: socket.socket) -> None:
    lines = connection.makefile("r")
    lines.readline()
    send(connection, {"id": "events", "ok": True, "oldest": 1, "next": 1}, {"event": "adaptive", "seq": 1})
    lies: list[Json] = [{"epoch": 1}, {"size": 3}, {"epoch": 1 << 50, "size": 1, "processes": 1}, {"progress": {"probes": 0, "ms": 0}, "size": 1}]
    number = 0
    while KIND == "unasked":
        send(connection, performance(1, id="performance-17"))
        time.sleep(0.01)
    for line in lines:
        if json.loads(line).get("op") != "performance":
            continue
        number += 1
        if KIND == "honest":
            send(connection, performance(number))
        elif KIND == "lies":
            send(connection, performance(number, **lies[number % len(lies)]))
        elif KIND == "nonsense":
            send(connection, performance(number, loops="many"))


def boast(connection: socket.socket) -> None:
    lines = connection.makefile("r")
    lines.readline()
    send(connection, {"id": "events", "ok": True, "oldest": 1, "next": 1}, {"event": "adaptive", "seq": 1})
    size, epoch, number, requested_of_epoch = int(os.environ["ELASTIC_JOB_SIZE"]), 0, 1, 0
    requests = 0
    for line in lines:
        requested = json.loads(line)
        if requested.get("op") == "performance":
            requested_of_epoch += 1
            rounds, ms = size**3 * requested_of_epoch, 1000 * requested_of_epoch
            loop: Json = {"key": "probe", "parent": None, "ranks": f"0-{size - 1}", "processes": size, "iterations": size * rounds,
                          "measured_every": 1, "loop_us": 1000 * ms * size, "mpi_us": 0, "ratio_min": 0, "ratio_max": 0, "slowest": []}  # fmt: skip
            progress = {"probes": rounds, "ms": ms, "per_second": size**3, "recent_per_second": None}
            send(connection, {"id": requested["id"], "ok": True, "available": True, "epoch": epoch, "size": size, "processes": size,
                              "stale": 0, "progress": progress, "loops": [loop]})  # fmt: skip
        elif requested.get("op") == "resize":
            requests += 1
            size, epoch, requested_of_epoch = requested["size"], requested["if_epoch"] + 1, 0
            same = {"request": requests, "time_ms": number}
            send(connection, {"id": requested["id"], "ok": True, **same})
            for event in ({"event": "requested", "tag": requested["tag"]}, {"event": "plan"}, {"event": "target"},
                          {"event": "committed", "epoch": epoch}, {"event": "freed", "epoch": epoch}):
                number += 1
                send(connection, event | same | {"seq": number})


def be_hostile(connection: socket.socket) -> None:
    lines = connection.makefile("r")
    lines.readline()  # the question for our events
    send(connection, {"id": "events", "ok": True, "oldest": 1, "next": 1})
    send(connection, {"event": "adaptive", "seq": 1, "time_ms": 1})
    if KIND == "types":
        lines.readline()  # the resize
        connection.sendall(b'{"id":"resize-1","ok":"x"}\n')
    elif KIND == "long":
        connection.sendall(b"x" * (60 << 20))
    elif KIND == "deep":
        connection.sendall(b'{"event":"adaptive","seq":2,"x":' + b"[" * 200000 + b"]" * 200000 + b"}\n")
    elif KIND == "flood":
        number = 2
        while True:
            send(connection, *({"event": "freed", "seq": number + i, "epoch": i % 7} for i in range(1000)))
            number += 1000
    lines.readline()


def main() -> None:
    if KIND == "hang":
        register(sys.argv[2] + "/step.sock")
        time.sleep(1000)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(PATH)
    listening.listen(64)
    try:
        register(PATH)
        while KIND == "talk":
            register(PATH)
        connection, _ = listening.accept()
        measured = KIND in ("honest", "lies", "unasked", "silent", "nonsense")
        doing = {"good": be_good, "hasty": be_good, "boasts": boast}.get(KIND, be_measured if measured else be_hostile)
        doing(connection)
    except OSError as error:
        print(f"cut off: {error}", flush=True)
    finally:
        os.unlink(PATH)
    if KIND != "hasty":
        time.sleep(1000)


main()

#!/usr/bin/python3
"""A job that says it is an adaptive step and does not keep to the protocol: hostile_step.py KIND.

    types   answers the first resize with a field of a wrong type
    flood   tells events as fast as they are read, most of them repeated
    long    one line of 60 MB
    deep    one line that is nested 200000 deep
    talk    registers sockets without end
"""

import json
import os
import socket
import sys
import time

KIND = sys.argv[1]
PATH = f"/tmp/hostile-{os.getpid()}.sock"


def register(path: str) -> None:
    name = b"\0" + bytes.fromhex(os.environ["ELASTIC_STEP_REGISTER"])
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.sendto(path.encode(), name)


def send(connection: socket.socket, *messages: object) -> None:
    connection.sendall(b"".join(json.dumps(message).encode() + b"\n" for message in messages))


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
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(PATH)
    listening.listen(64)
    try:
        register(PATH)
        while KIND == "talk":
            register(PATH)
        connection, _ = listening.accept()
        be_hostile(connection)
    except OSError as error:
        print(f"cut off: {error}", flush=True)
    finally:
        os.unlink(PATH)
    time.sleep(1000)


main()

"""Malformed reports, incomplete commands, unread answers: an untrusted process harms itself only."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import threading
import time

from launcher import Bench, expect_ok, start_slow_growth
from support import procfs
from support.checks import expect, wait_for


# Plays ssh.  On host bb it stands between mpiexec and the proxy of two processes.  It spoils the first message with several
# reports (HYD_ADAPT_REPORTS of wire/kinds.h: outer head, then head, payload and padding of each), or sends each report that
# may go up the tree twice.
STANDS_BETWEEN = r"""#!/usr/bin/python3
import os, re, select, socket, struct, subprocess, sys

PID_LIST, EXIT_STATUS, TERMINATED, ADAPT = 5, 6, 10, 11  # enum HYD_pmcd_cmd
REPORTS, HEAD, HYDRA = 1006, struct.Struct("=IIQII"), struct.Struct("=8i")
GO_UP = (4, 7, 11, 12, 13)  # enum step_report: COMMITTED, PREPARED, GREETED, PERFORMANCE, LOOPS
how = "HOW"
words = sys.argv[1:]
while words[0].startswith("-"):
    words.pop(0)
host, command = words[0], " ".join(words[1:])
os.environ.pop("HYDI_CONTROL_FD", None)
if host != "bb":
    os.execvp("sh", ["sh", "-c", "exec " + command])
listener = socket.create_server(("127.0.0.1", 0))
address, port = re.search(r"--control-port (\S+):(\d+)", command).groups()
command = re.sub(r"(--control-port) \S+", rf"\1 127.0.0.1:{listener.getsockname()[1]}", command)
proxy = subprocess.Popen(["sh", "-c", "exec " + command])
below, above = listener.accept()[0], socket.create_connection((address, int(port)))
spoilt, received, introduction = False, b"", 4 + 16  # its number and half of the secret


def spoil(message):
    kind, epoch, size, sequence, unused = HEAD.unpack_from(message)
    if how == "endless":
        size = 1 << 62
    elif how == "larger":
        size = len(message)
    elif how == "nested":
        kind = REPORTS
    elif how == "rest":  # of which no head can be read
        size = len(message) - HEAD.size - 8
    return HEAD.pack(kind, epoch, size, sequence, unused) + message[HEAD.size :]


def twice(kind, body):
    if kind != REPORTS:
        return body
    more, at = b"", 0
    while at < len(body):
        inner, _, size, _, _ = HEAD.unpack_from(body, at)
        end = at + HEAD.size + (size + 7) // 8 * 8
        more += body[at:end] if inner in GO_UP else b""
        at = end
    if more:
        open("twice", "a").write("some\n")
    return body + more


def changed(frame):
    global spoilt
    hydra = list(HYDRA.unpack_from(frame))
    if hydra[0] != ADAPT:
        return frame
    kind, epoch, size, sequence, unused = HEAD.unpack_from(frame, HYDRA.size)
    body = frame[HYDRA.size + HEAD.size :]
    if how == "twice":
        if kind in GO_UP:
            open("twice", "a").write("one\n")
            return 2 * frame
        body = twice(kind, body)
    elif kind == REPORTS and not spoilt:
        body, spoilt = spoil(body), True
    hydra[1] = HEAD.size + len(body)
    return HYDRA.pack(*hydra) + HEAD.pack(kind, epoch, len(body), sequence, unused) + body


def whole_frames():
    global received, introduction
    frames = b""
    if introduction and len(received) >= introduction:
        frames, received, introduction = received[:introduction], received[introduction:], 0
    while not introduction and len(received) >= HYDRA.size:
        kind, bytes = HYDRA.unpack_from(received)[:2]
        bytes = 2 * 4 if kind in (PID_LIST, EXIT_STATUS) else 0 if kind == TERMINATED else bytes
        if len(received) < HYDRA.size + bytes:
            break
        frames += changed(received[: HYDRA.size + bytes])
        received = received[HYDRA.size + bytes :]
    return frames


while True:
    for ready in select.select([below, above], [], [])[0]:
        data = ready.recv(1 << 20)
        if not data:
            below.close()
            above.close()
            proxy.wait()
            sys.exit(0)
        if ready is below:
            received += data
            data = whole_frames()
        (above if ready is below else below).sendall(data)
"""


def test_malformed_reports(bench: Bench) -> None:
    """A proxy's message of several reports is inconsistent, in several ways: the growth fails, the job continues."""
    for how in ("endless", "larger", "nested", "rest"):
        bench.log.unlink(missing_ok=True)
        bench.ssh.write_text(STANDS_BETWEEN.replace("HOW", how))
        launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa:1,bb:2"]
        options = ["-n", 1, "--adapt-schedule", "3,1s:1", "--adapt-log", bench.log]
        result = bench.run(*launcher, *options, program=[bench.process, "probes=0", "seconds=3"])
        expect(result.code == 0, f"{how}: exit code {result.code}: {result.err}")
        expect(len(bench.events("failed")) == 1, f"{how}: one failure expected: {bench.events('failed')}")
        bench.expect_nothing_left()


def test_a_report_that_comes_twice_counts_once(bench: Bench) -> None:
    """As after a loss in the tree of proxies, when all repeat what they have reported."""
    bench.ssh.write_text(STANDS_BETWEEN.replace("HOW", "twice"))
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa:1,bb:2"]
    options = ["-n", 1, "--adapt-schedule", "3,2", "--adapt-log", bench.log]
    result = bench.run(*launcher, *options, program=[bench.process, "probes=2"])
    expect_ok(bench, result, [3, 2])
    expect(len((bench.folder / "twice").read_text().splitlines()) >= 2, "no report was sent twice")
    expect(not bench.events("unexpected"), f"counted twice: {bench.events('unexpected')}")


# A process that sends anything on its PMI connection, and then queries properly for the set of all processes.
QUERIES_SETS = r"""
import os, struct, sys, time
pmi = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)
def send(line):
    pmi.write(line.encode() + b"\n")
def query(line):
    send(line)
    answer = b""
    while not answer.endswith(b"\n"):
        answer += pmi.read(1)
    return dict(word.split("=", 1) for word in answer.decode().split())
def fetch(id):
    answer, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        part = query(f"cmd=adapt_set_fetch id={id} at={len(answer)}")
        answer += bytes.fromhex(part.get("data", ""))
        if 0 < int(part["bytes"]) == len(answer):
            return answer
    sys.exit("no answer")
query("cmd=init pmi_version=1 pmi_subversion=1")
for line in ("", "id=0 more=0 call=00", "id=1 more=0 call=zz", "id=2 more=0", "id=x call=00", "more=0 call=00",
             "id=4294967296 more=0 call=00", "id=-1 call=00"):
    send("cmd=adapt_set_call " + line)
for n in range(1100):  # more than a call may have
    send("cmd=adapt_set_call id=3 more=1 call=" + 4096 * "00")
send("cmd=adapt_set_call id=3 more=0 call=00")
for id in range(10, 110):  # more than may wait
    send(f"cmd=adapt_set_call id={id} more=0 call=ff")
for line in ("", "id=0 at=0", "id=77777 at=0", "id=3 at=0", "id=1 at=4294967295", "id=x at=y"):
    assert query("cmd=adapt_set_fetch " + line)["bytes"] == "0", line
for id in range(10, 70):  # malformed calls are answered
    assert struct.unpack_from("=I", fetch(id))[0] == 2, id
assert query("cmd=adapt_set_fetch id=10 at=0")["bytes"] == "0", "it was fetched"
name = b"mpix://WORLD/0"
send("cmd=adapt_set_call id=1000 more=1 call=" + struct.pack("=II", 3, len(name)).hex())
send("cmd=adapt_set_call id=1000 more=0 call=" + name.hex())
answer = fetch(1000)
assert answer[:4] == bytes(4) and name in answer and answer[-20:-8] == struct.pack("=III", 1, 0, 2), answer
send("cmd=adapt_set_call id=1001 more=1 call=00")
query("cmd=finalize")
os.write(1, b"queried\n")
"""


def test_set_calls(bench: Bench) -> None:
    """Calls on process sets that are malformed, too long, too many or never finished affect no other process; valid
    ones continue."""
    script = bench.folder / "queries.py"
    script.write_text(QUERIES_SETS)
    result = bench.run("-n", 2, program=[sys.executable, script])
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    expect(result.out.split() == ["queried", "queried"], f"output {result.out}")
    bench.expect_nothing_left()


# Two processes that speak PMI and wait for each other's progress.
PMI_CLIENT = r"""
import os, pathlib, select, sys, time
pmi, rank = int(os.environ["PMI_FD"]), os.environ["PMI_RANK"]
def reach(point):
    pathlib.Path("at-" + point).touch()
def wait_for(point):
    deadline = time.monotonic() + 50
    while not os.path.exists("at-" + point):
        if time.monotonic() > deadline:
            sys.exit("waited in vain for " + point)
        time.sleep(0.02)
"""


# Processes that speak PMI: rank 0 sends half a line, and the other half when rank 1 has been answered.
HALF_A_LINE = PMI_CLIENT + r"""
def answer():
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(pmi, 1)
    return line
def query(line):
    os.write(pmi, line)
    return answer()
query(b"cmd=init pmi_version=1 pmi_subversion=1\n")
for n, (whole, half, other) in enumerate([
    (b"", b"cmd=get_ma", b"xes\n"),
    (b"", b"cm", b"d=get_maxes\n"),
    (b"cmd=get_appnum\n", b"cmd", b"=get_maxes\n"),
    (b"cmd=get_appnum\n" * 5000, b"cmd=get_maxes", b"\n"),
]):
    if rank == "0":
        os.write(pmi, whole + half)
        for _ in range(whole.count(b"\n")):
            assert b"appnum" in answer()
        reach(f"half-{n}")
        wait_for(f"answered-{n}")
        assert b"maxes" in query(other), n
    else:
        wait_for(f"half-{n}")
        assert b"appnum" in query(b"cmd=get_appnum\n"), n
        reach(f"answered-{n}")
if rank == "0":
    os.write(pmi, b"cmd=fina")
    reach("end")
time.sleep(1000)
"""


def run_to_end(bench: Bench, client: str, what: str) -> None:
    """Two processes run the client until it reaches `end`; then the job is interrupted, and nothing is left."""
    script = bench.folder / "client.py"
    script.write_text(client)
    job = bench.start("-n", 2, program=[sys.executable, script])
    wait_for(what, lambda: (bench.folder / "at-end").exists() or job.poll() is not None)
    expect(job.poll() is None, f"the job has ended: {job.communicate()[1] if job.poll() is not None else ''}")
    job.send_signal(signal.SIGINT)
    bench.finish(job)
    bench.expect_nothing_left()


def test_half_a_line(bench: Bench) -> None:
    """A process that stops in the middle of a PMI command holds up neither others nor the end of the job."""
    run_to_end(bench, HALF_A_LINE, "all halves to be sent")


# Processes that speak PMI: rank 0 sends more than is answered while it reads nothing, rank 1 is answered meanwhile; then rank 0
# reads all answers, in their order, and fills its connection again.
READS_NO_ANSWERS = PMI_CLIENT + r"""
def answers():
    rest = b""
    while True:
        more = os.read(pmi, 65536)
        assert more, "the connection has ended"
        *lines, rest = (rest + more).split(b"\n")
        yield from lines
answer = answers()
def query(line):
    os.write(pmi, line)
    return next(answer)
COMMANDS = b"cmd=get_maxes\ncmd=get_appnum\n"
written = 0
def fill():
    # Until nothing is taken any more.
    global written
    os.set_blocking(pmi, False)
    while select.select([], [pmi], [], 1)[1]:
        written += os.write(pmi, (COMMANDS * 2000)[written % len(COMMANDS):])
    os.set_blocking(pmi, True)
query(b"cmd=init pmi_version=1 pmi_subversion=1\n")
if rank == "0":
    fill()
    reach("full")
    wait_for("answered")
    for n in range(written // len(COMMANDS)):
        assert next(answer).startswith(b"cmd=maxes "), n
        assert next(answer).startswith(b"cmd=appnum "), n
    fill()
    reach("end")
else:
    wait_for("full")
    assert b"appnum" in query(b"cmd=get_appnum\n")
    reach("answered")
time.sleep(1000)
"""


def test_answers_that_nobody_reads(bench: Bench) -> None:
    """A process that queries and does not read holds up neither others nor the end of the job, and gets all answers when it does."""
    run_to_end(bench, READS_NO_ANSWERS, "all answers to be read")

LOOKS_UP = r"""
import os
pmi = int(os.environ["PMI_FD"])
def query(line):
    os.write(pmi, line)
    answer = b""
    while not answer.endswith(b"\n"):
        answer += os.read(pmi, 1)
    return answer.decode()
query(b"cmd=init pmi_version=1 pmi_subversion=1\n")
print(query(b"cmd=lookup_name service=a\n"), end="")
query(b"cmd=finalize\n")
"""


def test_answers_of_elasticd_that_are_cut_off(bench: Bench) -> None:
    """elasticd ends in the middle of its answer about a name, at each position: the query is repeated."""
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nport1\n"
    script, queried = bench.folder / "lookup.py", []
    script.write_text(LOOKS_UP)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{bench.folder}/elasticd.sock")
        listening.listen()

        def answer() -> None:
            for text in (b"", whole[:10], whole[:30], whole[:-6], whole[:-3], whole[:-1], whole):
                connection, _ = listening.accept()
                with connection:
                    queried.append(connection.recv(65536))
                    connection.sendall(text)

        threading.Thread(target=answer, daemon=True).start()
        bench.extra |= {"ELASTIC_STEP_REGISTER": "00", "ELASTIC_JOB_ID": "1", "ELASTICD_SOCKET": f"{bench.folder}/elasticd.sock"}
        result = bench.run("-n", 1, program=[sys.executable, script])
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    expect(" port=port1 " in result.out, f"the name leads to: {result.out}")
    expect(len(queried) == 7 and all(text.startswith(b"GET /v1/names/a ") for text in queried), f"queried: {queried}")
    bench.expect_nothing_left()


# Lines that are no PMI command, or lack a parameter.
NO_COMMANDS = [
    b"hello world\n", b"-6xxxxyyyyyy\n", b"-99999garbage\n", b"999999cmd=x", bytes(100), b"cmd=nosuch a=b\n", b"cmd=init\n",
    b"cmd=init pmi_version= pmi_subversion=\n", b"cmd=publish_name\n", b"cmd=publish_name service=a\n", b"cmd=lookup_name\n",
    b"cmd=unpublish_name\n", b"cmd=put\n", b"mcmd=spawn\nnprocs=-1\nendcmd\n", b"cmd=" + 70000 * b"a" + b"\n",
]  # fmt: skip


def test_no_commands(bench: Bench) -> None:
    """After invalid data of a process, mpiexec and the proxy end the job with a message, and do not crash."""
    sender, file = bench.folder / "sender.py", bench.folder / "line"
    sender.write_text("import os, time; os.write(int(os.environ['PMI_FD']), open('line', 'rb').read()); time.sleep(20)")
    for line in NO_COMMANDS:
        file.write_bytes(line)
        result = bench.run("-n", 1, program=[sys.executable, sender])
        expect(0 < result.code < 128 or result.code == 255, f"{line[:60]!r}: exit code {result.code}: {result.err}")
        reported = "[proxy" in result.err or ("[mpiexec" in result.err and "(!closed)" not in result.err)
        expect(reported, f"{line[:60]!r}: no report of what is wrong: {result.err}")
        bench.expect_nothing_left()


def test_unauthenticated_connections_on_the_control_port(bench: Bench) -> None:
    """Garbage, half a message, no data, and many connections at once."""
    job, port = start_slow_growth(bench)
    with contextlib.ExitStack() as open_connections:
        for printed in (b"", b"x", b"abc", b"\xff" * 4, b"\xff" * 100000, *[b"" for _ in range(100)]):
            connection = open_connections.enter_context(socket.create_connection(("127.0.0.1", port)))
            connection.setblocking(False)
            with contextlib.suppress(OSError):
                connection.send(printed)
        used_s = procfs.cpu_s(job.pid)
        time.sleep(1)
        expect(procfs.cpu_s(job.pid) - used_s < 0.1, "mpiexec spins")
        result = bench.finish(job)
    expect_ok(bench, result, [2, 1])

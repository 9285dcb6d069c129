"""Hosts that cannot be reached, that are silent, or that fail."""

from __future__ import annotations

import re
import resource
import shutil
import sys
import tempfile
from pathlib import Path

from launcher import Bench, children, expect_ok
from support.checks import expect, wait_for


def test_unreachable_host(bench: Bench) -> None:
    result = bench.adapt(
        "-n", 2, "--adapt-schedule", "4/hosts=down1+aa,3", words=["probes=1", "seconds=15"], hosts="aa:4"
    )
    expect_ok(bench, result, [3])
    expect(len(bench.events("failed")) == 1, f"one failure expected: {result.err}")


def test_mpiexec_dies_while_proxies_come(bench: Bench) -> None:
    """A proxy that connects after the end of mpiexec ends, also if its launcher is mpiexec's child."""
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "slow1,slow2"]
    job = bench.start(*launcher, "-n", 2, program=["/bin/sleep", "1000"])
    wait_for("the launchers", lambda: len(children(job.pid)) == 2)
    job.kill()
    job.wait()
    wait_for("the end of all processes of the job", lambda: not bench.processes(), 30)


def test_silent_host(bench: Bench) -> None:
    """A launcher that neither starts the proxy nor ends, and ignores signals."""
    bench.extra["MPIEXEC_ADAPT_LAUNCH"] = "1s"
    result = bench.adapt(
        "-n", 2, "--adapt-schedule", "4/hosts=silent1+aa,3", words=["probes=1", "seconds=30"], hosts="aa:4"
    )
    expect_ok(bench, result, [3])
    expect(len(bench.events("failed")) == 1, f"one failure expected: {result.err}")
    expect("host silent1" in result.err and "within 1 s" in result.err, f"it prints: {result.err}")

SPAWN_TWICE = """
import os
pmi = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)

def query(line):
    pmi.write(line)
    return pmi.readline().decode()

def spawn(host):
    return query(b"mcmd=spawn\\nnprocs=2\\nexecname=/bin/true\\nargcnt=0\\ntotspawns=1\\nspawnssofar=1\\npreput_num=0\\ninfo_num=1\\n"
               b"info_key_0=host\\ninfo_val_0=%b\\nendcmd\\n" % host)

assert "rc=0" in query(b"cmd=init pmi_version=1 pmi_subversion=1\\n")
for host in (b"aa,silent1", b"silent1,silent2"):
    print(spawn(host).strip(), flush=True)
assert "maxes" in query(b"cmd=get_maxes\\n")
assert "finalize_ack" in query(b"cmd=finalize\\n")
"""


def test_spawn_on_silent_hosts(bench: Bench) -> None:
    """DS4: launchers of spawned processes that neither start their proxy nor end: the spawn fails in time, the job
    continues."""
    bench.extra["MPIEXEC_ADAPT_LAUNCH"] = "1s"
    script = bench.folder / "spawns.py"
    script.write_text(SPAWN_TWICE)
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa"]
    result = bench.run(*launcher, "-n", 1, program=[sys.executable, script])
    expect(result.out.count("cmd=spawn_result rc=-1") == 2, f"the answers are: {result.out}{result.err}")
    for host in ("silent1", "silent2"):
        expect(f"host {host}: its proxy" in result.err and "within 1 s" in result.err, f"it prints: {result.err}")
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    bench.expect_nothing_left()


def test_unreachable_host_at_launch(bench: Bench) -> None:
    """No process waits for a host that cannot be reached; the other processes end, too."""
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,down1,bb,down2"]
    with_log: list[list[object]] = [[], ["--adapt-log", bench.log]]
    for options in with_log:
        result = bench.run(*launcher, *options, "-n", 4, program=["/bin/sleep", "40"])
        expect(result.code not in (0, None), f"exit code {result.code}")
        reported = [line for line in result.err.splitlines() if line.startswith("host down")]
        expect(len(reported) == 1 and "could not be started by ssh" in reported[0], f"it prints: {result.err}")
        expect("[mpiexec@" not in result.err, f"Hydra reports it, too: {result.err}")
        bench.expect_nothing_left()


# Plays mpiexec's proxy, or ssh.  The proxy of DYING, the last one, is killed: at once, or when so much of its
# output was passed on, bytes or up to a word.
DYING = r"""#!PYTHON
import os, re, select, signal, socket, subprocess, sys

real, last, after = "REAL", "LAST", "AFTER"
words = sys.argv[1:]
if os.path.basename(sys.argv[0]) == "ssh":
    while words[0].startswith("-"):
        words.pop(0)
    os.environ.pop("HYDI_CONTROL_FD", None)
    words = ["sh", "-c", "exec " + " ".join(words[1:])]
    dies = re.search(r" (\d+) *$", words[-1]).group(1) == last
else:
    words.insert(0, real)
    dies = words[-1] == last
if not dies:
    os.execvp(words[0], words)
if after == "0":
    os.kill(os.getpid(), signal.SIGKILL)

inherited = os.environ.get("HYDI_CONTROL_FD")
if inherited:
    above = socket.socket(fileno=int(inherited))
    below, end = socket.socketpair()
    os.environ["HYDI_CONTROL_FD"] = str(end.fileno())
    proxy = subprocess.Popen(words, pass_fds=[end.fileno()])
    end.close()
else:
    listener = socket.create_server(("127.0.0.1", 0))
    address, port = re.search(r"--control-port (\S+):(\d+)", words[-1]).groups()
    words[-1] = re.sub(r"(--control-port) \S+", rf"\1 127.0.0.1:{listener.getsockname()[1]}", words[-1])
    proxy = subprocess.Popen(words)
    below, above = listener.accept()[0], socket.create_connection((address, int(port)))
sent = b""


def end_of(sent):
    # of what goes on; a word may come in parts
    at = sent.find(after.encode())
    return int(after) if after.isdigit() else at + len(after) if at >= 0 else len(sent) + 1


try:
    while len(sent) < end_of(sent):
        for ready in select.select([below, above], [], [])[0]:
            data = ready.recv(1 << 20)
            if not data:
                sys.exit()
            elif ready is above:
                below.sendall(data)
            else:
                above.sendall(data[: end_of(sent + data) - len(sent)])
                sent += data
finally:
    proxy.kill()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def expect_failure(bench: Bench, launcher: str, after: str, options: list[object]) -> None:
    """A launch on two hosts, or one, whose last proxy fails."""
    folder = Path(tempfile.mkdtemp(dir=bench.folder))
    real = bench.mpiexec.parent / "hydra_pmi_proxy"
    mpiexec, words = bench.mpiexec, ["-launcher", "fork"]
    if launcher == "ssh":
        words = ["-launcher", "ssh", "-launcher-exec", str(folder / "ssh")]
    else:
        mpiexec = folder / "mpiexec"
        shutil.copy(bench.mpiexec, mpiexec)
    hosts = ["aa"] if launcher == "one host" else ["aa", "bb"]
    script = folder / ("ssh" if launcher == "ssh" else "hydra_pmi_proxy")
    values = {"PYTHON": sys.executable, "REAL": str(real), "LAST": str(len(hosts) - 1), "AFTER": after}
    text = DYING
    for name, value in values.items():
        text = text.replace(name, value, 1) if name == "PYTHON" else text.replace(f'"{name}"', f'"{value}"')
    script.write_text(text)
    script.chmod(0o755)
    words += ["-hosts", ",".join(hosts), "-n", "2", *map(str, options)]
    result = bench.run(*words, program=[bench.process, "mode=rigid", "seconds=60"], mpiexec=mpiexec)
    what = f"{launcher}, {options}, after {after}"
    expect(result.code == 1, f"{what}: exit code {result.code}: {result.err}{result.out}")
    reported = [line for line in result.err.splitlines() if line.startswith(f"host {hosts[-1]}")]
    never_came, failed = r"could not be started by \S+, or was killed", "is lost: its proxy was killed"
    how = never_came if after == "0" else f"{never_came}|{failed}" if launcher == "ssh" else failed  # ssh may be seen to end first
    expect(len(reported) == 1 and re.search(how, reported[0]), f"{what}: it prints: {result.err}")
    in_the_middle = after != "0" and not options  # of what Hydra writes or reads by itself
    expect("[mpiexec@" not in result.err or in_the_middle, f"{what}: Hydra reports it, too: {result.err}")
    bench.expect_nothing_left()


def test_proxy_dies_while_the_job_starts(bench: Bench) -> None:
    """Before it sends its id, right after, in the middle of a message, and while mpiexec waits for all in a barrier."""
    with_log: list[list[object]] = [[], ["--adapt-log", bench.log]]
    for launcher, hello in (("one host", 4), ("fork", 4), ("ssh", 4 + 16)):
        for options in with_log:
            for after in ("0", str(hello), str(hello + 20), "cmd=barrier_in"):
                expect_failure(bench, launcher, after, options)


# PMI of two ranks on two hosts.  When mpiexec has received the first one's barrier, the second one stops mpiexec, kills the
# first one's proxy, enters the barrier itself, and lets mpiexec continue.
BARRIER_OF_A_LOST_HOST = """
import os, signal, sys, time
from pathlib import Path

pmi = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)
folder, first = Path(sys.argv[1]), os.environ["PMI_RANK"] == "0"

def send(line):
    pmi.write(line)

def wait_for(name):
    while not (folder / name).exists():
        time.sleep(0.01)
    return int((folder / name).read_text())

def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

send(b"cmd=init pmi_version=1 pmi_subversion=1\\n")
pmi.readline()
if first:
    send(b"cmd=barrier_in\\n")
    (folder / "part").write_text(str(os.getppid()))
    os.replace(folder / "part", folder / "proxy")
    pmi.readline()
else:
    proxy, mpiexec = wait_for("proxy"), wait_for("mpiexec")
    time.sleep(0.5)
    os.kill(mpiexec, signal.SIGSTOP)
    os.kill(proxy, signal.SIGKILL)
    while os.path.exists(f"/proc/{proxy}") and state(proxy) != "Z":
        time.sleep(0.01)
    send(b"cmd=barrier_in\\n")
    time.sleep(0.5)
    os.kill(mpiexec, signal.SIGCONT)
    pmi.readline()
"""


def test_barrier_of_a_lost_host(bench: Bench) -> None:
    """The last host enters a barrier after another one has failed: only this failure is reported."""
    script = bench.folder / "barrier.py"
    script.write_text(BARRIER_OF_A_LOST_HOST)
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]
    with_log: list[list[object]] = [[], ["--adapt-log", bench.log]]
    for options in with_log:
        folder = Path(tempfile.mkdtemp(dir=bench.folder))
        job = bench.start(*launcher, *options, "-n", 2, program=[sys.executable, script, folder])
        (folder / "part_of_id").write_text(str(job.pid))
        (folder / "part_of_id").rename(folder / "mpiexec")
        result = bench.finish(job)
        # 9: the process of the other host was killed, and its end was reported in time
        expect(result.code in (1, 9), f"{options}: exit code {result.code}: {result.err}{result.out}")
        expect("host aa is lost: its proxy was killed" in result.err, f"{options}: it prints: {result.err}")
        expect("[mpiexec@" not in result.err, f"{options}: Hydra reports it, too: {result.err}")
        bench.expect_nothing_left()


def test_missing_executable(bench: Bench) -> None:
    program = bench.folder / "program"
    shutil.copy(bench.process, program)
    job = bench.start(
        "-n", 1, "--adapt-schedule", "0.5s:2,3s:1/leave=0", "--adapt-log", bench.log, program=[program, "seconds=4"]
    )
    wait_for("the launch", lambda: bench.events("adaptive"))
    program.unlink()
    result = bench.finish(job)
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    expect(bench.sizes() == [] and bench.events("failed"), f"a failure expected: {result.err}")
    bench.expect_nothing_left()


def test_too_many_for_the_descriptors(bench: Bench) -> None:
    result = bench.run(
        "-n",
        1,
        "--adapt-schedule",
        "2000,2",
        "--adapt-log",
        bench.log,
        program=["/bin/sh", "-c", f"ulimit -n 256; exec {bench.process} probes=1"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 4096)),
    )
    expect("cannot start 1999 more processes" in result.err, f"no message about the limit: {result.err}")
    expect(result.code == 0 and bench.sizes() == [2], f"exit code {result.code}, sizes {bench.sizes()}: {result.err}")

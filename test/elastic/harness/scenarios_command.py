"""Scenarios: the command elastic, the step socket, state logs."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import re
import shutil
import socket
import stat
import struct
import sys
import time
from pathlib import Path
from typing import Any

from . import checks, schedule
from .job import Skip, TestRun
from .scenarios import GRAPH_LOG, _serve, _states, _stop, scenario


# ---- the elastic command -------------------------------------------------------------------------


@scenario
def resize(run: TestRun) -> None:
    """ps, resize with and without --leave and --wait, events; impossible requests are refused."""
    job = _serve(run, 2)
    step = run.step()
    run.check(step["size"] == 2 and step["epoch"] == 0, f"ps prints {step}")
    name = str(step["step"])
    table = run.elastic("ps")
    run.check(name in table.stdout and "serve" in table.stdout, "ps does not list the step")
    row = run.elastic("ps", "-P", "--noheader").stdout.strip().split("|")
    run.check((row[0], row[2:5]) == (name, ["2", "running", "0"]), f"ps -P: {row}")
    for arguments, size in ((["4"], 4), (["3", "--leave", "0,2"], 3), (["1"], 1), (["2"], 2)):
        done = run.elastic("resize", name, *arguments, "--wait")
        run.check(done.returncode == 0, f"resize {arguments}: {done.stdout}{done.stderr}")
        run.check(run.step()["size"] == size, f"after resize {arguments} ps prints {run.step()}")
    for arguments in (
        ["0"],
        ["-3"],
        ["x"],
        ["2"],
        ["3", "--leave", "7"],
        ["1", "--leave", "0,1,2"],
    ):
        done = run.elastic("resize", name, *arguments)
        run.check(done.returncode != 0, f"resize {arguments} was accepted")
        run.check(done.stderr.strip(), f"resize {arguments}: no message")
    run.check(run.step()["epoch"] == 4, "a refused resize changed something")
    _stop(run, job, 4, 2)
    done = run.elastic("resize", name, "3")
    run.check(done.returncode != 0 and done.stderr.strip(), "a step that ended was resized")


@scenario
def loops(run: TestRun) -> None:
    """The use of time of the step, separately in each world: all its processes have measured the loop that probes."""
    job = _serve(run, 3)
    name = str(run.step()["step"])

    def performance() -> dict[str, Any]:
        printed = run.elastic("loops", name, "--json")
        run.check(printed.returncode == 0, f"loops: {printed.stdout}{printed.stderr}")
        return json.loads(printed.stdout)

    def measured(size: int) -> dict[str, Any] | None:
        answer = performance()
        rows = answer.get("loops", [])
        return answer if rows and rows[0]["processes"] == size else None

    for epoch, size in enumerate((3, 4, 1)):
        if epoch > 0:
            done = run.elastic("resize", name, str(size), "--wait")
            run.check(done.returncode == 0, f"resize {size}: {done.stdout}{done.stderr}")
        answer = run.await_value(lambda: measured(size), f"a loop measured by {size} processes")
        run.check((answer["epoch"], answer["size"], answer["processes"]) == (epoch, size, size), f"loops prints {answer}")
        progress, loop = answer["progress"], answer["loops"][0]
        run.check(0 < loop["iterations"] <= size * (progress["probes"] + 1000), f"more than was probed: {answer}")
        run.check(0 <= loop["mpi_us"] <= loop["loop_us"], f"more MPI than there was: {answer}")
        run.check(loop["loop_us"] <= size * (progress["ms"] + 1000) * 1000, f"more time than there was: {answer}")
        before = progress["probes"]
        run.await_value(lambda: performance().get("progress", {}).get("probes", 0) > before, "more probes")
    table = run.elastic("loops", name)
    run.check("loop that probes, ranks 0: " in table.stdout, f"loops prints {table.stdout}{table.stderr}")
    row = run.elastic("loops", name, "-P", "--noheader").stdout.splitlines()[0].split("|")
    run.check(len(row) == 11 and row[0] == "1" and row[3:5] == ["probe", "0"], f"loops -P prints {row}")
    _stop(run, job, 2, 1)
    run.check(run.elastic("loops", name).returncode == 3, "a step that ended was queried")


def _samples(run: TestRun, hosts: str, least: int) -> None:
    path = run.folder / "samples"
    job = run.mpiexec(["-launcher", "fork", "-hosts", hosts, "--adapt-performance", str(path)])
    job.await_line("^READY$")

    def complete() -> dict[str, Any] | None:
        lines = path.read_text().splitlines() if path.exists() else []
        last = json.loads(lines[-1]) if len(lines) >= least else {}
        return last if len(last.get("loops", [])) >= 3 else None

    sample = run.await_value(complete, f"sample {least}, with three loops")
    run.check(sample["unix_ms"] > 0 and sample["processes"] == 3, f"the sample is {sample}")
    elastic, *inner = sample["loops"]
    run.check((elastic["key"], elastic["ranks"]) == ("probe", "0-2"), f"the first loop is {elastic}")
    sums = [loop for loop in inner if loop["items"] in (["collective"], ["collective", "p2p"])]
    run.check(len(sums) == 1 and sums[0]["ranks"] == "0-2", f"not one loop with sums: {inner}")
    alone = [loop for loop in inner if loop["items"] == ["collective", "collective"]]
    run.check(len(alone) == 1 and alone[0]["ranks"] == "0", f"not one loop of rank 0: {inner}")
    for loop in inner:
        run.check(loop["parent"] == "probe" and "loops_inside+0x" in loop["name"], f"whose loop is {loop}?")
        run.check(0 <= loop["mpi_us"] <= loop["loop_us"], f"more MPI than there was: {loop}")
    (run.work / "stop").touch()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")


@scenario
def samples(run: TestRun) -> None:
    """--adapt-performance: a line now and then, with the loops of all processes put together."""
    _samples(run, "n1,n2", 2)


@scenario
def samples_tree(run: TestRun) -> None:
    """The same by a tree of proxies, which mpiexec has from the second sample on."""
    run.environment |= {"MPIEXEC_ADAPT_FANOUT": "2"}
    _samples(run, "n1,n2,n3", 4)

GIVEN_SITE = 1 << 63  # of the keys of sites that have an identifier of the program's


@scenario
def graph_log(run: TestRun) -> None:
    """SPEC-performance D9, D14: each step as listing 10.1 of Comprés 2017, and at the end the table of listing 10.2."""
    job = run.mpiexec(["-genv", GRAPH_LOG, str(run.folder / "graph")])
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    logs = sorted(run.folder.glob("graph.*"))
    run.check([path.name for path in logs] == ["graph.0", "graph.1"], f"the logs are {logs}")
    ids = [2, 0, 6, 3, 1, 6, 3, 1, 6, 3, 1, 9, 7, 9, 7, 3, 1, 6, 3, 1, 6, 3, 1, 9, 7, 9, 7]
    labels = ["NOT in a loop"] * 5 + ["head: 6"] * 6 + ["NOT in a loop"] * 2 + ["head: 9"] * 2
    labels += ["body re-entry; head: 6", *["head: 6"] * 7, "head re-entry; head: 9", *["head: 9"] * 3]
    table = ["id: 2; H: 0; B: 0; Re: 0; Rv: 0; tail: ; head: ", "id: 0; H: 0; B: 0; Re: 0; Rv: 0; tail: ; head: "]
    # index 0 is the probe: 6 is 3, 3 is 4, 1 is 5, 9 is 6 and 7 is 7
    table += ["id: 6; H: 1; B: 0; Re: 0; Rv: 4; tail: 5; head: ", "id: 3; H: 0; B: 1; Re: 1; Rv: 5; tail: 7; head: 3"]
    table += ["id: 1; H: 0; B: 1; Re: 0; Rv: 5; tail: ; head: 3", "id: 9; H: 1; B: 0; Re: 0; Rv: 3; tail: 7; head: "]
    table += ["id: 7; H: 0; B: 1; Re: 0; Rv: 3; tail: ; head: 6"]
    for path in logs:
        lines = [re.sub(r"\d{19,}", lambda key: str(int(key[0]) - GIVEN_SITE), line) for line in path.read_text().splitlines()]
        run.check(lines[0] == "0: root id: 1", f"{path}: the first step is {lines[0]}")
        times = []
        for number, (site, label) in enumerate(zip(ids, labels), 1):
            detected = int(label != "NOT in a loop")
            step = re.fullmatch(rf"{number}: id: {site}; detected: {detected}; -> {label}; \(TD: (\d+)\)", lines[number])
            run.check(step is not None, f"{path}: step {number} is {lines[number]}, wanted: {site}, {label}")
            times.append(int(step[1]) if step else 0)
        run.check(times == sorted(times), f"{path}: times that go back: {times}")
        first = lines.index("Current detected Control Flow Graph (CFG):") + 2
        wanted = [f"{index}; {row}" for index, row in enumerate(table, 1)]
        run.check(lines[first : first + 7] == wanted, f"{path}: the table is {lines[first:first + 7]}, wanted: {wanted}")


def _sites(path: Path) -> list[str]:
    """Of a log: "KIND MODULE+OFFSET" of each site but the probe, in the order in which they were found."""
    lines = path.read_text().splitlines()
    first, end = (next(i for i, line in enumerate(lines) if line.startswith(word)) for word in ("Sites ", "Loops "))
    return [line.split(": ", 1)[1] for line in lines[first + 1 : end] if not line.endswith(": PROBE")]


@scenario
def fortran_call_sites(run: TestRun) -> None:
    """SPEC-performance S4, S1: the call sites are those in the Fortran program, not in the bindings, the same in all processes."""
    run.environment |= {GRAPH_LOG: str(run.folder / "graph")}
    checks.ordinary(run)
    logs = sorted(run.folder.glob("graph.*"))
    run.check(len(logs) >= 2, f"the logs are {logs}")
    sites = {path.name: _sites(path) for path in logs}
    run.check(bool(sites["graph.0"]), f"the call sites are {sites}")
    program = os.path.realpath(run.program())
    for name, found in sites.items():
        for site in found:
            kind, _, where = site.partition(" ")
            run.check(where.startswith(program + "+0x"), f"{name}: a {kind} call comes from {where}, not from {program}")
    run.check(sites["graph.1"] == sites["graph.0"], f"not the same sites: {sites}")


@scenario
def measured_binding(run: TestRun) -> None:
    """A language binding calls all functions from one site: the loop that probes is found all the same."""
    path = run.folder / "samples"
    script = Path(__file__).parent / "binding_rounds.py"
    library = run.setting.prefix / "lib" / "libmpi.so"
    job = run.mpiexec(["--adapt-performance", str(path)], [str(script), str(library)], 2, sys.executable)
    job.await_line("^READY$")

    def measured() -> dict[str, Any] | None:
        lines = path.read_text().splitlines() if path.exists() else []
        last = json.loads(lines[-1]) if lines else {}
        return last["loops"][0] if last.get("loops") else None

    def measured_apart() -> dict[str, Any] | None:
        """The others wait for rank 0, which sleeps longest; a busy machine blurs that for a while."""
        loop = measured()
        return loop if loop and loop["slowest"][0]["rank"] == 0 else None

    run.await_value(measured, "a sample with the loop that probes")
    loop = run.await_value(measured_apart, "a sample in which rank 0 is the slowest")
    run.check((loop["key"], loop["ranks"], loop["processes"]) == ("probe", "0-1", 2), f"the loop is {loop}")
    run.check(0 < loop["mpi_us"] <= loop["loop_us"], f"more MPI than there was: {loop}")
    (run.work / "stop").touch()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")


@scenario
def events(run: TestRun) -> None:
    """events, --follow and --json agree with the adapt log."""
    job = _serve(run, 1)
    name = str(run.step()["step"])
    command = [str(run.setting.prefix / "bin" / "elastic"), "events", name, "--follow", "--json"]
    follower = run.start(command)
    for size in (3, 2):
        done = run.elastic("resize", name, str(size), "--wait")
        run.check(done.returncode == 0, f"resize {size}: {done.stderr}")
    once = run.elastic("events", name, "--json")
    run.check(once.returncode == 0, "events failed")
    seen = [json.loads(line)["event"] for line in once.stdout.splitlines()]
    run.check(seen.count("committed") == 2, f"events prints {seen}")
    plain = run.elastic("events", name)
    run.check(plain.stdout.count("committed") >= 2, "events without --json prints less")
    rows = [line.split("|", 3) for line in run.elastic("events", name, "--parsable2").stdout.splitlines()]
    run.check(rows[0] == ["NUMBER", "TIME_MS", "EVENT", "DETAIL"], f"events -P prints {rows[0]}")
    again = [row[2] for row in rows[1:]]  # there may be more events by now
    run.check(again[: len(seen)] == seen and float(rows[1][1]) >= 0, f"events -P prints {rows}")
    _stop(run, job, 2, 2)
    run.check(follower.wait() == 0, "events --follow did not end well with the job")
    followed = [json.loads(line)["event"] for line in follower.lines]
    logged = [event["event"] for event in run.events()]
    run.check(followed == logged, f"--follow prints {followed}, the log {logged}")


@scenario
def second_resize(run: TestRun) -> None:
    """A second resize while one is under way is refused; the first continues."""
    job = run.mpiexec(["--adapt-log", str(run.log_path)], ["--stop-probing-at", "43"], 2, "serve")
    job.await_line("^READY$")
    run.await_event("adaptive")
    name = str(run.step()["step"])
    done = run.elastic("resize", name, "3")
    run.check(done.returncode == 0, f"resize: {done.stderr}")
    again = run.elastic("resize", name, "4")
    run.check(again.returncode != 0, "a second resize was accepted")
    run.check(again.stderr.strip(), "the refusal has no message")
    (run.work / "go").touch()
    run.await_event("committed")
    _stop(run, job, 1, 3)


@scenario
def cancelled(run: TestRun) -> None:
    """P7: an adaptation withdrawn before agreement is never seen; the next one is."""
    options = ["--adapt-log", str(run.log_path)]
    job = run.mpiexec(options, ["--joining-waits"], 2, "serve")
    run.await_event("adaptive")
    name = str(run.step()["step"])
    done = run.elastic("resize", name, "4")
    run.check(done.returncode == 0, f"resize: {done.stderr}")
    job.await_line("^JOINING WAITS$")
    done = run.elastic("cancel", name)
    run.check(done.returncode == 0, f"cancel: {done.stderr}")
    run.await_event("withdrawn")
    (run.work / "join").touch()
    done = run.elastic("resize", name, "3", "--wait")
    run.check(done.returncode == 0, f"the resize after a cancelled one: {done.stderr}")
    _stop(run, job, 1, 3)


@scenario
def prepared_in_vain(run: TestRun) -> None:
    """P7, C9: resources that a process prepared for an adaptation are released if it is withdrawn; the next one is
    committed."""
    run.environment["MPIEXEC_ADAPT_PREPARE"] = "300s"  # the freeze waits for the other process
    job = run.mpiexec(["--adapt-log", str(run.log_path)], ["--epochs", "1"], 2, "prepared")
    printed = job.await_line(r"^PID \d+$")[0]
    maps = Path(f"/proc/{printed.split()[1]}/maps")
    run.await_event("adaptive")
    name = str(run.step()["step"])

    def has_segment() -> bool:
        return "mpich-adapt" in maps.read_text()

    for attempt in (1, 2):
        done = run.elastic("resize", name, "4")
        run.check(done.returncode == 0, f"resize: {done.stderr}")
        run.await_value(has_segment, "the process that probes prepares")
        run.check(not [e for e in run.events() if e["event"] == "frozen"], "boards were frozen before the other process prepared")
        done = run.elastic("cancel", name)
        run.check(done.returncode == 0, f"cancel: {done.stderr}")
        run.await_event("withdrawn", attempt)
        run.await_value(lambda: not has_segment(), "the process gives back what it prepared")
    (run.work / "go").touch()
    done = run.elastic("resize", name, "3", "--wait")
    run.check(done.returncode == 0, f"the resize after cancelled ones: {done.stderr}")
    _stop(run, job, 1, 3)


@scenario
def missing_executable(run: TestRun) -> None:
    """The executable is missing when processes are to join: the adaptation fails, the job continues."""
    copy = run.work / "program"
    shutil.copy(run.program("serve"), copy)
    options = ["--adapt-log", str(run.log_path)]
    job = run.mpiexec(options, [], 2, str(copy))
    job.await_line("^READY$")
    run.await_event("adaptive")
    name = str(run.step()["step"])
    copy.rename(run.work / "elsewhere")
    done = run.elastic("resize", name, "4", "--wait")
    run.check(done.returncode != 0, "processes joined without an executable")
    run.check(done.stderr.strip(), "no message")
    (run.work / "elsewhere").rename(copy)
    done = run.elastic("resize", name, "3", "--wait")
    run.check(done.returncode == 0, f"the resize after the failed one: {done.stderr}")
    _stop(run, job, 1, 3)


@scenario
def step_socket(run: TestRun) -> None:
    """The socket lies in a directory of mode 0700 and goes with the job; garbage is answered."""
    job = _serve(run, 1)
    name = str(run.step()["step"])
    sockets = list(run.runtime.glob("elastic-mpich-*/*.sock"))
    run.check(len(sockets) == 1, f"sockets: {sockets}")
    mode = stat.S_IMODE(sockets[0].parent.stat().st_mode)
    run.check(mode == 0o700, f"the directory has mode {mode:o}")
    for line in (b"garbage\n", b"{}\n", b'{"op":"dance"}\n', b"[" * 5000 + b"\n", b"\0\xff\n"):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(run.time_left())
            client.connect(str(sockets[0]))
            client.sendall(line)
            answer = client.recv(65536)
        run.check(b'"ok":false' in answer.replace(b" ", b""), f"{line[:20]!r} gets {answer!r}")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(run.time_left())
        client.connect(str(sockets[0]))
        try:
            for _ in range(64):
                client.sendall(b"x" * 65536)  # a line without an end is not stored for ever
        except OSError:
            pass
    done = run.elastic("resize", name, "2", "--wait")
    run.check(done.returncode == 0, f"after garbage, resize: {done.stderr}")
    _stop(run, job, 1, 2)
    run.check(not sockets[0].exists(), "the socket is still there")


@scenario
def two_jobs(run: TestRun) -> None:
    """Several jobs may adapt at once; they do not know of each other."""
    folders = [run.work / "a", run.work / "b"]
    jobs = []
    for folder, sizes in zip(folders, ("4,1,3", "1,3/leave=0,2")):
        folder.mkdir()
        options = ["-wdir", str(folder), "--adapt-schedule", sizes]
        jobs.append(run.mpiexec(options, ["--epochs", "3"], 2, "cycle"))
    for job, sizes in zip(jobs, ("4,1,3", "1,3/leave=0,2")):
        run.check(job.wait() == 0, f"exit code {job.process.returncode}")
        changes = schedule.parse(sizes, 2)
        checks.pass_line(run, job, 3, changes[-1].size)
        checks.member_lines(run, job, changes)


class Created:
    """Names that have been created in a folder since the start of the watch."""

    IN_CREATE = 0x100

    def __init__(self, folder: str) -> None:
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0 or self.libc.inotify_add_watch(self.fd, folder.encode(), self.IN_CREATE) < 0:
            raise Skip(f"{folder} cannot be watched: {os.strerror(ctypes.get_errno())}")

    def names(self) -> list[str]:
        found = []
        with contextlib.suppress(BlockingIOError):
            while events := os.read(self.fd, 65536):
                while events:
                    (length,) = struct.unpack_from("I", events, 12)
                    found.append(events[16 : 16 + length].rstrip(b"\0").decode(errors="replace"))
                    events = events[16 + length :]
        return found

    def close(self) -> None:
        os.close(self.fd)


@scenario
def nameless_segments(run: TestRun) -> None:
    """E4: shared segments have no names at any time, so that no killed process leaves any."""
    created = Created("/dev/shm")
    try:
        job = run.mpiexec()
        run.check(job.wait() == 0, f"exit code {job.process.returncode}")
        named = [name for name in created.names() if name.startswith("mpich_shar_tmp")]
        run.check(not named, f"segments with names: {named}")
    finally:
        created.close()


@scenario
def state_log(run: TestRun, how: str = "option") -> None:
    """SM2: replaying the log of states gives the sizes of the adapt log."""
    path = run.work / "states"
    high = int(run.test.options[run.test.options.index("--adapt-range") + 1].split(":")[1])
    options = [*run.test.options, "--adapt-log", str(run.log_path)]
    if how == "option":
        options += ["--sets-log", str(path)]
    else:
        run.environment["MPIDYNRES_STATELOG"] = str(path)
    job = run.mpiexec(options)
    checks.exit_code(run, job)
    states, events = _states(run, path), run.events()
    in_order = "increase-decrease" in run.test.options  # SM1: into the lowest slots, from the highest
    run.check([name for _, name in states] == [event["event"] for event in events], "other events than in the adapt log")
    run.check(any(set(letters) & set("P") for letters, _ in states), "nobody was reserved")
    run.check(any(set(letters) & set("SA") for letters, _ in states), "nobody was to leave")
    removed = {uid for event in events if event["event"] == "freed" for uid in event["uids"]}
    program_ends = False
    for (letters, name), event in zip(states, events):
        run.check(len(letters) == high, f"{len(letters)} sites, not {high}")
        program_ends = program_ends or (name == "exited" and event["uid"] not in removed)
        fits = re.fullmatch("R+(P*|[SA]*)I*", letters) or program_ends or not in_order
        run.check(fits, f"'{letters}' at '{name}': not the lowest free, or the highest site")
        if name == "committed" and not program_ends:
            size = sum(letter in "RSA" for letter in letters)
            run.check(size == event["size"], f"'{letters}' where the adapt log has {event['size']} processes")


@scenario
def state_log_terminal(run: TestRun) -> None:
    """SM2: colours on a terminal; without them it is the log as ever."""
    reader, terminal = os.openpty()
    os.set_blocking(reader, False)
    job = run.mpiexec([*run.test.options, "--sets-log", os.ttyname(terminal)])
    shown = b""
    while job.process.poll() is None:
        run.check(run.time_left() > 0.1, "the job does not end")
        with contextlib.suppress(BlockingIOError):
            shown += os.read(reader, 4096)
        time.sleep(0.01)
    with contextlib.suppress(BlockingIOError):
        while True:
            shown += os.read(reader, 4096)
    os.close(terminal)
    os.close(reader)
    checks.exit_code(run, job)
    run.check(b"\x1b[" in shown, f"there are no colours: {shown[:400]!r}")
    path = run.work / "states"
    path.write_bytes(re.sub(rb"\x1b\[[0-9;]*m", b"", shown).replace(b"\r", b""))
    run.check("committed" in [name for _, name in _states(run, path)], f"it is {shown[:400]!r}")


@scenario
def state_log_unwritten(run: TestRun) -> None:
    """SM2: a log that cannot be written, or that no process reads, ends; the job continues."""
    fifo = run.work / "pipe"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    try:
        for path, why in ((Path("/dev/full"), "No space left on device"), (fifo, "no process reads it|no space left")):
            job = run.mpiexec([*run.test.options, "--sets-log", str(path)])
            checks.exit_code(run, job)
            checks.patterns(run, job.err, [f"--sets-log: unable to write \\(({why})\\); the log ends"], "standard error")
    finally:
        os.close(reader)
    refused = run.mpiexec([*run.test.options, "--sets-log", "no-such-folder/states"])
    run.check(refused.wait() != 0, "a log that cannot be opened is no error")
    checks.patterns(run, refused.err, ["--sets-log.*no-such-folder"], "standard error")

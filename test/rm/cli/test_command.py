"""The commands of `elastic` that list and change jobs and nodes, against a fake elasticd."""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from cli_setup import LIMIT_S, Setup  # noqa: E402
from fake_elasticd import USER  # noqa: E402
from fake_loops import measured_loops, now_ms  # noqa: E402
from support.checks import expect  # noqa: E402


def test_wrong_usage(here: Setup) -> None:
    """wrong usage is reported before anything is sent"""
    wrong: list[list[str]] = [
        ["run"], ["run", "-n", "0", "x"], ["run", "-n", "8:2", "x"], ["run", "-t", "x", "y"], ["run", "-n"],
        ["run", "--sizes", "odd", "x"], ["submit"], ["submit", "--kind", "soft", "x"], ["hold"], ["hold", "x"],
        ["show", "0"], ["drain", "n0"], ["resize", "1", "0"], ["queue", "extra"], ["explode"], ["run", "--explode", "x"], [],
    ]  # fmt: skip
    for words in wrong:
        _, err = here.call(*words, code=2)
        expect(err, f"{words}: no message")
    expect(not here.fake.requests, here.fake.requests)


def test_queue_and_history(here: Setup) -> None:
    """queue, history, show: waiting, running and ended jobs; more than one page"""
    for i in range(5):
        here.call("submit", "--hold", "-n", "2:4", "-J", f"j{i}", "true")
    lines = here.call("queue")[0].splitlines()
    expect(lines[0].split() == "JOBID NAME USER ST TIME TIME_LIMIT SIZE RANGE ADAPT NODELIST(REASON)".split(), lines[0])
    expect(lines[1].split()[:5] == ["1", "j0", USER, "PD", "0:00"] and lines[1].endswith("(Held)"), lines[1])
    expect([job["id"] for job in here.objects("queue", "-a")] == [1, 2, 3, 4, 5], "not all pages")
    expect(len(here.objects("queue", "--me")) == 5 and not here.objects("queue", "-u", "nobody-here"), "users")
    expect(len(here.objects("queue", "-n", "j3")) == 1 and not here.objects("queue", "-t", "R"), "filters")
    here.call("cancel", "1", "2", "--reason", "no longer wanted")
    here.call("release", "3")
    here.wait_until("job 3 ends", lambda: here.fake.jobs[3]["state"] == "DONE")
    history = here.call("history")[0].splitlines()
    expect([line.split()[0] for line in history] == ["JOBID", "1", "2", "3"], history)
    expect("no longer wanted" in history[1] and "DONE" in history[3], history)
    story = here.call("history", "3")[0]
    expect(re.search(r"submitted.*2:4.*\n.*released\n.*placed.*4 processes on n0:4", story), story)
    shown = here.call("show", "3")[0]
    expect("JobId=3\n" in shown and "JobState=DONE" in shown and "Range=2:4" in shown, shown)
    expect(here.objects("show", "3")[0]["state"] == "DONE", "json")


def test_hold_release_cancel_refusals(here: Setup) -> None:
    """hold, cancel: refusals and foreign numbers have their exit codes"""
    here.call("run", "true")
    expect("does not wait" in here.call("hold", "1", code=1)[1], "hold")
    expect("has ended" in here.call("cancel", "1", code=1)[1], "cancel")
    expect("there is no job 77" in here.call("show", "77", code=3)[1], "show")
    expect("there is no job 77" in here.call("cancel", "77", code=3)[1], "cancel")
    _, err = here.call("hold", "77", "1", code=3)
    expect(err.count("elastic:") == 2, err)  # both are reported


def test_times_and_dependencies(here: Setup) -> None:
    """submit: --begin, --after and its kin, --signal"""
    here.call("submit", "--hold", "true")
    before = time.time()
    here.call("submit", "--hold", "--begin", "now+1h", "--after", "1", "--after-any", "1,2", "--after-ok", "1:2",
              "-t", "10", "--signal", "USR1@90", "true")  # fmt: skip
    body = here.posted()[1]
    expect(-1 <= body["begin_ms"] / 1000 - before - 3600 < LIMIT_S, body["begin_ms"])
    wanted = {"after": [1], "after_any": [1, 2], "after_ok": [1, 2], "limit_signal": {"signal": "USR1", "before_ms": 90000}}
    for name, value in wanted.items():
        expect(body.get(name) == value, f"{name}: {body.get(name)!r}, wanted {value!r}")
    for words in (["--begin", "soon"], ["--after", "x"], ["--after-ok", "0"], ["--signal", "@5"], ["--after-any", "-1"]):
        _, err = here.call("submit", *words, "true", code=2)
        expect(words[0] in err, err)
    here.fake.jobs[2].update(dependencies=[{"kind": "after", "job": 1}, {"kind": "after_ok", "job": 1}], begin_ms=86400000,
                             waits_for=[{"kind": "after_ok", "job": 1}], expected_start_ms=86460000, expected_after=1,
                             limit_signal={"signal": "USR1", "before_ms": 90000})  # fmt: skip
    out, _ = here.call("show", "2")
    for text in ("Dependencies=after:1,after_ok:1(unfulfilled)", "BeginTime=1970-01-0", " at the latest, when job 1 ends",
                 "LimitSignal=USR1@1:30"):  # fmt: skip
        expect(text in out, f"{text} in\n{out}")


def test_update(here: Setup) -> None:
    """update: the named fields are sent, for each job"""
    here.call("submit", "--hold", "true")
    here.call("submit", "--hold", "true")
    out, _ = here.call("update", "1", "job:2", "-t", "2h", "-n", "2:4", "-J", "heat", "--priority=-3", "--preferred", "2")
    expect(out == "job 1 is updated\njob 2 is updated\n", out)
    wanted = {"time_limit_ms": 7200000, "min": 2, "max": 4, "name": "heat", "priority": -3, "preferred": 2}
    expect(here.posted("/v1/jobs/2/update") == [wanted], here.posted("/v1/jobs/2/update"))
    (job,) = here.objects("update", "1", "--time", "5")
    expect(job["time_limit_ms"] == 300000, job)
    wrong: list[list[str]] = [[], ["-t", "x"], ["-t", "unlimited"], ["-n", "4:2"], ["--priority", "x"], ["--preferred=-1"]]
    for words in wrong:
        here.call("update", "1", *words, code=2)
    here.call("update", "9", "-t", "5", code=3)
    here.call("cancel", "1")
    here.call("update", "1", "-t", "5", code=1)


def test_resize(here: Setup) -> None:
    """resize: accepted, committed, withdrawn, refused"""
    here.call("submit", "-n", "2:8", "sleep", "60")
    out, _ = here.call("resize", "1", "4")
    expect(out == "job 1 accepts request 1: 8 -> 4 processes\n", out)
    out, _ = here.call("resize", "job:1", "6", "--wait")
    expect("committed" in out and "4 -> 6 processes on n0:6" in out, out)
    here.fake.resize_result = "withdrawn"
    _, err = here.call("resize", "1", "2", "--wait", code=1)
    expect("withdrawn" in err and "the test wants it so" in err, err)
    expect("not within" in here.call("resize", "1", "9", code=1)[1], "range")
    expect("elasticd chooses" not in here.call("resize", "1", "4", "--leave", "0", code=2)[0], "leave")
    here.call("cancel", "-s", "KILL", "1")
    here.wait_until("the job ends", lambda: here.fake.jobs[1]["state"] == "FAILED")


def test_nodes(here: Setup) -> None:
    """nodes, drain, resume"""
    here.call("submit", "-n", "3", "sleep", "60")
    expect(re.search(r"^n0 +up +8 +3 +1:3 +-$", here.call("nodes")[0], re.M), here.call("nodes")[0])
    here.call("drain", "n[0-1]", "--reason", "new memory")
    expect([node["state"] for node in here.objects("nodes")] == ["draining", "draining"], "drain")
    here.call("resume", "n1")
    expect([node["state"] for node in here.objects("nodes", "n1")] == ["up"], "resume")
    here.call("drain", "n7", "--reason", "x", code=3)
    here.call("nodes", "n7", code=3)


def test_reservations(here: Setup) -> None:
    """reservations, in columns and for programs"""
    text = here.call("reservations", "--noheader")[0]
    expect(re.search(r"^course +active +\S+ +\S+ +yes +n0,n1$", text, re.M), text)
    expect(re.search(r"^maintenance +waits +\S+ +\S+ +no +all$", text, re.M), text)
    expect([each["name"] for each in here.objects("reservations")] == ["course", "maintenance"], "as objects")


def test_reservation(here: Setup) -> None:
    """reservation create, update, delete, show"""
    text = here.call("reservation", "create", "new", "-w", "n[0-1]", "--from", "2040-12-24T08:00", "--duration", "2:00:00", "-u", "ann,bob", "-g", "ours")[0]
    expect("reservation new is made" in text and text.rstrip().endswith(": 3,4"), text)
    body = here.fake.requests[-1][2]
    expect(body["until_ms"] - body["from_ms"] == 7200000, body)
    expect((body["nodes"], body["users"], body["groups"]) == ("n[0-1]", ["ann", "bob"], ["ours"]), body)
    here.call("reservation", "create", "soon", "-w", "all", "--duration", "10")
    body = here.fake.requests[-1][2]
    expect("from_ms" not in body and abs(body["until_ms"] / 1000 - time.time() - 600) < 300, body)
    here.call("reservation", "update", "course", "--duration", "1:00:00", "--users", "none")
    expect(here.fake.requests[-1][2] == {"until_ms": 3601000, "users": []}, f"from its begin on: {here.fake.requests[-1]}")
    expect("is deleted" in here.call("reservation", "delete", "course")[0], "delete")
    expect(here.fake.requests[-1][1] == "/v1/reservations/course/delete", here.fake.requests[-1])
    expect("Nodes=n0,n1" in here.call("reservation", "show", "course")[0], "show")
    expect(here.objects("reservation", "show", "course")[0]["state"] == "active", "as an object")
    here.call("reservation", "show", "none-such", code=3)
    wrong: list[list[str]] = [["create", "new"], ["create", "new", "-w", "n0"], ["update", "course"], ["update", "course", "--from", "soon"], []]
    for words in wrong:
        here.call("reservation", *words, code=2)


def test_nodes_as_sinfo_lists_them(here: Setup) -> None:
    """nodes -o, -s, -R, -t, -n; queue and cancel -w"""
    here.call("submit", "-n", "3", "sleep", "60")
    here.call("drain", "n1", "--reason", "new memory")
    expect(here.call("nodes", "-o", "%T|%D|%N")[0] == "STATE|NODES|NODELIST\nmixed|1|n0\ndraining|1|n1\n", "format")
    expect(here.call("nodes", "-s", "-P", "--noheader")[0] == "up|1/0/1/2|n0,n1\n", here.call("nodes", "-s", "-P")[0])
    expect(re.search(r"^new memory +draining +n1$", here.call("nodes", "-R")[0], re.M), here.call("nodes", "-R")[0])
    expect([node["name"] for node in here.objects("nodes", "-t", "drain")] == ["n1"], "states")
    expect([node["name"] for node in here.objects("nodes", "-n", "n0", "-t", "mix,drain")] == ["n0"], "names and states")
    _, err = here.call("nodes", "-t", "busy", code=2)
    expect("'busy'" in err and "allocated" in err, err)
    expect([node["name"] for node in here.objects("nodes", "n[0-1]")] == ["n0", "n1"], "a range of nodes")
    here.call("nodes", "-n", "n0,n7", code=3)
    _, err = here.call("nodes", "-n", "n[1-", code=2)
    expect("n[1-3],n7" in err, err)
    here.call("nodes", "-s", "-R", code=2)
    expect(len(here.objects("queue", "-w", "n7,n0")) == 1 and not here.objects("queue", "-w", "n1"), "queue -w")
    expect(len(here.objects("queue", "-w", "n[0-3]")) == 1 and not here.objects("queue", "-w", "n[1-3]"), "a range")
    expect("--nodelist" in here.call("queue", "-w", "n[1", code=2)[1], "a range that does not end")
    expect("no waiting or running job" in here.call("cancel", "-w", "n1")[0], "nothing is on n1")
    here.call("cancel", "-w", "n0")
    here.wait_until("the job on n0 ends", lambda: here.fake.jobs[1]["state"] == "CANCELLED")


def test_events(here: Setup) -> None:
    """events: all, of one job, and following until it ends; more than one page"""
    process = here.start("events", "--follow", "job:1")
    time.sleep(0.2)
    out, err = process.communicate(timeout=LIMIT_S) if process.poll() is not None else ("", "")
    expect(process.poll() is None, f"did not wait: {out}{err}") if here.fake.jobs else None
    process.kill()
    process.communicate()
    here.call("submit", "--hold", "true")
    process = here.start("events", "-f", "1", "--json")
    assert process.stdout
    expect(json.loads(process.stdout.readline())["event"] == "submitted", "first")
    here.call("release", "1")
    out, _ = process.communicate(timeout=LIMIT_S)
    expect([json.loads(line)["event"] for line in out.splitlines()] == ["released", "placed", "started", "ended"], out)
    here.call("run", "true")
    lines = here.call("events")[0].splitlines()
    expect(len(lines) == 9 and "job 2" in lines[-1] and "ended" in lines[-1], lines)
    expect(len(here.call("events", "--since", "7")[0].splitlines()) == 3, "since")


SCALING = {
    "size": 2, "end": 4, "error": 0.02, "hinted": False,
    "curve": [{"size": size, "speedup": min(size, 4) * 0.95 + 0.05} for size in (1, 2, 4, 8)],
    "points": [{"size": 2, "intervals": 5, "per_second": 10.0, "speedup": 1.97}, {"size": 3, "intervals": 1, "per_second": 14.0, "speedup": 2.8}],
}  # fmt: skip


def test_why(here: Setup) -> None:
    """why: the sentence of show, and the estimated speed-up with its points"""
    here.call("submit", "-n", "1:8", "sleep", "1000")
    expect("SPEEDUP" not in here.call("why", "1")[0], "nothing is known of it")
    here.fake.jobs[1].update(why="8 processes: it uses all", scaling=SCALING)
    lines = here.call("why", "1")[0].splitlines()
    expect(lines[0].startswith("job 1: RUNNING, 8 processes of 1:8") and lines[1].startswith("8 processes: it uses all"), lines)
    expect("measured at 2 sizes" in lines[2] and "more than 4 processes give no gain" in lines[2], lines)
    cells = [line.split() for line in lines[4:]]
    expect([row[:4] for row in cells[:4]] == [["1", "1.00", "-", "-"], ["2", "1.95", "1.97", "5"], ["3", "-", "2.80", "1"], ["4", "3.85", "-", "-"]],
           cells)  # fmt: skip
    expect(len(cells[3][4]) == 40 and 5 < len(cells[0][4]) < len(cells[1][4]) < 40, "bars")
    (answer,) = here.objects("why", "1")
    expect(answer["scaling"] == SCALING and answer["text"].startswith("8 processes: it uses all"), answer)
    here.call("why", "7", code=3)
    here.call("cancel", "1")


def test_loops(here: Setup) -> None:
    """loops: the data of elasticd about a job; the reason if a job is not measured"""
    here.call("submit", "--", "sleep", "1000")
    out, _ = here.call("loops", "1")
    expect(out == "job 1: no measurements: no sample has been taken yet\n", out)
    here.fake.jobs[1]["_loops"] = measured_loops([(now_ms() - 60_000, 4, 2.5, None), (now_ms(), 2, 5.0, 0.25)])
    for name in ("1", "job:1"):
        lines = here.call("loops", name)[0].splitlines()
        expect(lines[0] == "job 1: 2 processes, 20 probes in 4.0 s, 5 a second (recently 4.5)", lines)
        expect(lines[1].startswith("loop that probes, ranks 0-1: 200 ms per iteration, 25.0 % of it in MPI (from 10.0 % to 40.0 %"), lines)
        expect(lines[2].endswith("rank 1 on n1 (10.0 %)"), lines)
        expect(lines[3].startswith("loop at heat2d+0x393e, in the loop that probes, ranks 0-1: 9 ms per iteration"), lines)
        expect(lines[3].endswith("p2p, collective, ..."), lines)
        expect(lines[4].endswith(": 4 processes, 2.5 probes a second") and lines[5].endswith(": 2 processes, 5 probes a second, 25.0 % in MPI"), lines)
        expect(len(lines) == 6, lines)
    (answer,) = here.objects("loops", "1")
    expect(answer["job"] == 1 and answer["loops"][0]["key"] == "probe", answer)
    expect(any(path.startswith("/v1/jobs/1/loops?max_age_ms=") for _, path, _ in here.fake.requests), "it requests what is new")
    here.call("loops", "7", code=3)
    here.call("cancel", "1")


def test_version(here: Setup) -> None:
    """version: of both; without elasticd it states the remedy and is no failure"""
    expect("elasticd fake" in here.call("version")[0], "version")
    here.fake.go_away()
    here.environment.pop("ELASTICD_SOCKET")
    expect("start one with 'elasticd'" in here.call("version")[0], "advice")
    expect("start one with 'elasticd'" in here.call("queue", code=4)[1], "advice")
    here.fake.listen()


def test_nonsense(here: Setup) -> None:
    """an answer that is not understood is no success"""
    here.fake.answer_nonsense = True
    for words in (["queue"], ["submit", "true"], ["run", "true"], ["nodes"], ["show", "1"], ["report"], ["top", "--once"]):
        expect("elastic:" in here.call(*words, code=4)[1], words)


def test_found_by_default(here: Setup) -> None:
    """without ELASTICD_SOCKET the user's daemon is found in its folder, one that others may enter is not trusted"""
    folder = here.folder / f"elastic-mpich-{os.getuid()}"
    folder.mkdir(mode=0o700)
    (folder / "elasticd.sock").symlink_to(here.fake.socket)
    here.environment.pop("ELASTICD_SOCKET")
    here.call("queue")
    folder.chmod(0o755)
    here.call("queue", code=4)


def test_elasticd_of_the_allocation_starts_already(here: Setup) -> None:
    """a command waits for an elasticd of the allocation that has been started by hand and does not listen yet"""
    base = here.folder / f"elastic-mpich-{os.getuid()}"
    folder = base / "nested-slurm-12"
    (folder / "state").mkdir(parents=True, mode=0o700)
    base.chmod(0o700)
    folder.chmod(0o700)
    del here.environment["ELASTICD_SOCKET"]
    here.environment |= {"SLURM_JOB_ID": "12", "SLURM_JOB_NODELIST": "n1", "SLURM_JOB_CPUS_PER_NODE": "2"}
    log = folder / "elasticd.log"
    with (folder / "state" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = here.start("submit", "true")
        here.wait_until("its own elasticd ends", lambda: log.exists() and "another elasticd" in log.read_text())
        (folder / "elasticd.sock").symlink_to(here.fake.socket)
        _, err = process.communicate(timeout=LIMIT_S)
    expect(process.returncode == 0, err)


def test_sockets_of_others(here: Setup) -> None:
    """another user's socket gets no data, in that user's folder and in one of ours"""
    if os.getuid() != 0:
        return  # only root can be two users
    nobody = 65534
    base = here.folder / "elastic-mpich-0"
    folder = base / "nested-slurm-12"
    folder.mkdir(parents=True, mode=0o700)
    base.chmod(0o700)
    listening = {}
    for path in (folder / "elasticd.sock", base / "elasticd.sock"):
        listening[path] = socket.socket(socket.AF_UNIX)
        listening[path].bind(str(path))
        os.seteuid(nobody)  # the kernel reports who has called listen
        try:
            listening[path].listen(8)
        finally:
            os.seteuid(0)
        listening[path].setblocking(False)
    del here.environment["ELASTICD_SOCKET"]
    in_allocation = {"SLURM_JOB_ID": "12", "SLURM_JOB_NODELIST": "n1", "SLURM_JOB_CPUS_PER_NODE": "2"}

    def received() -> bytes:
        text = b""
        for each in listening.values():
            while True:
                try:
                    connection, _ = each.accept()
                except BlockingIOError:
                    break
                connection.settimeout(0.2)
                try:
                    text += connection.recv(65536)
                except TimeoutError:
                    pass
                connection.close()
        return text

    for is_inside in (False, True):
        if is_inside:
            here.environment |= in_allocation
        _, err = here.call("queue", code=4)
        expect("belongs to user 65534" in err and received() == b"", (err, "it has got something"))
    os.chown(base, nobody, nobody)
    process = here.start("run", "-n", "1", "true", "SECRET")
    out, err = process.communicate(timeout=LIMIT_S)
    expect(process.returncode != 0 and str(base) in err, (process.returncode, out, err))
    expect(received() == b"", "who owns the folder has got something")
    for each in listening.values():
        each.close()

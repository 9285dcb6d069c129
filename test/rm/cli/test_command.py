"""The command `elastic` against an elasticd of the tests' own (fake_elasticd.py); no MPI is needed."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from fake_elasticd import USER, FakeElasticd, Refused, measured_loops, now_ms  # noqa: E402
from support.checks import Failure, expect  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
LIMIT_S = 60.0  # for anything that is waited for; machines are slow
COMMANDS = ("run submit attach queue show history nodes ps psets loops why events version resize update cancel requeue hold release drain resume "
            "top report").split()  # fmt: skip


class Setup:
    """One test's folder, daemon and way to call the command."""

    def __init__(self, elastic: str, folder: Path) -> None:
        self.elastic, self.folder = elastic, folder
        self.fake = FakeElasticd(folder / "elasticd.sock")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("ELASTIC")}
        self.environment |= {"ELASTICD_SOCKET": str(self.fake.socket), "XDG_RUNTIME_DIR": str(folder)}

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen([self.elastic, *words], cwd=self.folder, env=self.environment, text=True, **options)

    def call(self, *words: str, code: int = 0, text: str | None = None, umask: int = -1) -> tuple[str, str]:
        """Standard output and error; Failure if the exit code is another."""
        options: dict[str, Any] = {"umask": umask} | ({"stdin": subprocess.PIPE} if text is not None else {})
        process = self.start(*words, **options)
        try:
            out, err = process.communicate(text, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Failure(f"elastic {' '.join(words)} does not end") from None
        expect(process.returncode == code, f"elastic {' '.join(words)}: exit code {process.returncode}, wanted {code}\n{out}{err}")
        return out, err

    def objects(self, *words: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.call(*words, "--json")[0].splitlines()]

    def posted(self, path: str = "/v1/jobs") -> list[dict[str, Any]]:
        return [body for method, where, body in self.fake.requests if method == "POST" and where == path]

    def wait_until(self, what: str, condition: Callable[[], Any]) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            expect(time.monotonic() < deadline, f"waited {LIMIT_S:.0f} s: {what}")
            time.sleep(0.02)


@pytest.fixture
def here(mpi: Path) -> Iterator[Setup]:
    with tempfile.TemporaryDirectory(prefix="elastic-cli-") as folder:
        here = Setup(str(mpi / "bin" / "elastic"), Path(folder))
        try:
            yield here
        finally:
            here.fake.close()
        left = sorted(path.name for path in Path(folder).glob("elastic-run-*"))
        expect(not left, f"left behind: {left}")


# ---------------------------------------------------------------- run


def test_run_passes_output_and_code(here: Setup) -> None:
    """run: output, error and exit code are the job's"""
    out, err = here.call("run", "sh", "-c", "echo to-out; echo to-err >&2; exit 7", code=7)
    expect(out == "to-out\n", out)
    expect("to-err\n" in err, err)
    out, err = here.call("run", "--", "echo", "-n", "--json")
    expect(out == "--json" and err == "", (out, err))


def test_run_sends_what_was_asked_for(here: Setup) -> None:
    """run: options become the request of the interface"""
    here.call("run", "-n", "2:8", "-t", "10:00", "-J", "heat", "--sizes", "multiple:2", "--preferred", "4", "-c1",
              "--priority=-3", "--requeue", "-l", "--export", "NONE", "true", "-n", "1")  # fmt: skip
    (body,) = here.posted()
    wanted = {"min": 2, "max": 8, "time_limit_ms": 600000, "name": "heat", "sizes": {"rule": "multiple", "of": 2},
              "preferred": 4, "cores_per_process": 1, "priority": -3, "requeue": True, "mpiexec": ["-l"],
              "command": ["true", "-n", "1"], "directory": str(here.folder),
              "environment": {"PATH": here.environment["PATH"]}}  # fmt: skip
    for name, value in wanted.items():
        expect(body.get(name) == value, f"{name}: {body.get(name)!r}, wanted {value!r}")
    expect({"output", "error", "key"} <= set(body) and "input" not in body, sorted(body))


def test_run_much_output(here: Setup) -> None:
    """run: many megabytes of output arrive complete and in order"""
    out, _ = here.call("run", "seq", "1", "1500000")
    expect(out == "".join(f"{i}\n" for i in range(1, 1500001)), f"{len(out)} bytes")


def test_run_input(here: Setup) -> None:
    """run: standard input reaches the job, and so does its end"""
    text = "".join(f"line {i}\n" for i in range(50000))
    out, _ = here.call("run", "cat", text=text)
    expect(out == text, f"{len(out)} of {len(text)} bytes")
    out, _ = here.call("run", "wc", "-c", text="")
    expect(out.strip() == "0", out)
    here.call("run", "true", text=text)  # one that does not read it


def test_run_output_to_files(here: Setup) -> None:
    """run: -o and -e write files instead"""
    out, err = here.call("run", "-o", "out-%j", "-e", "err-%j", "sh", "-c", "echo one; echo two >&2")
    expect(out == "" and err == "", (out, err))
    expect((here.folder / "out-1").read_text() == "one\n" and (here.folder / "err-1").read_text() == "two\n", "files")


def test_run_signals(here: Setup) -> None:
    """run: signals reach the job; after one that ends it the code is 128 + its number"""
    script = "trap 'echo got-usr1' USR1; echo ready; while :; do sleep 0.05; done"
    process = here.start("run", "sh", "-c", script)
    assert process.stdout
    expect(process.stdout.readline() == "ready\n", "not ready")
    process.send_signal(signal.SIGUSR1)
    expect(process.stdout.readline() == "got-usr1\n", "USR1 did not arrive")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT_S)
    expect(process.returncode == 130, process.returncode)


def test_run_interrupted_while_waiting(here: Setup) -> None:
    """run: an interrupt cancels a job that waits"""
    process = here.start("run", "--hold", "true")
    here.wait_until("the job waits", lambda: here.fake.jobs)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT_S)
    expect(here.fake.jobs[1]["state"] == "CANCELLED", here.fake.jobs[1]["state"])
    expect(process.returncode == 1 and "CANCELLED" in err and "waits" in err, (process.returncode, err))


def test_run_held_then_released(here: Setup) -> None:
    """run: a job that waits states so, then when it starts"""
    process = here.start("run", "-n", "2", "--hold", "sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; echo done")
    assert process.stderr
    here.wait_until("the job waits", lambda: here.fake.jobs)
    here.wait_until("it is followed", lambda: any("until=" in path for _, path, _ in here.fake.requests))
    expect("job 1 waits: Held" in (line := process.stderr.readline()), line)
    here.call("release", "1")
    expect("starts with 2 processes on n0:2" in (line := process.stderr.readline()), line)
    (here.folder / "go").touch()
    out, err = process.communicate(timeout=LIMIT_S)
    expect(out == "done\n" and process.returncode == 0, (out, err))


def test_run_survives_the_daemon(here: Setup) -> None:
    """run: elasticd goes away and comes back; output and exit code are complete"""
    process = here.start("run", "sh", "-c", "echo first; while [ ! -e go ]; do sleep 0.05; done; echo last; exit 5")
    assert process.stdout and process.stderr
    expect(process.stdout.readline() == "first\n", "no output")
    here.fake.go_away()
    expect("waiting for elasticd" in process.stderr.readline(), "absence is not told")
    (here.folder / "go").touch()
    expect(process.stdout.readline() == "last\n", "no output while elasticd is away")
    here.fake.listen()
    _, err = process.communicate(timeout=LIMIT_S)
    expect(process.returncode == 5 and "answers again" in err, (process.returncode, err))


def test_run_with_a_closed_reader(here: Setup) -> None:
    """run: when nobody takes its output the job is ended"""
    process = here.start("run", "yes")
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    expect(process.wait(LIMIT_S) != 0, "success")
    expect(here.fake.jobs[1]["state"] == "CANCELLED", here.fake.jobs[1])


def test_run_program_that_is_not_there(here: Setup) -> None:
    """run: a program that cannot be started is reported"""
    _, err = here.call("run", "./not-there", code=1)
    expect("cannot start ./not-there" in err, err)


def test_run_at_a_terminal(here: Setup) -> None:
    """run: at a terminal, in the background of it: nothing is read, nothing stops"""
    master, slave = pty.openpty()
    process = here.start("run", "echo", "hello", stdin=slave, start_new_session=True)
    out, err = process.communicate(timeout=LIMIT_S)
    os.close(master)
    os.close(slave)
    expect(out == "hello\n" and process.returncode == 0, (out, err))


def test_run_json(here: Setup) -> None:
    """run --json: the job at its end goes to standard error, as one object"""
    out, err = here.call("run", "--json", "echo", "x")
    expect(out == "x\n" and json.loads(err)["state"] == "DONE", (out, err))


# ---------------------------------------------------------------- submit


def test_submit_program_and_wait(here: Setup) -> None:
    """submit: prints the number; --wait returns the job's code; output goes to the file"""
    out, _ = here.call("submit", "sh", "-c", "echo text")
    expect(out == "Submitted job 1\n", out)
    expect(here.call("submit", "--parsable", "--wait", "sh", "-c", "exit 9", code=9)[0] == "2\n", "not parsable")
    here.wait_until("job 1 ends", lambda: here.fake.jobs[1]["state"] == "DONE")
    expect((here.folder / "elastic-1.out").read_text() == "text\n", "no output file")


def test_submit_mask_and_limits(here: Setup) -> None:
    """submit: the caller's file mode mask and soft limits go along"""
    here.call("submit", "--wait", "true", umask=0o027)
    (body,) = here.posted()
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    expect((body["umask"], body["limits"]["nofile"]) == (0o027, soft), body)


def test_submit_script_with_options(here: Setup) -> None:
    """submit: #ELASTIC lines are options, the command line goes over them, a script's arguments are its own"""
    script = here.folder / "job.sh"
    script.write_text("#!/bin/sh\n#ELASTIC -n 2:4 -J 'my job'  # comment\n\n# text\n#ELASTIC --time=5\necho $2 $ELASTIC_JOB_ID\n"
                      "#ELASTIC --exclusive\n")  # fmt: skip
    here.call("submit", "-J", "other", "--wait", "job.sh", "-n", "x")
    (body,) = here.posted()
    expect(body["script"] == script.read_text() and body["command"] == ["job.sh", "-n", "x"], body)
    expect((body["min"], body["max"], body["time_limit_ms"], body["name"]) == (2, 4, 300000, "other"), body)
    expect("exclusive" not in body, "a line behind the head counted")
    expect((here.folder / "elastic-1.out").read_text() == "x 1\n", "output")
    expect(here.call("show", "--script", "1")[0] == script.read_text(), "script")
    script.write_text("#!/bin/sh\n#ELASTIC --explode\n")
    expect("--explode" in here.call("submit", "job.sh", code=2)[1], "a wrong line is not named")
    here.call("submit", "--program", "--wait", "/usr/bin/env", "true")


def test_submit_wrap(here: Setup) -> None:
    """submit --wrap: a shell command"""
    here.call("submit", "--wait", "--wrap", "echo a b | tr a-z A-Z")
    expect((here.folder / "elastic-1.out").read_text() == "A B\n", "output")


def test_submit_without_an_answer(here: Setup) -> None:
    """submit: a lost answer does not make a second job"""
    here.fake.lose_answers = 2
    expect(here.call("submit", "true")[0] == "Submitted job 1\n", "number")
    expect(len(here.fake.jobs) == 1 and len(here.posted()) == 3, len(here.posted()))
    expect(len({body["key"] for body in here.posted()}) == 1, "keys differ")


def test_submit_refused(here: Setup) -> None:
    """submit: what cannot be is refused with the daemon's words; what passes is tried again"""
    _, err = here.call("submit", "-n", "99", "true", code=1)
    expect("more than the 16 cores" in err, err)
    here.fake.refuse = [Refused(429, "rate", "too many"), Refused(503, "storage", "disk full")]
    here.call("submit", "true")
    here.fake.refuse = [Refused(503, "full", "the queue is full")]
    expect("the queue is full" in here.call("submit", "true", code=1)[1], "message")


def test_wrong_usage(here: Setup) -> None:
    """wrong usage is reported before anything is sent"""
    for words in (["run"], ["run", "-n", "0", "x"], ["run", "-n", "8:2", "x"], ["run", "-t", "x", "y"], ["run", "-n"],
                  ["run", "--sizes", "odd", "x"], ["submit"], ["submit", "--kind", "soft", "x"], ["hold"],
                  ["hold", "x"], ["show", "0"], ["drain", "n0"], ["resize", "1", "0"], ["queue", "extra"], ["explode"],
                  ["run", "--explode", "x"], []):  # fmt: skip
        _, err = here.call(*words, code=2)
        expect(err, f"{words}: no message")
    expect(not here.fake.requests, here.fake.requests)


# ---------------------------------------------------------------- looking and changing


def test_queue_and_history(here: Setup) -> None:
    """queue, history, show: who waits, who runs, who has ended; more than one page"""
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


def test_attach(here: Setup) -> None:
    """attach: what was written, what comes, and the exit code"""
    script = "i=0; while [ $i -lt 20 ]; do echo line $i; i=$((i+1)); done; echo err >&2; until [ -e go ]; do sleep 0.1; done; echo end; exit 7"
    here.call("submit", "-e", "err.txt", "--wrap", script)
    here.wait_until("the job writes", lambda: (here.folder / "err.txt").exists() and "err" in (here.folder / "err.txt").read_text())
    process = here.start("attach", "1", "--lines", "3")
    assert process.stdout
    expect([process.stdout.readline() for _ in range(3)] == ["line 17\n", "line 18\n", "line 19\n"], "the last lines")
    here.fake.go_away()
    here.fake.listen()  # a restart in between
    (here.folder / "go").touch()
    out, err = process.communicate(timeout=LIMIT_S)
    expect(out == "end\n" and "err\n" in err and process.returncode == 7, (out, err, process.returncode))
    out, _ = here.call("attach", "job:1", "-n", "0", code=7)
    expect(out == "", out)
    out, _ = here.call("attach", "1", "-n", "1000", code=7)
    expect(out.splitlines() == [f"line {i}" for i in range(20)] + ["end"], out)
    here.call("attach", "9", code=3)
    here.call("attach", "1", "-n", "-1", code=2)


def started_run(here: Setup, script: str, **options: Any) -> subprocess.Popen[str]:
    """`elastic run` of a job that has begun"""
    process = here.start("run", "sh", "-c", "touch begun; " + script, **options)
    here.wait_until("the job runs", lambda: (here.folder / "begun").exists())
    return process


def test_attach_to_run(here: Setup) -> None:
    """attach to elastic run: several readers, the last lines, an interrupt, and the end"""
    script = "for i in 1 2 3 4; do echo line $i; done; echo err >&2; until [ -e go ]; do sleep 0.1; done; echo end; exit 7"
    run = started_run(here, script)
    assert run.stdout
    expect([run.stdout.readline() for _ in range(4)] == [f"line {i}\n" for i in range(1, 5)], "elastic run's own output")
    readers = [here.start("attach", "1", "-n", "2"), here.start("attach", "1", "-n", "3")]
    for number, reader in enumerate(readers):
        assert reader.stdout
        lines = [reader.stdout.readline() for _ in range(number + 2)]
        expect(lines == [f"line {i}\n" for i in range(3 - number, 5)], lines)
    readers[1].send_signal(signal.SIGINT)
    readers[1].communicate(timeout=LIMIT_S)
    expect(readers[1].returncode == -signal.SIGINT and here.fake.jobs[1]["state"] == "RUNNING", "the interrupt")
    _, err = here.call("attach", "1", "--input", code=1)
    expect("no input from here" in err, err)
    here.fake.go_away()
    here.fake.listen()  # a restart in between
    (here.folder / "go").touch()
    out, err = readers[0].communicate(timeout=LIMIT_S)
    expect((out, err, readers[0].returncode) == ("end\n", "err\n", 7), (out, err, readers[0].returncode))
    expect(run.communicate(timeout=LIMIT_S)[0] == "end\n" and run.returncode == 7, "elastic run")
    here.call("attach", "1", code=7)


def test_attach_slow_reader(here: Setup) -> None:
    """attach to elastic run: a stopped reader holds nobody up, and is notified of what it has missed"""
    run = started_run(here, "echo ready; until [ -e go ]; do sleep 0.1; done; seq 1 1500000; touch written; until [ -e enough ]; do sleep 0.1; done")
    reader = here.start("attach", "1")
    assert run.stdout and reader.stdout
    expect(run.stdout.readline() == "ready\n" and reader.stdout.readline() == "ready\n", "it is attached")
    reader.send_signal(signal.SIGSTOP)
    (here.folder / "go").touch()
    taken = [run.stdout.readline() for _ in range(1500000)]
    expect(taken[-1] == "1500000\n", taken[-1])
    here.wait_until("the job has written all", lambda: (here.folder / "written").exists())
    reader.send_signal(signal.SIGCONT)
    (here.folder / "enough").touch()
    out, err = reader.communicate(timeout=LIMIT_S)
    run.communicate(timeout=LIMIT_S)
    missed = sum(int(number) for number in re.findall(r"(\d+) bytes were missed", err))
    expect(missed > 0 and len(out) + missed == sum(map(len, taken)), (missed, len(out), err))
    expect(out.endswith("1500000\n") and reader.returncode == 0, (out[-50:], reader.returncode))


def test_attach_input(here: Setup) -> None:
    """attach --input: it replaces elastic run's own, once"""
    ours, theirs = pty.openpty()  # a terminal that elastic run is not in the foreground of
    run = started_run(here, "cat; exit 3", stdin=theirs)
    os.close(theirs)
    first = here.start("attach", "1", "--input", stdin=subprocess.PIPE)
    assert first.stdin and first.stdout
    first.stdin.write("one\n")
    first.stdin.flush()
    expect(first.stdout.readline() == "one\n", "the job's echo")
    _, err = here.call("attach", "1", "--input", code=1, text="")
    expect("somebody else" in err, err)
    out, err = first.communicate("two\n", timeout=LIMIT_S)
    expect((out, first.returncode) == ("two\n", 3), (out, err, first.returncode))
    expect(run.communicate(timeout=LIMIT_S)[0] == "one\ntwo\n" and run.returncode == 3, "elastic run")
    os.close(ours)
    _, err = here.call("attach", "1", "--input", code=1, text="")
    expect("has ended" in err, err)


def test_attach_of_other_users(here: Setup) -> None:
    """attach: neither to another user's elastic run nor by another user"""
    run = started_run(here, "echo secret; until [ -e go ]; do sleep 0.1; done")
    assert run.stdout
    expect(run.stdout.readline() == "secret\n", "elastic run")
    (path,) = here.folder.glob("elastic-run-*/attach")
    here.fake.jobs[1]["uid"] = os.geteuid() + 1
    _, err = here.call("attach", "1", code=1)
    expect("nothing was sent" in err, err)
    here.fake.jobs[1]["uid"] = os.geteuid()
    if os.geteuid() == 0:  # another user only comes so far if all folders are open
        for open_one in (here.folder, path.parent, path):
            open_one.chmod(0o777)
        program = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r}); " \
                  "s.sendall(b'{\"version\": 1, \"lines\": 9}\\n'); print(s.recv(1000))"  # fmt: skip
        got = subprocess.run([sys.executable, "-c", program], user=65534, group=65534, extra_groups=[], text=True,
                             capture_output=True, timeout=LIMIT_S)  # fmt: skip
        expect("secret" not in got.stdout and "version" not in got.stdout, got)
        expect("b''" in got.stdout or "Reset" in got.stderr or "Broken" in got.stderr, got)
    else:
        print("# only root can try it as another user")
    (here.folder / "go").touch()
    run.communicate(timeout=LIMIT_S)


def test_hold_release_cancel_refusals(here: Setup) -> None:
    """hold, cancel: refusals and foreign numbers have their exit codes"""
    here.call("run", "true")
    expect("does not wait" in here.call("hold", "1", code=1)[1], "hold")
    expect("has ended" in here.call("cancel", "1", code=1)[1], "cancel")
    expect("there is no job 77" in here.call("show", "77", code=3)[1], "show")
    expect("there is no job 77" in here.call("cancel", "77", code=3)[1], "cancel")
    _, err = here.call("hold", "77", "1", code=3)
    expect(err.count("elastic:") == 2, err)  # both are told


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
    """update: what is named is sent, for each job"""
    here.call("submit", "--hold", "true")
    here.call("submit", "--hold", "true")
    out, _ = here.call("update", "1", "job:2", "-t", "2h", "-n", "2:4", "-J", "heat", "--priority=-3", "--preferred", "2")
    expect(out == "job 1 is updated\njob 2 is updated\n", out)
    wanted = {"time_limit_ms": 7200000, "min": 2, "max": 4, "name": "heat", "priority": -3, "preferred": 2}
    expect(here.posted("/v1/jobs/2/update") == [wanted], here.posted("/v1/jobs/2/update"))
    (job,) = here.objects("update", "1", "--time", "5")
    expect(job["time_limit_ms"] == 300000, job)
    for words in ([], ["-t", "x"], ["-t", "unlimited"], ["-n", "4:2"], ["--priority", "x"], ["--preferred=-1"]):
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
    here.call("drain", "n0", "n1", "--reason", "new memory")
    expect([node["state"] for node in here.objects("nodes")] == ["draining", "draining"], "drain")
    here.call("resume", "n1")
    expect([node["state"] for node in here.objects("nodes", "n1")] == ["up"], "resume")
    here.call("drain", "n7", "--reason", "x", code=3)
    here.call("nodes", "n7", code=3)


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
    here.call("nodes", "-n", "n0,n7", code=3)
    here.call("nodes", "-s", "-R", code=2)
    expect(len(here.objects("queue", "-w", "n7,n0")) == 1 and not here.objects("queue", "-w", "n1"), "queue -w")
    expect("no job" in here.call("cancel", "-w", "n1")[0], "nothing is on n1")
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
    expect("measured at 2 sizes" in lines[2] and "more than 4 processes bring nothing" in lines[2], lines)
    cells = [line.split() for line in lines[4:]]
    expect([row[:4] for row in cells[:4]] == [["1", "1.00", "-", "-"], ["2", "1.95", "1.97", "5"], ["3", "-", "2.80", "1"], ["4", "3.85", "-", "-"]],
           cells)  # fmt: skip
    expect(len(cells[3][4]) == 40 and 5 < len(cells[0][4]) < len(cells[1][4]) < 40, "bars")
    (answer,) = here.objects("why", "1")
    expect(answer["scaling"] == SCALING and answer["text"].startswith("8 processes: it uses all"), answer)
    here.call("why", "7", code=3)
    here.call("cancel", "1")


def test_loops(here: Setup) -> None:
    """loops: of a job, what elasticd knows; of a job that is not measured, why"""
    here.call("submit", "--", "sleep", "1000")
    out, _ = here.call("loops", "1")
    expect(out == "job 1: nothing is known: no sample has been taken yet\n", out)
    here.fake.jobs[1]["_loops"] = measured_loops([(now_ms() - 60_000, 4, 2.5, None), (now_ms(), 2, 5.0, 0.25)])
    for name in ("1", "job:1"):
        lines = here.call("loops", name)[0].splitlines()
        expect(lines[0] == "job 1: 2 processes, 20 probes in 4.0 s, 5 a second (recently 4.5)", lines)
        expect(lines[1].startswith("loop that probes, ranks 0-1: 200 ms a round, 25.0 % of it in MPI (from 10.0 % to 40.0 %"), lines)
        expect(lines[2].endswith("rank 1 on n1 (10.0 %)"), lines)
        expect(lines[3].startswith("loop at heat2d+0x393e, in the loop that probes, ranks 0-1: 9 ms a round"), lines)
        expect(lines[3].endswith("p2p, collective, ..."), lines)
        expect(lines[4].endswith(": 4 processes, 2.5 probes a second") and lines[5].endswith(": 2 processes, 5 probes a second, 25.0 % in MPI"), lines)
        expect(len(lines) == 6, lines)
    (answer,) = here.objects("loops", "1")
    expect(answer["job"] == 1 and answer["loops"][0]["key"] == "probe", answer)
    expect(any(path.startswith("/v1/jobs/1/loops?max_age_ms=") for _, path, _ in here.fake.requests), "it asks for what is new")
    here.call("loops", "7", code=3)
    here.call("cancel", "1")


def test_version(here: Setup) -> None:
    """version: of both; without elasticd it states what to do and is no failure"""
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


# ---------------------------------------------------------------- top, report, help


def test_sockets_of_others(here: Setup) -> None:
    """another user's socket gets nothing, in a folder of his and in one of ours"""
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
        os.seteuid(nobody)  # the kernel tells whoever connects who has called listen
        try:
            listening[path].listen(8)
        finally:
            os.seteuid(0)
        listening[path].setblocking(False)
    del here.environment["ELASTICD_SOCKET"]
    in_allocation = {"SLURM_JOB_ID": "12", "SLURM_JOB_NODELIST": "n1", "SLURM_JOB_CPUS_PER_NODE": "2"}

    def heard() -> bytes:
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

    for variables in ({}, in_allocation):
        here.environment |= variables
        _, err = here.call("queue", code=4)
        expect("belongs to user 65534" in err and heard() == b"", (err, "it has got something"))
    os.chown(base, nobody, nobody)
    process = here.start("run", "-n", "1", "true", "SECRET")
    out, err = process.communicate(timeout=LIMIT_S)
    expect(process.returncode != 0 and str(base) in err, (process.returncode, out, err))
    expect(heard() == b"", "who owns the folder has got something")
    for each in listening.values():
        each.close()


def test_top_once(here: Setup) -> None:
    """top --once: cores, nodes and jobs"""
    here.call("submit", "-n", "2:4", "-J", "climb", "sleep", "60")
    out, _ = here.call("top", "--once")
    expect("4 of 16 cores" in out and "n0" in out and "climb" in out, out)


def test_top_at_a_terminal(here: Setup) -> None:
    """top: draws over and over at a terminal, q ends it and restores the screen"""
    here.call("submit", "-n", "2:4", "-J", "climb", "sleep", "60")
    master, slave = pty.openpty()
    process = here.start("top", "--interval", "0.1", stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    text = b""
    while text.count(b"climb") < 3:
        text += os.read(master, 65536)
    os.write(master, b"q")
    try:
        while True:
            text += os.read(master, 65536)
    except OSError:
        pass
    os.close(master)
    expect(process.wait(LIMIT_S) == 0, process.returncode)
    expect(b"\x1b[?1049h" in text and text.rstrip().endswith(b"\x1b[?1049l"), text[-80:])


def test_report(here: Setup) -> None:
    """report: the metrics, a chart of the nodes, a page for a browser, a comparison with another report"""
    here.call("run", "-n", "2:4", "-J", "climb", "true")
    here.call("run", "-n", "2:4", "-J", "dive", "true")
    out, _ = here.call("report", "--html", "chart.html")
    expect(re.search(r"^Makespan +1:05\.0$", out, re.M) and re.search(r"^Utilisation +87\.5 %$", out, re.M), out)
    expect("n0" in out and "climb" in out, out)
    page = (here.folder / "chart.html").read_text()
    expect("drawChart(" in page and "climb" in page and page.rstrip().endswith("</html>"), page[:200])
    (document,) = here.objects("report")
    expect(document["makespan_ms"] == 65000 and document["timeline"]["nodes"], sorted(document))
    names = [segment["name"] for segment in document["timeline"]["segments"]]
    expect(names == ["climb", "dive"], f"the timeline's pages: {names}")
    (here.folder / "other.json").write_text(json.dumps({**document, "makespan_ms": 130000}))
    out, _ = here.call("report", "--compare", "other.json")
    expect(re.search(r"^Makespan +1:05\.0 +2:10\.0 +-50\.0 %$", out, re.M), out)
    here.call("report", "--compare", "not-there.json", code=2)
    out, _ = here.call("report", "-P", "--compare", "other.json")
    expect(out.startswith("METRIC|THIS|OTHER|DIFFERENCE\n") and "\nMakespan|1:05.0|2:10.0|-50.0 %\n" in out, out)
    expect("n0" not in out, "a program gets no chart")
    out, _ = here.call("report", "--parsable", "--noheader", "--by", "user")
    expect(out.startswith("ann|3|2|1|0|0.190|75.0 %|0:01.5|2|\n"), out)
    out, _ = here.call("report", "--by", "user")
    expect(re.search(r"^ann +3 +2 +1 +0 +0\.190 +75\.0 % +0:01\.5 +2$", out, re.M), out)
    expect([one["user"] for one in here.objects("report", "--by", "user")] == ["ann", "bob"], "as JSON")
    here.call("report", "--by", "node", code=2)


def test_completion_and_manual(here: Setup) -> None:
    """shell completion, manual page and --help know the same commands and options"""
    help_text = here.call("--help")[0]
    manual = (ROOT / "doc/man/man1/elastic.1").read_text()
    for command in COMMANDS:
        expect(re.search(rf"^  {command} ", help_text, re.M), f"--help lacks {command}")
        expect(re.search(rf"^\.B[RI]? elastic {command}\b", manual, re.M), f"elastic.1 lacks {command}")
        lines = re.findall(r"^  (-.*)$", here.call(command, "--help")[0], re.M)
        options = {name for line in lines for name in re.findall(r"^(?:-\w,)?(--[a-zA-Z0-9-]+)", line)} - {"--help"}
        completed = set(complete(here, ["elastic", command, "--"]))
        expect(options == completed, f"{command}: --help {sorted(options - completed)}, completion {sorted(completed - options)}")
        for option in options:
            expect(option.replace("-", "\\-") in manual, f"elastic.1 lacks {option} of {command}")
    expect(set(complete(here, ["elastic", ""])) == set(COMMANDS), "commands")
    here.call("submit", "--hold", "true")
    expect(complete(here, ["elastic", "release", ""]) == ["1"], "jobs")
    expect(complete(here, ["elastic", "drain", "n"]) == ["n0", "n1"], "nodes")


def complete(here: Setup, words: list[str]) -> list[str]:
    """What bash offers for the last word."""
    script = (
        f'. {ROOT}/src/rm/cli/elastic.bash-completion; COMP_WORDS=({" ".join(word or chr(39) * 2 for word in words)}); '
        f"COMP_CWORD={len(words) - 1}; _elastic; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    environment = here.environment | {"PATH": f"{Path(here.elastic).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, env=environment, check=False)
    expect(done.returncode == 0 and not done.stderr, done.stderr)
    return done.stdout.split()

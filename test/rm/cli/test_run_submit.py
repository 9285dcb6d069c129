"""`elastic run` and `elastic submit` against a fake elasticd."""

from __future__ import annotations

import json
import os
import pty
import resource
import signal
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from cli_setup import LIMIT_S, Setup  # noqa: E402
from fake_elasticd import Refused  # noqa: E402
from support.checks import expect  # noqa: E402


def test_run_passes_output_and_code(here: Setup) -> None:
    """run: output, error and exit code are the job's"""
    out, err = here.call("run", "sh", "-c", "echo to-out; echo to-err >&2; exit 7", code=7)
    expect(out == "to-out\n", out)
    expect("to-err\n" in err, err)
    out, err = here.call("run", "--", "echo", "-n", "--json")
    expect(out == "--json" and err == "", (out, err))


def test_run_sends_what_was_requested(here: Setup) -> None:
    """run: options become the request of the interface"""
    here.call("run", "-n", "2:8", "-t", "10:00", "-J", "heat", "--sizes", "multiple:2", "--preferred", "4", "-c1",
              "--priority=-3", "--requeue", "-l", "--export", "NONE", "true", "-n", "1")  # fmt: skip
    (body,) = here.posted()
    wanted = {"min": 2, "max": 8, "time_limit_ms": 600000, "name": "heat", "sizes": {"rule": "multiple:2"},
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


def test_run_signals_before_the_start(here: Setup) -> None:
    """run: a signal before the start of the job is forwarded when the job runs, once"""
    process = here.start("run", "--hold", "sleep", "600")
    here.wait_until("the job waits", lambda: here.fake.jobs)
    process.send_signal(signal.SIGUSR1)
    here.wait_until("elastic passes it", lambda: any(path == "/v1/jobs/1/signal" for _, path, _ in here.fake.requests))
    here.call("release", "1")
    process.communicate(timeout=LIMIT_S)
    expect(process.returncode == 128 + signal.SIGUSR1, process.returncode)


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
    """run: elasticd ends and is started again; output and exit code are complete"""
    process = here.start("run", "sh", "-c", "echo first; while [ ! -e go ]; do sleep 0.05; done; echo last; exit 5")
    assert process.stdout and process.stderr
    expect(process.stdout.readline() == "first\n", "no output")
    here.fake.go_away()
    expect("waiting for elasticd" in process.stderr.readline(), "absence is not reported")
    (here.folder / "go").touch()
    expect(process.stdout.readline() == "last\n", "no output while elasticd is away")
    here.fake.listen()
    _, err = process.communicate(timeout=LIMIT_S)
    expect(process.returncode == 5 and "answers again" in err, (process.returncode, err))


def test_run_with_a_closed_reader(here: Setup) -> None:
    """run: when the reader of its output has ended, the job is ended"""
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
    expect("exclusive" not in body, "a line after the head counted")
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
    """submit: a missing answer does not make a second job"""
    here.fake.lose_answers = 2
    expect(here.call("submit", "true")[0] == "Submitted job 1\n", "number")
    expect(len(here.fake.jobs) == 1 and len(here.posted()) == 3, len(here.posted()))
    expect(len({body["key"] for body in here.posted()}) == 1, "keys differ")


def test_submit_refused(here: Setup) -> None:
    """submit: impossible requests are refused with the daemon's message; temporary failures are tried again"""
    _, err = here.call("submit", "-n", "99", "true", code=1)
    expect("more than the 16 cores" in err, err)
    here.fake.refuse = [Refused(429, "rate", "too many"), Refused(503, "storage", "disk full")]
    here.call("submit", "true")
    here.fake.refuse = [Refused(503, "full", "the queue is full")]
    expect("the queue is full" in here.call("submit", "true", code=1)[1], "message")

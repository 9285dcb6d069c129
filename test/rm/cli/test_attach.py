"""`elastic attach` against a fake elasticd."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from cli_setup import LIMIT_S, Setup  # noqa: E402
from support.checks import expect  # noqa: E402


def test_attach(here: Setup) -> None:
    """attach: earlier output, later output, and the exit code"""
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
    here.call("submit", "--wait", "--", "sh", "-c", "echo out; echo err >&2")
    expect(here.call("attach", "2") == ("out\nerr\n", ""), "one file for both streams is followed once")
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
    expect("input cannot be sent" in err, err)
    here.fake.go_away()
    here.fake.listen()  # a restart in between
    (here.folder / "go").touch()
    out, err = readers[0].communicate(timeout=LIMIT_S)
    expect((out, err, readers[0].returncode) == ("end\n", "err\n", 7), (out, err, readers[0].returncode))
    expect(run.communicate(timeout=LIMIT_S)[0] == "end\n" and run.returncode == 7, "elastic run")
    here.call("attach", "1", code=7)


def test_attach_slow_reader(here: Setup) -> None:
    """attach to elastic run: a stopped reader delays no other one, and is notified of the bytes that it has missed"""
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
    expect("another client" in err, err)
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

"""`elastic` where elasticd runs on another machine: what needs pipes or files of that machine says so at once.  No MPI
is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from cli_setup import LIMIT_S, Setup  # noqa: E402
from support.checks import expect  # noqa: E402

OTHER = "elasticd runs on far, which is another machine"


def test_run_and_alloc(here: Setup) -> None:
    """run and alloc: nothing is submitted, the error names the alternatives; files instead of pipes are accepted"""
    here.fake.boot_id = "another"
    for words, advice in (
        (("run", "true"), "elastic submit"), (("run", "-o", "out", "cat"), "-i /dev/null"), (("alloc", "true"), "elastic submit"),
        (("run", "-q", "-n", "2", "true"), "elastic run -o FILE -i /dev/null"),
    ):  # fmt: skip
        process = here.start(*words, stdin=subprocess.PIPE)
        _, err = process.communicate("text", timeout=LIMIT_S)
        expect(process.returncode == 2 and err.startswith(f"elastic: {OTHER}: ") and advice in err, (words, process.returncode, err))
    expect(not here.posted(), here.posted())
    out = here.folder / "out"
    here.call("run", "-o", str(out), "-i", "/dev/null", "echo", "there")
    expect(out.read_text() == "there\n" and len(here.posted()) == 1, here.posted())
    here.call("submit", "--wait", "true")


def test_run_for_another_user(here: Setup) -> None:
    """run: a token of another user, who cannot open the pipes"""
    here.fake.uid += 1
    _, err = here.call("run", "true", code=2)
    expect("the job would run as ann, who may not open the pipes of this command: " in err and not here.posted(), err)
    here.fake.uid = 0
    here.call("run", "true")


def test_attach(here: Setup) -> None:
    """attach: a file that is not here is not waited for; one in a common folder is followed"""
    here.fake.boot_id = "another"
    here.call("submit", "--hold", "-o", "/nowhere/out", "sleep", "1000")
    here.fake.jobs[1]["state"] = "RUNNING"
    _, err = here.call("attach", "1", code=1)
    expect(f"there is no /nowhere/out here: {OTHER}. Use 'elastic attach' there, or" in err, err)
    here.call("cancel", "1")
    here.call("submit", "--wait", "-o", str(here.folder / "out"), "echo", "common")
    expect(here.call("attach", "2")[0] == "common\n", "a common folder")
    (here.folder / "out").unlink()
    _, err = here.call("attach", "2")
    expect(f"/out here: {OTHER}" in err, err)

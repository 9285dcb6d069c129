"""Each option in the manual pages of Slurm's commands is in the tables of doc/user, and known in scripts.  No MPI is
needed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from cli_setup import LIMIT_S, Setup  # noqa: E402
from support.checks import expect  # noqa: E402

USER = Path(__file__).resolve().parents[3] / "doc/user"
SCRIPTS, QUERIES = USER / "slurm-users.md", USER / "slurm-queries.md"
PAGES = {name: SCRIPTS if name in ("sbatch", "srun", "salloc") else QUERIES for name in
         ("sbatch", "srun", "salloc", "scancel", "squeue", "sinfo", "sacct", "scontrol")}  # fmt: skip
SECTIONS = {SCRIPTS: ["sbatch, srun, salloc"]}
VALUES = {
    "time": "10", "dependency": "afterok:1", "begin": "now+1", "signal": "USR1@60", "export": "ALL", "mail-type": "END",
    "mail-user": "ann", "mem": "1G", "mem-per-cpu": "1G", "gres": "gpu:1", "open-mode": "append", "distribution": "block",
    "nodelist": "n1", "exclude": "n2", "cpu-bind": "none", "input": "/dev/null", "chdir": "/tmp", "kill-on-invalid-dep": "no",
}  # fmt: skip
# `srun` in a script refuses these, since the step would be another one.
REFUSED = {"test-only", "no-allocate", "het-group", "nodefile", "container"}


def options(command: str) -> list[tuple[str, str]]:
    """(name, "", "=" or "[=]") of each."""
    text = (Path(__file__).parent / "slurm-options.list").read_text()
    found = re.search(rf"^{command}: (.*\n(?: .*\n)*)", text, re.M)
    assert found
    return re.findall(r"(?:-\w/)?--([\w-]+)(\[=\]|=)?", found.group(1))


def sections(page: Path, titles: list[str]) -> str:
    """The text before the first heading, and these sections."""
    intro, *parts = re.split(r"^## ", page.read_text(), flags=re.M)
    return intro + "".join(part for part in parts if part.split("\n")[0] in titles or part.split(",")[0] in titles)


@pytest.mark.parametrize("command", PAGES)
def test_tables(command: str) -> None:
    """the table of the command has each of its options"""
    page = PAGES[command]
    named = set(re.findall(r"--([\w-]+)", sections(page, SECTIONS.get(page, [command]))))
    missing = [name for name, _ in options(command) if name not in named]
    expect(len(options(command)) > 10 and not missing, f"{page.name} has no {missing} of {command}")


def test_script(here: Setup) -> None:
    """a script with each option of sbatch is submitted: nothing is unknown, and options without effect have a reason"""
    lines = [f"#SBATCH --{name}" + (f"={VALUES.get(name, '1')}" if value == "=" else "") for name, value in options("sbatch")
             if name not in ("wait", "test-only")]  # fmt: skip
    (here.folder / "job.sh").write_text("\n".join(["#!/bin/sh", *lines, "true", ""]))
    _, err = here.call("submit", "job.sh")
    expect("not known" not in err and err.count("is not honoured: ") > 40, err)
    expect(len(here.posted()) == 1, "one job is submitted")


def test_srun(here: Setup, mpi: Path) -> None:
    """srun in a script knows each option of srun"""
    srun = mpi / "libexec/elastic-mpich/slurm-commands/srun"
    for name, value in options("srun"):
        word = f"--{name}" + (f"={VALUES.get(name, '1')}" if value == "=" else "")
        done = subprocess.run([srun, word, "--version"], cwd=here.folder, env=here.environment, capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)  # fmt: skip
        refused = done.returncode != 0
        expect("there is no option" not in done.stderr and refused == (name in REFUSED), f"{word}: {done.stdout}{done.stderr}")

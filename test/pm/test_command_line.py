"""The command line of mpiexec: each option with an argument that is right, with none, and with malformed ones; commands
without a program; configuration files; and the effects of options on output, variables, folders, bindings and exit
codes.

CASES has a row for each option.  A malformed or missing argument ends mpiexec with exit code 1 and one line that begins
with the option's name.
"""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
from pathlib import Path

import pytest

LIMIT_S = 60
NOTHING = None


@dataclasses.dataclass
class Case:
    names: str  # separated by blanks: the same option
    right: str | None  # NOTHING: the option takes no argument
    malformed: tuple[str, ...] = ()
    runs: bool = True  # here, with the right argument


@dataclasses.dataclass
class Mpiexec:
    program: Path
    folder: Path

    def __call__(self, *words: object, prefix: tuple[str, ...] = (), **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*prefix, str(self.program), *map(str, words)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            cwd=self.folder,
            env={**os.environ, "XDG_RUNTIME_DIR": str(self.folder), **variables},
            check=False,
        )

    def refuses(self, words: list[str], message: str) -> None:
        """One line that begins so, exit code 1, and no program is started."""
        done = self(*words)
        lines = done.stderr.splitlines()
        assert done.returncode == 1 and done.stdout == "", f"{words}: {done}"
        assert len(lines) == 1 and lines[0].startswith(message), f"{words}: {done.stderr}"


@pytest.fixture
def mpiexec(mpi: Path, tmp_path: Path) -> Mpiexec:
    (tmp_path / "hosts").write_text("localhost:2  # a comment\n# another\n")
    (tmp_path / "config").write_text("-ppn 2\n")
    return Mpiexec(mpi / "bin" / "mpiexec", tmp_path)


COUNTS = ("0", "-1", "2x", "x", "", "99999999999")
NUMBERS = ("-1", "2x", "x", "", "99999999999")
HOSTS = ("", ",", "a,", ":2", "a:", "a:0", "a:x", "a:2:x")
PATTERNS = ("%", "%q", "a%")
CASES = (
    Case("n np", "2", COUNTS),
    Case("ppn", "2", COUNTS),
    Case("output-from", "0", NUMBERS),
    Case("gpus-per-proc g", "0", (*NUMBERS, "auto")),
    Case("usize", "3", ("0", "-1", "x", "system")),
    Case("order-nodes", "UP", ("", "x", "Ascending")),
    Case("s", "all", ("", "1", "x", "All")),
    Case("hosts host hostlist machine machines machinelist", "localhost:2", HOSTS),
    Case("f hostfile machinefile", "{folder}/hosts", ("",)),
    Case("configfile", "{folder}/config", ("", "/no/such/file")),
    Case("prepend-pattern", "%r%g%p%h%t%%", PATTERNS),
    Case("outfile-pattern outfile", "{folder}/out.%r", PATTERNS),
    Case("errfile-pattern errfile", "{folder}/err.%r", PATTERNS),
    Case("wdir", "/", ("",)),
    Case("genv env", "A=1", ("", "=1")),
    Case("genvlist envlist", "PATH"),
    Case("launcher bootstrap", "fork", ("", "no-such-launcher")),
    Case("launcher-exec bootstrap-exec", "/bin/sh", ("",)),
    Case("rmk", "user", ("", "no-such-rmk")),
    Case("topolib", "hwloc", ("", "no-such-library")),
    Case("bind-to binding", "none", ("",)),
    Case("map-by", "core", ("",), runs=False),
    Case("membind", "none", ("",)),
    Case("demux", "poll", ("", "no-such-engine")),
    Case("iface", "lo", ("", "no-such-interface")),
    Case("nameserver", "localhost:1", ("",)),
    Case("localhost", "localhost", ("",)),
    Case("pset", "app://some", ("", "some")),
    Case("sets-log", "{folder}/sets", ("", "/no/such/file")),
    Case("adapt-schedule", "2", ("", "x", "0")),
    Case("adapt-policy", "increase-decrease", ("", "x"), runs=False),
    Case("adapt-range", "1:2", ("", "x", "2:1")),
    Case("adapt-interval", "1s", ("", "x"), runs=False),
    Case("adapt-log", "{folder}/log", ("", "/no/such/file")),
    Case("adapt-performance", "{folder}/performance", ("", "/no/such/file")),
    Case("verbose v debug", NOTHING),
    Case("print-all-exitcodes", NOTHING),
    Case("prepend-rank l", NOTHING),
    Case("genvnone", NOTHING),
    Case("genvall", NOTHING),
    Case("envnone", NOTHING),
    Case("envall", NOTHING),
    Case("enable-x", NOTHING),
    Case("disable-x", NOTHING),
    Case("disable-auto-cleanup dac", NOTHING),
    Case("enable-auto-cleanup", NOTHING),
    Case("disable-hostname-propagation", NOTHING),
    Case("enable-hostname-propagation", NOTHING),
    Case("pmi-port", NOTHING),
    Case("profile", NOTHING, runs=False),
    Case("skip-launch-node", NOTHING, runs=False),
)

# Options that print something and end mpiexec.
INFORMING = ("h", "help", "info", "version")

PROGRAMS: tuple[tuple[list[str], str], ...] = (
    ([], "mpiexec: no program is given"),
    (["-n", "2"], "mpiexec: no program is given"),
    (["-n", "1", "true", ":"], "mpiexec: command 2 of those that are separated by ':' has no program"),
    ([":", "-n", "1", "true"], "mpiexec: command 1 of those that are separated by ':' has no program"),
    (["-n", "1", "true", ":", "-n", "1", ":", "true"], "mpiexec: command 2 of those that are separated by ':' has no program"),
    (["-n", "1", ""], "mpiexec: no program is given"),
    (["-n", "1", "echo", *(["x"] * 998)], "mpiexec: echo: a program can have at most 997 arguments"),
    (["-no-such-option", "true"], "mpiexec: -no-such-option: there is no such option"),
)

FILES = (
    ("# a comment \\\n-n 1 echo a#b c\\d\n", ["a#b c\\d"]),
    ("-n 1 echo first \\\n  second \\\nthird # a comment\n\n   # another one\n", ["first second third"]),
    ("-n 1 echo one\n-n 1 echo two", ["one", "two"]),
    ("-n 1 echo one :\n-n 1 echo two\r\n", ["one", "two"]),
    ("-n 1 echo" + " x" * 900, ["x" + " x" * 899]),
)


def options_of(text: str) -> set[str]:
    """Those that the help text of mpiexec lists."""
    found: set[str] = set()
    for line in text.splitlines():
        if match := re.match(r"\s+(-[a-z][a-z-]*(?:/-[a-z][a-z-]*)*)\s", line):
            found.update(name.lstrip("-") for name in match[1].split("/"))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.names.split()[0])
def test_right_arguments(mpiexec: Mpiexec, case: Case) -> None:
    """The program runs, by each name of the option."""
    for name in case.names.split() if case.runs else []:
        argument = [] if case.right is None else [case.right.format(folder=mpiexec.folder)]
        count = [] if name in ("n", "np") else ["-n", "1"]
        done = mpiexec(f"-{name}", *argument, *count, "/bin/true")
        assert done.returncode == 0, f"-{name} {argument}: {done}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.names.split()[0])
def test_wrong_arguments(mpiexec: Mpiexec, case: Case) -> None:
    name = case.names.split()[0]
    if case.right is None:
        mpiexec.refuses([f"-{name}=x", "true"], f"mpiexec: -{name}=x: the option takes no argument")
        return
    mpiexec.refuses(["-n", "1", f"-{name}"], f"mpiexec: -{name}: its argument is missing")
    for text in case.malformed:
        done = mpiexec(f"-{name}", text, "true")
        assert done.returncode == 1 and done.stdout == "", f"-{name} '{text}': {done}"
        assert re.match(f"mpiexec: --?{name}[: ]", done.stderr) and done.stderr.count("\n") == 1, done.stderr


def test_all_options_are_here(mpiexec: Mpiexec) -> None:
    known = {name for case in CASES for name in case.names.split()} | set(INFORMING)
    assert not options_of(mpiexec("-h").stdout) - known, "options of the help text that CASES lacks"
    for name in INFORMING:
        assert mpiexec(f"-{name}").returncode == 0, name
    assert "Processes per node" in mpiexec("-ppn", "-h").stdout


@pytest.mark.parametrize(("words", "message"), PROGRAMS, ids=range(len(PROGRAMS)))
def test_commands_without_a_program(mpiexec: Mpiexec, words: list[str], message: str) -> None:
    mpiexec.refuses(words, message)


@pytest.mark.parametrize(("text", "lines"), FILES, ids=range(len(FILES)))
def test_configuration_files(mpiexec: Mpiexec, text: str, lines: list[str]) -> None:
    (mpiexec.folder / "config").write_text(text)
    done = mpiexec("-configfile", "config")
    assert sorted(done.stdout.splitlines()) == lines and done.returncode == 0, done


def test_a_configuration_file_with_too_many_words(mpiexec: Mpiexec) -> None:
    (mpiexec.folder / "config").write_text("-n 1 echo" + " x" * 1000)
    mpiexec.refuses(["-configfile", "config"], "mpiexec: -configfile: config has too many arguments")


# ---- what options ensure ------------------------------------------------------------------------------------------

# Each of them writes lines in two pieces, and the first piece when all have started.
PIECES = """
touch started.$PMI_RANK
until [ -e started.0 ] && [ -e started.1 ] && [ -e started.2 ]; do sleep 0.01; done
for i in 1 2 3 4 5 6 7 8; do printf 'first %s ' $PMI_RANK; sleep 0.01; echo "second $PMI_RANK"; done
printf 'unfinished %s' $PMI_RANK
"""


@pytest.mark.load_sensitive  # mpiexec writes the piece of a line that waits for some time
def test_lines_with_ranks_are_whole(mpiexec: Mpiexec) -> None:
    done = mpiexec("-l", "-n", "3", "/bin/sh", "-c", PIECES)
    lines = sorted(done.stdout.splitlines())
    expected = [f"[{rank}] first {rank} second {rank}" for rank in range(3)] * 8
    expected += [f"[{rank}] unfinished {rank}" for rank in range(3)]
    assert lines == sorted(expected), done.stdout


def test_a_prompt_with_a_rank_is_written(mpiexec: Mpiexec) -> None:
    """Before its line ends: the program waits until the prompt was read."""
    script = "printf 'name? '; until [ -e answered ]; do sleep 0.01; done; echo thanks"
    words = [str(mpiexec.program), "-l", "-n", "1", "/bin/sh", "-c", script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=mpiexec.folder) as job:
        assert job.stdout is not None
        assert job.stdout.read(len("[0] name? ")) == b"[0] name? "
        (mpiexec.folder / "answered").touch()
        assert job.stdout.read() == b"thanks\n"


def test_files_of_output_are_written_anew(mpiexec: Mpiexec) -> None:
    """No part of a longer existing file remains."""
    (mpiexec.folder / "out.0").write_text("a long line of an earlier job\n" * 3)
    done = mpiexec("-outfile-pattern", "out.%r", "-n", "2", "/bin/echo", "short")
    assert done.returncode == 0 and done.stdout == "", done
    assert [(mpiexec.folder / f"out.{rank}").read_text() for rank in range(2)] == ["short\n", "short\n"]


def test_a_file_of_output_that_cannot_be_opened(mpiexec: Mpiexec) -> None:
    done = mpiexec("-outfile-pattern", "missing/out.%r", "-n", "1", "/bin/echo", "stays")
    assert done.returncode == 0 and done.stdout == "stays\n", done
    assert "cannot open missing/out.0 for the output of rank 0 (No such file or directory)" in done.stderr, done
    assert "ssert" not in done.stderr, done


@pytest.mark.parametrize("option", ["genvnone", "envnone", "genvlist", "envlist"])
def test_variables_that_are_not_passed(mpiexec: Mpiexec, option: str) -> None:
    """The program is found in PATH, which it does not have."""
    (mpiexec.folder / "shows").write_text("#!/bin/sh\nexec /usr/bin/env\n")
    (mpiexec.folder / "shows").chmod(0o755)
    path = f"{mpiexec.folder}:{os.environ['PATH']}"
    names = ["KEPT"] if option.endswith("list") else []
    done = mpiexec(f"-{option}", *names, "-env", "OWN", "2", "-n", "1", "shows", LEAKED="1", KEPT="3", PATH=path)
    found = done.stdout.splitlines()
    assert done.returncode == 0 and "OWN=2" in found and any(line.startswith("PMI_RANK=") for line in found), done
    assert not [line for line in found if line.startswith(("LEAKED=", "HOME=", "XDG_"))] and f"PATH={path}" not in found
    assert ("KEPT=3" in found) == bool(names)


def test_a_folder_that_is_not_there(mpiexec: Mpiexec) -> None:
    done = mpiexec("-n", "2", "-wdir", "/no/such/folder", "true")
    assert done.returncode == 1 and done.stdout == "", done
    assert re.fullmatch(r"host \S+: unable to change to the folder /no/such/folder \(-wdir\): .*  The job ends\n", done.stderr)


def test_a_binding_that_fails(mpiexec: Mpiexec) -> None:
    """Processes continue, and report that they are not bound; an invalid binding is an error."""
    done = mpiexec("-n", "1", "-bind-to", "user:100000", "echo", "on")
    assert done.returncode == 0 and done.stdout == "on\n", done
    assert "-bind-to: process 0 of this host is not bound" in done.stderr, done
    done = mpiexec("-n", "1", "-bind-to", "nonsense", "echo", "on")
    assert done.returncode == 1 and done.stdout == "", done
    assert "the binding of -bind-to, -map-by or -membind is not possible" in done.stderr and "is lost" not in done.stderr


def test_no_pipes_of_others(mpiexec: Mpiexec) -> None:
    """A process has its own three descriptors, and none of the other processes and of its proxy."""
    done = mpiexec("-n", "3", "ls", "-l", "/proc/self/fd")
    assert done.stdout.count("pipe:") == 3 * 3, done.stdout


MANY_ADDRESSES = """
ip link set lo up
for i in $(seq 1 150); do ip addr add 10.77.0.$i/32 dev lo; done
exec "$@"
"""


def test_many_local_addresses(mpiexec: Mpiexec) -> None:
    done = mpiexec("-n", "2", "-hosts", "10.77.0.150", "echo", "on", prefix=("unshare", "-rn", "/bin/sh", "-c", MANY_ADDRESSES, "sh"))
    assert done.returncode == 0 and done.stdout == "on\non\n", done

"""Processes of the launch that end before MPI_Init, or in it: the others wait for them."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

from launcher import Bench, Result, compile_c
from support.checks import expect

# As MPI_Init, by PMI-1 or PMI-2: so many barriers of all processes.  Then the process ends so, or finalises (-); with
# "inside" it ends in the last barrier.
JOINS = """
import os, signal, socket, sys

signal.signal(signal.SIGUSR1, signal.SIG_IGN)   # as MPI, to which the proxy reports ends by it
rank = os.environ.get("PMI_RANK") or os.environ["PMI_ID"]
if "PMI_PORT" in os.environ:
    host, port = os.environ["PMI_PORT"].rsplit(":", 1)
    pmi = socket.create_connection((host, int(port))).makefile("rwb", buffering=0)
    pmi.write(f"cmd=initack pmiid={rank}\\n".encode())
    for line in range(4):
        while pmi.read(1) != b"\\n":
            pass
else:
    pmi = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)

def send(text):
    pmi.write(f"{len(text):6d}{text}".encode())

def call(text):
    send(text)
    return pmi.read(int(pmi.read(6)))

pmi.write(f"cmd=init pmi_version={sys.argv[1]} pmi_subversion={2 - int(sys.argv[1])}\\n".encode())
while pmi.read(1) != b"\\n":
    pass
open(f"{sys.argv[2]}-{rank}", "w").close()
barriers, end = int(sys.argv[3]), sys.argv[4]
if sys.argv[1] == "2":
    call(f"cmd=fullinit;pmirank={rank};threaded=FALSE;")
for barrier in range(barriers):
    if sys.argv[1] == "2":
        call("cmd=kvs-fence;")
        call(f"cmd=kvs-get;key=of_all{barrier};")
        continue
    pmi.write(b"cmd=barrier_in\\n")
    if end == "inside" and barrier == barriers - 1:
        sys.exit(3)
    while pmi.read(1) != b"\\n":
        pass
if end == "kill":
    os.kill(os.getpid(), 9)
if end != "-":
    sys.exit(int(end))
if sys.argv[1] == "1":
    pmi.write(b"cmd=finalize\\n")
    pmi.read(1)
else:
    call("cmd=finalize;")
"""


NUMBERS = itertools.count()


def script_of(bench: Bench, end: str, pmi: int = 1, barriers: int = 1, before: str = "") -> str:
    """Rank 1 of three executes `end`, which may use $joins, $ends and wait for $there; the others enter barriers."""
    script = bench.folder / "joins.py"
    script.write_text(JOINS)
    there = bench.folder / f"there{next(NUMBERS)}"
    ends = f"{sys.executable} {script} {pmi} {there}"
    variables = f"ends='{ends}'; joins='{ends} {barriers} -'; there={there}"
    return f"{variables}; test ${{PMI_RANK-$PMI_ID}} -ne 1 || {{ {end}; }}; {before} exec $joins"


def start(bench: Bench, end: str, *args: object, pmi: int = 1, barriers: int = 1, before: str = "") -> Result:
    return bench.run(*args, "-n", 3, program=["sh", "-c", script_of(bench, end, pmi, barriers, before)])


def over(bench: Bench, hosts: str) -> list[object]:
    return ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", hosts]


def job_ends(bench: Bench, result: Result, how: str, code: int, host: str = "") -> None:
    lines = result.err.splitlines()
    expect(len(lines) == 1 and result.code == code, f"exit code {result.code}, expected {code}: {result.out}{result.err}")
    named = lines[0].startswith(f"host {host}") and f"sh (rank 1) {how} before it called MPI_Init" in lines[0]
    expect(named and lines[0].endswith("The job ends"), f"it prints: {result.err}")
    bench.expect_nothing_left()


AFTER_OTHERS = "while ! test -e $there-0 || ! test -e $there-2; do sleep 0.1; done; sleep 0.3; "


def test_a_rank_exits_before_init(bench: Bench) -> None:
    """On the host of the others, beside one of them, and alone on a host; before and after the others come."""
    layouts: list[list[object]] = [[], over(bench, "aa:2,bb"), over(bench, "aa,bb,cc")]
    for code, before, layout in itertools.product((0, 3, 127), ("", AFTER_OTHERS), layouts):
        result = start(bench, f"{before}exit {code}", *layout)
        job_ends(bench, result, f"ended with exit code {code}", code or 1, "bb" if len(layout) and "cc" in str(layout[-1]) else "")
        expect((code == 127) == ("check that the program and its libraries" in result.err), f"it prints: {result.err}")


def test_options_of_the_job_do_not_matter(bench: Bench) -> None:
    """Nor does it matter where its output is."""
    all_options: list[list[object]] = [["-disable-auto-cleanup"], ["--adapt-log", bench.log], ["--adapt-range", "1:4"]]
    for options in all_options:
        job_ends(bench, start(bench, f"{AFTER_OTHERS}exit 3", *options), "ended with exit code 3", 3)
        job_ends(bench, start(bench, "exit 0", *options, *over(bench, "aa,bb")), "ended with exit code 0", 1)
    job_ends(bench, start(bench, "exec >&- 2>&-; exit 3"), "ended with exit code 3", 3)
    job_ends(bench, start(bench, "exit 3", pmi=2), "ended with exit code 3", 3)


def test_a_rank_is_killed_before_init(bench: Bench) -> None:
    """Also with -disable-auto-cleanup, when nothing else ends processes on other hosts."""
    result = start(bench, f"{AFTER_OTHERS}kill -9 $$")
    expect(result.code == 9, f"exit code {result.code}: {result.out}{result.err}")
    bench.expect_nothing_left()
    result = start(bench, "kill -9 $$", "-disable-auto-cleanup", *over(bench, "aa,bb,cc"))
    named = "host bb: sh (rank 1) was ended by signal 9 (Killed) before it called MPI_Init" in result.err
    expect(result.code == 9 and named, f"exit code {result.code}: {result.out}{result.err}")
    bench.expect_nothing_left()


# A process that begins and ends in MPI_Init, before its first barrier
BEGINS = """
import os, signal, sys, time

signal.signal(signal.SIGUSR1, signal.SIG_IGN)
while not all(os.path.exists(f"{sys.argv[1]}-{rank}") for rank in (0, 2)):
    time.sleep(0.1)
time.sleep(0.3)
pmi = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)
pmi.write(b"cmd=init pmi_version=1 pmi_subversion=1\\n")
while pmi.read(1) != b"\\n":
    pass
if sys.argv[2] == "kill":
    os.kill(os.getpid(), 9)
sys.exit(int(sys.argv[2]))
"""


def test_a_rank_ends_in_init(bench: Bench) -> None:
    """With -disable-auto-cleanup nothing else ends the others, which wait for it."""
    script = bench.folder / "begins.py"
    script.write_text(BEGINS)
    layouts: list[list[object]] = [[], over(bench, "aa,bb,cc")]
    for layout, (end, how, code) in itertools.product(layouts, (("3", "ended with exit code 3", 3), ("kill", "was ended by signal 9", 9))):
        result = start(bench, f"exec {sys.executable} {script} $there {end}", "-disable-auto-cleanup", *layout)
        named = f"sh (rank 1) {how}" in result.err and "in MPI_Init, in which the others wait for it.  The job ends" in result.err
        expect(result.code == code and named, f"exit code {result.code}: {result.out}{result.err}")
        bench.expect_nothing_left()


def test_a_rank_ends_between_barriers(bench: Bench) -> None:
    """As before, after the first barrier of MPI_Init.  A signal ends all processes of the host in any case."""
    hosts = over(bench, "aa,bb,cc")
    exits, killed = ("3", "ended with exit code 3", 3), ("kill", "was ended by signal 9", 9)
    ends: list[tuple[list[object], tuple[str, str, int]]] = [([], exits), (hosts, exits), (hosts, killed)]
    for (layout, (end, how, code)), pmi in itertools.product(ends, (1, 2)):
        result = start(bench, f"exec $ends 1 {end}", "-disable-auto-cleanup", *layout, pmi=pmi, barriers=2)
        awaited = "without MPI_Finalize, and the others wait for it in a barrier.  The job ends" in result.err
        expect(result.code == code and awaited and f"sh (rank 1) {how}" in result.err, f"exit code {result.code}: {result.err}")
        bench.expect_nothing_left()


def test_a_rank_ends_and_nobody_waits(bench: Bench) -> None:
    """After the last barrier, or in it before the others have entered it: they finalise."""
    for end, pmi in (("1 3", 1), ("1 3", 2), ("1 inside", 1)):
        before = "trap '' USR1; while ! test -e $there-1; do sleep 0.1; done; sleep 0.3;" if "inside" in end else ""
        result = start(bench, f"exec $ends {end}", "-disable-auto-cleanup", pmi=pmi, before=before)
        expect(result.code == 3 and "The job ends" not in result.err, f"exit code {result.code}: {result.err}")
        bench.expect_nothing_left()


# A process that spawns so many shells; then it waits for them (stays), or finalises.
SPAWNS = """
import os, signal, sys, time

signal.signal(signal.SIGUSR1, signal.SIG_IGN)
pmi = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)

def call(*lines):
    pmi.write("".join(f"{line}\\n" for line in lines).encode())
    while pmi.read(1) != b"\\n":
        pass

call("cmd=init pmi_version=1 pmi_subversion=1")
call("mcmd=spawn", f"nprocs={sys.argv[3]}", "execname=sh", "totspawns=1", "spawnssofar=1", "argcnt=2", "arg1=-c", f"arg2={sys.argv[1]}",
     "info_num=0", "endcmd")
if sys.argv[2] == "stays":
    time.sleep(1000)
call("cmd=finalize")
"""


# A spawned process that sends lines once PMI is connected, and ends.
ALONE = """
import os, signal, sys

signal.signal(signal.SIGUSR1, signal.SIG_IGN)
pmi = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)
pmi.write(b"cmd=init pmi_version=1 pmi_subversion=1\\n")
while pmi.read(1) != b"\\n":
    pass
pmi.write({lines})
sys.exit(3)
"""


def start_spawned(bench: Bench, script: str, then: str, *args: object, processes: int = 3) -> Result:
    spawns = bench.folder / "spawns.py"
    spawns.write_text(SPAWNS)
    return bench.run("-disable-auto-cleanup", *args, "-n", 1, program=[sys.executable, spawns, script, then, processes])


def test_a_spawned_rank_ends_between_barriers(bench: Bench) -> None:
    """The others would wait for ever, and so would the process that has spawned them.  As above, a signal ends all spawned
    processes of the host."""
    hosts = over(bench, "aa,bb,cc")
    exits, killed = ("3", "ended with exit code 3", 3), ("kill", "was ended by signal 9", 9)
    ends: list[tuple[list[object], tuple[str, str, int]]] = [([], exits), (hosts, exits), (hosts, killed)]
    for layout, (end, how, code) in ends:
        result = start_spawned(bench, script_of(bench, f"exec $ends 1 {end}", barriers=2), "stays", *layout)
        awaited = "without MPI_Finalize, and the others wait for it in a barrier.  The job ends" in result.err
        named = f"sh (rank 1 of the spawned processes) {how}" in result.err
        expect(result.code == code and awaited and named, f"exit code {result.code}: {result.err}")
        bench.expect_nothing_left()


def test_a_spawned_rank_ends_and_nobody_waits(bench: Bench) -> None:
    result = start_spawned(bench, script_of(bench, "exec $ends 1 3"), "finalises")
    expect(result.code == 3 and "The job ends" not in result.err, f"exit code {result.code}: {result.err}")
    bench.expect_nothing_left()


def test_a_spawned_process_ends_in_init(bench: Bench) -> None:
    """It is alone, and the process that has spawned it would wait for it; after MPI_Init no process waits."""
    begun = "b'cmd=adapt_init mode=begun\\n'"
    for lines, awaited in ((begun, True), (f"{begun} + b'cmd=adapt_init mode=rigid\\n'", False)):
        script = bench.folder / "alone.py"
        script.write_text(ALONE.format(lines=lines))
        result = start_spawned(bench, f"exec {sys.executable} {script}", "stays" if awaited else "finalises", processes=1)
        ends = "ended with exit code 3 in MPI_Init, in which the others wait for it.  The job ends" in result.err
        expect(result.code == 3 and ends == awaited, f"exit code {result.code}: {result.err}")
        bench.expect_nothing_left()


def test_a_library_is_missing(bench: Bench) -> None:
    """The loader exits with 127."""
    library, program = Path(bench.folder / "libmissing.so"), bench.folder / "linked"
    compile_c("int missing(void) { return 0; }", library, "-shared", "-fPIC")
    compile_c("int missing(void); int main(void) { return missing(); }", program, str(library))
    library.unlink()
    result = start(bench, f"exec {program}")
    expect(result.code == 127 and "libmissing.so" in result.err, f"exit code {result.code}: {result.err}")
    expect("(rank 1) ended with exit code 127 before it called MPI_Init" in result.err, f"it prints: {result.err}")
    bench.expect_nothing_left()


def test_a_child_may_begin_for_its_parent(bench: Bench) -> None:
    """A process ends, and its child has the connection: this is no error."""
    options: list[list[object]] = [[], ["-pmi-port"]]
    for option in options:
        result = start(bench, f"{{ {AFTER_OTHERS} exec $joins; }} & exit 0", *option)
        expect(result.code == 0 and not result.err, f"exit code {result.code}: {result.err}")
        bench.expect_nothing_left()


def test_with_a_port(bench: Bench) -> None:
    """With -pmi-port a process has no connection until it begins."""
    for before in ("", AFTER_OTHERS):
        job_ends(bench, start(bench, f"{before}exit 3", "-pmi-port"), "ended with exit code 3", 3)
        job_ends(bench, start(bench, f"{before}exit 0", "-pmi-port", *over(bench, "aa,bb,cc")), "ended with exit code 0", 1, "bb")
    job_ends(bench, start(bench, "exec >&- 2>&-; exit 3", "-pmi-port"), "ended with exit code 3", 3)
    job_ends(bench, start(bench, "sleep 1 & exit 3", "-pmi-port"), "ended with exit code 3", 3)
    job_ends(bench, start(bench, "exit 3", "-pmi-port", "--adapt-range", "1:4"), "ended with exit code 3", 3)
    job_ends(bench, start(bench, "exit 3", "-pmi-port", "-disable-auto-cleanup"), "ended with exit code 3", 3)


CONNECTS = """
import os, socket, time

host, port = os.environ["PMI_PORT"].rsplit(":", 1)
socket.create_connection((host, int(port))).close()
time.sleep(1)
ticks = open(f"/proc/{os.getppid()}/stat").read().rsplit(")", 1)[1].split()
print(int(ticks[11]) + int(ticks[12]), os.sysconf("SC_CLK_TCK"))
"""


def test_a_connection_to_the_port_without_a_word(bench: Bench) -> None:
    """The proxy does not poll it in a loop."""
    result = bench.run("-pmi-port", "-n", 1, program=[sys.executable, "-c", CONNECTS])
    used, second = map(int, result.out.split())
    expect(result.code == 0 and used < second / 2, f"the proxy has used {used} ticks of {second} in a second: {result.err}")


def test_programs_without_mpi(bench: Bench) -> None:
    """Each ends when it likes, with its code."""
    result = bench.run("-n", 3, program=["sh", "-c", "sleep 0.$PMI_RANK; echo $PMI_RANK; test $PMI_RANK -ne 1 || exit 5"])
    expect(result.code == 5 and result.out.split() == ["0", "1", "2"] and not result.err, f"{result.code}: {result.err}")
    bench.expect_nothing_left()

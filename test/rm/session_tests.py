"""Programs that change through process sets (examples/sessions) as jobs: elasticd resizes them beside a job with windows."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from daemon_under_test import Bench, Daemon, expect, wait_for
from malleable_tests import CONFIG, finish_work, no_core_is_used_twice, resize, submit_work, wait_size, work_program

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "sessions"
ENDS = ("DONE", "FAILED", "CANCELLED")


def compiled(bench: Bench, source: Path) -> Path:
    program = bench.folder / source.stem
    command: list[str | Path] = [bench.needs_mpi() / "bin/mpicc", "-O1", source, "-o", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"{source.name} does not compile: {done.stderr}")
    return program


def submit(
    daemon: Daemon, program: Path, *arguments: str, low: int = 1, high: int, psets: tuple[str, ...] = ()
) -> int:
    options = [word for name in psets for word in ("--pset", name)]
    number = daemon.submit(
        str(program), *arguments, min=low, max=high, name=program.stem, output="sets-%j.txt", mpiexec=options
    )
    wait_for("the program to be known as adaptive", lambda: daemon.job(number)["adaptive"])
    return number


def drive(daemon: Daemon, sizes: dict[int, tuple[int, ...]], changes: int) -> None:
    """Requests the sizes of each job by turns until the first job has ended; a refusal is not the end of it."""
    turns = dict.fromkeys(sizes, 0)
    first = next(iter(sizes))

    def ended() -> bool:
        for number in sizes:
            job = daemon.job(number)
            if job["state"] in ENDS:
                return number == first
            if not sizes[number]:
                continue
            wanted = sizes[number][turns[number] % len(sizes[number])]
            if job["size"] == wanted:
                turns[number] += 1
            elif not job["adaptation"]:
                daemon.post(f"/v1/jobs/{number}/resize", size=wanted)
        return False

    wait_for(f"job {first} to end", ended, limit_s=120 + 10 * changes)


def check(daemon: Daemon, number: int, changes: int) -> None:
    job = daemon.job(number)
    text = Path(job["output"]).read_text() if Path(job["output"]).exists() else "(no output)"
    expect(job["state"] == "DONE", f"job {number}: {json.dumps(job)}\n{text[-2000:]}")
    expect("3.14159" in text and f"{changes} changes" in text, f"job {number} prints {text[-500:]}")
    expect(job["counts"]["committed"] >= changes, f"counts: {job}")
    known = job["set_changes"]
    expect(known["told"] >= known["accepted"] >= changes and known["declined"] == 0, f"reported and answered (SM3): {known}")
    stages = [record["event"] for record in daemon.records(job=number)]
    expect(stages.count("accepted") == known["accepted"] and stages.count("told") == known["told"], f"records: {stages}")


def beside_windows(
    bench: Bench, source: str, changes: int, config: str = CONFIG, **submitted: Any
) -> tuple[Daemon, int, int, int]:
    """Daemon, the job of `source` with so many changes, another one with windows, and the changes; with --full 200 of them."""
    windows_program = work_program(bench)
    program = compiled(bench, EXAMPLES / source)
    daemon = bench.start(config=config, nodes=2, cores=4)
    windows = submit_work(daemon, windows_program, "windows", 1, 2)
    changes = 200 if bench.full else changes
    return daemon, submit(daemon, program, str(changes), **submitted), windows, changes


def finish(daemon: Daemon, number: int, windows: int, changes: int) -> None:
    check(daemon, number, changes)
    no_core_is_used_twice(daemon)
    resize(daemon, windows, 1)
    wait_size(daemon, windows, 1, 1)
    finish_work(daemon, windows)


def resized_beside_windows(bench: Bench, source: str, changes: int, **submitted: Any) -> None:
    """SM1: elasticd resizes both jobs by turns."""
    daemon, number, windows, changes = beside_windows(bench, source, changes, **submitted)
    drive(daemon, {number: (1, 3, 2), windows: (1, 2)}, changes)
    finish(daemon, number, windows, changes)


def a_job_in_the_style_of_libmpidynres_is_resized(bench: Bench) -> None:
    resized_beside_windows(bench, "dynres_loop.c", 6, high=3)


def a_job_in_the_style_of_the_proposal_is_resized(bench: Bench) -> None:
    resized_beside_windows(bench, "proposal_loop.c", 6, high=3, psets=("app://main",))


def a_job_in_the_style_of_v2a_is_resized(bench: Bench) -> None:
    """A change by elasticd is an operation that the program has not requested."""
    resized_beside_windows(bench, "v2a_loop.c", 12, high=6)


def a_job_in_the_style_of_v2a_requests_processes(bench: Bench) -> None:
    """SC6: the program wants other sizes all the time, and elasticd grants them, however seldom it changes others."""
    config = CONFIG.replace('offer_pause = "200ms"', 'offer_pause = "10m"')
    daemon, number, windows, changes = beside_windows(bench, "v2a_loop.c", 6, config, high=6)
    drive(daemon, {number: (), windows: (1, 2)}, changes)
    finish(daemon, number, windows, changes)


def refused_at_once(daemon: Daemon, number: int) -> list[dict]:
    """The ends of its size requests so far, all of which elasticd has refused when it learnt of them."""
    records = daemon.records(job=number)
    made = {record["data"]["wish"]: record for record in records if record["event"] == "wished"}
    ends = [record for record in records if record["event"] == "wish_ended"]
    for end in ends:
        made_by = made[end["data"]["wish"]]
        expect(made_by["data"]["waits"] and end["data"]["result"] == "refused", f"{made_by}, {end}")
        expect(made_by["time_ms"] == end["time_ms"], f"it has to wait: {made_by}, {end}")
    return [end["data"] for end in ends]


def a_job_in_the_style_of_v2a_goes_on_where_no_core_is_free(bench: Bench) -> None:
    """SC6: a request without a free core is refused at once, and the program continues; it gets a core once one is
    free."""
    windows_program = work_program(bench)
    program = compiled(bench, EXAMPLES / "v2a_loop.c")
    daemon = bench.start(config=CONFIG, nodes=1, cores=2)
    windows = submit_work(daemon, windows_program, "windows", 1, 1)
    number = submit(daemon, program, "2", high=2, psets=("app://all",))
    output = Path(daemon.job(number)["output"])
    command: list[str | Path] = [daemon.programs.elasticd.parent / "elastic", "psets", f"job:{number}", "--json"]
    environment = {**os.environ, "ELASTICD_SOCKET": str(daemon.socket)}
    listed = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    expect(listed.returncode == 0 and "app://all" in listed.stdout, f"elastic psets: {listed}")
    wait_for("it to go on", lambda: output.exists() and output.read_text().count("1 processes") >= 3)
    expect(daemon.job(number)["counts"]["committed"] == 0, f"there is no core for it: {daemon.job(number)}")
    ends = refused_at_once(daemon, number)
    expect(len(ends) >= 2 and ends[0]["reason"] == "no cores are free for more than 1 processes", f"why: {ends}")
    finish_work(daemon, windows)
    daemon.wait_end(number)
    check(daemon, number, 2)


LEAVES_ALONE = """
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Group world;
    MPI_Info info;
    int rank, dynamic, type, tag, flag;
    char delta[MPI_MAX_PSET_NAME_LEN];

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Group_rank(world, &rank);
    MPI_Group_free(&world);
    MPIX_Session_get_default_pset(session, delta, &dynamic);
    MPIX_Session_rc_test(session, NULL, &flag);
    while (access(argv[rank == 1 && !dynamic ? 1 : 2], F_OK) < 0) {
        usleep(10000);
        if (rank > 0 || dynamic)
            continue;
        MPIX_Session_rc_get(session, NULL, &type, delta, &tag, &info);
        if (type != MPIX_RC_NONE) {
            MPIX_Session_rc_accept(session, tag, MPI_INFO_NULL);
            MPI_Info_free(&info);
        }
    }
    MPI_Session_finalize(&session);
    return 0;
}
"""


def a_process_ends_by_itself_and_its_core_is_free(bench: Bench) -> None:
    """SL1, SM1: the job grows again, and a leaving process is then named by the rank that it has then."""
    source = bench.folder / "leaves_alone.c"
    source.write_text(LEAVES_ALONE)
    program = compiled(bench, source)
    daemon = bench.start(config=CONFIG, nodes=1, cores=4)
    alone, stop = daemon.folder / "alone", daemon.folder / "stop"
    number = submit(daemon, program, str(alone), str(stop), low=2, high=3)
    before = wait_size(daemon, number, 3, 3)
    alone.touch()

    def left() -> list[dict]:
        return [record for record in daemon.records(job=number) if record["event"] == "left"]

    wait_for("the end of a process to be known", left)
    expect([record["data"]["size"] for record in left()] == [2], f"records: {left()}")
    no_core_is_used_twice(daemon)
    wait_for("its slot to be taken", lambda: daemon.job(number)["epoch"] == before["epoch"] + 2)
    wait_size(daemon, number, 3, 3)
    stop.touch()
    job = daemon.wait_end(number)
    expect(job["state"] == "DONE", f"job {number}: {json.dumps(job)}")

"""`elastic alloc`: a command at the terminal has the cores of a job, and each of both ends with the other."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from daemon_under_test import WAIT_S, Bench, Daemon, expect, wait_for
from support import procfs

FOLDER = "elastic-alloc-"


def start(bench: Bench) -> Daemon:
    bench.needs_mpi()
    daemon = bench.start(nodes=2, cores=2)
    (bench.folder / "run").mkdir(mode=0o700)
    return daemon


def alloc(daemon: Daemon, *words: str, pipe: bool = False) -> subprocess.Popen[str]:
    environment = os.environ | {"ELASTICD_SOCKET": str(daemon.socket), "XDG_RUNTIME_DIR": str(daemon.folder / "run")}
    program = daemon.programs.elasticd.parent / "elastic"
    return subprocess.Popen(
        [program, "alloc", *words], cwd=daemon.folder, env=environment, text=True,
        stdin=subprocess.PIPE if pipe else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def nothing_is_left(daemon: Daemon) -> None:
    left = list((daemon.folder / "run").glob(FOLDER + "*"))
    expect(not left, f"folders are left: {left}")
    wait_for("all cores to be free", lambda: not any(node["cores_used"] for node in daemon.get("/v1/nodes").body["nodes"]))


def a_command_uses_the_cores_of_its_job(bench: Bench) -> None:
    daemon = start(bench)
    text = "mpiexec sh -c 'echo of mpiexec'; srun -n 2 sh -c 'echo rank $SLURM_PROCID'; echo job $SLURM_JOB_ID; pwd; exit 7"
    with alloc(daemon, "-n", "3", "sh", "-c", text) as process:
        output, errors = process.communicate(timeout=WAIT_S)
    lines = output.splitlines()
    expect(process.returncode == 7, f"the command's exit code: {process.returncode} {errors}")
    expect(lines.count("of mpiexec") == 3 and {"rank 0", "rank 1", "job 1", str(daemon.folder)} <= set(lines), f"{lines} {errors}")
    expect("job 1 has 3 processes on" in errors and "it ends with sh" in errors, errors)
    job = daemon.job(1)
    expect(job["state"] == "DONE" and job["size"] == 3, f"the job has ended before the command returns: {job}")
    nothing_is_left(daemon)


def a_shell_reads_this_input(bench: Bench) -> None:
    """Without a command it is $SHELL; -q prints nothing of its own."""
    daemon = start(bench)
    with alloc(daemon, "-q", "-n", "1", pipe=True) as process:
        output, errors = process.communicate("echo in job $ELASTIC_JOB_ID\nexit 3\n", timeout=WAIT_S)
    expect((process.returncode, output, errors) == (3, "in job 1\n", ""), f"{process.returncode} {output!r} {errors!r}")


def the_command_ends_with_its_job(bench: Bench) -> None:
    daemon = start(bench)
    with alloc(daemon, "-n", "1", "sh", "-c", "touch up; exec sleep 1000") as process:
        wait_for("the command", lambda: (daemon.folder / "up").exists())
        daemon.post("/v1/jobs/1/cancel")
        _, errors = process.communicate(timeout=WAIT_S)
    expect(process.returncode == 128 + signal.SIGHUP and "job 1 has ended: CANCELLED" in errors, f"{process.returncode} {errors}")
    nothing_is_left(daemon)


def the_job_ends_with_the_terminal(bench: Bench) -> None:
    """Also if `elastic alloc` is killed: the cores are released without a command."""
    daemon = start(bench)
    with alloc(daemon, "-n", "4", "sh", "-c", "echo $$ >up; exec sleep 1000") as process:
        wait_for("the command", lambda: (daemon.folder / "up").exists() and (daemon.folder / "up").read_text())
        process.kill()
        expect(daemon.wait_end(1)["state"] == "DONE", "the job ends")
        command = int((daemon.folder / "up").read_text())
        if Path(f"/proc/{command}").exists():
            os.kill(command, signal.SIGKILL)
    for folder in (daemon.folder / "run").glob(FOLDER + "*"):
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()


def processes(program: Path) -> dict[int, str]:
    """Their states; of those, too, that have not begun with their program yet, and are children of a proxy of mpiexec."""
    stats = {pid: stat for pid in procfs.pids() if (stat := procfs.stat(pid))}
    parents = {pid: int(stat[1]) for pid, stat in stats.items()}
    launchers = {pid for pid in stats if procfs.words(pid)[-2:-1] == [str(program)] and procfs.name(pid) == "mpiexec"}
    proxies = {pid for pid in stats if parents[pid] in launchers}
    return {pid: stat[0] for pid, stat in stats.items() if parents[pid] in proxies}


def a_suspended_allocation_stops_its_steps(bench: Bench) -> None:
    """Its shell continues, as that of salloc; a step that it starts meanwhile stops, too."""
    daemon = start(bench)
    early, late = daemon.folder / "early", daemon.folder / "late"
    for program in (early, late):
        program.symlink_to("/bin/sleep")

    def wait_states(program: Path, state: str) -> None:
        wait_for(f"{program.name} to be in state {state}", lambda: list(processes(program).values()) == [state, state])

    text = f"mpiexec {early} 1000 & until [ -e go ]; do sleep 0.1; done; mpiexec {late} 1000 & wait"
    with alloc(daemon, "-n", "2", "sh", "-c", text) as process:
        wait_states(early, "S")
        wait_for("its elastic-stepd to be connected", lambda: daemon.post("/v1/jobs/1/suspend").status == 200)
        wait_states(early, "T")
        (daemon.folder / "go").touch()
        wait_states(late, "T")
        expect(daemon.post("/v1/jobs/1/resume").status == 200, "resume")
        for program in (early, late):
            wait_states(program, "S")
        for program in (early, late):  # mpiexec ends the other one
            os.kill(min(processes(program)), signal.SIGTERM)
        process.communicate(timeout=WAIT_S)
    expect(daemon.job(1)["state"] == "DONE", f"its job: {daemon.job(1)}")
    nothing_is_left(daemon)


def an_interrupt_cancels_a_job_that_waits(bench: Bench) -> None:
    daemon = start(bench)
    first = daemon.submit("sleep", "1000", min=4)
    daemon.wait_state(first, "RUNNING")
    with alloc(daemon, "-n", "2", "true") as process:
        assert process.stderr
        line = process.stderr.readline()  # it knows its job now
        expect("job 2 waits for its cores" in line, line)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=WAIT_S)
    expect(process.returncode == 128 + signal.SIGINT, f"{process.returncode} {errors}")
    expect(daemon.wait_end(first + 1)["state"] == "CANCELLED", "it is cancelled")
    daemon.post(f"/v1/jobs/{first}/cancel")
    daemon.wait_end(first)
    nothing_is_left(daemon)


def a_job_that_cannot_be_has_no_command(bench: Bench) -> None:
    daemon = start(bench)
    for words, code, text in (
        (("-n", "99", "touch", "ran"), 1, "99"), (("-a", "1-3", "touch", "ran"), 2, "--array"), (("-n", "x", "touch", "ran"), 2, "x"),
        (("-n", "1", "./nothing"), 1, "./nothing"),
    ):  # fmt: skip
        with alloc(daemon, *words) as process:
            _, errors = process.communicate(timeout=WAIT_S)
        expect(process.returncode == code and text in errors, f"{words}: {process.returncode} {errors}")
    expect(not (daemon.folder / "ran").exists(), "the command has run")
    nothing_is_left(daemon)

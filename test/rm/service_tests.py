"""elasticd and its steps as services of systemd."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from daemon_under_test import Bench, processes_of
from support import procfs
from support.checks import expect, wait_for
from systemd_under_test import UNITS, Systemd, installed_units


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def program_of(folder: Path, words: str) -> int:
    """The process of a job whose command line is this."""
    found = [pid for pid in processes_of(folder) if " ".join(procfs.words(pid)) == words]
    return found[0] if found else 0


def each_step_is_a_service_and_outlives_elasticd(bench: Bench) -> None:
    with Systemd(bench) as systemd:
        daemon = systemd.daemon
        number = daemon.submit("sleep", "1234")
        daemon.wait_state(number, "RUNNING")
        steps = wait_for("the service of the step", systemd.steps)
        expect(len(steps) == 1, f"services of steps: {steps}")
        shown = systemd.systemctl("show", "--property=StatusText", "--value", steps[0]).strip()
        expect(shown == f"job {number}, step 1, user root", f"its status is {shown!r}")

        pid = wait_for("the program", lambda: program_of(systemd.folder, "sleep 1234"))
        group = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8")
        expect(f"{steps[0]}/steps/{number}.1" in group, f"its control group: {group}")
        program, own = status_of(pid), status_of(systemd.main_pid("elasticd"))
        expect(program["Seccomp"] == "0" and own["Seccomp"] == "2", "elasticd has a filter of system calls, a job has none")
        expect(int(own["CapBnd"], 16).bit_count() == 6, f"rights of elasticd: {own['CapBnd']}")
        expect(program["CapBnd"] == status_of(systemd.pid)["CapBnd"], f"rights of a job: {program['CapBnd']}")

        systemd.systemctl("restart", "elasticd")
        wait_for("elasticd to answer", daemon_answers(systemd))
        expect(daemon.job(number)["state"] == "RUNNING", "the job goes on over a restart")
        expect(program_of(systemd.folder, "sleep 1234") == pid, "as the same process")
        daemon.post(f"/v1/jobs/{number}/cancel")
        expect(daemon.wait_end(number)["state"] == "CANCELLED", "and can be cancelled")
        wait_for("its service to go", lambda: not systemd.steps())
        wait_for("its folder to go", lambda: not list((daemon.state / "steps").glob("*")))


def daemon_answers(systemd: Systemd) -> Callable[[], bool]:
    def answers() -> bool:
        try:
            return systemd.daemon.get("/healthz").status == 200
        except OSError:
            return False

    return answers


def a_stopped_service_of_a_step_requeues_its_job(bench: Bench) -> None:
    """As at a shutdown, where systemd stops all services."""
    with Systemd(bench) as systemd:
        daemon = systemd.daemon
        number = daemon.submit("sleep", "1234", requeue=True)
        daemon.wait_state(number, "RUNNING")
        [step] = wait_for("the service of the step", systemd.steps)
        systemd.systemctl("stop", step)
        wait_for("another step", lambda: systemd.steps() not in ([], [step]))
        daemon.wait_state(number, "RUNNING")
        daemon.post(f"/v1/jobs/{number}/cancel")
        expect(daemon.wait_end(number)["state"] == "CANCELLED", "cancelled")


HIDE = "setsid sh -c 'exec env -i sleep 4321' </dev/null >/dev/null 2>&1 & exec sleep 1234"


def a_killed_stepd_takes_the_whole_step_along(bench: Bench) -> None:
    with Systemd(bench) as systemd:
        daemon = systemd.daemon
        number = daemon.submit("sh", "-c", HIDE)
        daemon.wait_state(number, "RUNNING")
        hidden = wait_for("the hidden process", lambda: program_of(systemd.folder, "sleep 4321"))
        [step] = systemd.steps()
        systemd.kill(step)
        expect(daemon.wait_end(number)["state"] == "FAILED", "the end of the job")
        wait_for("the end of the hidden process", lambda: procfs.has_ended(hidden))
        wait_for("its service to go", lambda: not systemd.steps())
        other = daemon.submit("true")
        expect(daemon.wait_end(other)["state"] == "DONE", "the next job")


def without_the_socket_no_step_starts_and_the_reason_names_it(bench: Bench) -> None:
    daemon = bench.start("--start-socket", str(bench.folder / "none.sock"))
    number = daemon.submit("true")
    job = wait_for("the failed start", lambda: "none.sock" in str(daemon.job(number)) and daemon.job(number))
    expect("elastic-step.socket" in str(job), f"the reason names the unit: {job}")
    daemon.post(f"/v1/jobs/{number}/cancel")
    daemon.wait_end(number)


def the_units_are_correct_and_elasticd_is_confined(bench: Bench) -> None:
    units = installed_units(bench)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(units / unit) for unit in UNITS)], capture_output=True, text=True
    )
    own = [line for line in done.stderr.splitlines() if "elastic" in line]
    expect(not own, f"systemd-analyze verify: {own}")
    rating = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=40", str(units / "elasticd.service")],
        capture_output=True, text=True,
    )
    expect(rating.returncode == 0, f"the exposure of elasticd is above 4.0: {rating.stdout.splitlines()[-1:]}{rating.stderr}")

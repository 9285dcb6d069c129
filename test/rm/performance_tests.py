"""elasticd's data about the use of time by jobs: real programs under a real mpiexec, and steps that send false data."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from daemon_under_test import Bench, Daemon, expect, wait_for
from hostile_tests import cut_off, hostile, metric
from malleable_tests import resize, wait_size

PHASES = Path(__file__).resolve().parents[2] / "bench" / "phases" / "phases.c"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROGRAMS = Path(__file__).resolve().parents[1] / "elastic" / "programs"
CONFIG = '[scheduling]\npolicy = "easy"\n[monitor]\ninterval = "1s"\n'  # no sizes but those that a test requests


def heat2d(bench: Bench) -> Path:
    mpi = bench.needs_mpi()
    program = bench.folder / "heat2d"
    sources = [path for path in sorted((EXAMPLES / "heat2d").glob("*.c")) if path.name != "scene_main.c"]
    command: list[str | Path] = [mpi / "bin/mpicc", "-O2", "-std=gnu11", "-DHAVE_ADAPT_DATA", *sources, "-o", program, "-ladapt_data", "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"heat2d does not compile: {done.stderr}")
    return program


def submit_heat2d(daemon: Daemon, program: Path, size: int) -> int:
    options = ["--size", "256x256", "--iterations", "2000000000", "--probe-every", "5", "--quiet"]
    number = daemon.submit(str(program), *options, min=1, max=size, kind="malleable", name="heat2d", output="heat2d-%j.txt")
    daemon.wait_state(number, "RUNNING")
    wait_for("the program to be known as adaptive", lambda: daemon.job(number)["adaptive"])
    return number


def performance(daemon: Daemon, number: int, epoch: int) -> dict[str, Any]:
    """Once enough is known of this epoch."""

    def known() -> dict[str, Any] | None:
        job = daemon.job(number)
        expect(job["state"] in ("RUNNING", "ADAPTING"), f"job {number}: {json.dumps(job)}")
        now = job["performance"]
        return now if now and now["epoch"] == epoch and now["has_data"] else None

    return wait_for(f"job {number} to be measured in epoch {epoch}", known)


def loops(daemon: Daemon, number: int, **query: int) -> dict[str, Any]:
    reply = daemon.get(f"/v1/jobs/{number}/loops", **query)
    expect(reply.status == 200, f"loops of job {number}: {reply.status} {reply.body}")
    return reply.body


def elastic(bench: Bench, daemon: Daemon, *words: str) -> str:
    command: list[str | Path] = [bench.programs.elasticd.parent / "elastic", *words]
    done = subprocess.run(command, env={"ELASTICD_SOCKET": str(daemon.socket)}, capture_output=True, text=True, check=False, timeout=60)
    expect(done.returncode == 0, f"elastic {' '.join(words)}: {done.returncode} {done.stderr}")
    return done.stdout


def cancel(daemon: Daemon, number: int) -> dict[str, Any]:
    daemon.post(f"/v1/jobs/{number}/cancel")
    return daemon.wait_end(number)


def a_job_is_measured_at_each_of_its_sizes(bench: Bench) -> None:
    program = heat2d(bench)
    daemon = bench.start(config=CONFIG, nodes=1, cores=4)
    number = submit_heat2d(daemon, program, 2)
    known = performance(daemon, number, 0)
    expect(known["size"] == 2 and known["phase"] == "probe" and known["samples"] >= 2, f"performance: {known}")
    expect(0 <= known["ratio_min"] <= known["mpi_share"] <= known["ratio_max"] <= 1, f"shares: {known}")
    expect(known["per_second"] > 0 and known["iteration_us"] > 0, f"progress: {known}")
    expect(abs(known["mtct"] - known["mpi_share"] / (1 - known["mpi_share"])) < 1e-3 * (1 + known["mtct"]), f"MTCT: {known}")

    answer = loops(daemon, number, max_age_ms=1000)
    expect(answer["available"] and answer["size"] == answer["processes"] == 2, f"loops: {answer}")
    probe = answer["loops"][0]
    expect(probe["key"] == "probe" and probe["ranks"] == "0-1" and len(probe["slowest"]) == 2, f"the loop that probes: {probe}")
    expect(all(rank["host"] for rank in probe["slowest"]), f"ranks have hosts: {probe}")
    inner = wait_for("the loop of sweeps", lambda: [loop for loop in loops(daemon, number, max_age_ms=1000)["loops"]
                                                   if loop["parent"] == "probe" and loop["processes"] == 2])  # fmt: skip
    expect("heat2d+0x" in inner[0]["name"] and "p2p" in inner[0]["items"], f"the loop of sweeps: {inner}")

    resize(daemon, number, 1)
    wait_size(daemon, number, 1, 1)
    alone = performance(daemon, number, 1)
    expect(alone["size"] == 1, f"after a commit: {alone}")
    sizes = [interval["size"] for interval in loops(daemon, number)["history"]]
    expect(sizes[0] == 2 and sizes[-1] == 1 and sizes == sorted(sizes, reverse=True), f"history: {sizes}")

    daemon.kill()
    daemon.start()
    before = daemon.job(number)["performance"]
    expect(before and before["epoch"] == 1 and before["samples"] >= alone["samples"], f"after a restart: {before}")
    wait_for("samples after a restart", lambda: daemon.job(number)["performance"]["samples"] > before["samples"])
    wait_for("a sample to be counted", lambda: metric(daemon, 'elasticd_samples_total{result="taken"}') > 0)
    expect(metric(daemon, "elasticd_cores_measured") == 1, "the metric of measured cores")
    stored = metric(daemon, 'elasticd_events_total{event="step_sampled"}')
    for _ in range(200):
        loops(daemon, number)  # a query causes no events
    text = elastic(bench, daemon, "loops", f"job:{number}")
    expect(text.startswith(f"job {number}: 1 processes, ") and "loop that probes, ranks 0: " in text, text)
    text = elastic(bench, daemon, "show", str(number))
    expect(" probes a second" in text.split("Progress=")[1].splitlines()[0], text)
    expect(" by rank" in text.split("MpiShare=")[1].splitlines()[0], text)
    expect(metric(daemon, 'elasticd_events_total{event="step_sampled"}') <= stored + 20, "looking costs no events")

    job = cancel(daemon, number)
    expect(job["performance"]["epoch"] == 1, f"of an ended job: {job}")
    answer = loops(daemon, number)
    expect(not answer["available"] and answer["reason"] == "the job has ended" and answer["history"], f"of an ended job: {answer}")


def sizes_of(daemon: Daemon, number: int) -> list[int]:
    """That it has had, the first one included."""
    records = daemon.get(f"/v1/jobs/{number}/records", limit=10000).body["records"]
    return [record["data"]["size"] for record in records if record["event"] in ("started", "committed")]


def compile_phases(bench: Bench, name: str, *words: str) -> Path:
    mpi = bench.needs_mpi()
    command: list[str | Path] = [mpi / "bin/mpicc", "-O2", "-std=gnu11", PHASES, "-o", bench.folder / name, *words, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"phases does not compile: {done.stderr}")
    return bench.folder / name


def submit_phases(daemon: Daemon, program: Path, options: str, **fields: Any) -> int:
    number = daemon.submit(str(program), "-i", "1000000", *options.split(), kind="malleable", **fields)
    wait_for(f"job {number} to be known as adaptive", lambda: daemon.job(number)["adaptive"])
    return number


def cores_go_to_who_computes(bench: Bench) -> None:
    """SPEC-performance G, figure 14.7, and SPEC-epop C8: a law as Gauss' gives half again and again, one as Cannon's grows from
    square to square, one in between is let alone; by hand and as phases."""
    by_hand = compile_phases(bench, "by_hand")
    phases = compile_phases(bench, "phases", "-DPHASES_EPOP", "-lepop", "-ladapt_data")
    # a busy machine wakes processes late: limits far from what they make of that
    limits = 'policy = "efficient"\nmtct_lower = 0.1\nmtct_upper = 0.3\n'
    daemon = bench.start(config=CONFIG.replace('policy = "easy"\n', limits), nodes=1, cores=21)
    gauss = submit_phases(daemon, phases, "-w 800 -m linear:0.2", min=2, max=8, preferred=8, sizes={"rule": "power_of_two"})
    cannon = submit_phases(daemon, by_hand, "-w 1800 -m 0.01", min=9, max=16, preferred=9, sizes={"rule": "square"})
    between = submit_phases(daemon, by_hand, "-w 300 -m 0.2", min=1, max=3, preferred=3)
    wanted = {gauss: [8, 4, 2], cannon: [9, 16], between: [3]}
    for number, sizes in wanted.items():
        wait_for(f"job {number} to come to {sizes}", lambda: sizes_of(daemon, number) == sizes)
    samples = daemon.job(between)["performance"]["samples"]
    wait_for("more samples", lambda: daemon.job(between)["performance"]["samples"] > samples + 3)
    for number, sizes in wanted.items():
        expect(sizes_of(daemon, number) == sizes, f"job {number}: {sizes_of(daemon, number)} instead of {sizes}")
        cancel(daemon, number)


def cores_go_from_gauss_to_cannon(bench: Bench) -> None:
    """SPEC-epop C8, the case studies themselves: elimination in a small system, whose time is spent in MPI, repeatedly
    gives half of its cores, and multiplication, which waits between its shifts, takes them as soon as they make a
    square."""
    mpi = bench.needs_mpi()
    archives = {name: bench.folder / f"{name}.epop" for name in ("gauss", "cannon")}
    command: list[str | Path] = ["make", "-s", "-C", EXAMPLES, f"MPICC={mpi / 'bin/mpicc'}", f"MPIFC={mpi / 'bin/mpifort'}", f"BUILD={bench.folder}"]
    done = subprocess.run([*command, *archives.values()], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"the case studies do not compile: {done.stderr}")
    limits = 'policy = "efficient"\nmtct_lower = 0.1\nmtct_upper = 0.3\n'
    daemon = bench.start(config=CONFIG.replace('policy = "easy"\n', limits), nodes=1, cores=18)

    def submit(name: str, *options: str, **fields: Any) -> int:
        return daemon.submit(str(mpi / "bin/epop"), str(archives[name]), *options, kind="malleable", **fields)

    gauss = submit("gauss", "--size", "200", "--systems", "1000000", min=2, max=8, preferred=8, sizes={"rule": "power_of_two"})
    cannon = submit("cannon", "--sleep", "20000", "--multiplications", "1000000", min=9, max=16, preferred=9, sizes={"rule": "square"})
    for number, sizes in {gauss: [8, 4, 2], cannon: [9, 16]}.items():
        wait_for(f"job {number} to come to {sizes}", lambda: sizes_of(daemon, number) == sizes, limit_s=240)
    for number in (gauss, cannon):
        cancel(daemon, number)


def come_to_rest(daemon: Daemon, program: Path, work: str, quiet_s: int) -> tuple[dict[int, int], list[dict[str, Any]]]:
    """The three jobs, with the sizes that they are to have, and the requests to them.  They begin together, when
    another job ends."""
    before = daemon.submit("sleep", "1000", min=16, max=16)
    daemon.wait_state(before, "RUNNING")
    wanted = {}
    for most, size in [(2, 2), (6, 6), (16, 8)]:
        options = ["-i", "1000000", "-w", work, "-m", "0.02", "-s", str(most)]
        wanted[daemon.submit(str(program), *options, kind="malleable", min=1, max=16)] = size
    cancel(daemon, before)

    def requests() -> list[dict[str, Any]]:
        records = [daemon.get(f"/v1/jobs/{number}/records", limit=10000).body["records"] for number in wanted]
        return [record for each in records for record in each if record["event"] == "requested"]

    def at_rest() -> bool:
        jobs = {number: daemon.job(number) for number in wanted}
        measured = [job["performance"]["samples"] if job["performance"] else 0 for job in jobs.values()]
        last_ms = max((record["time_ms"] for record in requests()), default=0)
        return min(measured) >= quiet_s / 2 and time.time() * 1000 - last_ms >= quiet_s * 1000

    wait_for(f"no request for {quiet_s} s", at_rest, limit_s=900)
    return wanted, requests()


def cores_go_to_who_can_use_them(bench: Bench) -> None:
    """Issue 15, policy measured: three programs become faster with up to 2, up to 6 and all processes, which MPI time
    does not show. Each gets to within one process of the size that maximises the product of all speeds on 16 cores (2,
    6, and the rest), in at most 8 changes of each, and then no change is requested for half a minute; --full: for
    two."""
    quiet_s = 120 if bench.full else 30
    program = compile_phases(bench, "scales_to")
    config = CONFIG.replace('policy = "easy"\n', 'policy = "measured"\n')
    daemon = bench.start(config=config, nodes=1, cores=16)
    wanted, requests = come_to_rest(daemon, program, "1200", quiet_s)
    changes = {number: sizes_of(daemon, number) for number in wanted}
    expect(all(abs(changes[number][-1] - size) <= 1 for number, size in wanted.items()), f"sizes near {wanted}: {changes}")
    expect(all(len(sizes) - 1 <= 8 for sizes in changes.values()), f"few changes: {changes}")
    trials = [record["data"] for record in requests if (record["data"]["why"] or {}).get("trial")]
    expect(trials, f"nothing has been tried: {changes}")
    for trial in trials:
        expect("trial: no measurement shows" in trial["reason"] and trial["why"]["for"][0] in wanted, f"a trial: {trial}")
    text = elastic(bench, daemon, "show", str(min(wanted)))
    expect("processes: twice as many are expected to be " in text, text)
    for number in wanted:
        cancel(daemon, number)


def a_program_is_known_in_its_next_run(bench: Bench) -> None:
    """Issue 15: measurements are stored per user, program and arguments, also by an elasticd that was killed."""
    program = compile_phases(bench, "known")
    measuring = CONFIG.replace('policy = "easy"\n', 'policy = "measured"\n')
    daemon = bench.start(config=measuring, nodes=1, cores=4)
    options = {"min": 2, "max": 4, "preferred": 2}
    first = submit_phases(daemon, program, "-w 100 -m 0.05", **options)
    performance(daemon, first, 0)
    cancel(daemon, first)
    daemon.kill()
    daemon.config.write_text(measuring.replace('"1s"', "0"))  # nothing is measured any more
    daemon.start()
    again = submit_phases(daemon, program, "-w 100 -m 0.05", **options)
    other = submit_phases(daemon, program, "-w 101 -m 0.05", min=1, max=2)
    expect(re.search(r"\d sizes? measured", daemon.job(again)["why"]), f"the same: {daemon.job(again)['why']}")
    expect("its speed is not known" in daemon.job(other)["why"], f"other arguments: {daemon.job(other)['why']}")
    expect(daemon.job(again)["performance"] is None and not loops(daemon, again)["history"], "it has not been measured itself")
    cancel(daemon, again)
    cancel(daemon, other)


def query_step(path: str) -> dict[str, Any]:
    """The step itself, past elasticd."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(path)
        connection.sendall(b'{"id":1,"op":"performance"}\n')
        return json.loads(connection.makefile().readline())


def switched_off_nothing_is_measured(bench: Bench) -> None:
    program = heat2d(bench)
    daemon = bench.start(config=CONFIG.replace('"1s"', "0"), nodes=1, cores=4)
    number = submit_heat2d(daemon, program, 2)
    path = daemon.job(number)["step_socket"]
    wait_for("the processes to measure nothing", lambda: (answer := query_step(path))["available"] and not answer["loops"])
    before = query_step(path)["progress"]["probes"]
    wait_for("progress, which costs nothing", lambda: query_step(path)["progress"]["probes"] > before)
    answer = loops(daemon, number, max_age_ms=1000)
    expect(not answer["available"] and "monitor.interval" in answer["reason"], f"loops: {answer}")
    expect(daemon.job(number)["performance"] is None, "nothing is known")
    expect(metric(daemon, 'elasticd_events_total{event="step_sampled"}') == 0, "no event")
    cancel(daemon, number)


def a_rigid_job_reports_why_nothing_is_known(bench: Bench) -> None:
    mpi = bench.needs_mpi()
    source, program = bench.folder / "rigid.c", bench.folder / "rigid"
    source.write_text("#include <mpi.h>\n#include <unistd.h>\nint main(void) { MPI_Init(0, 0); sleep(1000); MPI_Finalize(); }\n")
    subprocess.run([mpi / "bin/mpicc", source, "-o", program], check=True)
    daemon = bench.start(config=CONFIG, nodes=1, cores=4)
    waiting = daemon.submit("true", held=True)
    expect(loops(daemon, waiting)["reason"] == "the job does not run yet", "a waiting job")
    number = daemon.submit(str(program))
    wait_for("it to be known as rigid", lambda: daemon.job(number)["adaptive"] is False)
    answer = loops(daemon, number, max_age_ms=1000)
    expect(not answer["available"] and "rigid" in answer["reason"] and answer["performance"] is None, f"loops: {answer}")
    expect(daemon.get(f"/v1/jobs/{number}/loops", max_age_ms=1).error() == "field", "an age that cannot be had")
    expect(daemon.get("/v1/jobs/77/loops").status == 404, "no such job")
    cancel(daemon, number)
    cancel(daemon, waiting)


def a_job_in_a_rigid_phase_is_left_alone(bench: Bench) -> None:
    """SPEC-epop M4: also in one without a condition, and before anything is measured."""
    mpi, archive = bench.needs_mpi(), bench.folder / "epop_measured"
    sources = [PROGRAMS / "epop_measured.c", PROGRAMS / "elastic_test.c"]
    command: list[str | Path] = [mpi / "bin/mpicc", "-std=gnu11", "-shared", "-fPIC", *sources, "-o", archive, "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"epop_measured does not compile: {done.stderr}")
    daemon = bench.start(config=CONFIG.replace("easy", "measured"), nodes=1, cores=4)
    words = [str(mpi / "bin/epop"), str(archive), "--epochs", "0", "--watched", "1"]
    number = daemon.submit(*words, min=1, max=4, kind="malleable", output="phases-%j.txt")
    folder = Path(daemon.job(number)["directory"])

    def held(name: str, rigid: bool) -> dict[str, Any]:
        def there() -> dict[str, Any] | None:
            job = daemon.job(number)
            phase, known = job["phase"], job["performance"]
            at = phase and known and phase["name"] == name and phase["rigid"] is rigid
            return job if at and (known["held_because"] == "rigid_phase") is rigid else None

        return wait_for(f"the job to be in {name}", there)

    job = held("setup", True)
    expect(job["performance"]["iterations"] == 0, f"nothing is measured in a rigid phase: {job}")
    text = elastic(bench, daemon, "show", str(number))
    expect("Phase=setup, a rigid phase\n" in text, text)
    (folder / "setup").touch()
    held("solve", False)
    (folder / "solve").touch()
    held("between", True)
    (folder / "between").touch()
    expect(daemon.wait_end(number)["state"] == "DONE", "the job goes on to its end")


def steps_that_lie_about_their_time_are_not_believed(bench: Bench) -> None:
    daemon = bench.start(config=CONFIG, nodes=4, cores=4)
    jobs = {kind: hostile(daemon, kind) for kind in ("honest", "lies", "unasked", "silent", "nonsense")}
    honest = wait_for("the honest one to be measured", lambda: daemon.job(jobs["honest"])["performance"])
    expect(honest["per_second"] == 10 and honest["mpi_share"] == 0.25, f"honest: {honest}")
    job = cut_off(daemon, jobs["nonsense"])
    expect("'loops'" in str(job["reason"]) and job["state"] == "RUNNING", f"nonsense: {job}")
    dropped = metric(daemon, "elasticd_step_events_dropped_total")
    wait_for("what nobody requested to be dropped", lambda: metric(daemon, "elasticd_step_events_dropped_total") > dropped)
    wait_for("lies to be passed over", lambda: metric(daemon, "elasticd_step_reports_redundant_total") >= 3)
    for kind in ("lies", "unasked", "silent", "nonsense"):
        job = daemon.job(jobs[kind])
        expect(job["performance"] is None and job["state"] == "RUNNING", f"{kind}: {job}")
    expect(not loops(daemon, jobs["silent"], max_age_ms=1000)["available"], "one that does not answer")
    expect(loops(daemon, jobs["silent"])["reason"] == "no sample has been taken yet", "one that does not answer")
    daemon.kill()
    daemon.start()
    expect(daemon.job(jobs["honest"])["performance"], "samples are stored")
    for number in jobs.values():
        cancel(daemon, number)

"""Jobs that lie to elasticd, while a good one lives beside them: elasticd goes on, bounded, and the good job notices nothing."""

from __future__ import annotations

import re
import time
from pathlib import Path

from daemon_under_test import Bench, Daemon, expect, wait_for

HOSTILE = Path(__file__).resolve().parent / "hostile_step.py"


def metric(daemon: Daemon, name: str) -> int:
    found = re.search(rf"^{name} (\d+)", str(daemon.get("/metrics").body), re.M)
    return int(found.group(1)) if found else 0


def resident_kb(daemon: Daemon) -> int:
    assert daemon.process
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{daemon.process.pid}/status").read_text()).group(1))


def hostile(daemon: Daemon, kind: str) -> int:
    number = daemon.submit(str(HOSTILE), kind, script=HOSTILE.read_text(), min=1, max=2, kind="malleable", name=kind)
    daemon.wait_state(number, "RUNNING", "ADAPTING")
    return number


def cut_off(daemon: Daemon, number: int) -> dict[str, object]:
    def marked() -> dict[str, object] | None:
        job = daemon.job(number)
        return job if (job["reason"] or "").startswith("step protocol broken: ") else None

    return wait_for(f"job {number} to be marked", marked)


def a_step_that_breaks_the_protocol_is_cut_off_and_its_job_marked(bench: Bench) -> None:
    daemon = bench.start(nodes=4, cores=4)
    good = daemon.submit("sleep", "1000", name="good")
    jobs = {kind: hostile(daemon, kind) for kind in ("types", "long", "deep")}
    for kind, number in jobs.items():
        if kind == "types":
            daemon.post(f"/v1/jobs/{number}/resize", size=1)  # one of the two offers is answered wrongly
        job = cut_off(daemon, number)
        expect(job["state"] == "RUNNING" and job["adaptive"] is False, f"{kind}: it goes on, rigid: {job}")
        expect(daemon.post(f"/v1/jobs/{number}/resize", size=2).error() == "rigid", f"{kind}: it must not be resized")
    expect(daemon.job(good)["state"] == "RUNNING", "the good job")
    expect(metric(daemon, "elasticd_steps_broken_total") == 3, "the metric")
    daemon.kill()
    daemon.start()
    for number in jobs.values():
        expect(daemon.job(number)["reason"].startswith("step protocol broken"), "it is marked after a restart, too")
        daemon.post(f"/v1/jobs/{number}/cancel")
        job = daemon.wait_end(number)
        expect(job["state"] == "CANCELLED" and "step protocol broken" in job["reason"], f"the mark stays: {job}")
    daemon.post(f"/v1/jobs/{good}/cancel")
    daemon.wait_end(good)


def floods_of_a_step_cost_nobody_anything(bench: Bench) -> None:
    daemon = bench.start(nodes=4, cores=4)
    floods = [hostile(daemon, "flood"), hostile(daemon, "talk")]
    time.sleep(1)
    before = daemon.get("/v1/summary").status, metric(daemon, 'elasticd_events_total{event="step_freed"}')
    size = resident_kb(daemon)
    stored = (daemon.state / "store.sqlite").stat().st_size
    end = time.monotonic() + (20 if bench.full else 3)
    served = 0
    while time.monotonic() < end:
        number = daemon.submit("true", name="good")
        expect(daemon.wait_end(number)["state"] == "DONE", "the good job")
        served += 1
    expect(before[0] == 200 and served > 0, "somebody else was served")
    expect(metric(daemon, 'elasticd_events_total{event="step_freed"}') == before[1], "what changes nothing was stored")
    expect(resident_kb(daemon) < size + 50000, f"memory grew from {size} to {resident_kb(daemon)} kB")
    grown = (daemon.state / "store.sqlite").stat().st_size - stored
    expect(grown < served * 100000 + 1000000, f"the store grew by {grown} bytes for {served} jobs")
    for number in floods:
        daemon.post(f"/v1/jobs/{number}/cancel")
        daemon.wait_end(number)


TESTS = [
    a_step_that_breaks_the_protocol_is_cut_off_and_its_job_marked,
    floods_of_a_step_cost_nobody_anything,
]

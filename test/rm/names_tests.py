"""Names that processes publish, between jobs of elasticd; clauses DN1 and DN2."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from daemon_under_test import Bench, Daemon, expect, wait_for
from slots_tests import EXAMPLES, HERE, compiled, ends_well


def names(daemon: Daemon) -> dict[str, int]:
    return {each["name"]: each["job"] for each in daemon.get("/v1/names").body["names"]}


def a_name_leads_from_job_to_job(bench: Bench) -> None:
    program = str(compiled(bench, HERE / "names.c"))
    daemon = bench.start(nodes=2, cores=1)
    client = daemon.submit(program, "call", "sums: a/b", "42", output="%j.txt")
    daemon.wait_state(client, "RUNNING")
    server = daemon.submit(program, "serve", "sums", output="%j.txt")
    wait_for("its name", lambda: names(daemon) == {"sums": server})
    expect(daemon.job(server)["names"] == ["sums"], f"shown: {daemon.job(server)['names']}")
    daemon.post(f"/v1/jobs/{client}/cancel")  # its name is nobody's
    daemon.wait_end(client)
    client = daemon.submit(program, "call", "sums", "42", output="%j.txt")
    ends_well(daemon, client)
    ends_well(daemon, server, "a client sent 42")
    expect(names(daemon) == {}, "it has been unpublished")
    printed = [each["event"] for each in daemon.get(f"/v1/jobs/{server}/records").body["records"]]
    expect("name_published" in printed and "name_withdrawn" in printed, f"its history: {printed}")


def put(daemon: Daemon, name: str, job: int, port: str = "p") -> int:
    return daemon.request("PUT", f"/v1/names/{name}", {"job": job, "port": port}).status


def holder_of_taken(daemon: Daemon) -> int:
    """A job that has the name which names.c must not get."""
    sleeper = daemon.submit("sleep", "1000")
    daemon.wait_state(sleeper, "RUNNING")
    expect(put(daemon, "taken", sleeper) == 200, "a name that is free")
    return sleeper


def wait_until_held(daemon: Daemon, job: int) -> None:
    """Waits until names.c has registered its name and has tried forbidden calls."""
    output = Path(daemon.job(job)["output"])
    wait_for("its name", lambda: "held" in (output.read_text() if output.exists() else ""))


def a_name_has_one_job_and_goes_with_it(bench: Bench) -> None:
    program = str(compiled(bench, HERE / "names.c"))
    daemon = bench.start(nodes=1, cores=2)
    sleeper = holder_of_taken(daemon)
    expect(put(daemon, "taken", sleeper, "q") == 200, "a job may replace its own")
    holder = daemon.submit(program, "hold", "sums", str(daemon.folder / "go"), output="%j.txt")
    wait_until_held(daemon, holder)
    expect(names(daemon) == {"taken": sleeper, "sums": holder}, f"who has them: {names(daemon)}")
    expect(put(daemon, "sums", sleeper) == 409, "another job's")
    expect(put(daemon, "more", 77) == 400 and put(daemon, "", sleeper) == 405 and put(daemon, "x" * 641, sleeper) == 400, "what cannot be")
    expect(daemon.request("DELETE", "/v1/names/unknown").status == 404, "nobody's")
    daemon.kill()
    daemon.start()
    expect(names(daemon) == {"taken": sleeper, "sums": holder}, f"after a restart: {names(daemon)}")
    (daemon.folder / "go").touch()
    ends_well(daemon, holder)
    expect(names(daemon) == {"taken": sleeper}, "it ended with its job")
    expect(daemon.request("DELETE", "/v1/names/taken").status == 200 and names(daemon) == {}, "their user may withdraw them")
    expect(put(daemon, "more", holder) == 409, "it has ended")
    daemon.post(f"/v1/jobs/{sleeper}/cancel")
    daemon.wait_end(sleeper)
    daemon.stop()
    done = subprocess.run([*daemon.command(), "--replay"], capture_output=True, text=True, check=False, timeout=120)
    expect(done.returncode == 0 and "the same" in done.stdout, f"replay: {done}")


def a_name_goes_with_its_mpiexec(bench: Bench) -> None:
    program = str(compiled(bench, HERE / "names.c"))
    daemon = bench.start(nodes=1, cores=2)
    sleeper = holder_of_taken(daemon)
    hold = f"{bench.needs_mpi()}/bin/mpiexec -n 1 {program} hold sums {daemon.folder}/go"
    script = f"#!/bin/sh\n{hold}\nuntil [ -e {daemon.folder}/end ]; do sleep 0.05; done\n"
    job = daemon.submit("several", script=script, output="%j.txt")
    wait_until_held(daemon, job)
    expect(names(daemon) == {"taken": sleeper, "sums": job}, f"who has them: {names(daemon)}")
    (daemon.folder / "go").touch()
    wait_for("the end of its name", lambda: names(daemon) == {"taken": sleeper})
    expect(daemon.job(job)["state"] == "RUNNING", "the script goes on")
    (daemon.folder / "end").touch()
    ends_well(daemon, job)
    daemon.post(f"/v1/jobs/{sleeper}/cancel")
    daemon.wait_end(sleeper)


def a_name_goes_with_a_killed_mpiexec(bench: Bench) -> None:
    """Its job continues; another one gets the name at once, also if elasticd has been restarted meanwhile."""
    program = str(compiled(bench, HERE / "names.c"))
    daemon = bench.start(nodes=1, cores=2)
    sleeper = holder_of_taken(daemon)
    number = daemon.folder / "mpiexec"
    hold = f"{bench.needs_mpi()}/bin/mpiexec -n 1 {program} hold sums {daemon.folder}/go"
    script = f"#!/bin/sh\n{hold} & echo $! >{number}.new; mv {number}.new {number}\nwait\nuntil [ -e {daemon.folder}/end ]; do sleep 0.05; done\n"
    job = daemon.submit("killed", script=script, output="%j.txt")
    wait_until_held(daemon, job)
    daemon.kill()
    daemon.start()
    expect(names(daemon) == {"taken": sleeper, "sums": job}, f"who has them: {names(daemon)}")
    expect(put(daemon, "sums", sleeper) == 409, "another job's")
    os.kill(int(number.read_text()), signal.SIGKILL)
    wait_for("the end of its name", lambda: names(daemon) == {"taken": sleeper})
    expect(daemon.request("GET", "/v1/names/sums").status == 404, "a failed server is found")
    expect(daemon.job(job)["state"] == "RUNNING" and daemon.job(job)["names"] == [], "the script goes on")
    expect(put(daemon, "sums", sleeper) == 200, "it is free")
    expect(names(daemon) == {"taken": sleeper, "sums": sleeper}, f"who has them: {names(daemon)}")
    (daemon.folder / "end").touch()
    ends_well(daemon, job)
    daemon.post(f"/v1/jobs/{sleeper}/cancel")
    daemon.wait_end(sleeper)
    daemon.stop()
    done = subprocess.run([*daemon.command(), "--replay"], capture_output=True, text=True, check=False, timeout=120)
    expect(done.returncode == 0 and "the same" in done.stdout, f"replay: {done}")


def a_lookup_of_a_name_survives_a_restart_of_elasticd(bench: Bench) -> None:
    program = str(compiled(bench, HERE / "names.c"))
    daemon = bench.start(nodes=1, cores=2)
    client = daemon.submit(program, "call", "late", "7", output="%j.txt")
    daemon.wait_state(client, "RUNNING")
    daemon.kill()
    daemon.start()
    server = daemon.submit(program, "serve", "late", output="%j.txt")
    ends_well(daemon, server, "a client sent 7")
    ends_well(daemon, client)


def a_server_withdraws_its_name_while_elasticd_is_down(bench: Bench) -> None:
    """It does not wait for elasticd, which is queried later, in order; at the end mpiexec reports the remaining
    names."""
    program = str(compiled(bench, HERE / "names.c"))
    daemon = bench.start(nodes=1, cores=1)
    go = daemon.folder / "go"
    job = daemon.submit(program, "withdraw", "sums", str(go), output="%j.txt")
    daemon.wait_state(job, "RUNNING")
    output = Path(daemon.job(job)["output"])
    wait_for("its name", lambda: output.exists() and "registered" in output.read_text())
    expect(names(daemon) == {"server:sums": job}, f"what it has registered: {names(daemon)}")
    daemon.kill()
    go.touch()
    wait_for("the withdrawal", lambda: "withdrawn" in output.read_text())
    expect("elasticd" not in output.read_text(), f"it has waited: {output.read_text()}")
    daemon.start()
    wait_for("its name again", lambda: "again" in output.read_text())
    expect(names(daemon) == {"server:sums": job}, f"what it has registered again: {names(daemon)}")
    daemon.kill()
    Path(f"{go}.end").touch()
    line = "mpiexec: elasticd does not reply: the name server:sums stays registered"
    wait_for("the end of mpiexec", lambda: line in output.read_text())
    daemon.start()
    ends_well(daemon, job)
    expect(names(daemon) == {}, f"what remains: {names(daemon)}")


def servers_of_the_examples_are_found(bench: Bench) -> None:
    server, client = (str(compiled(bench, EXAMPLES / f"{name}.c")) for name in ("server", "client"))
    daemon = bench.start(nodes=2, cores=1)
    first = daemon.submit(client, "my sums", "1", "2", "3", output="%j.txt")
    daemon.wait_state(first, "RUNNING")
    serving = daemon.submit(server, "my sums", output="%j.txt")
    ends_well(daemon, first, "sum 6")
    expect(names(daemon) == {"server:my%20sums": serving}, f"what it has registered: {names(daemon)}")
    other = str(compiled(bench, HERE / "names.c"))
    ends_well(daemon, daemon.submit(other, "clash", "my sums", output="%j.txt"), "refused")
    ends_well(daemon, daemon.submit(client, "my sums", output="%j.txt"))
    ends_well(daemon, serving, "a client's sum is 6")
    expect(names(daemon) == {}, "it is free again")

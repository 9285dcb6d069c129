"""Behaviour that users of Slurm expect of elasticd itself: sizes on nodes, limits, signals, names of files, variables,
messages."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from pathlib import Path

from daemon_under_test import WAIT_S, Bench, Daemon, expect, wait_for


def nodes_and_processes_per_node_agree(bench: Bench) -> None:
    daemon = bench.start(nodes=4, cores=4)
    cases = [
        ({"nodes": 3, "processes_per_node": 2}, [2, 2, 2]),
        ({"nodes": 3, "min": 6}, [2, 2, 2]),
        ({"nodes": 3, "min": 5}, [2, 2, 1]),
        ({"nodes": 2}, [4, 4]),
        ({"nodes": 2, "processes_per_node": 1}, [1, 1]),
        ({"nodes": 3, "min": 4}, [2, 1, 1]),
        ({"nodes": 3, "min": 6, "processes_per_node": 4}, [2, 2, 2]),
        ({"nodes": 4, "min": 10}, [3, 3, 2, 2]),
        ({"nodes": 2, "nodes_max": 4, "min": 10}, [4, 3, 3]),
        ({"nodes": 2, "nodes_max": 4, "min": 5}, [3, 2]),
        ({"nodes": 3, "min": 2}, [1, 1]),
    ]
    for fields, wanted in cases:
        number = daemon.submit("sleep", "1000", **fields)
        job = daemon.wait_state(number, "RUNNING")
        found = [node["processes"] for node in job["nodes"]]
        expect(found == wanted and job["exclusive"], f"{fields}: on nodes {found}, wanted {wanted}")
        daemon.post(f"/v1/jobs/{number}/cancel")
        daemon.wait_end(number)
    for fields in ({"nodes": 3, "min": 4, "max": 8}, {"nodes": 3, "min": 4, "processes_per_node": 1}):
        reply = daemon.request("POST", "/v1/jobs", daemon.spec("true", **fields))
        message = reply.body.get("error", {}).get("message", "")
        expect(reply.error() == "field" and re.search(r"use \d nodes", message), f"{fields}: {reply.body}")
    reply = daemon.request("POST", "/v1/jobs", daemon.spec("true", nodes=3, min=2))
    expect(reply.body["notes"] == ["the job gets 2 nodes instead of 3, one for each process"], f"{reply.body}")
    daemon.wait_end(reply.body["job"]["id"])
    for fields, text in (({"nodes": 5, "min": 7}, "needs 5 nodes that can hold a process, and there are 4 such nodes"),
                         ({"nodes": 1, "min": 5}, "needs 1 node for 5 processes, and the largest can hold 4")):  # fmt: skip
        reply = daemon.request("POST", "/v1/jobs", daemon.spec("true", **fields))
        expect(reply.error() == "range" and text in reply.body["error"]["message"], f"{fields}: {reply.body}")


def a_slurm_script_has_its_number_of_nodes(bench: Bench) -> None:
    """Four processes on three nodes, as Slurm distributes them; the reason while it waits, its nodes and variables."""
    bench.needs_mpi()
    daemon = bench.start(nodes=3, cores=4)
    first = daemon.submit("sleep", "1000")
    daemon.wait_state(first, "RUNNING")
    script, output = daemon.folder / "job.sh", daemon.folder / "out"
    script.write_text("#!/bin/sh\n#SBATCH -N 3 -n 4\n"
                      "echo $SLURM_JOB_NUM_NODES $SLURM_TASKS_PER_NODE $SLURM_NTASKS ${SLURM_NTASKS_PER_NODE:-none}\n"
                      "srun sh -c 'echo $SLURM_PROCID $SLURM_NODEID'\n")  # fmt: skip
    number = int(elastic(daemon, "submit", "--parsable", "-o", str(output), str(script)))
    why = elastic(daemon, "why", str(number))
    expect("needs 3 whole nodes, there are 2" in why, f"why: {why}")
    shown = elastic(daemon, "show", str(number))
    expect(re.search(r"NumNodes=3\b", shown), f"show: {shown}")
    queue = elastic(daemon, "queue", "--noheader", "-j", str(number), "-o", "%D %C")
    expect(queue.split() == ["3", "4"], f"queue: {queue}")
    daemon.post(f"/v1/jobs/{first}/cancel")
    daemon.wait_end(number)
    lines = output.read_text().split("\n")
    expect(lines[0] == "3 2,1(x2) 4 none", f"variables: {lines[0]}")
    expect(sorted(lines[1:5]) == ["0 0", "1 0", "2 1", "3 2"], f"ranks and nodes: {lines[1:]}")


def no_time_limit_over_a_default(bench: Bench) -> None:
    daemon = bench.start(config='[job]\ndefault_time_limit = "1h"\n')
    cases: dict[str, tuple[dict[str, int], int]] = {"default": ({}, 3600000), "none": ({"time_limit_ms": 0}, 366 * 86400000), "own": ({"time_limit_ms": 5000}, 5000)}
    for name, (fields, wanted) in cases.items():
        job = daemon.job(daemon.submit("true", held=True, **fields))
        expect(job["time_limit_ms"] == wanted, f"{name}: {job['time_limit_ms']}, wanted {wanted}")
    reply = daemon.request("POST", "/v1/jobs", daemon.spec("true", time_limit_ms=999))
    expect(reply.error() == "field", f"less than a second: {reply.body}")
    limited = bench.start(config='[job]\nmax_time_limit = "1h"\n', name="two")
    reply = limited.request("POST", "/v1/jobs", limited.spec("true", time_limit_ms=0))
    expect(reply.error() == "field" and "allows, 1h" in reply.body["error"]["message"], f"above the maximum: {reply.body}")


def signals_have_several_names(bench: Bench) -> None:
    daemon = bench.start()
    ready, got = daemon.folder / "ready", daemon.folder / "got"
    script = f"#!/bin/sh\ntrap 'echo x >>{got}' USR1\ntouch {ready}\nwhile :; do sleep 0.05; done\n"
    number = daemon.submit("waits", script=script)
    wait_for("the script to be ready", ready.exists)
    for count, name in enumerate(("USR1", "SIGUSR1", "usr1", "10"), 1):
        expect(daemon.post(f"/v1/jobs/{number}/signal", signal=name).status == 200, f"signal {name}")
        wait_for(f"signal {name}", lambda: got.exists() and len(got.read_text().split()) == count)
    for name in ("STOP", "19", "0", "USR9"):
        reply = daemon.post(f"/v1/jobs/{number}/signal", signal=name)
        expect(reply.error() == "field" and "USR1" in reply.body["error"]["message"], f"{name}: {reply.body}")
    daemon.post(f"/v1/jobs/{number}/cancel")
    daemon.wait_end(number)


def the_signal_leads_by_what_was_wanted(bench: Bench) -> None:
    """With a lead above the limit the signal is sent at the start; with more time it is sent again, as long before the
    new limit."""
    daemon = bench.start(config='[job]\nkill_grace = "1s"\n')
    got, ready = daemon.folder / "got", daemon.folder / "ready"
    program = f"import signal, time; signal.signal(signal.SIGUSR1, lambda *_: open('{got}', 'a').write(f'{{time.time()}}\\n'))"
    script = f"#!/usr/bin/python3\n{program}\nopen('{ready}', 'w')\nwhile True: time.sleep(0.05)\n"
    number = daemon.submit("waits", script=script, time_limit_ms=600_000, limit_signal={"signal": "USR1", "before_ms": 3000})
    wait_for("the program", ready.exists)

    def signals() -> list[float]:
        return [float(line) for line in got.read_text().split()] if got.exists() else []

    for count in (1, 2):
        limit_ms = int(time.time() * 1000) - daemon.job(number)["start_ms"] + 4000
        end = time.time() + 4
        expect(daemon.post(f"/v1/jobs/{number}/update", time_limit_ms=limit_ms).status == 200, "another limit")
        wait_for(f"signal {count}", lambda: len(signals()) == count)
        lead = end - signals()[-1]
        expect(1.5 < lead < 3.5, f"signal {count} came {lead} s before the limit")
    daemon.post(f"/v1/jobs/{number}/cancel")
    daemon.wait_end(number)
    short = daemon.submit("s", script="#!/bin/sh\nsleep 1000\n", time_limit_ms=30_000, limit_signal={"signal": "USR1"})
    expect(daemon.wait_end(short)["exit_code"] == 128 + 10, f"at the start: {daemon.job(short)}")


def files_and_variables_have_slurms_names(bench: Bench) -> None:
    daemon = bench.start()
    script = "#!/bin/sh\nenv | grep ^SLURM_ | sort\nmpiexec sh -c 'echo rank'\n"
    number = daemon.submit("my-script", script=script, min=6, slurm_environment=True, output="out-%A-%5j-%u-%x-%N", name="a/b")
    job = daemon.wait_end(number)
    path = daemon.folder / f"out-{number}-{number:05}-{job['user']}-a_b-{job['nodes'][0]['name']}"
    expect(job["output"] == str(path), f"output is {job['output']}, wanted {path}")
    text = path.read_text()
    variables = dict(re.findall(r"^(SLURM_\w+)=(.*)$", text, re.M))
    nodes = ",".join(node["name"] for node in job["nodes"])
    wanted = {
        "SLURM_JOB_ID": str(number), "SLURM_JOBID": str(number), "SLURM_NTASKS": "6", "SLURM_NPROCS": "6", "SLURM_JOB_NAME": "a/b",
        "SLURM_CPUS_PER_TASK": "1", "SLURM_NNODES": "2", "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_NODELIST": nodes,
        "SLURM_NODELIST": nodes, "SLURM_JOB_USER": job["user"],
    }  # fmt: skip
    found = {name: variables.get(name) for name in wanted}
    expect(found == wanted, f"variables: {found}, wanted {wanted}")
    if bench.programs.mpi:
        expect(job["state"] == "DONE" and text.count("rank\n") == 6, f"mpiexec beside these variables: {job['state']} {text!r}")
    plain = daemon.submit("my-script", script="#!/bin/sh\nenv\n", output="plain")
    daemon.wait_end(plain)
    mine = "SLURM_JOB_ID=" if "SLURM_JOB_ID" not in os.environ else "SLURM_JOB_ID=\n"
    expect(mine not in Path(daemon.folder / "plain").read_text(), "variables that nobody has requested")


def arrays_are_jobs_that_have_one_name(bench: Bench) -> None:
    daemon = bench.start()
    script = "#!/bin/sh\nenv | grep _ARRAY_ | sort\n[ $SLURM_ARRAY_TASK_ID = 0 ] || sleep 1000\n"
    first = daemon.submit("array", script=script, slurm_environment=True, array="0,4-8:2%2", output="out-%A_%a-%j", name="sweep")
    tasks = [daemon.wait_end(first)] + [daemon.job(first + i) for i in range(1, 4)]
    expect([task["array"]["index"] for task in tasks] == [0, 4, 6, 8], f"tasks: {[task['array'] for task in tasks]}")
    expect(sum(task["state"] in ("STARTING", "RUNNING") for task in tasks) <= 2, f"above the limit: {[task['state'] for task in tasks]}")
    last = daemon.get(f"/v1/jobs/{first}_8").body["job"]
    expect(last["id"] == first + 3 and last["state"] == "PENDING" and "limit of its array" in last["reason"], f"the last: {last}")
    expect(daemon.get(f"/v1/jobs/{first}_5").status == 404, "a task that is not there")
    lines = (daemon.folder / f"out-{first}_0-{first}").read_text().splitlines()
    wanted = {"JOB_ID": first, "TASK_ID": 0, "TASK_COUNT": 4, "TASK_MIN": 0, "TASK_MAX": 8, "TASK_STEP": 1}
    expect(lines == sorted(f"{who}_ARRAY_{name}={value}" for who in ("ELASTIC", "SLURM") for name, value in wanted.items()), f"{lines}")
    listed = [[job["id"] for job in daemon.get("/v1/jobs", ids=ids).body["jobs"]] for ids in (first, f"{first}_6")]
    expect(listed == [[first, first + 1, first + 2, first + 3], [first + 2]], f"an array by its number: {listed}")
    after = daemon.submit("true", after_any=[first])
    well = daemon.submit("true", after_ok=[first])
    one = daemon.submit("true", after_ok=[f"{first}_0"])
    daemon.wait_end(one)
    # Beyond a restart it is the same, and each task finds what it is to run.
    daemon.kill()
    daemon.start()
    reply = daemon.post(f"/v1/jobs/{first}_[6-8]/cancel")
    expect(reply.status == 200, f"cancel of a range: {reply.body}")
    expect([daemon.wait_end(first + i)["state"] for i in (2, 3)] == ["CANCELLED"] * 2, "a range is cancelled")
    expect(daemon.job(first + 1)["state"] != "CANCELLED", "more than the range is cancelled")
    expect(daemon.post(f"/v1/jobs/{first}/cancel").status == 200 and daemon.wait_end(first + 1)["state"] == "CANCELLED", "the rest")
    expect(daemon.post(f"/v1/jobs/{first}/cancel").status == 409, "an array that has ended is cancelled")
    expect(daemon.wait_end(after)["state"] == "DONE" and daemon.wait_end(well)["state"] == "CANCELLED", "who waits for the array")


def elastic(daemon: Daemon, *words: str, code: int = 0) -> str:
    """The output of the command, including errors."""
    environment = {**os.environ, "ELASTICD_SOCKET": str(daemon.socket)}
    command = [str(daemon.programs.elasticd.parent / "elastic"), *words]
    done = subprocess.run(command, env=environment, cwd=daemon.folder, capture_output=True, text=True, timeout=WAIT_S, check=False)
    expect(done.returncode == code, f"{words}: exit code {done.returncode}, wanted {code}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def every_command_takes_some_tasks_of_an_array(bench: Bench) -> None:
    daemon = bench.start()
    plain = daemon.submit("true", held=True)
    first = daemon.submit("sleep", "1000", array="1-9", held=True)

    def free() -> list[int]:
        jobs = daemon.get("/v1/jobs", ids=str(first)).body["jobs"]
        return [job["array"]["index"] for job in jobs if not job["held"]]

    def listed(*words: str) -> list[str]:
        return elastic(daemon, *words, "--noheader", "-o", "%A").split()

    some = f"{first}_[1-3,9]"
    numbers = [str(first + i) for i in (0, 1, 2, 8)]
    expect(listed("queue", "-r", "-j", f"{plain},{some}") == [str(plain), *numbers], listed("queue", "-r", "-j", f"{plain},{some}"))
    expect(listed("queue", "-r", "-j", f"{first}_[4-40:5%2]") == [str(first + 3), str(first + 8)], "a step, a limit as the queue shows it")
    for words in (("why", some), ("show", some)):
        text = elastic(daemon, *words)
        expect([line for line in ("1", "2", "3", "9") if f"{first}_{line}" not in text] == [], f"{words}: {text}")
        expect(f"{first}_4" not in text, f"{words}: {text}")
    elastic(daemon, "update", some, "-J", "renamed", "--priority", "-3")
    renamed = [job["id"] for job in daemon.get("/v1/jobs", name="renamed").body["jobs"]]
    expect([str(number) for number in renamed] == numbers, f"renamed: {renamed}")
    elastic(daemon, "release", f"{first}_[4,5]", f"{first}_6")
    expect(free() == [4, 5, 6], f"released: {free()}")
    elastic(daemon, "hold", f"{first}_7")
    daemon.wait_state(first + 3, "RUNNING")
    elastic(daemon, "cancel", "-s", "TERM", f"{first}_[4,9]")
    daemon.wait_end(first + 3)
    after = json.loads(elastic(daemon, "submit", "--json", "--hold", "--after-any", f"{plain},{first}_[1-2]", "true"))
    expect([each["job"] for each in after["dependencies"]] == [plain, first, first + 1], f"waits for {after['dependencies']}")
    elastic(daemon, "cancel", f"{first}_[1-5,8-9]", str(plain), str(after["id"]))
    for index in (1, 2, 3, 5, 8, 9):
        expect(daemon.wait_end(first + index - 1)["state"] == "CANCELLED", f"task {index}")
    expect(daemon.job(first + 6)["state"] == "PENDING" and daemon.job(first + 5)["state"] != "CANCELLED", "more tasks are cancelled")
    expect(listed("history", "-j", f"{first}_[2-3]") == [str(first + 1), str(first + 2)], "history")
    expect(elastic(daemon, "history", f"{first}_[2-3]").count("submitted") == 2, "the records of two tasks")
    expect("\nJobs|2\n" in elastic(daemon, "report", "-P", "-j", f"{first}_[2-3]"), elastic(daemon, "report", "-P"))
    for given, code, wrong in (
        (("hold", "12_[3-1]"), 2, "3_[1-5,9]"), (("why", "12_[a]"), 2, "'12_[a]' is not a job: a job has a number"),
        (("report", "-j", f"{first}_[1-2"), 2, "is not a job"), (("queue", "-j", f"{first}_[1-2"), 2, "is not a job"), (("queue", "-j", f"{first}_[1-2],x"), 2, "'x' is not a job"),
        (("submit", "--hold", "--after", "12_[", "true"), 2, "'12_[' is not a job"),
        (("attach", some), 2, f"are several jobs: give one, such as {first}_1"), (("events", some), 2, "several jobs"),
        (("resize", some, "3"), 2, "several jobs"), (("why", f"{first}_[20-30]"), 3, f"array {first} has 1-9"),
        (("why", f"{plain}_[1-3]"), 3, f"job {plain} is not an array"), (("queue", "-j", "77777_[1-3]"), 3, "there is no job 77777_[1-3]"),
    ):  # fmt: skip
        text = elastic(daemon, *given, code=code)
        expect(wrong in text, f"{given}: {text}")
    for ids in (f"{first}_[", f"{first}_[]", f"{first}_[1-2", f"{first}_[x]", "_[1]", f"{first}_[1]]"):
        expect(daemon.get("/v1/jobs", ids=ids).status == 400, f"ids={ids}: {daemon.get('/v1/jobs', ids=ids)}")
    elastic(daemon, "cancel", f"{first}_[6-7]")
    daemon.wait_end(first + 5)


def mails_report_the_states_of_jobs(bench: Bench) -> None:
    """--mail-type with a command of the configuration: the recipients and their mails, one mail for an array, and no
    header of a user"""
    mails = bench.folder / "mails"
    mails.mkdir()
    store = f'cat >"{mails}/part.$$" && mv "{mails}/part.$$" "{mails}/mail.$$"'
    daemon = bench.start(config=f"[mail]\ncommand = ['/bin/sh', '-c', '{store}']\n")

    def subjects() -> list[str]:
        texts = [path.read_text() for path in mails.glob("mail.*")]
        return sorted(line for text in texts for line in text.split("\n\n")[0].splitlines() if line.startswith("Subject: "))

    def wait_for_mails(*wanted: str) -> None:
        wait_for(f"mails about {wanted}, not {subjects()}", lambda: len(subjects()) >= len(wanted))
        found = subjects()
        expect(len(found) == len(wanted) and all(part in line for part, line in zip(sorted(wanted), found, strict=True)), f"{found}")
        for path in mails.glob("mail.*"):
            path.unlink()

    number = json.loads(elastic(daemon, "submit", "--json", "--mail-type=ALL", "-J", "heat", "sh", "-c", "exit 3"))["id"]
    daemon.wait_end(number)
    wait_for_mails(f"job {number} (heat) on {socket.gethostname()} has begun", f"job {number} (heat) on {socket.gethostname()} has ended: FAILED, exit code 3")
    job = daemon.job(number)
    expect(job["mail"] == {"events": ["begin", "end", "fail", "requeue"], "to": job["user"]}, f"{job['mail']}")
    daemon.wait_end(daemon.submit("true", mail={"events": ["fail"]}))
    first = daemon.submit("true", array="1-5", mail={"events": ["begin", "end"]}, name="x\nBcc: all\n\n.")
    for task in range(5):
        daemon.wait_end(first + task)
    wait_for_mails(f"array {first} (x Bcc: all  .)", f"array {first} (x Bcc: all  .)")
    each = daemon.submit("true", array="1-2", mail={"events": ["end", "array_tasks"], "to": "ann@example.org"})
    for task in range(2):
        daemon.wait_end(each + task)
    wait_for_mails(f"job {each}_1", f"job {each}_2")
    for mail, field in (({"events": ["soon"]}, "mail.events"), ({"events": ["end"], "to": "a\nBcc: b"}, "mail.to"), ({"to": "-x"}, "mail.to"),
                        ({"events": ["end"], "to": "|sh"}, "mail.to"), ({"events": ["end"], "cc": "a"}, "mail.cc")):  # fmt: skip
        reply = daemon.request("POST", "/v1/jobs", daemon.spec("true", mail=mail))
        expect(reply.status == 400 and reply.body["error"]["field"] == field, f"{mail}: {reply.body}")
    silent = bench.start(name="two")
    script = silent.folder / "job.sh"
    script.write_text("#!/bin/sh\n#SBATCH --mail-type=END\ntrue\n")
    text = elastic(silent, "submit", str(script))
    expect("elasticd sends no mail" in text and "Submitted job" in text, text)
    silent.wait_end(1)


def memory_is_counted_in_cores(bench: Bench) -> None:
    daemon = bench.start(config="[job]\ncounted_memory_per_core = 1000\n")  # four nodes of four cores
    for fields, cores in (
        ({"memory_per_core_mib": 1000}, 1), ({"memory_per_core_mib": 1001}, 2), ({"memory_per_core_mib": 1500, "cores_per_process": 2}, 3),
        ({"memory_per_node_mib": 3500}, 4), ({"memory_per_node_mib": 3500, "min": 4, "processes_per_node": 2}, 2),
        ({"memory_per_node_mib": 4000, "nodes": 1}, 1), ({"memory_per_node_mib": 2000, "min": 2}, 1), ({"memory_per_node_mib": 4000, "min": 2}, 2),
        ({"memory_per_node_mib": 4000, "min": 8}, 1), ({"memory_per_node_mib": 4000, "min": 2, "processes_per_node": 4}, 2),
    ):  # fmt: skip
        job = daemon.job(daemon.submit("true", held=True, **fields))
        expect(job["cores_per_process"] == cores, f"{fields}: {job['cores_per_process']} cores, wanted {cores}")
    for fields in ({"memory_per_node_mib": 4001}, {"memory_per_core_mib": 4001}):
        reply = daemon.request("POST", "/v1/jobs", daemon.spec("true", **fields))
        expect(reply.status == 400, f"{fields}: {reply.status} {reply.body}")
    # Two processes of 2000 MiB have a node of 4000 MiB for themselves.
    both = [daemon.submit("sleep", "1000", memory_per_core_mib=2000, min=8), daemon.submit("sleep", "1000")]
    daemon.wait_state(both[0], "RUNNING")
    expect(daemon.job(both[1])["state"] == "PENDING", "memory is given twice")
    for number in both:
        daemon.post(f"/v1/jobs/{number}/cancel")
    for number in both:
        daemon.wait_end(number)
    other = bench.start(name="two")
    reply = other.request("POST", "/v1/jobs", other.spec("true", held=True, memory_per_core_mib=4000))
    expect(reply.status == 201 and "does not count memory" in reply.body["notes"][0], f"{reply.body}")
    expect(other.request("POST", "/v1/jobs", other.spec("true", held=True)).body["notes"] == [], "a note about nothing")


def refusals_name_the_option(bench: Bench) -> None:
    """not the field of the request, which users do not know"""
    daemon = bench.start(config="[job]\ncounted_memory_per_core = 1000\nmax_time_limit = '1h'\n")
    for words, wanted in ((("-N", "3", "-n", "4:8"), "-N is 3, but 4 processes"), (("--mem=100G",), "--mem is more than any node has"),
                          (("-t", "2:00:00"), "-t is above the longest that this system allows, 1h"), (("--signal=FOO",), "--signal must be one of"),
                          (("-w", "n99"), "-w names a node that elasticd does not have: n99")):  # fmt: skip
        text = elastic(daemon, "submit", *words, "true", code=1)
        expect(text.startswith(f"elastic: {wanted}"), f"{words}: {text}")
    waiting = [str(daemon.submit("true", held=True)) for _ in range(2)]
    for words in (("-s", "USR9", waiting[0]), ("--signal=77", "--me"), ("-s", "sigfoo", "--me", "-t", "PD")):
        text = elastic(daemon, "cancel", *words, code=2)
        expect(text.startswith("elastic: -s must be one of HUP, ") and len(text.splitlines()) == 1, f"{words}: {text}")


def refusals_name_limit_and_end(bench: Bench) -> None:
    daemon = bench.start(config="[limits]\njobs_per_user = 2\n")
    number = daemon.submit("true")
    daemon.wait_end(number)
    message = daemon.post(f"/v1/jobs/{number}/cancel").body["error"]["message"]
    expect(re.search(rf"^job {number} has ended: DONE at \d{{4}}-\d\d-\d\dT", message), f"an ended job: {message}")
    daemon.submit("true", held=True)
    daemon.submit("true", held=True)
    reply = daemon.request("POST", "/v1/jobs", daemon.spec("true"))
    message = reply.body["error"]["message"]
    expect(reply.status == 503 and "limits.jobs_per_user = 2" in message and f"user {os.getuid()}" in message, f"{reply.body}")
    expect("array" not in message, message)
    elastic(daemon, "cancel", "--me")
    text = elastic(daemon, "submit", "-a", "1-100%10", "true", code=1)
    expect("have 0 jobs that have not ended, and the array has 100 tasks (limits.jobs_per_user = 2)" in text, text)


def reasons_name_who_and_why(bench: Bench) -> None:
    """The user that cancelled a job, and the reason, are in the answer, in the record, in the history and in the next
    refusal."""
    daemon = bench.start()
    running, waiting = daemon.submit("sleep", "1000"), daemon.submit("true", held=True)
    daemon.wait_state(running, "RUNNING")
    user = daemon.job(running)["user"]
    daemon.post(f"/v1/jobs/{running}/cancel", reason="wrong input")
    wanted = f"cancelled by {user}: wrong input"
    expect(daemon.wait_end(running)["reason"] == wanted, f"the job: {daemon.job(running)['reason']}")
    ends = [record["data"]["reason"] for record in daemon.records(job=running) if record["event"] == "ended"]
    expect(ends == [wanted], f"the record: {ends}")
    listed = daemon.get("/v1/jobs", ids=running).body["jobs"][0]
    expect(listed["reason"] == wanted, f"the history: {listed['reason']}")
    message = daemon.post(f"/v1/jobs/{running}/cancel").body["error"]["message"]
    expect(re.search(rf"CANCELLED at \d{{4}}-\d\d-\d\dT\S+, {wanted}$", message), f"the refusal: {message}")
    job = daemon.post(f"/v1/jobs/{waiting}/cancel").body["job"]
    expect(job["reason"] == f"cancelled by {user} while it waited", f"a waiting job: {job['reason']}")


def what_a_job_used_is_counted(bench: Bench) -> None:
    daemon = bench.start(nodes=1, cores=4)
    busy = "#!/bin/sh\nexec /usr/bin/python3 -c 'x = bytearray(1 << 26)\nimport time\nwhile time.process_time() < 0.5: pass'\n"
    job = daemon.wait_end(daemon.submit("busy", script=busy, min=2, cores_per_process=2))
    used, elapsed = job["accounting"], job["end_ms"] - job["start_ms"]
    expect(job["state"] == "DONE", f"job: {job}")
    expect(used["core_ms_by_size"] == [{"size": 2, "core_ms": used["core_ms"]}], f"core time: {used}")
    expect(abs(used["core_ms"] - 4 * elapsed) <= 4 * 50, f"{used['core_ms']} of 4 cores for {elapsed} ms")
    expect(used["cpu_ms"] >= 500, f"processor time: {used}")
    expect(1 << 26 <= used["max_rss_bytes"] < 1 << 30, f"memory: {used}")


def a_submission_can_be_tested(bench: Bench) -> None:
    daemon = bench.start(nodes=1, cores=2)
    running = daemon.submit("sleep", "1000", min=2, time_limit_ms=3600_000)
    daemon.wait_state(running, "RUNNING")
    before = daemon.get("/v1/summary").body["seq"]
    test = daemon.request("POST", "/v1/jobs", daemon.spec("true", test_only=True)).body["test"]
    limit = daemon.job(running)["start_ms"] + 3600_000
    expect(test["expected_after"] == running and abs(test["expected_start_ms"] - limit) < 5000, f"test: {test}, limit {limit}")
    reply = daemon.request("POST", "/v1/jobs", daemon.spec("true", min=3, test_only=True))
    expect(reply.error() == "range", f"more than there is: {reply.body}")
    held = daemon.request("POST", "/v1/jobs", daemon.spec("true", held=True, test_only=True)).body["test"]
    expect(held["expected_start_ms"] is None, f"a held one: {held}")
    expect(daemon.get("/v1/summary").body["seq"] == before and len(daemon.get("/v1/jobs").body["jobs"]) == 1, "nothing was submitted")
    daemon.post(f"/v1/jobs/{running}/cancel")
    daemon.wait_end(running)


def metrics_have_all_digits(bench: Bench) -> None:
    before = time.time()
    daemon = bench.start()
    text = daemon.get("/metrics").body
    values = dict(re.findall(r"^(\w+) (\S+)$", text, re.M))
    started = float(values["elasticd_start_time_seconds"])
    expect(before - 1 <= started <= time.time(), f"start time {started}, begun at {before}")
    total = values["elasticd_turn_seconds_sum"]
    expect(len(re.sub(r"e.*|\D", "", total).lstrip("0")) > 6, f"digits of {total}")


def pages_name_the_start_of_the_next(bench: Bench) -> None:
    daemon = bench.start()
    for i in range(5):
        daemon.wait_end(daemon.submit("true", name=f"j{i % 2}"))
    daemon.submit("true", held=True, name="j0")
    for order, way, wanted in (("id", "after", [1, 3, 5, 6]), ("-id", "before", [6, 5, 3, 1])):
        found: list[int] = []
        query: dict[str, int] = {}
        for _ in range(10):
            body = daemon.get("/v1/jobs", all="true", name="j0", order=order, limit=1, **query).body
            found += [job["id"] for job in body["jobs"]]
            if not body["more"]:
                break
            expect(isinstance(body["last"], int), f"no next page: {body['last']}")
            query = {way: body["last"]}
        expect(found == wanted and body["last"] is None, f"{order}: {found}, wanted {wanted}; last {body['last']}")

"""Commands that users of Slurm try with `elastic`: they work, or the answer states the alternative.  No MPI is
needed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from cli_setup import LIMIT_S, Setup  # noqa: E402
from fake_elasticd import USER  # noqa: E402
from support.checks import expect  # noqa: E402


def script(here: Setup, head: str, body: str = "true") -> str:
    (here.folder / "job.sh").write_text(f"#!/bin/sh\n{head}\n{body}\n")
    return "job.sh"


def only(bodies: list[dict[str, Any]]) -> dict[str, Any]:
    expect(bodies, "nothing was posted")
    return bodies[-1]


def test_slurm_script(here: Setup) -> None:
    """a script for Slurm is submitted unchanged; options without effect are reported"""
    name = script(here, "#SBATCH -n 4 --time=2:00\n#SBATCH -J model --mem=4G -p long --reservation=course\n#SBATCH --account ours")
    _, err = here.call("submit", name)
    body = only(here.posted())
    expect((body["min"], body["max"], body["time_limit_ms"], body["name"]) == (4, 4, 120000, "model"), body)
    expect(body["slurm_environment"] and body["environment"]["SLURM_SUBMIT_DIR"] == str(here.folder), body)
    expect(body["memory_per_node_mib"] == 4096 and "line 4: --account ours is not honoured" in err, f"{body} {err}")
    expect(body["partition"] == "long" and body["reservation"] == "course", body)
    # The command line goes over #ELASTIC lines, and these over #SBATCH lines.
    script(here, "#SBATCH -n 4 -J a -t 5\n#ELASTIC -n 2:8 -J b")
    here.call("submit", "-J", "c", name)
    body = only(here.posted())
    expect((body["min"], body["max"], body["time_limit_ms"], body["name"]) == (2, 8, 300000, "c"), body)
    script(here, "#SBATCH -a 1-9%3")
    here.call("submit", name)
    expect(only(here.posted())["array"] == "1-9%3", "an array")
    script(here, "#SBATCH -d singleton,afterok:3:4")
    here.call("submit", name)
    expect(only(here.posted())["singleton"] is True and only(here.posted())["after_ok"] == [3, 4], "singleton and others")
    here.call("submit", "--dependency=afterany:5", name)
    expect("after_ok" not in only(here.posted()) and only(here.posted())["after_any"] == [5], "the command line goes over it")
    count = len(here.posted())
    script(here, "#SBATCH -d aftercorr:3")
    expect("line 2" in here.call("submit", name, code=2)[1] and len(here.posted()) == count, "it started too early")
    script(here, "#ELASTIC -n 2")
    here.call("submit", name)
    expect("slurm_environment" not in only(here.posted()), "not a script for Slurm")


def test_dependencies(here: Setup) -> None:
    """submit -d: several kinds and several jobs of each, beside --after and its kin; wrong ones are refused with the right forms"""
    here.call("submit", "--hold", "-d", "afterok:1:2,afterany:12_[3-4,9]:7,afternotok:5,after:6,singleton", "--after-ok", "8", "true")
    body = only(here.posted())
    expect(body["after_ok"] == [8, 1, 2] and body["after_any"] == ["12_3", "12_4", "12_9", 7], body)
    expect((body["after_not_ok"], body["after"], body["singleton"]) == ([5], [6], True), body)
    for wrong, right in (("afterok:1,2", "'2' is none of after:JOB"), ("afterok", "afterok:3:4"), ("afterok:x", "'x' is not a job"),
                         ("afterok:1?afterok:2", "all must be fulfilled"), ("after:1+5", "--begin")):  # fmt: skip
        _, err = here.call("submit", f"--dependency={wrong}", "true", code=2)
        expect("--dependency: " in err and right in err, (wrong, err))


def test_mail(here: Setup) -> None:
    """submit --mail-type and --mail-user; in a script types that are not known are reported, others are refused"""
    here.call("submit", "--hold", "--mail-type=END,FAIL", "--mail-user", "ann@example.org", "true")
    expect(only(here.posted())["mail"] == {"events": ["end", "fail"], "to": "ann@example.org"}, here.posted())
    here.call("submit", "--hold", "--mail-type", "ALL", "true")
    expect(only(here.posted())["mail"] == {"events": ["begin", "end", "fail", "requeue"]}, here.posted())
    for words in (("--mail-user=ann",), ("--mail-type=NONE",)):
        here.call("submit", "--hold", *words, "true")
        expect("mail" not in only(here.posted()), here.posted())
    _, err = here.call("submit", script(here, "#SBATCH --mail-type=TIME_LIMIT_80,BEGIN"))
    expect(only(here.posted())["mail"] == {"events": ["begin"]} and "line 2: --mail-type=TIME_LIMIT_80 is not honoured" in err, err)
    expect("'SOON' is none of BEGIN, END" in here.call("submit", "--mail-type=SOON", "true", code=2)[1], "an unknown type")


def test_nodes_by_name(here: Setup) -> None:
    """-w and -x are sent as they are typed, from a Slurm script, too"""
    here.call("submit", "--hold", "-w", "n[1-3],x", "--exclude=n7", "true")
    body = only(here.posted())
    expect((body["nodelist"], body["exclude"]) == ("n[1-3],x", "n7"), body)
    _, err = here.call("submit", script(here, "#SBATCH --nodelist=n1 -x n[2-3]"))
    body = only(here.posted())
    expect((body["nodelist"], body["exclude"]) == ("n1", "n[2-3]") and "not honoured" not in err, (body, err))


def test_gpus(here: Setup) -> None:
    """--gres, --gpus and their kin become numbers of GPUs; types are reported in scripts, and refused elsewhere"""
    for words, wanted in ((["--gres=gpu:2"], {"gpus_per_node": 2}), (["--gres", "gpu"], {"gpus_per_node": 1}), (["-G", "4"], {"gpus": 4}),
                          (["--gpus-per-task=2", "--gpus", "4"], {"gpus": 4, "gpus_per_process": 2}),
                          (["--gpus-per-node=3", "--gres=gpu:3"], {"gpus_per_node": 3}),
                          (["--gres=gpu:0", "--gpus=0", "--gpus-per-task=0", "--gpus-per-node", "0"], {}), (["--gres=none"], {})):  # fmt: skip
        here.call("submit", "--hold", *words, "true")
        body = only(here.posted())
        expect({name: value for name, value in body.items() if name.startswith("gpus")} == wanted, (words, body))
    for words in (["--gres=gpu:-1"], ["--gres=gpu:a100:2"], ["--gres=fpga:1"], ["--gres=gpu:1", "--gpus-per-node=2"]):
        expect("--gres" in here.call("submit", *words, "true", code=2)[1], words)
    _, err = here.call("submit", script(here, "#SBATCH --gres=gpu:a100:2 -n 2"))
    expect(only(here.posted())["gpus_per_node"] == 2 and "line 2: --gres=gpu:a100:2 is not honoured" in err, err)


def test_environment_and_time(here: Setup) -> None:
    """--export ALL,NAME=VALUE adds to all; -t unlimited is sent, over a default of the system"""
    here.environment["MARK"] = "m"
    here.call("submit", "--hold", "--export", "ALL,FOO=1", "-t", "unlimited", "true")
    body = only(here.posted())
    expect((body["environment"].get("MARK"), body["environment"].get("FOO")) == ("m", "1"), body["environment"])
    expect(body["time_limit_ms"] == 0, body.get("time_limit_ms"))
    here.call("submit", "--hold", "--export=NONE,FOO=1", "true")
    expect(set(only(here.posted())["environment"]) == {"PATH", "FOO"}, only(here.posted())["environment"])
    expect("--output" in here.call("submit", "-o", "x%t", "true", code=2)[1], "an unknown pattern")
    here.call("submit", "--hold", "-o", "%x-%5j-%u-%A-%N%%", "true")


def test_misspelt_script(here: Setup) -> None:
    """the path of a script that is not there is refused, not taken for a program of the nodes"""
    for word in ("./jbo.sh", "jbo.sh", "/no/such/job.sh"):
        _, err = here.call("submit", word, code=2)
        expect(f"there is no '{word}'" in err, err)
    for word in (".", str(here.folder)):
        expect(f"'{word}' is a folder: a script or a program is expected" in here.call("submit", word, code=2)[1], word)
    expect(not here.posted(), here.posted())
    (here.folder / "sub").mkdir()
    (here.folder / "sub" / "app").write_text("x")
    here.call("submit", "--hold", "-D", "sub", "./app")
    here.call("submit", "--hold", "--program", "only-there")


def test_cancel_by_filters(here: Setup) -> None:
    """cancel: by user, name and state, through all pages; ids and filters must both fit"""
    for i in range(8):
        here.call("submit", "--hold", "-J", f"j{i % 2}", "true")
    here.fake.jobs[8]["user"] = "somebody"
    expect("name jobs" in here.call("cancel", code=2)[1], "nothing is named")
    out, _ = here.call("cancel", "--me", "-n", "j1", "-t", "PD")
    expect(out.split("\n")[:3] == [f"job {i} is cancelled" for i in (2, 4, 6)], out)
    out, _ = here.call("cancel", "--name", "j0", "1", "2")
    expect(out == "job 1 is cancelled\n", out)
    expect(here.call("cancel", "-u", "nobody-here")[0].startswith("no waiting or running job"), "nobody's")
    expect("cannot be cancelled" in here.call("cancel", "-t", "CD", code=2)[1], "ended ones")
    expect("adapting, suspended, completing" in here.call("cancel", "-t", "XX", code=2)[1], "all states are named")
    expect("'abc' is not a job" in here.call("cancel", "--me", "abc", code=2)[1], "not a number")
    out, _ = here.call("cancel", "-u", USER, "--state", "PENDING", "--reason", "too many")
    expect(len(out.splitlines()) == 3 and here.fake.jobs[7]["reason"] == "too many", out)
    expect(here.fake.jobs[8]["state"] == "PENDING", "another user's job")


def test_formats_of_lists(here: Setup) -> None:
    """queue and history: squeue's letters and long names, sacct's names, bars for programs, an order"""
    for name in ("b", "a", "c"):
        here.call("submit", "--hold", "-J", name, "-n", "2:4", "-t", "10", "true")
    out, _ = here.call("queue", "--sort=-j", "-o", "%.4i|%3j|%t %l %C %r")
    expect(out.splitlines() == ["JOBI|NAM|ST TIME_LIMIT CPUS REASON", *(f"{i:4}|{j}  |PD 10:00 2 Held" for i, j in ((3, "c"), (1, "b"), (2, "a")))], out)
    out, _ = here.call("queue", "--noheader", "-O", "name:.3,jobid:2,userid")
    expect(out.splitlines()[0].split() == ["b", "1", str(os.getuid())], out)
    out, _ = here.call("queue", "--parsable", "--noheader", "-S", "name")
    expect([line.split("|")[:4] for line in out.splitlines()][0] == ["2", "a", USER, "PD"] and out.splitlines()[0].endswith("|"), out)
    out, _ = here.call("nodes", "-P")
    expect(out.splitlines()[0] == "NODE|STATE|CORES|USED|JOBS|REASON" and len(out.splitlines()[1].split("|")) == 6, out)
    expect([job["id"] for job in here.objects("queue", "--sort=-i")] == [3, 2, 1], "JSON in that order")
    for words, name in ((("-o", "%q"), "%i"), (("-O", "nothing"), "jobid"), (("-S", "nothing"), "jobid")):
        _, err = here.call("queue", *words, code=2)
        expect("there is no field" in err and name in err, err)
    here.call("submit", "--wait", "-J", "over", "true")
    here.fake.jobs[4]["accounting"] = {"core_ms": 61_000, "cpu_ms": 30_000, "max_rss_bytes": 1 << 20, "core_ms_by_size": [{"size": 1, "core_ms": 61_000}]}
    out, _ = here.call("history", "-P", "--format", "JobID,JobName,State,CPUTime,TotalCPU,MaxRSS,ExitCode")
    expect(out.splitlines() == ["JOBID|NAME|STATE|CPU_TIME|TOTAL_CPU|MAX_RSS|EXIT", "4|over|DONE|1:01|0:30|1024K|0"], out)
    expect("1:61" in here.call("history", "--long")[0], "core seconds by size")


def test_history_of_a_time(here: Setup) -> None:
    """history -S and -E: jobs that waited or ran then, all of them; wrong times are refused with the right forms"""
    here.call("submit", "--hold", "true")
    here.fake.jobs |= {number: {**here.fake.jobs[1], "id": number} for number in range(2, 111)}
    day_ms = 86_400_000
    for number, job in here.fake.jobs.items():  # each of an hour, the first three days ago
        begin = int(time.time() * 1000) - 3 * day_ms + number * day_ms // 110
        job.update(state="DONE", code="CD", submit_ms=begin, start_ms=begin, end_ms=begin + day_ms // 24)

    def numbers(*words: str) -> list[int]:
        return [job["id"] for job in here.objects("history", *words)]

    expect(len(numbers()) == 100 and len(numbers("-S", "now-4days")) == 110, "a limit unless a time is given")
    last = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(here.fake.jobs[7]["submit_ms"] // 1000 + 1))
    expect(numbers("-E", last) == list(range(1, 8)), (last, numbers("-E", last)))
    expect(numbers("-S", "now-49hours")[0] == here.fake.jobs[numbers("-S", "now-49hours")[0]]["id"] > 95, "the first that had not ended")
    expect(numbers("-S", "now-4days", "-E", last, "--limit", "2") == [6, 7], "the last two of them")
    expect(numbers("-S", "now-7days", "-E", "now-4days") == [] and numbers("-S", "now-1hours") == [], "none was there")
    expect(numbers("-u", "nobody", "-S", "yesterday") == [] and numbers("-s", "F", "-S", "now-7days") == [], "other filters hold, too")
    for words, wrong in ((("-S", "last week"), "--starttime: 'last week' is not a time: YYYY-MM-DD"), (("-E", ""), "--endtime: ''"),
                         (("-S", "today", "-E", "yesterday"), "--endtime: 'yesterday' is before --starttime"),
                         (("-S", "2999-01-01"), "is in the future"), (("3", "-S", "today"), "leave JOB out")):  # fmt: skip
        _, err = here.call("history", *words, code=2)
        expect(wrong in err, (words, err))


def test_test_only(here: Setup) -> None:
    """submit --test-only: prints when it would start, and submits nothing"""
    out, _ = here.call("submit", "--test-only", "-n", "2:4", "true")
    expect(out.startswith("the job would start at 20") and "with 2 to 4 processes" in out, out)
    expect(out.split()[5] == here.call("submit", "--test-only", "--parsable", "true")[0].strip(), out)
    expect(not here.fake.jobs, here.fake.jobs)
    here.call("submit", "--test-only", "-n", "17", "true", code=1)


def test_empty_pages(here: Setup) -> None:
    """history, queue: a page without a job is not the end of the list"""
    for _ in range(7):
        here.call("submit", "--wait", "true")
    here.fake.empty_pages = True
    expect([job["id"] for job in here.objects("history")] == [1, 2, 3, 4, 5, 6], "history")
    expect([job["id"] for job in here.objects("queue", "-t", "CD")] == [2, 3, 4, 5, 6, 7], "queue")


def test_unknown_commands(here: Setup) -> None:
    """a command that does not exist: the near one is named"""
    for word, near in (("qeue", "queue"), ("sbatch", "submit"), ("scancel", "cancel"), ("resise", "resize"), ("stop", "cancel"),
                       ("ls", "queue"), ("stat", "show"), ("help", "--help")):  # fmt: skip
        _, err = here.call(word, "3", code=2)
        expect(f"elastic {near}" in err, err)
    expect("do you mean" not in here.call("explode", code=2)[1], "nothing is near")


def test_suspend_and_resume(here: Setup) -> None:
    """suspend, resume: jobs, also tasks of arrays; resume takes nodes as well"""
    here.call("submit", "-n", "2", "sleep", "60")
    (job,) = here.objects("suspend", "1")
    expect(job["state"] == "SUSPENDED", job)
    expect([job["id"] for job in here.objects("queue", "-t", "suspended")] == [1], "the state as a filter")
    here.call("drain", "n1", "--reason", "test")
    out, _ = here.call("resume", "1", "n1")
    expect(out == "job 1 continues\nnode n1 is used again\n", out)
    expect("it is not suspended" in here.call("resume", "1", code=1)[1], "it runs")
    _, err = here.call("resume", "9", "node:7", code=3)
    expect("there is no job 9" in err and "there is no node 7" in err, err)
    here.call("suspend", "n1", code=2)


def test_names_that_are_no_jobs(here: Setup) -> None:
    """a malformed id is wrong usage in every command; the error states the form of an id"""
    for wrong in ("abc", "3x", "3_", "3_[", "3_[4-1]", "0", "99999999999999999999", "job:abc", "3,4"):
        of_both = [("cancel", wrong), ("resize", wrong, "3"), ("events", wrong), ("psets", wrong), ("loops", wrong)]
        of_jobs = [(name, wrong) for name in ("show", "why", "attach", "requeue", "suspend", "hold", "release", "history")]
        lists = [("queue", "-j", f"1,{wrong}"), ("history", "-j", wrong), ("report", "-j", wrong), ("submit", "--after", wrong, "true"),
                 ("submit", "-d", f"afterok:{wrong}", "true"), ("cancel", "--me", wrong)]  # fmt: skip
        for words in of_both + of_jobs + [("update", wrong, "-t", "5")] + (lists if wrong != "3,4" and ":" not in wrong else []):
            _, err = here.call(*words, code=2)
            expect("such as 3, a task of an array is 3_7, some of its tasks are 3_[1-5,9]" in err, (words, err))
            expect("is not a job" in err or "is neither a job nor a step" in err, (words, err))
    for words in (("resume", "3x"), ("resume", "3_", "n0")):
        _, err = here.call(*words, code=2)
        expect(f"'{words[1]}' is neither a job nor a node: a job has a number, such as 3" in err, err)
    expect(not here.posted(), here.posted())


def test_jobs_without_elasticd(here: Setup) -> None:
    """cancel 3 where the elasticd that is named has ended: that is the error; without a name both are looked for"""
    here.fake.go_away()
    expect(str(here.fake.socket) in here.call("cancel", "3", code=4)[1], "ELASTICD_SOCKET")
    del here.environment["ELASTICD_SOCKET"]
    _, err = here.call("cancel", "3", code=3)
    expect("there is no step 3 of yours" in err and "no elasticd answers" in err, err)


def test_where_nobody_listens(here: Setup) -> None:
    """no elasticd: the error has the socket, its owner, and the command to start one"""
    missing = here.folder / "missing.sock"
    here.environment["ELASTICD_SOCKET"] = str(missing)
    _, err = here.call("queue", code=4)
    expect(f"there is no {missing}" in err and f"elasticd --socket={missing}" in err, err)
    here.fake.go_away()
    here.environment["ELASTICD_SOCKET"] = str(here.fake.socket)
    _, err = here.call("queue", code=4)
    expect(str(here.fake.socket) in err, err)
    del here.environment["ELASTICD_SOCKET"]
    _, err = here.call("queue", code=4)
    expect("no elasticd runs here: there is no " in err and "/run/elasticd/elasticd.sock" in err, err)
    here.environment["ELASTICD_URL"] = "http://127.0.0.1:1"
    for words in (("queue",), ("submit", "--hold", "true"), ("run", "true")):
        expect("http://127.0.0.1:1" in here.call(*words, code=4)[1], f"URL: {words}")


def test_options_that_are_not_there(here: Setup) -> None:
    """an option of Slurm has the reason why there is none, a misspelt one the similar one"""
    for words, wanted in (
        (("submit", "-A", "ours", "true"), "has no option -A: elasticd has users, no accounts"),
        (("run", "--qos=high", "true"), "has no option --qos: elasticd's limits"), (("alloc", "-C", "gpu"), "no option -C: elasticd's nodes have no features"),
        (("submit", "--tiem=5", "true"), "has no option --tiem: do you mean --time?"), (("queue", "--usr=x"), "no option --usr: do you mean --user?"),
        (("queue", "-Z"), "'elastic queue' has no option -Z ('elastic queue --help' lists all)"), (("submit", "--no-requeue", "true"), "elastic always does"),
    ):  # fmt: skip
        _, err = here.call(*words, code=2)
        expect(wanted in err, (words, err))
    expect("not expected" in here.call("queue", "word", code=2)[1] and not here.posted(), "a word too many")


def test_run_interrupted_before_the_answer(here: Setup) -> None:
    """run: an interrupt ends it while elasticd does not answer"""
    here.fake.hold_answers = threading.Event()
    process = here.start("run", "true")
    here.wait_until("the submission has come", lambda: here.posted())
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=LIMIT_S / 4)  # elasticd would be waited for 30 s
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    finally:
        here.fake.hold_answers.set()
    expect(process.returncode == -signal.SIGINT and "interrupted" in err, (process.returncode, err))


def test_codes_pass_through_run(here: Setup) -> None:
    """run: each exit code from 0 to 255 is its own"""
    for number in (0, 1, 2, 77, 126, 127, 128, 130, 254, 255):
        process = here.start("run", "-q", "sh", "-c", f"exit {number}")
        process.communicate(timeout=LIMIT_S)
        expect(process.returncode == number, (number, process.returncode))


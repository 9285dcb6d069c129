"""Standard input follows rank 0 of the world, and its reader sets the pace."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
import threading
import time

from launcher import LIMIT_S, Bench, expect_ok
from support.checks import expect, wait_for


def test_standard_input_follows_rank_0(bench: Bench) -> None:
    job = bench.start(
        "-n",
        2,
        "--adapt-schedule",
        "1/leave=0,1/leave=0",
        "--adapt-log",
        bench.log,
        program=[bench.process, "probes=2", "stdin=1", "seconds=30"],
        stdin=subprocess.PIPE,
    )
    assert job.stdin
    for count, line in enumerate(("one\n", "two\n"), 1):
        wait_for(f"adaptation {count}", lambda: len(bench.events("committed")) >= count)
        job.stdin.write(line)
        job.stdin.flush()
    result = bench.finish(job)
    expect(result.code == 0, f"exit code {result.code}: {result.err}")
    expect(re.findall(r"uid (\d+) read (\w+)", result.out) == [("1", "one"), ("2", "two")], f"read: {result.out}")


def test_input_that_nobody_reads_harms_nobody(bench: Bench) -> None:
    """Rank 0 has closed its standard input, or has ended, and more input arrives: the others continue."""
    for name, end in (("closed", "exec <&-"), ("ended", "exit 0")):
        printed, over = bench.folder / f"{name}-read", bench.folder / f"{name}-over"
        program = (
            f'if [ "$PMI_RANK" = 0 ]; then read line; {end.replace("exit", f"touch {printed}; exit")}; touch {printed}; fi; '
            f"until [ -e {over} ]; do sleep 0.05; done; echo goes on"
        )
        job = bench.start("-n", 2, program=["sh", "-c", program], stdin=subprocess.PIPE)
        assert job.stdin
        os.write(job.stdin.fileno(), b"one\n")
        wait_for("rank 0 to read no more", printed.exists)
        for _ in range(20):
            with contextlib.suppress(BrokenPipeError):  # the job has ended
                os.write(job.stdin.fileno(), b"more\n")
            time.sleep(0.01)  # each a message of its own
        over.touch()
        result = bench.finish(job)
        lines = 2 if name == "closed" else 1
        expect(result.code == 0 and result.out.count("goes on") == lines, f"{name}: exit code {result.code}: {result.out}{result.err}")


class Writer(threading.Thread):
    """Writes all of a text to a job, as fast as it is taken."""

    def __init__(self, job: subprocess.Popen[str], text: bytes) -> None:
        super().__init__(daemon=True)
        assert job.stdin
        self.stream, self.text, self.taken = job.stdin, text, 0
        self.start()

    def run(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            while self.taken < len(self.text):
                self.taken += os.write(self.stream.fileno(), self.text[self.taken : self.taken + 65536])
        self.stream.close()

    def await_pause(self) -> None:
        """Waits until no input has been read for a while."""
        seen = -1
        while self.taken != seen:
            seen = self.taken
            time.sleep(0.5)

MUCH_INPUT = b"".join(b"line %d\n" % i for i in range(1 << 20))


def test_a_slow_reader_of_input_gets_all(bench: Bench) -> None:
    """Input that rank 0 does not read yet stays at the writer, and arrives later; alone, beside others, on another
    host."""
    remote = ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb", "-ppn", 1]
    for name, words in (("alone", ["-n", 1]), ("beside", ["-n", 2]), ("elsewhere", [*remote, "-n", 2])):
        part, on = bench.folder / f"{name}-part", bench.folder / f"{name}-on"
        program = (
            f'if [ "$PMI_RANK" = 1 ]; then exit 0; fi; head -c 300000 >{part}.new; mv {part}.new {part}; '
            f"until [ -e {on} ]; do sleep 0.05; done; cat >>{part}; sha256sum <{part}"
        )
        job = bench.start(*words, program=["sh", "-c", program], stdin=subprocess.PIPE)
        writer = Writer(job, MUCH_INPUT)
        wait_for("a part of the input", part.exists)
        writer.await_pause()
        expect(job.poll() is None, f"{name}: the job has ended")
        expect(writer.taken < 4 << 20, f"{name}: {writer.taken} bytes are taken, and nobody reads them")
        on.touch()
        writer.join(LIMIT_S)
        job.stdin = None
        result = bench.finish(job)
        digest = hashlib.sha256(MUCH_INPUT).hexdigest()
        expect(result.code == 0 and result.out.split()[:1] == [digest], f"{name}: exit code {result.code}: {result.out}{result.err}")
    bench.expect_nothing_left()


def test_input_that_is_echoed_comes_back(bench: Bench) -> None:
    """Neither mpiexec, which sends input, nor the proxy, which sends output, waits for the other for ever."""
    for n in (1, 2):
        job = bench.start("-n", n, program=["sh", "-c", 'test "$PMI_RANK" = 1 || exec cat'], stdin=subprocess.PIPE)
        writer = Writer(job, MUCH_INPUT)
        job.stdin = None
        result = bench.finish(job)
        writer.join(LIMIT_S)
        expect(result.code == 0 and result.out.encode() == MUCH_INPUT, f"exit code {result.code}: {len(result.out)} bytes {result.err}")


def test_input_that_waits_is_dropped_with_its_reader(bench: Bench) -> None:
    """Rank 0 closes its standard input, or ends, while much input waits for it: the writer and the others continue."""
    for name, n, end in (("closed", 2, "exec <&-"), ("ended", 2, "exit 0"), ("last", 1, "exit 0")):
        on, over = bench.folder / f"{name}-on", bench.folder / f"{name}-over"
        program = (
            f'if [ "$PMI_RANK" = 0 ]; then until [ -e {on} ]; do sleep 0.05; done; {end}; fi; '
            f"until [ -e {over} ]; do sleep 0.05; done; echo goes on"
        )
        job = bench.start("-n", n, program=["sh", "-c", program], stdin=subprocess.PIPE)
        writer = Writer(job, MUCH_INPUT)
        writer.await_pause()
        expect(writer.taken < 4 << 20, f"{name}: {writer.taken} bytes are taken, and nobody reads them")
        on.touch()
        writer.join(LIMIT_S)
        expect(n == 1 or writer.taken == len(MUCH_INPUT), f"{name}: the writer still waits at {writer.taken}")
        over.touch()
        job.stdin = None
        result = bench.finish(job)
        lines = {"closed": 2, "ended": 1, "last": 0}[name]
        printed = result.out.count("goes on") == lines and not result.err
        expect(result.code == 0 and printed, f"{name}: exit code {result.code}: {result.out}{result.err}")
    bench.expect_nothing_left()


def test_who_reads_standard_input(bench: Bench) -> None:
    """Rank 0, all or none; the others read the end, at once.  On one host and on two."""
    readers: dict[str, list[int]] = {"0": [0], "all": [0, 1, 2], "none": []}
    layouts: list[list[object]] = [[], ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb"]]
    choices: list[list[str]] = [[], ["-s", "0"], ["-s", "all"], ["-s", "none"]]
    for hosts in layouts:
        for words in choices:
            over = bench.folder / f"over-{len(hosts)}-{'-'.join(words)}"
            program = f'while read line; do echo "$PMI_RANK: $line"; done; echo "$PMI_RANK ends"; echo >>{over}'
            job = bench.start(*hosts, *words, "-n", 3, program=["sh", "-c", program], stdin=subprocess.PIPE)
            assert job.stdin
            job.stdin.write("one\n")
            job.stdin.flush()
            reading = readers[words[-1] if words else "0"]
            wait_for("the others to end", lambda: len(reading) == 3 or (over.exists() and over.read_text().count("\n") == 3 - len(reading)))
            with contextlib.suppress(BrokenPipeError):  # nobody reads
                job.stdin.write("two\n")
                job.stdin.close()
            job.stdin = None
            result = bench.finish(job)
            wanted = sorted([f"{rank}: {line}" for rank in reading for line in ("one", "two")] + [f"{rank} ends" for rank in range(3)])
            expect(result.code == 0 and sorted(result.out.splitlines()) == wanted, f"{words}: {result.code}: {result.out}{result.err}")
    bench.expect_nothing_left()


def test_all_readers_get_all(bench: Bench) -> None:
    """One of them is slow, one ends before, one closes its input."""
    program = (
        'case "$PMI_RANK" in 0) sleep 1; sha256sum ;; 1) head -c 5 >/dev/null ;; '
        '2) exec <&-; sleep 1; echo goes on ;; 3) sha256sum ;; esac'
    )
    layouts: list[list[object]] = [[], ["-launcher", "ssh", "-launcher-exec", bench.ssh, "-hosts", "aa,bb,cc,dd"]]
    for hosts in layouts:
        job = bench.start(*hosts, "-s", "all", "-n", 4, program=["sh", "-c", program], stdin=subprocess.PIPE)
        writer = Writer(job, MUCH_INPUT)
        job.stdin = None
        result = bench.finish(job)
        writer.join(LIMIT_S)
        digest = hashlib.sha256(MUCH_INPUT).hexdigest()
        expect(result.code == 0 and result.out.count(digest) == 2, f"exit code {result.code}: {result.out}{result.err}")
    bench.expect_nothing_left()


def test_joining_processes_read_what_comes_later(bench: Bench) -> None:
    """With -s all; and the end of it, also if that came before them."""
    program = f'touch {bench.folder}/here-$$; read line; echo "read $line"; exec <&-; exec {bench.process} probes=1 seconds=30'
    job = bench.start(
        "-s", "all", "-n", 1, "--adapt-schedule", "2", "--adapt-log", bench.log, program=["sh", "-c", program], stdin=subprocess.PIPE
    )
    assert job.stdin
    os.write(job.stdin.fileno(), b"one\n")
    wait_for("the joining process to start", lambda: len(list(bench.folder.glob("here-*"))) == 2)
    os.write(job.stdin.fileno(), b"two\n")
    result = bench.finish(job)
    expect(result.code == 0 and sorted(result.out.splitlines()) == ["read one", "read two"], f"{result.code}: {result.out}{result.err}")
    result = bench.adapt("-s", "all", "-n", 1, "--adapt-schedule", "2,1/leave=0", words=["probes=2", "stdin=1"])
    expect_ok(bench, result, [2, 1])


def test_end_of_input_follows_rank_0(bench: Bench) -> None:
    result = bench.adapt("-n", 2, "--adapt-schedule", "1/leave=0,1/leave=0", words=["probes=2", "stdin=1"])
    expect_ok(bench, result, [1, 1])

"""`elastic top`, `report`, the completion and the manual page, against a fake elasticd."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from cli_setup import LIMIT_S, Setup  # noqa: E402
from support.checks import expect  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
COMMANDS = ("run submit alloc attach queue show history nodes reservations reservation ps psets loops why events version resize update cancel requeue suspend hold release "
            "drain resume top report").split()  # fmt: skip
NESTED = {"reservation": [["reservation", task] for task in ("create", "update", "delete", "show")]}


def test_top_once(here: Setup) -> None:
    """top --once: cores, nodes and jobs"""
    here.call("submit", "-n", "2:4", "-J", "climb", "sleep", "60")
    out, _ = here.call("top", "--once")
    expect("4 of 16 cores" in out and "n0" in out and "climb" in out, out)


def test_top_at_a_terminal(here: Setup) -> None:
    """top: draws over and over at a terminal, q ends it and restores the screen"""
    here.call("submit", "-n", "2:4", "-J", "climb", "sleep", "60")
    master, slave = pty.openpty()
    process = here.start("top", "--interval", "0.1", stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    text = b""
    while text.count(b"climb") < 3:
        text += os.read(master, 65536)
    os.write(master, b"q")
    try:
        while True:
            text += os.read(master, 65536)
    except OSError:
        pass
    os.close(master)
    expect(process.wait(LIMIT_S) == 0, process.returncode)
    expect(b"\x1b[?1049h" in text and text.rstrip().endswith(b"\x1b[?1049l"), text[-80:])


def test_report(here: Setup) -> None:
    """report: the metrics, a chart of the nodes, a page for a browser, a comparison with another report"""
    here.call("run", "-n", "2:4", "-J", "climb", "true")
    here.call("run", "-n", "2:4", "-J", "dive", "true")
    out, _ = here.call("report", "--html", "chart.html")
    expect(re.search(r"^Makespan +1:05\.0$", out, re.M) and re.search(r"^Utilisation +87\.5 %$", out, re.M), out)
    expect("n0" in out and "climb" in out, out)
    page = (here.folder / "chart.html").read_text()
    expect("drawChart(" in page and "climb" in page and page.rstrip().endswith("</html>"), page[:200])
    (document,) = here.objects("report")
    expect(document["makespan_ms"] == 65000 and document["timeline"]["nodes"], sorted(document))
    names = [segment["name"] for segment in document["timeline"]["segments"]]
    expect(names == ["climb", "dive"], f"the timeline's pages: {names}")
    (here.folder / "other.json").write_text(json.dumps({**document, "makespan_ms": 130000}))
    out, _ = here.call("report", "--compare", "other.json")
    expect(re.search(r"^Makespan +1:05\.0 +2:10\.0 +-50\.0 %$", out, re.M), out)
    here.call("report", "--compare", "not-there.json", code=2)
    out, _ = here.call("report", "-P", "--compare", "other.json")
    expect(out.startswith("METRIC|THIS|OTHER|DIFFERENCE\n") and "\nMakespan|1:05.0|2:10.0|-50.0 %\n" in out, out)
    expect("n0" not in out, "a program gets no chart")
    out, _ = here.call("report", "--parsable", "--noheader", "--by", "user")
    expect(out.startswith("ann|3|2|1|0|0.190|75.0 %|0:01.5|2|\n"), out)
    out, _ = here.call("report", "--by", "user")
    expect(re.search(r"^ann +3 +2 +1 +0 +0\.190 +75\.0 % +0:01\.5 +2$", out, re.M), out)
    expect([one["user"] for one in here.objects("report", "--by", "user")] == ["ann", "bob"], "as JSON")
    here.call("report", "--by", "node", code=2)


def test_completion_and_manual(here: Setup) -> None:
    """shell completion, manual page and --help know the same commands and options"""
    help_text = here.call("--help")[0]
    manual = (ROOT / "doc/man/man1/elastic.1").read_text()
    for command in COMMANDS:
        expect(re.search(rf"^  {command} ", help_text, re.M), f"--help lacks {command}")
        expect(re.search(rf"^\.B[RI]? elastic {command}\b", manual, re.M), f"elastic.1 lacks {command}")
        texts = [here.call(*words, "--help")[0] for words in [[command], *NESTED.get(command, [])]]
        lines = re.findall(r"^  (-.*)$", "\n".join(texts), re.M)
        options = {name for line in lines for name in re.findall(r"^(?:-\w,)*(--[a-zA-Z0-9-]+)", line)} - {"--help"}
        completed = set(complete(here, ["elastic", command, "--"]))
        expect(options == completed, f"{command}: --help {sorted(options - completed)}, completion {sorted(completed - options)}")
        for option in options:
            expect(option.replace("-", "\\-") in manual, f"elastic.1 lacks {option} of {command}")
    expect(set(complete(here, ["elastic", ""])) == set(COMMANDS), "commands")
    here.call("submit", "--hold", "true")
    expect(complete(here, ["elastic", "release", ""]) == ["1"], "jobs")
    expect(complete(here, ["elastic", "drain", "n"]) == ["n0", "n1"], "nodes")


def complete(here: Setup, words: list[str]) -> list[str]:
    """The completions of bash for the last argument."""
    script = (
        f'. {ROOT}/src/rm/cli/elastic.bash-completion; COMP_WORDS=({" ".join(word or chr(39) * 2 for word in words)}); '
        f"COMP_CWORD={len(words) - 1}; _elastic; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    environment = here.environment | {"PATH": f"{Path(here.elastic).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, env=environment, check=False)
    expect(done.returncode == 0 and not done.stderr, done.stderr)
    return done.stdout.split()
